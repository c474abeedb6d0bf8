//! Flow files that are right: every action, check and form of a target, with what is read from it.

use std::{path::Path, time::Duration};

use ralph_qa::flow::{
    AccessibilityRules, Check, ColorScheme, CountRange, ElementState, Emulation, FixtureCommand,
    Flow, FlowSettings, FlowStepAction, LoadState, MouseButton, RequestPattern, Screenshot, Target,
    TargetKind, TreeLine, TypedText, Viewport, Wait, read_flow, read_step,
};

pub(crate) fn by(by: TargetKind) -> Target {
    Target {
        by,
        nth: None,
        within: None,
        exact: false,
    }
}

fn any(text: &str) -> Target {
    by(TargetKind::Any(text.into()))
}

fn role(role: &str, name: Option<&str>) -> Target {
    by(TargetKind::Role {
        role: role.into(),
        name: name.map(Into::into),
    })
}

fn text(text: &str) -> Target {
    by(TargetKind::Text(text.into()))
}

fn label(text: &str) -> Target {
    by(TargetKind::Label(text.into()))
}

fn css(selector: &str) -> Target {
    by(TargetKind::Css(selector.into()))
}

fn click(target: Target) -> FlowStepAction {
    FlowStepAction::Click {
        target,
        button: MouseButton::Left,
        double: false,
    }
}

fn typed(target: Target, text: &str) -> FlowStepAction {
    FlowStepAction::Type {
        target,
        text: TypedText::Plain(text.into()),
        append: false,
        press: None,
    }
}

fn press(key: &str) -> FlowStepAction {
    FlowStepAction::Press {
        key: key.into(),
        target: None,
    }
}

fn select(target: Target, options: &[&str]) -> FlowStepAction {
    FlowStepAction::Select {
        target,
        options: options.iter().map(|option| (*option).into()).collect(),
    }
}

fn upload(target: Target, files: &[&str]) -> FlowStepAction {
    FlowStepAction::Upload {
        target,
        files: files.iter().map(Into::into).collect(),
    }
}

fn navigate(url: &str, until: LoadState) -> FlowStepAction {
    FlowStepAction::Navigate {
        url: url.into(),
        until,
    }
}

fn wait(wait: Wait) -> FlowStepAction {
    FlowStepAction::Wait(wait)
}

fn verify<const N: usize>(checks: [Check; N]) -> FlowStepAction {
    FlowStepAction::Verify(checks.into())
}

fn picture(name: &str) -> Screenshot {
    Screenshot {
        name: name.into(),
        of: None,
        full: false,
        mask: Vec::new(),
        threshold: None,
    }
}

fn count(target: Target, least: usize, most: Option<usize>) -> Check {
    Check::Count {
        target,
        range: CountRange { least, most },
    }
}

fn state(target: Target, state: ElementState) -> Check {
    Check::State { target, state }
}

fn request(url: &str) -> RequestPattern {
    RequestPattern {
        url: url.into(),
        method: None,
        status: None,
        count: None,
    }
}

fn line(depth: usize, role: &str, name: Option<&str>) -> TreeLine {
    TreeLine {
        depth,
        role: role.into(),
        name: name.map(Into::into),
    }
}

/// A step as it is written, as it is shown, and as it is performed.
pub(crate) type GoodStep = (&'static str, &'static str, FlowStepAction);

/// Every action in all its forms.
fn actions() -> Vec<GoodStep> {
    let size = |width, height, mobile| Viewport {
        width,
        height,
        mobile,
    };
    let motion = Emulation {
        reduced_motion: Some(true),
        ..Emulation::default()
    };
    vec![
        ("navigate: /", "navigate /", navigate("/", LoadState::Load)),
        (
            "navigate: '?page=2'",
            "navigate ?page=2",
            navigate("?page=2", LoadState::Load),
        ),
        (
            "navigate: {url: /path, until: idle}",
            "navigate /path until no request is under way",
            navigate("/path", LoadState::Idle),
        ),
        (
            "navigate: {url: 'http://localhost:3000/x', until: dom}",
            "navigate http://localhost:3000/x until its document is read",
            navigate("http://localhost:3000/x", LoadState::Dom),
        ),
        (
            "navigate: https://ada:lovelace@example.com/x",
            "navigate https://…@example.com/x",
            navigate("https://ada:lovelace@example.com/x", LoadState::Load),
        ),
        ("click: Sign in", "click \"Sign in\"", click(any("Sign in"))),
        ("click: 42", "click \"42\"", click(any("42"))),
        ("click: yes", "click \"yes\"", click(any("yes"))),
        (
            "click: {role: button, name: Delete, button: right}",
            "click with the right button on button \"Delete\"",
            FlowStepAction::Click {
                target: role("button", Some("Delete")),
                button: MouseButton::Right,
                double: false,
            },
        ),
        (
            "click: {text: Row, double: true}",
            "click twice on text \"Row\"",
            FlowStepAction::Click {
                target: text("Row"),
                button: MouseButton::Left,
                double: true,
            },
        ),
        (
            "click: {text: Row, button: middle, double: false}",
            "click with the middle button on text \"Row\"",
            FlowStepAction::Click {
                target: text("Row"),
                button: MouseButton::Middle,
                double: false,
            },
        ),
        (
            "type: {label: Name, text: Ada}",
            "type \"Ada\" into label \"Name\"",
            typed(label("Name"), "Ada"),
        ),
        (
            "type: {label: Age, text: 42}",
            "type \"42\" into label \"Age\"",
            typed(label("Age"), "42"),
        ),
        (
            "type: {label: Name, text: ''}",
            "type \"\" into label \"Name\"",
            typed(label("Name"), ""),
        ),
        (
            "type: {any: Name, text: Ada}",
            "type \"Ada\" into \"Name\"",
            typed(any("Name"), "Ada"),
        ),
        (
            "type: {role: searchbox, text: ralph, append: true, press: enter}",
            "type \"ralph\" at the end of searchbox, then press Enter",
            FlowStepAction::Type {
                target: role("searchbox", None),
                text: TypedText::Plain("ralph".into()),
                append: true,
                press: Some("Enter".into()),
            },
        ),
        (
            "type: {label: Password, secret: TEST_PASSWORD}",
            "type the value of TEST_PASSWORD into label \"Password\"",
            FlowStepAction::Type {
                target: label("Password"),
                text: TypedText::SecretVariable("TEST_PASSWORD".into()),
                append: false,
                press: None,
            },
        ),
        (
            "type: {label: Password, text: hunter2}",
            "type a hidden text into label \"Password\"",
            typed(label("Password"), "hunter2"),
        ),
        ("press: Enter", "press Enter", press("Enter")),
        (
            "press: ctrl+shift+a",
            "press Control+Shift+a",
            press("Control+Shift+a"),
        ),
        ("press: 1", "press 1", press("1")),
        ("press: +", "press +", press("+")),
        ("press: {key: Esc}", "press Escape", press("Escape")),
        (
            "press: {key: Control+A, label: Name}",
            "press Control+A in label \"Name\"",
            FlowStepAction::Press {
                key: "Control+A".into(),
                target: Some(label("Name")),
            },
        ),
        (
            "select: {label: Size, option: Large}",
            "select \"Large\" in label \"Size\"",
            select(label("Size"), &["Large"]),
        ),
        (
            "select: {label: Size, options: [1, b]}",
            "select \"1\", \"b\" in label \"Size\"",
            select(label("Size"), &["1", "b"]),
        ),
        (
            "hover: {role: button, name: More}",
            "hover button \"More\"",
            FlowStepAction::Hover {
                target: role("button", Some("More")),
            },
        ),
        (
            "upload: {label: File, file: a.png}",
            "upload a.png to label \"File\"",
            upload(label("File"), &["a.png"]),
        ),
        (
            "upload: {css: 'input[type=file]', files: [a.png, b.png]}",
            "upload a.png, b.png to css \"input[type=file]\"",
            upload(css("input[type=file]"), &["a.png", "b.png"]),
        ),
        (
            "wait: 500ms",
            "wait 500ms",
            wait(Wait::Time(Duration::from_millis(500))),
        ),
        (
            "wait: 2m",
            "wait 120s",
            wait(Wait::Time(Duration::from_secs(120))),
        ),
        (
            "wait: idle",
            "wait until no request is under way",
            wait(Wait::Idle),
        ),
        (
            "wait: {gone: Loading}",
            "wait until \"Loading\" is gone",
            wait(Wait::Gone(any("Loading"))),
        ),
        (
            "wait: {text: Hello}",
            "wait for text \"Hello\"",
            wait(Wait::Until(vec![Check::Text("Hello".into())])),
        ),
        (
            "wait: [{text: Hello}, {url: /home}]",
            "wait for text \"Hello\", address /home",
            wait(Wait::Until(vec![
                Check::Text("Hello".into()),
                Check::Url("/home".into()),
            ])),
        ),
        (
            "resize: mobile",
            "resize to 390x844",
            FlowStepAction::Resize(Viewport::MOBILE),
        ),
        (
            "resize: 800x600",
            "resize to 800x600",
            FlowStepAction::Resize(size(800, 600, false)),
        ),
        (
            "resize: {width: 400, height: 800, mobile: true}",
            "resize to 400x800",
            FlowStepAction::Resize(size(400, 800, true)),
        ),
        (
            "emulate: {scheme: dark}",
            "emulate a dark scheme",
            FlowStepAction::Emulate(Emulation {
                scheme: Some(ColorScheme::Dark),
                ..Emulation::default()
            }),
        ),
        (
            "emulate: {device: tablet, offline: false}",
            "emulate a mobile device of 820x1180, a network",
            FlowStepAction::Emulate(Emulation {
                device: Some(Viewport::TABLET),
                offline: Some(false),
                ..Emulation::default()
            }),
        ),
        (
            "emulate: {reduced_motion: true}",
            "emulate reduced motion",
            FlowStepAction::Emulate(motion),
        ),
        (
            "screenshot: home",
            "screenshot home",
            FlowStepAction::Screenshot(picture("home")),
        ),
        (
            "screenshot: Über uns 2.0",
            "screenshot Über uns 2.0",
            FlowStepAction::Screenshot(picture("Über uns 2.0")),
        ),
        (
            "screenshot: {name: menu, of: {role: navigation}, mask: Clock, threshold: 0.01}",
            "screenshot menu of navigation",
            FlowStepAction::Screenshot(Screenshot {
                of: Some(role("navigation", None)),
                mask: vec![any("Clock")],
                threshold: Some(0.01),
                ..picture("menu")
            }),
        ),
        (
            "screenshot: {name: all, full: true, mask: [{css: time}, {testid: ad}], threshold: 0}",
            "screenshot all of the whole page",
            FlowStepAction::Screenshot(Screenshot {
                full: true,
                mask: vec![css("time"), by(TargetKind::TestId("ad".into()))],
                threshold: Some(0.0),
                ..picture("all")
            }),
        ),
        (
            "fixture: ./seed.sh --small",
            "fixture ./seed.sh --small",
            FlowStepAction::Fixture(FixtureCommand::Shell("./seed.sh --small".into())),
        ),
        (
            "fixture: [./seed.sh, 3, '']",
            "fixture ./seed.sh 3",
            FlowStepAction::Fixture(FixtureCommand::Argv(vec![
                "./seed.sh".into(),
                "3".into(),
                String::new(),
            ])),
        ),
    ]
}

/// Every form of a target.
fn targets() -> Vec<GoodStep> {
    vec![
        ("click: {any: Save}", "click \"Save\"", click(any("Save"))),
        (
            "click: {role: button}",
            "click button",
            click(role("button", None)),
        ),
        (
            "click: {role: image, name: Cat}",
            "click img \"Cat\"",
            click(role("img", Some("Cat"))),
        ),
        (
            "click: {text: Save}",
            "click text \"Save\"",
            click(text("Save")),
        ),
        (
            "click: {label: Name}",
            "click label \"Name\"",
            click(label("Name")),
        ),
        (
            "click: {placeholder: Search}",
            "click placeholder \"Search\"",
            click(by(TargetKind::Placeholder("Search".into()))),
        ),
        (
            "click: {testid: save}",
            "click test id \"save\"",
            click(by(TargetKind::TestId("save".into()))),
        ),
        (
            "click: {css: '#save > a'}",
            "click css \"#save > a\"",
            click(css("#save > a")),
        ),
        (
            "click: {text: Save, nth: 2, exact: true}",
            "click text \"Save\" (number 2)",
            click(Target {
                nth: Some(2),
                exact: true,
                ..text("Save")
            }),
        ),
        (
            "click: {role: button, name: Delete, exact: true, within: {role: row, name: Ada, within: Users}}",
            "click button \"Delete\" within row \"Ada\" within \"Users\"",
            click(Target {
                exact: true,
                within: Some(Box::new(Target {
                    within: Some(Box::new(any("Users"))),
                    ..role("row", Some("Ada"))
                })),
                ..role("button", Some("Delete"))
            }),
        ),
        (
            "click: {<<: {role: button, name: Save}, nth: 1}",
            "click button \"Save\" (number 1)",
            click(Target {
                nth: Some(1),
                ..role("button", Some("Save"))
            }),
        ),
    ]
}

/// Every check in all its forms.
fn checks() -> Vec<GoodStep> {
    let text_check = |text: &str| Check::Text(text.into());
    vec![
        (
            "verify: {text: Hello Ada}",
            "verify text \"Hello Ada\"",
            verify([text_check("Hello Ada")]),
        ),
        (
            "verify: {text: 404}",
            "verify text \"404\"",
            verify([text_check("404")]),
        ),
        (
            "verify: {text: [Hello, Ada], no_text: Error}",
            "verify text \"Hello\", text \"Ada\", no text \"Error\"",
            verify([
                text_check("Hello"),
                text_check("Ada"),
                Check::NoText("Error".into()),
            ]),
        ),
        (
            "verify: [{text: Hello}, {text: Ada}]",
            "verify text \"Hello\", text \"Ada\"",
            verify([text_check("Hello"), text_check("Ada")]),
        ),
        (
            "verify: {element: Save, no_element: {role: alert}}",
            "verify \"Save\", no alert",
            verify([
                Check::Element(any("Save")),
                Check::NoElement(role("alert", None)),
            ]),
        ),
        (
            "verify: {element: [Save, {text: Cancel}]}",
            "verify \"Save\", text \"Cancel\"",
            verify([Check::Element(any("Save")), Check::Element(text("Cancel"))]),
        ),
        (
            "verify: {count: {role: listitem, is: 3}}",
            "verify 3 of listitem",
            verify([count(role("listitem", None), 3, Some(3))]),
        ),
        (
            "verify: {count: {role: listitem, least: 1}}",
            "verify at least 1 of listitem",
            verify([count(role("listitem", None), 1, None)]),
        ),
        (
            "verify: {count: [{css: li, most: 5}, {css: p, least: 1, most: 2}]}",
            "verify at most 5 of css \"li\", 1 to 2 of css \"p\"",
            verify([count(css("li"), 0, Some(5)), count(css("p"), 1, Some(2))]),
        ),
        (
            "verify: {url: /home?x=1}",
            "verify address /home?x=1",
            verify([Check::Url("/home?x=1".into())]),
        ),
        (
            "verify: {url: '*/home'}",
            "verify address */home",
            verify([Check::Url("*/home".into())]),
        ),
        (
            "verify: {title: 'Home*'}",
            "verify title \"Home*\"",
            verify([Check::Title("Home*".into())]),
        ),
        (
            "verify: {value: {label: Name, is: ''}}",
            "verify label \"Name\" has the value \"\"",
            verify([Check::Value {
                target: label("Name"),
                is: String::new(),
            }]),
        ),
        (
            "verify: {value: {label: Password, is: hunter2}}",
            "verify label \"Password\" has a hidden value",
            verify([Check::Value {
                target: label("Password"),
                is: "hunter2".into(),
            }]),
        ),
        (
            "verify: {checked: Terms, unchecked: News, enabled: Save, disabled: [Undo, Redo], focused: {label: Name}}",
            "verify \"Terms\" is checked, \"News\" is unchecked, \"Save\" is enabled, \"Undo\" is disabled, \"Redo\" is disabled, label \"Name\" is focused",
            verify([
                state(any("Terms"), ElementState::Checked),
                state(any("News"), ElementState::Unchecked),
                state(any("Save"), ElementState::Enabled),
                state(any("Undo"), ElementState::Disabled),
                state(any("Redo"), ElementState::Disabled),
                state(label("Name"), ElementState::Focused),
            ]),
        ),
        (
            "verify: {attribute: {role: link, name: Home, attribute: href, is: /}}",
            "verify attribute href of link \"Home\" is \"/\"",
            verify([Check::Attribute {
                target: role("link", Some("Home")),
                name: "href".into(),
                is: "/".into(),
            }]),
        ),
        (
            "verify: {style: {css: h1, property: background-color, is: red}}",
            "verify background-color of css \"h1\" is red",
            verify([Check::Style {
                target: css("h1"),
                name: "background-color".into(),
                is: "red".into(),
            }]),
        ),
        (
            "verify: {style: {css: h1, property: --Accent, is: 1}}",
            "verify --Accent of css \"h1\" is 1",
            verify([Check::Style {
                target: css("h1"),
                name: "--Accent".into(),
                is: "1".into(),
            }]),
        ),
        (
            "verify:\n  tree: |\n    main\n      heading \"Hello \\\"Ada\\\"\"\n      list\n        listitem \"One\"\n    contentinfo",
            "verify tree with main and 4 more",
            verify([Check::Tree(vec![
                line(0, "main", None),
                line(1, "heading", Some("Hello \"Ada\"")),
                line(1, "list", None),
                line(2, "listitem", Some("One")),
                line(0, "contentinfo", None),
            ])]),
        ),
        (
            "verify: {tree: ['main', '  button \"Save\"']}",
            "verify tree with main and 1 more",
            verify([Check::Tree(vec![
                line(0, "main", None),
                line(1, "button", Some("Save")),
            ])]),
        ),
        (
            "verify: {tree: 'button \"Save\"'}",
            "verify tree with button \"Save\"",
            verify([Check::Tree(vec![line(0, "button", Some("Save"))])]),
        ),
        (
            "verify: {no_console_errors: true, no_failed_requests: true}",
            "verify no errors in the console, no failed requests",
            verify([
                Check::NoConsoleErrors { except: vec![] },
                Check::NoFailedRequests { except: vec![] },
            ]),
        ),
        (
            "verify: {no_console_errors: {except: favicon}, no_failed_requests: {except: [/a, /b]}}",
            "verify no errors in the console but \"favicon\", no failed requests but \"/a\", \"/b\"",
            verify([
                Check::NoConsoleErrors {
                    except: vec!["favicon".into()],
                },
                Check::NoFailedRequests {
                    except: vec!["/a".into(), "/b".into()],
                },
            ]),
        ),
        (
            "verify: {network: /api/items}",
            "verify request /api/items",
            verify([Check::Network(request("/api/items"))]),
        ),
        (
            "verify: {network: {url: '/api/*', method: post, status: 201, count: 1}}",
            "verify request POST /api/* with status 201, once",
            verify([Check::Network(RequestPattern {
                method: Some("POST".into()),
                status: Some(201),
                count: Some(1),
                ..request("/api/*")
            })]),
        ),
        (
            "verify: {network: [/a, {url: /b, count: 2}]}",
            "verify request /a, request /b, 2 times",
            verify([
                Check::Network(request("/a")),
                Check::Network(RequestPattern {
                    count: Some(2),
                    ..request("/b")
                }),
            ]),
        ),
        (
            "verify: {no_broken_links: true, no_broken_images: true, no_overlap: {css: .card}}",
            "verify no broken links, no broken images, nothing overlaps css \".card\"",
            verify([
                Check::NoBrokenLinks,
                Check::NoBrokenImages,
                Check::NoOverlap(css(".card")),
            ]),
        ),
        (
            "verify: {accessible: true}",
            "verify accessible names and contrast",
            verify([Check::Accessible(AccessibilityRules {
                names: true,
                contrast: true,
                except: vec![],
            })]),
        ),
        (
            "verify: {accessible: {contrast: false, except: .logo}}",
            "verify accessible names but \".logo\"",
            verify([Check::Accessible(AccessibilityRules {
                names: true,
                contrast: false,
                except: vec![".logo".into()],
            })]),
        ),
    ]
}

/// All steps that are right.
pub(crate) fn steps() -> Vec<GoodStep> {
    let all = actions().into_iter().chain(targets()).chain(checks());
    all.collect()
}

/// Every key of a flow.
pub(crate) const WHOLE_FLOW: &str = "\
# A comment above.
name: greet
description: |
  Says hello.
url: http://localhost:3000
hosts: [cdn.example.com, '*.example.org']
viewport: desktop
emulate: {scheme: dark, reduced_motion: true, device: mobile, offline: false}
time: 2026-01-01T12:00:00Z
random: 42
timeout: 10s
alone: true
steps:
  - navigate: /
    note: the front page
    timeout: 30s

  # A comment between.
  - type: {label: Name, text: Ada}
  -
    click: Greet
  - {verify: {text: Hello Ada}}
";

fn read(text: &str) -> Flow {
    read_flow(text, Path::new("flows/hello.yaml")).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn every_step_is_read_and_shown() {
    let steps = steps();
    assert!(steps.len() >= 60, "{}", steps.len());
    for (written, shown, action) in steps {
        let step = read_step(written).unwrap_or_else(|mistakes| panic!("{written}: {mistakes:?}"));
        assert_eq!(step.action, action, "{written}");
        assert_eq!(step.shown, shown, "{written}");
        assert!(written.starts_with(step.action.word()), "{written}");
    }
}

#[test]
fn every_key_of_a_flow_is_read() {
    let flow = read(WHOLE_FLOW);
    assert_eq!(flow.name, "greet");
    assert_eq!(flow.description.as_deref(), Some("Says hello."));
    assert_eq!(flow.file, Path::new("flows/hello.yaml"));
    assert_eq!(
        flow.settings,
        FlowSettings {
            url: Some("http://localhost:3000".into()),
            hosts: vec!["cdn.example.com".into(), "*.example.org".into()],
            viewport: Some(Viewport::DESKTOP),
            emulate: Emulation {
                scheme: Some(ColorScheme::Dark),
                reduced_motion: Some(true),
                device: Some(Viewport::MOBILE),
                offline: Some(false),
            },
            time: Some("2026-01-01T12:00:00Z".parse().unwrap()),
            random: Some(42),
            timeout: Some(Duration::from_secs(10)),
            alone: true,
        }
    );
    let first = &flow.steps[0];
    assert_eq!(first.note.as_deref(), Some("the front page"));
    assert_eq!(first.timeout, Some(Duration::from_secs(30)));
    assert_eq!(flow.steps[1].note, None);
}

#[test]
fn a_flow_has_the_name_of_its_file_and_needs_nothing_but_steps() {
    let flow = read("steps:\n- navigate: /\n");
    assert_eq!(flow.name, "hello");
    assert_eq!(flow.description, None);
    assert_eq!(flow.settings, FlowSettings::default());
}

#[test]
fn steps_know_their_lines() {
    let lines = |text: &str| -> Vec<usize> { read(text).steps.iter().map(|s| s.line).collect() };
    assert_eq!(lines(WHOLE_FLOW), [14, 19, 21, 22]);
    // Newlines of Windows, a byte-order mark, and a document marker.
    assert_eq!(
        lines("\u{feff}---\r\nsteps:\r\n- click: a\r\n\r\n- click: b\r\n"),
        [3, 5]
    );
    assert_eq!(lines("steps: [click: a,\n  {click: b}]\n"), [1, 2]);
    // A step that an alias repeats is where the alias is.
    assert_eq!(
        lines("steps:\n- &a {click: a}\n- hover: b\n- *a\n- <<: *a\n"),
        [2, 3, 4, 5]
    );
}

#[test]
fn a_block_of_text_has_no_newline_at_its_end() {
    let flow = read("steps:\n- verify:\n    text: |\n      Hello\n      Ada\n");
    let text = Check::Text("Hello\nAda".into());
    assert_eq!(flow.steps[0].action, FlowStepAction::Verify(vec![text]));
    assert_eq!(flow.steps[0].shown, "verify text \"Hello Ada\"");
}

#[test]
fn what_is_shown_is_short_and_on_one_line() {
    let long = "x".repeat(5000);
    let step = read_step(&format!("click: \"a\\nb\\e[31m{long}\"")).unwrap();
    assert!(step.shown.chars().count() <= 200, "{}", step.shown);
    assert!(!step.shown.contains(char::is_control), "{}", step.shown);
}

#[test]
fn the_flows_of_the_documentation_are_right() {
    let document = include_str!("../../../../docs/qa.md");
    let blocks: Vec<&str> = document
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("```")?.0))
        .filter(|block| block.contains("steps:"))
        .collect();
    assert!(blocks.len() >= 3, "{}", blocks.len());
    for block in blocks {
        read(block);
    }
}
