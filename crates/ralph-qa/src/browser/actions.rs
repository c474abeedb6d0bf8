//! The acts of a user: clicking, typing, choosing. Each waits for its element, acts by the browser's own input, and
//! waits for the navigation that it caused.

use std::{path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    failure::{failure, text_of, texts},
    keys::{KeyPress, typed},
    page::FlowPage,
    pictures::TakenPicture,
    targets::target_json,
};
use crate::{
    flow::{Check, FlowStepAction, LoadState, MouseButton, Target, TypedText, Wait},
    result::{FailureKind, StepFailure},
};

/// Longer texts are put in at once, without a key for each character.
const MOST_KEYS: usize = 400;

/// A step that was done.
#[derive(Debug, Clone, Default)]
pub struct StepDone {
    /// Things to tell: `accepted the confirm "Sure?"`.
    pub notes: Vec<String>,
    pub picture: Option<TakenPicture>,
}

/// A point of the viewport at which an element is.
#[derive(Debug, Clone, Copy)]
struct Spot {
    x: f64,
    y: f64,
}

/// The action that an element has to be ready for.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Click,
    Hover,
    Type,
    Select,
    Upload,
    Focus,
}

impl Wanted {
    fn word(self) -> &'static str {
        match self {
            Self::Click => "click",
            Self::Hover => "hover",
            Self::Type => "type",
            Self::Select => "select",
            Self::Upload => "upload",
            Self::Focus => "focus",
        }
    }

    /// The deed as part of `… can be …`.
    fn done(self) -> &'static str {
        match self {
            Self::Click => "clicked",
            Self::Hover => "pointed at",
            Self::Type => "typed into",
            Self::Select => "chosen from",
            Self::Upload => "given a file",
            Self::Focus => "focused",
        }
    }
}

impl FlowPage {
    /// Performs an action within a limit. A picture is taken and not compared.
    pub async fn perform(
        &self,
        action: &FlowStepAction,
        limit: Duration,
    ) -> Result<StepDone, StepFailure> {
        let deadline = Instant::now() + limit;
        let done = self.perform_by(action, deadline).await;
        done.map_err(|failure| match failure.kind {
            FailureKind::NotFound | FailureKind::Expectation => self.lost_page().unwrap_or(failure),
            _ => failure,
        })
    }

    async fn perform_by(
        &self,
        action: &FlowStepAction,
        deadline: Instant,
    ) -> Result<StepDone, StepFailure> {
        let mut picture = None;
        match action {
            FlowStepAction::Navigate { url, until } => self.navigate(url, *until, deadline).await?,
            FlowStepAction::Click {
                target,
                button,
                double,
            } => {
                self.click(target, *button, if *double { 2 } else { 1 }, deadline)
                    .await?;
            }
            FlowStepAction::Type {
                target,
                text,
                append,
                press,
            } => {
                self.type_into(target, text, *append, deadline).await?;
                if let Some(key) = press {
                    self.press(key, deadline).await?;
                }
            }
            FlowStepAction::Press { key, target } => {
                if let Some(target) = target {
                    self.ready(target, Wanted::Focus, deadline).await?;
                    self.focus(target, deadline).await?;
                }
                self.press(key, deadline).await?;
            }
            FlowStepAction::Select { target, options } => {
                self.select(target, options, deadline).await?;
            }
            FlowStepAction::Hover { target } => self.hover(target, deadline).await?,
            FlowStepAction::Upload { target, files } => {
                self.upload(target, files, deadline).await?;
            }
            FlowStepAction::Wait(wait) => self.wait(wait, deadline).await?,
            FlowStepAction::Verify(checks) => self.verify(checks, deadline).await?,
            FlowStepAction::Resize(viewport) => self.resize(*viewport).await?,
            FlowStepAction::Emulate(change) => self.emulate(*change).await?,
            FlowStepAction::Screenshot(screenshot) => {
                picture = Some(self.take(screenshot, deadline).await?);
            }
            FlowStepAction::Fixture(command) => self.run_fixture(command, deadline).await?,
        }
        if self.has_crashed() {
            return Err(self.no_answer());
        }
        let notes = self.take_notes();
        Ok(StepDone { notes, picture })
    }

    /// Waits until an element can be acted on.
    async fn ready(
        &self,
        target: &Target,
        wanted: Wanted,
        deadline: Instant,
    ) -> Result<Spot, StepFailure> {
        let argument = json!({"target": target_json(target), "wants": wanted.word()});
        let found = self.ask("ready", &argument, deadline).await?;
        match found["state"].as_str().unwrap_or_default() {
            "ready" => Ok(Spot {
                x: found["x"].as_f64().unwrap_or_default(),
                y: found["y"].as_f64().unwrap_or_default(),
            }),
            state => Err(self.unready(target, wanted.done(), state, &found)),
        }
    }

    /// The failure of an element that is not as it has to be.
    pub(super) fn unready(
        &self,
        target: &Target,
        done: &str,
        state: &str,
        found: &Value,
    ) -> StepFailure {
        let why = found["why"].as_str();
        match state {
            "ambiguous" => {
                let matches = texts(&found["matches"]);
                let count = found["count"].as_u64().unwrap_or(matches.len() as u64);
                StepFailure {
                    kind: FailureKind::Ambiguous,
                    expected: format!("one element is {target}"),
                    actual: format!(
                        "{count} are: say which one by `nth`, `within`, or a longer name"
                    ),
                    nearest: matches,
                }
            }
            "blocked" => failure(
                FailureKind::NotActionable,
                format!("{target} can be {done}"),
                format!(
                    "{}: {}",
                    text_of(&found["element"]),
                    why.unwrap_or_default()
                ),
            ),
            _ => StepFailure {
                kind: FailureKind::NotFound,
                expected: format!("the page has {target}"),
                actual: why
                    .map_or_else(|| format!("it has none, at {}", self.url()), str::to_owned),
                nearest: texts(&found["nearest"]),
            },
        }
    }

    async fn click(
        &self,
        target: &Target,
        button: MouseButton,
        times: u32,
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        let spot = self.ready(target, Wanted::Click, deadline).await?;
        self.click_at(spot, button, times, deadline).await
    }

    async fn click_at(
        &self,
        spot: Spot,
        button: MouseButton,
        times: u32,
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        let (button, held) = match button {
            MouseButton::Left => ("left", 1),
            MouseButton::Right => ("right", 2),
            MouseButton::Middle => ("middle", 4),
        };
        let mouse = |kind: &str, button: &str, held: u32, count: u32| {
            let event = json!({
                "type": kind,
                "x": spot.x,
                "y": spot.y,
                "button": button,
                "buttons": held,
                "clickCount": count,
            });
            self.session.begin("Input.dispatchMouseEvent", event)
        };
        let mut answers = vec![mouse("mouseMoved", "none", 0, 0)];
        for count in 1..=times {
            answers.push(mouse("mousePressed", button, held, count));
            answers.push(mouse("mouseReleased", button, 0, count));
        }
        self.all_within(deadline, answers).await?;
        self.until_arrived(deadline).await
    }

    async fn hover(&self, target: &Target, deadline: Instant) -> Result<(), StepFailure> {
        let spot = self.ready(target, Wanted::Hover, deadline).await?;
        let event = json!({"type": "mouseMoved", "x": spot.x, "y": spot.y, "button": "none"});
        let answer = self.session.begin("Input.dispatchMouseEvent", event);
        self.within(deadline, answer).await.map(|_| ())
    }

    async fn focus(&self, target: &Target, deadline: Instant) -> Result<(), StepFailure> {
        let found = self.ask("focus", &json!({}), deadline).await?;
        if found["focused"] == true {
            return Ok(());
        }
        Err(failure(
            FailureKind::NotActionable,
            format!("{target} can be focused"),
            text_of(&found["why"]),
        ))
    }

    async fn type_into(
        &self,
        target: &Target,
        text: &TypedText,
        append: bool,
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        let text = match text {
            TypedText::Plain(text) => text,
            TypedText::SecretVariable(name) => {
                let found = self
                    .settings
                    .secrets
                    .iter()
                    .find(|(given, _)| given == name);
                let (_, value) = found.ok_or_else(|| {
                    let expected = format!("the variable {name} is set");
                    failure(FailureKind::Expectation, expected, "it is not")
                })?;
                value
            }
        };
        self.ready(target, Wanted::Type, deadline).await?;
        let argument = json!({"append": append, "text": text});
        let filled = self.ask("fill", &argument, deadline).await?;
        if filled["typed"] == true {
            return Ok(());
        }
        if let Some(why) = filled["why"].as_str() {
            let expected = format!("{target} can be typed into");
            return Err(failure(FailureKind::NotActionable, expected, why));
        }
        self.send_text(text, deadline).await?;
        self.until_arrived(deadline).await
    }

    async fn send_text(&self, text: &str, deadline: Instant) -> Result<(), StepFailure> {
        let insert = |text: &str| {
            self.session
                .begin("Input.insertText", json!({"text": text}))
        };
        let mut answers = Vec::new();
        if text.chars().count() > MOST_KEYS {
            answers.push(insert(text));
            return self.all_within(deadline, answers).await;
        }
        for character in text.chars() {
            match typed(character) {
                Some(events) => answers.extend(
                    events.map(|event| self.session.begin("Input.dispatchKeyEvent", event)),
                ),
                None => answers.push(insert(character.encode_utf8(&mut [0; 4]))),
            }
        }
        self.all_within(deadline, answers).await
    }

    async fn press(&self, key: &str, deadline: Instant) -> Result<(), StepFailure> {
        let Some(press) = KeyPress::parse(key) else {
            return Err(failure(
                FailureKind::Expectation,
                "a key such as Enter, ArrowDown, a, Control+A",
                format!("there is no key {key:?}"),
            ));
        };
        let events = press.events().into_iter();
        let answers = events.map(|event| self.session.begin("Input.dispatchKeyEvent", event));
        self.all_within(deadline, answers.collect()).await?;
        self.until_arrived(deadline).await
    }

    async fn select(
        &self,
        target: &Target,
        options: &[String],
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        self.ready(target, Wanted::Select, deadline).await?;
        let chosen = self
            .ask("choose", &json!({"options": options}), deadline)
            .await?;
        if chosen["state"] == "done" {
            return self.until_arrived(deadline).await;
        }
        let there = texts(&chosen["there"]);
        Err(StepFailure {
            kind: FailureKind::NotFound,
            expected: format!("{target} has {}", quoted(options)),
            actual: text_of(&chosen["why"]),
            nearest: there,
        })
    }

    async fn upload(
        &self,
        target: &Target,
        files: &[PathBuf],
        deadline: Instant,
    ) -> Result<(), StepFailure> {
        let files: Vec<PathBuf> = files
            .iter()
            .map(|file| self.place.folder.join(file))
            .collect();
        if let Some(missing) = files.iter().find(|file| !file.is_file()) {
            return Err(failure(
                FailureKind::Expectation,
                format!("{} is a file", missing.display()),
                "it is not there",
            ));
        }
        self.ready(target, Wanted::Upload, deadline).await?;
        let world = self.record.world().unwrap_or_default();
        let chosen = self.session.begin(
            "Runtime.evaluate",
            json!({"expression": "ralphPage.chosen", "uniqueContextId": world}),
        );
        let chosen = self.within(deadline, chosen).await?;
        let given = json!({"files": files, "objectId": chosen["result"]["objectId"]});
        let given = self.session.begin("DOM.setFileInputFiles", given);
        self.within(deadline, given).await?;
        self.until_arrived(deadline).await
    }

    async fn wait(&self, wait: &Wait, deadline: Instant) -> Result<(), StepFailure> {
        match wait {
            Wait::Time(time) => {
                // What it waits for is up to the flow: the limit of steps is for what may not come.
                sleep(*time).await;
                Ok(())
            }
            Wait::Idle => self.until_idle(deadline).await,
            Wait::Gone(target) => {
                self.verify(&[Check::NoElement(target.clone())], deadline)
                    .await
            }
            Wait::Until(checks) => self.verify(checks, deadline).await,
        }
    }

    pub(super) async fn until_idle(&self, deadline: Instant) -> Result<(), StepFailure> {
        if self.record.until_idle(deadline).await {
            return Ok(());
        }
        if self.record.is_over() {
            return Err(self.no_answer());
        }
        let open = self.record.open_requests();
        let actual = match open.as_slice() {
            [] => "requests came again and again".to_owned(),
            open => format!("not answered yet: {}", open.join(", ")),
        };
        Err(failure(
            FailureKind::Expectation,
            "the page makes no request for half a second",
            actual,
        ))
    }

    /// Waits for the document that an act leads to, if it leads to one: so that the next step sees that one, and not
    /// the one that is being left.
    async fn until_arrived(&self, deadline: Instant) -> Result<(), StepFailure> {
        // What the act has set off in the page's own tasks is begun when this is answered.
        if !self.record.is_on_its_way() {
            self.flush(deadline).await?;
        }
        if !self.record.is_on_its_way() {
            return Ok(());
        }
        let has_arrived = self.record.until(deadline, |record| {
            !record.is_on_its_way() && record.has_reached(LoadState::Dom)
        });
        let has_arrived = has_arrived.await;
        if self.record.is_over() {
            return Err(self.no_answer());
        }
        if !has_arrived {
            self.record
                .note("it leads to another page, which was not there yet");
        }
        Ok(())
    }

    /// Waits until the page has done what it had to do at this moment.
    async fn flush(&self, deadline: Instant) -> Result<(), StepFailure> {
        let Some(world) = self.record.world() else {
            return Ok(());
        };
        let turn = "new Promise(done => { const turn = new MessageChannel(); \
            turn.port1.onmessage = () => { turn.port1.close(); done(); }; turn.port2.postMessage(0); })";
        let answer = self.session.begin(
            "Runtime.evaluate",
            json!({"expression": turn, "uniqueContextId": world, "awaitPromise": true}),
        );
        let leaving = self.record.until(deadline, |record| {
            record.is_over() || record.is_on_its_way() || record.world().as_ref() != Some(&world)
        });
        tokio::select! {
            biased;
            // An error tells that the document is gone, which is what was asked.
            _ = answer => {}
            _ = leaving => {}
        }
        if self.record.is_over() {
            return Err(self.no_answer());
        }
        Ok(())
    }
}

fn quoted(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    quoted.join(" and ")
}
