//! The acts of a user, each seen from the page.

use std::path::PathBuf;

use ralph_qa::{
    flow::{Check, FlowStepAction, MouseButton, Screenshot, Target, TypedText, Viewport, Wait},
    result::FailureKind,
};

use super::{STEP, act, any, browse, css, fails, label, open, sees, site::Site, verify};

pub(crate) fn click(target: Target) -> FlowStepAction {
    FlowStepAction::Click {
        target,
        button: MouseButton::Left,
        double: false,
    }
}

pub(crate) fn type_into(target: Target, text: &str) -> FlowStepAction {
    FlowStepAction::Type {
        target,
        text: TypedText::Plain(text.to_owned()),
        append: false,
        press: None,
    }
}

fn text(text: &str) -> FlowStepAction {
    verify(Check::Text(text.to_owned()))
}

fn press(key: &str) -> FlowStepAction {
    FlowStepAction::Press {
        key: key.to_owned(),
        target: None,
    }
}

fn value(target: Target, is: &str) -> FlowStepAction {
    verify(Check::Value {
        target,
        is: is.to_owned(),
    })
}

#[tokio::test]
async fn a_form_is_filled_in_and_its_page_pictured() {
    let site = Site::one(
        "<label>Name <input id=name></label>
         <button onclick=\"out.textContent = 'Hello ' + document.getElementById('name').value\">Greet</button>
         <p id=out></p>",
    );
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        let picture = FlowStepAction::Screenshot(Screenshot {
            name: "home".into(),
            of: None,
            full: false,
            mask: vec![css("#out")],
            threshold: None,
        });
        let mut taken = None;
        for action in [
            type_into(label("Name"), "Ada Lovelace ü"),
            click(any("Greet")),
            text("Hello Ada Lovelace ü"),
            picture,
        ] {
            let done = page.perform(&action, STEP).await.unwrap();
            taken = done.picture.or(taken);
        }
        let taken = taken.unwrap();
        let size = image::load_from_memory(&taken.png).unwrap();
        assert_eq!((size.width(), size.height()), (1280, 720));
        assert_eq!(taken.masks.len(), 1);
        assert_eq!(taken.title, "Test");
        let failure = page
            .perform(
                &click(any("Greeting")),
                std::time::Duration::from_millis(300),
            )
            .await;
        let failure = failure.unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotFound);
        assert_eq!(failure.nearest[0], "button \"Greet\"");
        page.close().await;
    })
    .await;
}

#[tokio::test]
async fn keys_and_texts_arrive_as_a_user_types_them() {
    let site = Site::one(
        "<form onsubmit=\"out.textContent = 'sent ' + name.value; return false\">
         <label>Name <input id=name value=before></label><label>Text <textarea id=text></textarea></label>
         <label>Day <input type=date id=day></label></form>
         <div contenteditable role=textbox aria-label=Rich>rich</div><p id=out></p><p id=keys></p>
         <script>name.addEventListener('keydown', e => keys.textContent += (e.ctrlKey ? 'C-' : '') + e.key + ' ');
         const name_ = name;</script>"
            .replace("name.addEventListener", "document.getElementById('name').addEventListener")
            .replace("const name_ = name;", "")
            .as_str(),
    );
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        act(&page, type_into(label("Name"), "Ab ü€")).await;
        // Characters without a key of their own are put in.
        sees(&page, "A b").await;
        act(&page, value(label("Name"), "Ab ü€")).await;
        act(
            &page,
            FlowStepAction::Type {
                target: label("Name"),
                text: TypedText::Plain("!".into()),
                append: true,
                press: Some("Enter".into()),
            },
        )
        .await;
        sees(&page, "sent Ab ü€!").await;
        act(&page, press("Control+A")).await;
        act(&page, press("Delete")).await;
        act(&page, value(label("Name"), "")).await;
        act(&page, type_into(label("Text"), "one\ntwo")).await;
        act(&page, value(label("Text"), "one\ntwo")).await;
        act(&page, type_into(label("Text"), &"long ".repeat(200))).await;
        act(&page, value(label("Text"), &"long ".repeat(200))).await;
        act(&page, type_into(label("Day"), "2026-12-31")).await;
        act(&page, value(label("Day"), "2026-12-31")).await;
        let failure = fails(&page, type_into(label("Day"), "31.12.2026")).await;
        assert_eq!(failure.kind, FailureKind::NotActionable, "{failure:?}");
        act(&page, type_into(any("Rich"), "poor")).await;
        sees(&page, "poor").await;
        let failure = fails(&page, press("Entre")).await;
        assert_eq!(failure.actual, "there is no key \"Entre\"");
        let to = FlowStepAction::Press {
            key: "x".into(),
            target: Some(label("Name")),
        };
        act(&page, to).await;
        act(&page, value(label("Name"), "x")).await;
    })
    .await;
}

#[tokio::test]
async fn mice_choosers_and_files_do_as_they_are_told() {
    let site = Site::one(
        "<button onclick=\"say('click ' + event.detail)\" ondblclick=\"say('double')\"
           oncontextmenu=\"say('menu'); return false\" onauxclick=\"say('aux ' + event.button)\"
           onmouseenter=\"say('enter')\">Target</button>
         <label>Size <select onchange=\"say('size ' + this.value)\"><option value=s>Small<option value=l>Large</select></label>
         <label>File <input type=file multiple onchange=\"say([...this.files].map(f => f.name + ':' + f.size))\"></label>
         <p id=out></p><script>function say(text) { out.textContent += text + '. ' }</script>",
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "four").unwrap();
    let file = folder.path().join("a.txt");
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        let with = |button, double| FlowStepAction::Click {
            target: any("Target"),
            button,
            double,
        };
        act(
            &page,
            FlowStepAction::Hover {
                target: any("Target"),
            },
        )
        .await;
        sees(&page, "enter.").await;
        act(&page, with(MouseButton::Left, false)).await;
        sees(&page, "click 1.").await;
        act(&page, with(MouseButton::Left, true)).await;
        sees(&page, "click 2. double.").await;
        act(&page, with(MouseButton::Right, false)).await;
        sees(&page, "menu.").await;
        act(&page, with(MouseButton::Middle, false)).await;
        sees(&page, "aux 1.").await;
        let select = |option: &str| FlowStepAction::Select {
            target: label("Size"),
            options: vec![option.to_owned()],
        };
        act(&page, select("Large")).await;
        sees(&page, "size l.").await;
        let failure = fails(&page, select("Huge")).await;
        assert_eq!(failure.kind, FailureKind::NotFound);
        assert_eq!(failure.nearest, ["Small", "Large"]);
        let upload = |file: PathBuf| FlowStepAction::Upload {
            target: label("File"),
            files: vec![file],
        };
        act(&page, upload(file.clone())).await;
        sees(&page, "a.txt:4.").await;
        let failure = fails(&page, upload("no-such-file".into())).await;
        assert!(
            failure.expected.ends_with("no-such-file is a file"),
            "{failure:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn an_act_waits_for_its_element_and_tells_why_it_could_not_be() {
    let site = Site::one(
        "<button disabled id=late>Late</button><button>Twin</button><button>Twin</button><button>Under</button>
         <p id=out></p><div id=over style='position: fixed; inset: 0; display: none'>cover</div>
         <script>late.onclick = () => out.textContent = 'in time';
         setTimeout(() => late.disabled = false, 400);</script>",
    );
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        act(&page, click(any("Late"))).await;
        sees(&page, "in time").await;
        let failure = fails(&page, click(any("Twin"))).await;
        assert_eq!(failure.kind, FailureKind::Ambiguous);
        assert_eq!(failure.expected, "one element is \"Twin\"");
        assert!(failure.actual.starts_with("2 are"), "{failure:?}");
        let second = Target {
            nth: Some(2),
            ..any("Twin")
        };
        act(&page, click(second)).await;
        let gone = FlowStepAction::Wait(Wait::Gone(any("No such thing")));
        act(&page, gone).await;
        let failure = fails(&page, FlowStepAction::Wait(Wait::Gone(any("Under")))).await;
        assert_eq!(failure.kind, FailureKind::Expectation);
    })
    .await;
}

#[tokio::test]
async fn pictures_show_the_part_that_is_asked_for() {
    let site = Site::one(
        "<style>body { margin: 0 } #box { width: 100px; height: 50px; margin: 900px 0 0 20px; background: red;
           animation: move 2s infinite } @keyframes move { to { background: blue } }
         #end { height: 1000px; width: 10px }</style><div id=box></div><div id=end></div>",
    );
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        let shot = |of: Option<Target>, full| {
            FlowStepAction::Screenshot(Screenshot {
                name: "x".into(),
                of,
                full,
                mask: vec![css("#box")],
                threshold: None,
            })
        };
        let take = async |action: FlowStepAction| {
            let taken = page.perform(&action, STEP).await.unwrap().picture.unwrap();
            let picture = image::load_from_memory(&taken.png).unwrap().to_rgb8();
            (picture, taken)
        };
        let (picture, _) = take(shot(Some(css("#box")), false)).await;
        assert_eq!(picture.dimensions(), (100, 50));
        assert_eq!(picture.get_pixel(50, 25).0, [255, 0, 0]);
        let (picture, taken) = take(shot(None, true)).await;
        assert_eq!(picture.dimensions(), (1280, 1950));
        let mask = taken.masks[0];
        assert_eq!(
            (mask.x, mask.y, mask.width, mask.height),
            (20, 900, 100, 50)
        );
        let (_, again) = take(shot(None, true)).await;
        assert!(taken.png == again.png);
        act(&page, FlowStepAction::Resize(Viewport::MOBILE)).await;
        let (picture, _) = take(shot(None, false)).await;
        assert_eq!(picture.dimensions(), (390, 844));
    })
    .await;
}
