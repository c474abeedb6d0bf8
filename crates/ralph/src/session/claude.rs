//! Answers the hooks of Claude Code: `/ralph-loop` and the other commands of the plugin, and each stop of the agent.
//!
//! A loop belongs to the session that its hook's own input names; a hook that names none, another one or a subagent
//! leaves it alone. Nothing goes on by itself: when a session ends or is resumed, its loop is over.

use std::path::PathBuf;

use ralph_core::{
    economics::ModelCall,
    session_loop::{
        AfterTurn, LoopArguments, LoopFlag, SessionEndReason, SessionOutcome, SessionState,
    },
};
use ralph_engine::identity::common_dir_of;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    journal::{self, IterationTold, SessionStart, SessionStarted},
    state::{CLAUDE_STATE, StateFile, StateFound, is_alive, owner},
    transcript::NewAnswers,
};
use crate::{
    cli::Global, error::CommandError, inside_run, integration::rival_plugin, project::Project,
};

/// The name of the agent in the journal.
const AGENT: &str = "claude";

/// The flags of `/ralph-loop` that Claude Code has: its loops always keep their context.
const FLAGS: [LoopFlag; 3] = [
    LoopFlag::MaxIterations,
    LoopFlag::CompletionPromise,
    LoopFlag::Verify,
];

/// The blocks in a row without a call of a tool after which Claude Code ends a turn, unless this variable says so.
const BLOCK_CAP: u32 = 8;
const BLOCK_CAP_VARIABLE: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

/// The parts of a hook's input that are used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HookInput {
    session_id: String,
    cwd: PathBuf,
    transcript_path: PathBuf,
    /// Set in a subagent.
    agent_id: Option<String>,
    last_assistant_message: String,
    /// `ralph:ralph-loop`
    command_name: String,
    command_args: String,
    /// `startup`, `resume`, `clear`, `compact`
    source: String,
}

/// A session, and the state file of its project.
pub(crate) struct ClaudeSession {
    input: HookInput,
    global: Global,
    root: PathBuf,
    file: StateFile,
}

impl ClaudeSession {
    /// The session of a hook. `project` is the folder that Claude Code says it was started in; without it the folder
    /// that it is in now.
    pub(crate) fn new(input: HookInput, global: &Global, project: Option<PathBuf>) -> Self {
        let root = project.unwrap_or_else(|| input.cwd.clone());
        let mut global = global.clone();
        global.directory = Some(root.clone());
        Self {
            file: StateFile::of_claude(&root),
            input,
            global,
            root,
        }
    }

    /// Answers a command of the plugin. `None` leaves it to the agent.
    pub(crate) fn expand(&self) -> Result<Option<Value>, CommandError> {
        let name = &self.input.command_name;
        match name.rsplit(':').next().unwrap_or(name) {
            "ralph-loop" => self.begin().map(Some),
            "cancel-ralph" => self.cancel().map(|said| Some(answered(&said))),
            _ => Ok(None),
        }
    }

    fn begin(&self) -> Result<Value, CommandError> {
        if self.input.session_id.is_empty() {
            return Ok(refused("Claude Code did not say which session this is"));
        }
        let asked = match LoopArguments::parse(&self.input.command_args, &FLAGS) {
            Ok(asked) => asked,
            Err(error) => return Ok(refused(&error.to_string())),
        };
        if let Some(name) = rival_plugin(&self.root) {
            return Ok(refused(&format!(
                "the plugin {name} is enabled and reads the same state file; disable it with \
                 `claude plugin disable {name}`"
            )));
        }
        let mut note = String::new();
        if let StateFound::State(old) = self.file.read()?
            && old.active
        {
            if old.session_id == self.input.session_id || is_alive(&old.owner) {
                return Ok(refused(&format!(
                    "a loop is active in this folder already, at iteration {} in session {}; end it with /cancel-ralph",
                    old.progress(),
                    old.session_id
                )));
            }
            self.end_in_journal(&old, SessionEndReason::SessionEnded);
            note = format!(
                " A loop that was left at iteration {} by a session that is gone is replaced.",
                old.progress()
            );
        }
        let start = SessionStart {
            agent: AGENT.to_owned(),
            session: self.input.session_id.clone(),
            prompt: asked.prompt.clone(),
            max_iterations: asked.max_iterations,
            completion_promise: asked.completion_promise.clone(),
            verify: asked.verify,
        };
        let loop_id = match journal::start(&self.global, &start)? {
            SessionStarted::Refused { refused: why } => return Ok(refused(&why)),
            SessionStarted::Recorded { loop_id } => Some(loop_id),
            SessionStarted::Unrecorded { note: why, .. } => {
                note.push_str(&format!(" It is not recorded: {why}."));
                None
            }
        };
        let now = Project::now();
        // What was said before the loop is no part of it.
        let before = NewAnswers::read(&self.input.transcript_path, 0, "").unwrap_or_default();
        let state = SessionState {
            active: true,
            iteration: 1,
            max_iterations: asked.max_iterations,
            completion_promise: asked.completion_promise,
            started_at: now,
            session_id: self.input.session_id.clone(),
            owner: owner(),
            loop_id,
            verify: asked.verify,
            answers_without_tool: 0,
            transcript_read: before.read,
            last_answer: before.last_answer,
            iteration_started_at: now,
            prompt: asked.prompt,
        };
        self.hide_from_git()?;
        self.file.write(&state)?;
        let limit = match (state.max_iterations, &state.completion_promise) {
            (0, None) => " It has no limit and no promise: it runs until /cancel-ralph.",
            _ => "",
        };
        Ok(json!({
            "systemMessage": format!("Ralph: loop started, iteration {}.{limit}{note}", state.progress()),
            "hookSpecificOutput": {
                "hookEventName": "UserPromptExpansion",
                "additionalContext": state.next_prompt(None),
            },
        }))
    }

    /// Ends the loop of this folder, whichever session it is of: a person says so.
    fn cancel(&self) -> Result<String, CommandError> {
        if let Some(why) = inside_run::sign(&self.global)? {
            return Ok(format!(
                "Ralph: inside a run of ralph's nothing is cancelled: {why}"
            ));
        }
        Ok(match self.file.read()? {
            StateFound::Nothing => "Ralph: no loop is active here".to_owned(),
            StateFound::Broken(why) => {
                self.file.remove()?;
                format!("Ralph: the state file was removed; it could not be read: {why}")
            }
            StateFound::State(state) => {
                self.file.remove()?;
                self.end_in_journal(&state, SessionEndReason::Cancelled);
                format!("Ralph: loop cancelled at iteration {}", state.progress())
            }
        })
    }

    /// Decides what follows when the agent has stopped. `None` lets it stop.
    pub(crate) fn stop(&self) -> Result<Option<Value>, CommandError> {
        let Some(mut state) = self.own_state()? else {
            return Ok(self.lost());
        };
        let tools = self.count(&mut state, SessionOutcome::Ok);
        let said = match state.after_turn(&self.input.last_assistant_message) {
            AfterTurn::MaxReached => {
                let max = state.max_iterations;
                self.finish(&state, SessionEndReason::MaxIterations)?;
                format!("Ralph: Max iterations ({max}) reached")
            }
            AfterTurn::Promised if !state.verify => {
                self.finish(&state, SessionEndReason::Promise)?;
                completed(&state)
            }
            AfterTurn::Promised => match self.verify(&state) {
                Ok(()) => {
                    self.finish(&state, SessionEndReason::Promise)?;
                    completed(&state)
                }
                Err(failure) => return self.again(state, tools, Some(&failure)),
            },
            AfterTurn::Again => return self.again(state, tools, None),
        };
        Ok(Some(json!({ "systemMessage": said })))
    }

    /// Sends the agent back to work, unless Claude Code would end its turn all the same.
    fn again(
        &self,
        mut state: SessionState,
        tools: Option<u64>,
        failure: Option<&str>,
    ) -> Result<Option<Value>, CommandError> {
        state.answers_without_tool = match tools {
            // Not known: Claude Code decides.
            None => 0,
            Some(0) => state.answers_without_tool + 1,
            Some(_) => 1,
        };
        let cap = block_cap();
        if cap > 0 && state.answers_without_tool > cap {
            self.finish(&state, SessionEndReason::BlockCap)?;
            let said = format!(
                "Ralph: loop ended at iteration {}: Claude Code ends a turn after {cap} answers in a row without a \
                 tool call; {BLOCK_CAP_VARIABLE}=0 lifts that",
                state.progress()
            );
            return Ok(Some(json!({ "systemMessage": said })));
        }
        state.iteration += 1;
        state.iteration_started_at = Project::now();
        self.file.write(&state)?;
        let verified = failure.map_or("", |_| " (the promise was verified, and fails)");
        Ok(Some(json!({
            "decision": "block",
            "reason": state.next_prompt(failure),
            "systemMessage": format!("Ralph iteration {}{verified}", state.progress()),
        })))
    }

    /// Ends the loop of a session that is resumed: a loop that a killed process left does not start by itself.
    pub(crate) fn session_start(&self) -> Result<Option<Value>, CommandError> {
        if self.input.source != "resume" {
            return Ok(None);
        }
        let Some(state) = self.own_state()? else {
            return Ok(self.lost());
        };
        self.finish(&state, SessionEndReason::SessionEnded)?;
        let progress = state.progress();
        let said = format!(
            "Ralph: the loop of this session was interrupted at iteration {progress} and is over; /ralph-loop starts \
             it again"
        );
        Ok(Some(json!({ "systemMessage": said })))
    }

    /// Ends the loop of a session that ends.
    pub(crate) fn session_end(&self) -> Result<Option<Value>, CommandError> {
        match self.own_state()? {
            Some(mut state) => {
                self.count(&mut state, SessionOutcome::Aborted);
                self.finish(&state, SessionEndReason::SessionEnded)?;
            }
            None => {
                self.lost();
            }
        }
        Ok(None)
    }

    /// Ends a loop of this session that the journal has and the state file no longer does, and says so. A journal that
    /// can't be read is no reason to disturb a session.
    fn lost(&self) -> Option<Value> {
        if !self.is_a_session() {
            return None;
        }
        let row = journal::open_loop(AGENT, &self.input.session_id).ok()??;
        if inside_run::sign(&self.global).ok()?.is_some() {
            return None;
        }
        let (reason, why) = match self.file.read().ok()? {
            StateFound::Nothing => (SessionEndReason::Cancelled, "was deleted".to_owned()),
            StateFound::Broken(why) => (
                SessionEndReason::Failed,
                format!("is broken ({why}) and is left as it is"),
            ),
            StateFound::State(state) if !state.active => (
                SessionEndReason::Cancelled,
                "says that the loop is not active".to_owned(),
            ),
            StateFound::State(_) => (
                SessionEndReason::Cancelled,
                "belongs to another session now".to_owned(),
            ),
        };
        let ended = journal::end(&self.global, &row.id, reason).ok()?;
        let said = format!(
            "Ralph: {CLAUDE_STATE} {why}: the loop has stopped after iteration {}",
            row.iterations + 1
        );
        ended.recorded.then(|| json!({ "systemMessage": said }))
    }

    /// Tells if the hook names a session, and is not one of a subagent in it.
    fn is_a_session(&self) -> bool {
        !self.input.session_id.is_empty() && self.input.agent_id.is_none()
    }

    /// The state of the loop that belongs to this session; nothing inside a run.
    fn own_state(&self) -> Result<Option<SessionState>, CommandError> {
        if !self.is_a_session() {
            return Ok(None);
        }
        let state = match self.file.read()? {
            StateFound::State(state) => *state,
            // Whose it was can't be told.
            StateFound::Nothing | StateFound::Broken(_) => return Ok(None),
        };
        if !state.active || state.session_id != self.input.session_id {
            return Ok(None);
        }
        if inside_run::sign(&self.global)?.is_some() {
            return Ok(None);
        }
        Ok(Some(self.as_it_began(state)))
    }

    /// The state with what the journal has of this session: the file is the agent's to write. Where the journal can't
    /// be read, a promise is not taken for verified.
    fn as_it_began(&self, mut state: SessionState) -> SessionState {
        match journal::open_loop(AGENT, &self.input.session_id) {
            Ok(Some(row)) => {
                state.verify = row.config.is_some();
                state.loop_id = Some(row.id);
            }
            Ok(None) => {}
            Err(_) => state.verify = true,
        }
        state
    }

    fn verify(&self, state: &SessionState) -> Result<(), String> {
        let Some(loop_id) = &state.loop_id else {
            return Err(
                "this loop is not in ralph's journal, so nothing can be verified".to_owned(),
            );
        };
        match journal::verify(&self.global, loop_id) {
            Ok(checked) if checked.passed => Ok(()),
            Ok(checked) => Err(checked.text),
            Err(error) => Err(format!(
                "ralph could not verify it: {}",
                error.sentences().join(": ")
            )),
        }
    }

    /// Writes down what the iteration that is over used. Returns its calls of tools, where they can be known.
    fn count(&self, state: &mut SessionState, outcome: SessionOutcome) -> Option<u64> {
        let path = &self.input.transcript_path;
        let said = &self.input.last_assistant_message;
        let (from, last) = (state.transcript_read, &state.last_answer);
        let answers = if said.is_empty() {
            NewAnswers::read(path, from, last)
        } else {
            NewAnswers::read_up_to(path, from, last, said)
        };
        let tools = answers.as_ref().map(|found| found.tool_calls);
        let found = answers.unwrap_or_default();
        if tools.is_some() {
            state.transcript_read = found.read;
            state.last_answer = found.last_answer;
        }
        self.record(state, outcome, &found.calls, found.tool_calls);
        tools
    }

    /// A journal that can't be written is no reason to stop the agent.
    fn record(
        &self,
        state: &SessionState,
        outcome: SessionOutcome,
        calls: &[ModelCall],
        tool_calls: u64,
    ) {
        let Some(loop_id) = state.loop_id.clone() else {
            return;
        };
        let told = IterationTold {
            loop_id,
            iteration: state.iteration,
            started_at: state.iteration_started_at,
            ended_at: Project::now(),
            outcome,
            error: None,
            tool_calls,
            calls: Vec::new(),
        };
        let _ = journal::record(&self.global, &told, calls);
    }

    fn finish(&self, state: &SessionState, reason: SessionEndReason) -> Result<(), CommandError> {
        self.file.remove()?;
        self.end_in_journal(state, reason);
        Ok(())
    }

    fn end_in_journal(&self, state: &SessionState, reason: SessionEndReason) {
        if let Some(loop_id) = &state.loop_id {
            let _ = journal::end(&self.global, loop_id, reason);
        }
    }

    fn hide_from_git(&self) -> Result<(), CommandError> {
        match common_dir_of(&self.root) {
            Some(common_dir) => self.file.hide_from_git(&common_dir),
            None => Ok(()),
        }
    }
}

fn block_cap() -> u32 {
    let set = std::env::var(BLOCK_CAP_VARIABLE).ok();
    set.and_then(|text| text.trim().parse().ok())
        .unwrap_or(BLOCK_CAP)
}

fn completed(state: &SessionState) -> String {
    let promise = state.completion_promise.as_ref();
    let promise = promise.map_or("", |promise| promise.as_str());
    format!("Ralph: Completion detected: <promise>{promise}</promise>")
}

/// Keeps the command from the agent, with the reason.
fn refused(why: &str) -> Value {
    json!({ "decision": "block", "reason": format!("Ralph: {why}") })
}

/// Answers the command in place of the agent: no model is asked.
fn answered(text: &str) -> Value {
    json!({ "continue": false, "stopReason": text })
}
