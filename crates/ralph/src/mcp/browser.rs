//! The tools of a browser, with `--qa`: those of `ralph qa open` and the commands after it, in a browser that the server
//! keeps and that ends with it.
//!
//! They change nothing of ralph's, and are there inside a run too: an agent looks at its own work.

use ralph_engine::mcp::{
    ArgumentKind, CheckedArguments, ToolArgument, ToolDefinition, ToolEffect, ToolPicture,
    ToolReply,
};
use ralph_qa::{
    flow::ColorScheme,
    session::{
        OpenRequest, SessionAnswers as _, SessionRequest, ShotRequest, WordsMistake, check_of_text,
        step_text, target_of_text, wait_of_text,
    },
};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::{WORD, failed, optional, required};
use crate::{
    cli::Global,
    commands::qa::session::{SessionOwner, ShownReply, shown_reply},
    error::CommandError,
    project::Project,
};

/// A target, a check or an address.
const LINE: ArgumentKind = ArgumentKind::Text { most: 2_000 };
/// The text that is typed.
const TYPED: ArgumentKind = ArgumentKind::Text { most: 20_000 };
/// Checks of one call.
const LINES: ArgumentKind = ArgumentKind::Texts {
    most: 20,
    most_text: 4_000,
};
/// A picture with more characters of Base64 is told by its path alone.
const MOST_PICTURE_CHARS: usize = 4 * 1024 * 1024;

const TARGET: ToolArgument = required("target", LINE, ABOUT_TARGET);
const ABOUT_TARGET: &str = "What is meant: the text that is seen (`Sign in`), pairs (`role=button name=Sign in`, \
    `label=Name`, `css=.total`, with `nth=2` or `within=…`), or a map (`{role: button, name: Sign in}`).";

/// All of them, in the order in which they are listed.
pub(super) const TOOLS: [ToolDefinition; 10] = [
    ToolDefinition {
        name: "qa_open",
        title: "Open a page",
        description: "Opens a page in a browser that stays open for the calls after it, and returns it as text. The \
            application under test is started if the project says how. Only this machine and hosts that the project \
            lists can be reached. The same as `ralph qa open`.",
        effect: ToolEffect::Reads,
        arguments: &[
            optional(
                "url",
                LINE,
                "A path of the application (`/cart`), or an address (`http://localhost:3000`); `/` if left out.",
            ),
            optional(
                "viewport",
                WORD,
                "The size: `desktop`, `tablet`, `mobile`, or such as `1280x720`.",
            ),
            optional(
                "scheme",
                ArgumentKind::Choice(&["light", "dark"]),
                "The color scheme that the page is told.",
            ),
        ],
    },
    ToolDefinition {
        name: "qa_click",
        title: "Click",
        description: "Clicks something on the page, once it is there and can be clicked. The same as `ralph qa click`.",
        effect: ToolEffect::Adds,
        arguments: &[
            TARGET,
            optional("double", ArgumentKind::Flag, "Click twice."),
        ],
    },
    ToolDefinition {
        name: "qa_type",
        title: "Type a text",
        description: "Types a text into a field, in the place of what is there. The same as `ralph qa type`.",
        effect: ToolEffect::Adds,
        arguments: &[
            required("target", LINE, "The field, written as for `qa_click`."),
            required("text", TYPED, "What is typed."),
            optional("append", ArgumentKind::Flag, "Keep what is there."),
            optional(
                "press",
                WORD,
                "A key that is pressed afterwards, such as `Enter`.",
            ),
        ],
    },
    ToolDefinition {
        name: "qa_press",
        title: "Press a key",
        description: "Presses a key, in what has the focus or in a target. The same as `ralph qa press`.",
        effect: ToolEffect::Adds,
        arguments: &[
            required("key", WORD, "`Enter`, `a`, `Control+A`."),
            optional("target", LINE, "What gets it, written as for `qa_click`."),
        ],
    },
    ToolDefinition {
        name: "qa_select",
        title: "Choose an option",
        description: "Chooses an option of a field by its text or its value. The same as `ralph qa select`.",
        effect: ToolEffect::Adds,
        arguments: &[
            required("target", LINE, "The field, written as for `qa_click`."),
            required("option", LINE, "The option."),
        ],
    },
    ToolDefinition {
        name: "qa_look",
        title: "Look at the page",
        description: "Returns the page as text: roles, names, values and states, indented by what is in what, and the \
            errors in the console and the requests that failed since the last look. The same as `ralph qa look --json`.",
        effect: ToolEffect::Reads,
        arguments: &[],
    },
    ToolDefinition {
        name: "qa_shot",
        title: "Take a picture of the page",
        description: "Returns a picture of the page, and writes it to a file that git ignores. The same as `ralph qa \
            shot`.",
        effect: ToolEffect::Reads,
        arguments: &[
            optional("name", WORD, "The name of the file; a number if left out."),
            optional(
                "full",
                ArgumentKind::Flag,
                "The whole page, and not only the part in view.",
            ),
            optional("of", LINE, "Only this element, written as for `qa_click`."),
        ],
    },
    ToolDefinition {
        name: "qa_verify",
        title: "Check the page",
        description: "Checks what is on the page, and waits for it for a while. What does not hold is an error that \
            says what is there instead. The same as `ralph qa verify`.",
        effect: ToolEffect::Reads,
        arguments: &[required(
            "checks",
            LINES,
            "Each a text that must be seen, or a check as in a flow: `element: {role: alert}`, `count: {role: listitem, \
             is: 3}`, `url: /done`, `no_console_errors: true`, `accessible: true`.",
        )],
    },
    ToolDefinition {
        name: "qa_wait",
        title: "Wait for something",
        description: "Waits for something on the page. The same as `ralph qa wait`.",
        effect: ToolEffect::Reads,
        arguments: &[required(
            "for",
            LINE,
            "A time (`500ms`), `idle` (no request is under way), `{gone: target}`, or a check: `{text: Saved}`.",
        )],
    },
    ToolDefinition {
        name: "qa_close",
        title: "Close the browser",
        description: "Ends the browser and the application. They end with the server too.",
        effect: ToolEffect::Reads,
        arguments: &[],
    },
];

/// The browser of a server.
pub(super) struct BrowserTools {
    owner: Mutex<SessionOwner>,
}

impl BrowserTools {
    pub(super) fn new(global: &Global, is_inside: bool) -> Self {
        Self {
            owner: Mutex::new(SessionOwner::new(global, is_inside)),
        }
    }

    /// Ends the browser, if there is one.
    pub(super) async fn close(&self) {
        self.owner.lock().await.close().await;
    }

    pub(super) async fn call(
        &self,
        name: &str,
        arguments: &CheckedArguments,
        project: &Project,
    ) -> ToolReply {
        let request = match request(name, arguments) {
            Ok(request) => request,
            Err(mistake) => return ToolReply::BadArguments(mistake.to_string()),
        };
        let reply = self.owner.lock().await.answer(request).await;
        let shown = shown_reply(reply, project.root(), arguments.text("name"));
        match shown.and_then(as_tool_reply) {
            Ok(reply) => reply,
            Err(error) => failed(&error),
        }
    }
}

fn as_tool_reply(shown: ShownReply) -> Result<ToolReply, CommandError> {
    Ok(match &shown {
        ShownReply::Failed(_) => ToolReply::Failed {
            message: shown.text().trim_end().to_owned(),
            hint: None,
        },
        ShownReply::Shot(shot) if shot.png.as_str().len() <= MOST_PICTURE_CHARS => {
            ToolReply::Picture(ToolPicture {
                about: serde_json::to_value(&shown)?,
                base64: shot.png.as_str().to_owned(),
                mime_type: "image/png",
            })
        }
        ShownReply::Done(_)
        | ShownReply::Looked(_)
        | ShownReply::Shot(_)
        | ShownReply::Closed(_) => ToolReply::Done(serde_json::to_value(&shown)?),
    })
}

fn request(name: &str, arguments: &CheckedArguments) -> Result<SessionRequest, WordsMistake> {
    let text = |name: &str| arguments.text(name).unwrap_or_default().to_owned();
    let target = || target_of_text(&text("target"));
    let step = match name {
        "qa_open" => {
            return Ok(SessionRequest::Open(OpenRequest {
                address: arguments.text("url").map(str::to_owned),
                viewport: arguments.text("viewport").map(str::to_owned),
                scheme: arguments.text("scheme").map(|scheme| match scheme {
                    "dark" => ColorScheme::Dark,
                    _ => ColorScheme::Light,
                }),
            }));
        }
        "qa_look" => return Ok(SessionRequest::Look),
        "qa_close" => return Ok(SessionRequest::Close),
        "qa_shot" => {
            let of = arguments.text("of").map(target_of_text).transpose()?;
            return Ok(SessionRequest::Shot(ShotRequest {
                full: arguments.flag("full"),
                of: of.map(|of| Value::from(of).to_string()),
            }));
        }
        "qa_click" => step_text("click", with_flag(target()?, "double", arguments)),
        "qa_type" => {
            let mut value = with_flag(target()?, "append", arguments);
            value.insert("text".to_owned(), text("text").into());
            if let Some(key) = arguments.text("press") {
                value.insert("press".to_owned(), key.into());
            }
            step_text("type", value)
        }
        "qa_press" => match arguments.text("target") {
            None => step_text("press", text("key")),
            Some(_) => {
                let mut value = target()?;
                value.insert("key".to_owned(), text("key").into());
                step_text("press", value)
            }
        },
        "qa_select" => {
            let mut value = target()?;
            value.insert("option".to_owned(), text("option").into());
            step_text("select", value)
        }
        "qa_wait" => step_text("wait", wait_of_text(&text("for"))?),
        // `qa_verify`
        _ => {
            let checks = arguments.texts("checks");
            let checks: Result<Vec<Value>, WordsMistake> =
                checks.iter().map(|check| check_of_text(check)).collect();
            step_text("verify", checks?)
        }
    };
    Ok(SessionRequest::Step { step: step? })
}

fn with_flag(
    mut value: Map<String, Value>,
    name: &str,
    arguments: &CheckedArguments,
) -> Map<String, Value> {
    if arguments.flag(name) {
        value.insert(name.to_owned(), true.into());
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(name: &str, given: Value) -> Value {
        let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
        let given = given.as_object().cloned();
        let arguments = CheckedArguments::check(tool.arguments, given).unwrap();
        serde_json::to_value(request(name, &arguments).unwrap()).unwrap()
    }

    #[test]
    fn each_tool_asks_for_what_its_command_asks_for() {
        let step = |step: Value| json!({"ask": "step", "step": step.to_string()});
        let table = [
            (
                "qa_open",
                json!({"url": "/cart", "scheme": "dark"}),
                json!({"ask": "open", "address": "/cart", "viewport": null, "scheme": "dark"}),
            ),
            (
                "qa_click",
                json!({"target": "Sign in", "double": true}),
                step(json!({"click": {"any": "Sign in", "double": true}})),
            ),
            (
                "qa_type",
                json!({"target": "label=Name", "text": "Ada", "press": "Enter"}),
                step(json!({"type": {"label": "Name", "text": "Ada", "press": "Enter"}})),
            ),
            (
                "qa_press",
                json!({"key": "Tab"}),
                step(json!({"press": "Tab"})),
            ),
            (
                "qa_press",
                json!({"key": "Enter", "target": "role=textbox"}),
                step(json!({"press": {"role": "textbox", "key": "Enter"}})),
            ),
            (
                "qa_select",
                json!({"target": "Size", "option": "Large"}),
                step(json!({"select": {"any": "Size", "option": "Large"}})),
            ),
            ("qa_look", json!({}), json!({"ask": "look"})),
            (
                "qa_shot",
                json!({"full": true, "of": "css=.total"}),
                json!({"ask": "shot", "full": true, "of": "{\"css\":\".total\"}"}),
            ),
            (
                "qa_verify",
                json!({"checks": ["Hello Ada", "url: /done"]}),
                step(json!({"verify": [{"text": "Hello Ada"}, {"url": "/done"}]})),
            ),
            (
                "qa_wait",
                json!({"for": "500ms"}),
                step(json!({"wait": "500ms"})),
            ),
            ("qa_close", json!({}), json!({"ask": "close"})),
        ];
        for (name, given, expected) in table {
            assert_eq!(asked(name, given), expected, "{name}");
        }
    }

    #[test]
    fn descriptions_are_short_and_only_acts_on_the_page_are_no_looks() {
        for tool in &TOOLS {
            assert!(tool.description.len() < 400, "{}", tool.name);
            let acts = ["qa_click", "qa_type", "qa_press", "qa_select"].contains(&tool.name);
            let effect = if acts {
                ToolEffect::Adds
            } else {
                ToolEffect::Reads
            };
            assert_eq!(tool.effect, effect, "{}", tool.name);
        }
    }
}
