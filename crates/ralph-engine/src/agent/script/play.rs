//! Plays one run of a script: runs in the agent's own process, in the working tree.

use std::{
    io::Write,
    path::{Component, Path},
    process::{Command, Stdio},
    time::Duration,
};

use ralph_core::agent::{AgentEvent, AgentResult, Mark, Usage};

use super::file::{Action, Script, ScriptError};

/// Which run this is, as the environment of an agent tells.
#[derive(Debug, Clone)]
pub(super) struct Part {
    task: String,
    attempt: u32,
    run: u32,
}

impl Part {
    /// From `RALPH_TASK_ID`, `RALPH_ATTEMPT` and `RALPH_RUN`.
    pub(super) fn from_env() -> Self {
        let number = |name: &str| {
            std::env::var(name)
                .ok()
                .and_then(|n| n.parse().ok())
                .unwrap_or(1)
        };
        Self {
            task: std::env::var("RALPH_TASK_ID").unwrap_or_default(),
            attempt: number("RALPH_ATTEMPT"),
            run: number("RALPH_RUN"),
        }
    }
}

/// Plays the script at `path`, events to `out`; gives the exit code of the process.
pub fn play(path: &Path, out: &mut dyn Write) -> Result<u8, ScriptError> {
    let script = Script::read(path)?;
    let part = Part::from_env();
    let actions = script
        .actions(&part.task, part.attempt, part.run)
        .ok_or_else(|| ScriptError::NoTask {
            path: path.to_owned(),
            task: part.task.clone(),
        })?;
    // The prompt is read to its end, as any agent would: the writer gets no broken pipe.
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    let mut player = Player {
        out,
        id: part.task,
        said: String::new(),
        usage: Usage::default(),
        tools: 0,
    };
    player.tell(&AgentEvent::Started {
        model: Some("script".into()),
        version: None,
        session: None,
    });
    for action in actions {
        if let Some(code) = player.act(action)? {
            return Ok(code);
        }
    }
    player.finish(true, None);
    Ok(0)
}

struct Player<'a> {
    out: &'a mut dyn Write,
    id: String,
    said: String,
    usage: Usage,
    tools: u32,
}

impl Player<'_> {
    /// Does one thing. `Some` ends the run with that exit code.
    fn act(&mut self, action: &Action) -> Result<Option<u8>, ScriptError> {
        match action {
            Action::Write { path, text } => {
                let text = self_text(text, &self.id);
                self.edit("write", path, |p| std::fs::write(p, text))?;
            }
            Action::Append { path, text } => {
                let text = self_text(text, &self.id);
                self.edit("append to", path, |p| {
                    let mut file = std::fs::OpenOptions::new()
                        .create(true)
                        .append(true)
                        .open(p)?;
                    file.write_all(text.as_bytes())
                })?;
            }
            Action::Patch {
                path,
                find,
                replace,
            } => self.patch(path, find, replace)?,
            Action::Delete(path) => self.edit("delete", path, |p| std::fs::remove_file(p))?,
            Action::Run(line) => self.run(line),
            Action::Say(text) => {
                self.said = self_text(text, &self.id);
                self.tell(&AgentEvent::Text {
                    text: self.said.clone(),
                });
            }
            Action::Take(seconds) => {
                std::thread::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0)))
            }
            Action::Usage(usage) => {
                self.usage.input_tokens += usage.input;
                self.usage.output_tokens += usage.output;
                self.usage.cost_usd = usage
                    .cost
                    .map(|c| c + self.usage.cost_usd.unwrap_or(0.0))
                    .or(self.usage.cost_usd);
                self.tell(&AgentEvent::Usage(self.usage));
            }
            Action::Fail(message) => {
                self.finish(false, Some(message.clone()));
                return Ok(Some(1));
            }
            Action::Exit(code) => return Ok(Some(u8::try_from(*code).unwrap_or(1))),
            Action::Limit(resets) => {
                self.tell(&AgentEvent::Limit {
                    rejected: true,
                    resets_at: resets.parse().ok(),
                    which: None,
                });
                return Ok(Some(1));
            }
            Action::Hang => loop {
                std::thread::park();
            },
        }
        Ok(None)
    }

    fn edit(
        &mut self,
        what: &'static str,
        path: &str,
        change: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Result<(), ScriptError> {
        let path = self_text(path, &self.id);
        let id = self.begin_tool("edit", &path);
        let inside = Path::new(&path)
            .components()
            .all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        if !inside {
            return Err(ScriptError::Outside { path });
        }
        let fail = |source| ScriptError::Action {
            what,
            path: path.clone(),
            source,
        };
        if let Some(folder) = Path::new(&path).parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        change(Path::new(&path)).map_err(fail)?;
        self.done(id, true);
        Ok(())
    }

    fn patch(&mut self, path: &str, find: &str, replace: &str) -> Result<(), ScriptError> {
        let path = self_text(path, &self.id);
        let text = std::fs::read_to_string(&path).map_err(|source| ScriptError::Action {
            what: "patch",
            path: path.clone(),
            source,
        })?;
        let find = self_text(find, &self.id);
        if !text.contains(&find) {
            return Err(ScriptError::NotFound { path });
        }
        let text = text.replacen(&find, &self_text(replace, &self.id), 1);
        self.edit("patch", &path, |p| std::fs::write(p, text))
    }

    fn run(&mut self, line: &str) {
        let line = self_text(line, &self.id);
        let id = self.begin_tool("run", &line);
        let ok = Command::new("sh")
            .args(["-c", &line])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success());
        self.done(id, ok);
    }

    fn begin_tool(&mut self, name: &str, target: &str) -> String {
        self.tools += 1;
        let id = format!("tool-{}", self.tools);
        self.tell(&AgentEvent::Tool {
            id: id.clone(),
            name: name.to_owned(),
            target: target.to_owned(),
            arguments: Mark::EMPTY,
        });
        id
    }

    fn done(&mut self, id: String, ok: bool) {
        self.tell(&AgentEvent::ToolDone {
            id,
            ok,
            answer: Mark::EMPTY,
        });
    }

    fn finish(&mut self, ok: bool, error: Option<String>) {
        let result = AgentResult {
            ok,
            text: std::mem::take(&mut self.said),
            error,
            ..AgentResult::default()
        };
        self.tell(&AgentEvent::Result(result));
    }

    fn tell(&mut self, event: &AgentEvent) {
        // A closed receiver is no reason to fail: the run is being ended.
        if let Ok(line) = serde_json::to_string(event) {
            let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
        }
    }
}

fn self_text(text: &str, id: &str) -> String {
    text.replace("{id}", id)
}
