//! Faults that are put into a copy of a sample, one at a time: its flows must find each, and say what it is about.
//!
//! What a failure must say was written down by hand, from the fault and the flow. Of the 42 faults, 38 must be found and
//! named so; the others must be found.

use std::time::Duration;

use crate::harness::{FLOWS, Samples, sentence};

/// A change of one place that makes a sample wrong.
struct Fault {
    name: &'static str,
    /// The sample: its flows are those whose names begin with it.
    sample: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    /// All of these must stand in what one failure says.
    says: &'static [&'static str],
}

const VISUAL: [Fault; 20] = [
    Fault {
        name: "a box is shifted",
        sample: "repairs",
        file: "repairs/repairs.css",
        from: ".summary { margin-top: 0; }",
        to: ".summary { margin-top: 8px; }",
        says: &["form", "moved", "8 px"],
    },
    Fault {
        name: "an image is missing",
        sample: "repairs",
        file: "repairs/index.html",
        from: "src=\"bench.png\"",
        to: "src=\"bench2.png\"",
        says: &["bench2.png"],
    },
    Fault {
        name: "a colour is wrong",
        sample: "repairs",
        file: "repairs/repairs.css",
        from: ":root { --accent: #0b6b5e; }",
        to: ":root { --accent: #8a4b00; }",
        says: &["form", "colour"],
    },
    Fault {
        name: "texts lie over each other",
        sample: "repairs",
        file: "repairs/repairs.css",
        from: "legend { margin-bottom: 4px; }",
        to: "legend { margin-bottom: -18px; }",
        says: &["overlap", "How soon"],
    },
    Fault {
        name: "a text can hardly be read",
        sample: "repairs",
        file: "shared/base.css",
        from: "--soft: #566073;",
        to: "--soft: #a9b0bd;",
        says: &["contrast"],
    },
    Fault {
        name: "a heading is one pixel smaller",
        sample: "repairs",
        file: "shared/base.css",
        from: "h1 { font-size: 28px; }",
        to: "h1 { font-size: 27px; }",
        says: &["form", "the area at"],
    },
    Fault {
        name: "corners of cards are square",
        sample: "repairs",
        file: "shared/base.css",
        from: "border-radius: 10px; padding: 20px; }",
        to: "border-radius: 0; padding: 20px; }",
        says: &["form", "the area at"],
    },
    Fault {
        name: "texts are cut off",
        sample: "tracker",
        file: "tracker/tracker.css",
        from: ".tickets td:nth-child(2) a { color: var(--text);",
        to: ".tickets td:nth-child(2) a { display: inline-block; max-width: 130px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; vertical-align: bottom; color: var(--text);",
        says: &["list", "the area at"],
    },
    Fault {
        name: "a part of the logo is missing",
        sample: "tracker",
        file: "tracker/lamp.svg",
        from: "<path d=\"M11 6h10v6H11z\" fill=\"#f4c542\"/>",
        to: "",
        says: &["list", "the area at"],
    },
    Fault {
        name: "round pictures are square",
        sample: "tracker",
        file: "tracker/tracker.js",
        from: "rx=\"24\"",
        to: "rx=\"2\"",
        says: &["people", "the area at"],
    },
    Fault {
        name: "the dark page is light",
        sample: "gauge",
        file: "shared/base.css",
        from: "--page: #12161c;",
        to: "--page: #f4f5f7;",
        says: &["background-color", "#12161c"],
    },
    Fault {
        name: "the curve is not drawn",
        sample: "gauge",
        file: "gauge/gauge.js",
        from: "  pen.stroke(way);\n",
        to: "",
        says: &["harbour", "the area at"],
    },
    Fault {
        name: "a font is missing",
        sample: "gauge",
        file: "gauge/gauge.css",
        from: "url(/shared/segments.woff2)",
        to: "url(/shared/segment.woff2)",
        says: &["/shared/segment.woff2", "404"],
    },
    Fault {
        name: "cards do not fit on a telephone",
        sample: "gauge",
        file: "gauge/gauge.css",
        from: "  .cards { grid-template-columns: minmax(0, 1fr); }",
        to: "  .cards { grid-template-columns: repeat(3, 120px); }",
        says: &["mill"],
    },
    Fault {
        name: "the direction of the language is lost",
        sample: "books",
        file: "books/app.py",
        from: "<html lang=\"he\" dir=\"rtl\">",
        to: "<html lang=\"he\">",
        says: &["direction", "rtl", "ltr"],
    },
    Fault {
        name: "an arrow points the wrong way",
        sample: "books",
        file: "books/books.css",
        from: ".more svg { transform: scaleX(-1); }",
        to: "",
        says: &["catalogue", "the area at"],
    },
    Fault {
        name: "a column is aligned to the wrong side",
        sample: "books",
        file: "books/books.css",
        from: ".catalogue td:first-child { font-weight: 700; }",
        to: ".catalogue td:first-child { font-weight: 700; text-align: left; }",
        says: &["catalogue", "moved"],
    },
    Fault {
        name: "money that went out is not red",
        sample: "ledger",
        file: "ledger/ledger.css",
        from: "td.out { color: var(--out); }",
        to: "",
        says: &["overview", "colour"],
    },
    Fault {
        name: "a table is shifted by three pixels",
        sample: "ledger",
        file: "ledger/ledger.css",
        from: ".accounts { margin-bottom: 20px; }",
        to: ".accounts { margin-bottom: 23px; }",
        says: &["overview", "moved", "3 px"],
    },
    Fault {
        name: "dark text stands on a dark page",
        sample: "ledger",
        file: "ledger/ledger.css",
        from: "--in: #6fd694; --out: #ff9b93;",
        to: "--in: #1a3d28; --out: #5a1a16;",
        says: &["ledger-dark", "overview", "colour"],
    },
];

const FUNCTIONAL: [Fault; 22] = [
    Fault {
        name: "a field is not checked",
        sample: "repairs",
        file: "repairs/repairs.js",
        from: "/^[0-9 +]{7,}$/.test(v)",
        to: "true",
        says: &["5 things are missing.", "4 things are missing."],
    },
    Fault {
        name: "the focus does not go to the mistake",
        sample: "repairs",
        file: "repairs/repairs.js",
        from: "    field(found[0][0]).focus();\n",
        to: "",
        says: &["Your name", "focused"],
    },
    Fault {
        name: "the address after sending is wrong",
        sample: "repairs",
        file: "repairs/repairs.js",
        from: "\"/repairs/booked/\" + number",
        to: "\"/repairs/bookings/\" + number",
        says: &["/repairs/booked/1041", "/repairs/bookings/1041"],
    },
    Fault {
        name: "a price has a digit too few",
        sample: "repairs",
        file: "repairs/repairs.js",
        from: "(pence / 100).toFixed(2)",
        to: "(pence / 100).toFixed(pence ? 1 : 2)",
        says: &["£45.00", "£45.0"],
    },
    Fault {
        name: "the button is disabled",
        sample: "repairs",
        file: "repairs/index.html",
        from: "<button id=\"send\">",
        to: "<button id=\"send\" disabled>",
        says: &["Book the repair", "disabled"],
    },
    Fault {
        name: "something lies over the form",
        sample: "repairs",
        file: "repairs/index.html",
        from: "</main>",
        to: "</main><div class=\"cover\" style=\"position: fixed; inset: 0\"></div>",
        says: &["covered by", "cover"],
    },
    Fault {
        name: "the text for a picture is wrong",
        sample: "repairs",
        file: "repairs/index.html",
        from: "alt=\"A bicycle on the repair stand\"",
        to: "alt=\"bench.png\"",
        says: &["A bicycle on the repair stand", "bench.png"],
    },
    Fault {
        name: "a button has no name",
        sample: "repairs",
        file: "repairs/index.html",
        from: " aria-label=\"One bicycle fewer\"",
        to: "",
        says: &["button", "no name"],
    },
    Fault {
        name: "two fields have one id",
        sample: "repairs",
        file: "repairs/index.html",
        from: "<input id=\"email\" type=\"email\"",
        to: "<input id=\"phone\" type=\"email\"",
        says: &["id \"phone\""],
    },
    Fault {
        name: "a count is off by one",
        sample: "tracker",
        file: "tracker/tracker.js",
        from: "`${shown.length} of",
        to: "`${shown.length - 1} of",
        says: &["12 of 12 tickets", "11 of 12 tickets"],
    },
    Fault {
        name: "a link is dead",
        sample: "tracker",
        file: "tracker/index.html",
        from: "href=\"/tracker/about\"",
        to: "href=\"/tracker/abuot\"",
        says: &["/tracker/abuot", "404"],
    },
    Fault {
        name: "an error is only logged",
        sample: "tracker",
        file: "tracker/tracker.js",
        from: "  main.innerHTML = loading;\n",
        to: "  main.innerHTML = loading;\n  try { tickets.length; } catch (error) { console.error(\"the badge was not updated\", error); }\n",
        says: &["the badge was not updated"],
    },
    Fault {
        name: "old data is shown",
        sample: "tracker",
        file: "tracker/tracker.js",
        from: "      tickets = null;\n",
        to: "",
        says: &["tr.closed", "5", "4"],
    },
    Fault {
        name: "a request never ends",
        sample: "tracker",
        file: "tracker/app.py",
        from: "    if path == \"people\":\n",
        to: "    if path == \"people\":\n        request.hang()\n",
        says: &["Loading"],
    },
    Fault {
        name: "the interface answers with 500",
        sample: "tracker",
        file: "tracker/app.py",
        from: "        return data(tickets)\n",
        to: "        return data({}, 500)\n",
        says: &["/tracker/api/tickets", "500"],
    },
    Fault {
        name: "the order is wrong",
        sample: "tracker",
        file: "tracker/tracker.js",
        from: "a.title.localeCompare(b.title)",
        to: "b.title.localeCompare(a.title)",
        says: &["Gate 3 does not close"],
    },
    Fault {
        name: "the title of the page is wrong",
        sample: "tracker",
        file: "tracker/tracker.js",
        from: "document.title = ticket.title + \" – Lighthouse\";",
        to: "",
        says: &["Gate 3 does not close – Lighthouse", "Ticket – Lighthouse"],
    },
    Fault {
        name: "a comment is sent twice",
        sample: "tracker",
        file: "tracker/tracker.js",
        from: "      await ask(\"tickets/\" + id, { comment: text });\n",
        to: "      await ask(\"tickets/\" + id, { comment: text });\n      await ask(\"tickets/\" + id, { comment: text });\n",
        says: &["/tracker/api/tickets/106", "POST"],
    },
    Fault {
        name: "a reading does not come when it is pointed at",
        sample: "gauge",
        file: "gauge/gauge.js",
        from: "      button.addEventListener(\"mouseenter\", show);\n",
        to: "",
        says: &["At 15:00 it was 17.0 °C."],
    },
    Fault {
        name: "a book is ordered twice",
        sample: "books",
        file: "books/app.py",
        from: "            ordered.append(number)\n",
        to: "            ordered += [number, number]\n",
        says: &["הוזמנו 1 מתוך 3", "הוזמנו 2 מתוך 3"],
    },
    Fault {
        name: "the login lets everybody in",
        sample: "ledger",
        file: "ledger/app.py",
        from: "form.get(\"password\") == PASSWORD and ",
        to: "",
        says: &["The name or the password is wrong."],
    },
    Fault {
        name: "signing out keeps the session",
        sample: "ledger",
        file: "ledger/app.py",
        from: "        state[\"user\"] = None\n",
        to: "",
        says: &["/ledger/login", "/ledger/"],
    },
];

#[test]
fn visual_faults_are_found_and_named() {
    find(&VISUAL, 3);
}

#[test]
fn functional_faults_are_found_and_named() {
    find(&FUNCTIONAL, 1);
}

/// The outcome for a fault that was not named.
enum Unnamed {
    /// No flow failed.
    Unseen(String),
    /// A flow failed, with other words.
    Seen(String),
}

fn find(faults: &[Fault], unnamed_at_most: usize) {
    let (mut unseen, mut unnamed) = (Vec::new(), Vec::new());
    for outcome in faults.iter().filter_map(unnamed_by) {
        match outcome {
            Unnamed::Unseen(text) => unseen.push(text),
            Unnamed::Seen(text) => unnamed.push(text),
        }
    }
    assert!(unseen.is_empty(), "no flow failed: {unseen:#?}");
    assert!(
        unnamed.len() <= unnamed_at_most,
        "{} of {} faults were not named: {unnamed:#?}",
        unnamed.len(),
        faults.len()
    );
}

/// Puts a fault into a copy of its sample, and returns what became of it unless a flow names it.
fn unnamed_by(fault: &Fault) -> Option<Unnamed> {
    let mut samples = Samples::copied();
    samples.timeout = Duration::from_secs(4);
    let file = samples.root().join(fault.file);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        text.matches(fault.from).count(),
        1,
        "{}: {} is not there once",
        fault.name,
        fault.from
    );
    std::fs::write(&file, text.replace(fault.from, fault.to)).unwrap();

    let flows: Vec<&str> = FLOWS
        .into_iter()
        .filter(|flow| flow.starts_with(fault.sample))
        .collect();
    let report = samples.run(&flows);
    let sentences: Vec<String> = report
        .flows
        .iter()
        .map(sentence)
        .filter(|text| !text.is_empty())
        .collect();
    let named = sentences
        .iter()
        .any(|text| fault.says.iter().all(|word| text.contains(word)));
    let text = format!("{}: {:?} is not in {sentences:#?}", fault.name, fault.says);
    match (sentences.is_empty(), named) {
        (_, true) => None,
        (true, false) => Some(Unnamed::Unseen(text)),
        (false, false) => Some(Unnamed::Seen(text)),
    }
}
