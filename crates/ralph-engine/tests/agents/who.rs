//! Those who must keep the contract: the fake agent, the real Claude Code, the real Pi.
//!
//! Each is made so that one case of the contract happens to it; what must come of it is the same.

use ralph_engine::agent::Agent;
use ralph_testkit::{agents, fake_agent::fake_agent};

use crate::support::{Env, Scene, agent};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Fake,
    Claude,
    Pi,
}

/// What happens to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// Writes `done.txt` and says so.
    Completes,
    /// Its API refuses the request.
    Fails,
    /// Its model never answers.
    Hangs,
    /// Says very much.
    Floods,
    /// Runs a tool until there is a file `go`, then ends.
    WaitsInATool,
    /// Its usage limit is reached; it resets at [`RESETS_AT`].
    HitsALimit,
    LosesItsNetwork,
    /// Ends well, and leaves a process in a session of its own.
    LeavesAGrandchild,
}

/// A usage limit that resets in the year 2030.
pub(crate) const RESETS_AT: i64 = 1_894_733_640;

/// A tool's command that ends when there is a file `go`.
const WAIT: &str = "touch waiting; while [ ! -e go ]; do sleep 0.05; done";
const LEAVE: &str = "setsid sleep 1000 >/dev/null 2>&1 & touch done.txt";

impl Who {
    /// A scene for a case, the agent in it, and the environment that it is started with.
    pub(crate) fn play(self, case: Case) -> (Scene, Box<dyn Agent>, Env) {
        let scene = Scene::new(&self.scenario(case));
        let (agent, env) = match self {
            Self::Fake => fake(&scene, case),
            Self::Claude => claude(&scene, case),
            Self::Pi => pi(&scene),
        };
        (scene, agent, env)
    }

    fn scenario(self, case: Case) -> String {
        let turns = match case {
            Case::Completes => {
                "- tools: [{write: {path: done.txt, content: hello}}]\n- say: Task T1 complete"
                    .to_owned()
            }
            Case::Fails => {
                "- faults: [{status: 400, message: bad request, repeat: forever}]".into()
            }
            Case::Hangs => "- hold: never".into(),
            Case::Floods => "- say: Task T1 complete\n  fill: 3000000".into(),
            Case::WaitsInATool => {
                format!("- tools: [{{bash: \"{WAIT}\"}}]\n- say: Task T1 complete")
            }
            // Only subscriptions to Claude have the headers; others say it in words.
            Case::HitsALimit if self == Self::Claude => format!(
                "- faults: [{{usage_limit: {{resets_at: {RESETS_AT}, type: five_hour}}, repeat: forever}}]"
            ),
            Case::HitsALimit => {
                "- faults: [{status: 429, message: Monthly usage limit reached, repeat: forever}]"
                    .into()
            }
            Case::LosesItsNetwork => {
                "- tools: [{bash: touch done.txt}]\n- faults: [{refuse_connection: true, repeat: forever}]"
                    .into()
            }
            Case::LeavesAGrandchild => {
                format!("- tools: [{{bash: \"{LEAVE}\"}}]\n- say: Task T1 complete")
            }
        };
        let turns = turns.replace('\n', "\n  ");
        format!("conversations:\n- turns:\n  {turns}\n")
    }
}

fn claude(scene: &Scene, case: Case) -> (Box<dyn Agent>, Env) {
    let mut env = agents::claude_env(&scene.home(), &scene.model.url());
    env.push(("CLAUDE_CODE_MAX_RETRIES".into(), "1".into()));
    if case == Case::HitsALimit {
        env.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
        env.push(("CLAUDE_CODE_OAUTH_TOKEN".into(), "dummy-token".into()));
    }
    let program = agents::claude();
    let yaml = format!("claude:\n  command: [{program:?}]\n");
    (agent("claude", &yaml), env)
}

fn pi(scene: &Scene) -> (Box<dyn Agent>, Env) {
    let env = agents::pi_env(&scene.home(), &scene.model.url());
    let settings = r#"{"retry": {"baseDelayMs": 10}}"#;
    std::fs::write(scene.home().join("pi-agent/settings.json"), settings).unwrap();
    let (program, model) = (agents::pi(), agents::PI_MODEL);
    let yaml = format!("pi:\n  command: [{program:?}]\n  model: {model}\n");
    (agent("pi", &yaml), env)
}

/// The fake agent speaks like Claude Code and needs no model.
fn fake(scene: &Scene, case: Case) -> (Box<dyn Agent>, Env) {
    let actions = match case {
        Case::Completes => {
            r#"{"do": "write", "path": "done.txt", "text": "hello"}, {"do": "say", "text": "Task T1 complete"}"#
                .to_owned()
        }
        Case::Fails => {
            r#"{"do": "apiError", "status": 400, "error": "invalid_request", "text": "bad request"}"#.into()
        }
        Case::Hangs => r#"{"do": "hang"}"#.into(),
        Case::Floods => {
            r#"{"do": "flood", "bytes": 300000000}, {"do": "say", "text": "Task T1 complete"}"#.into()
        }
        Case::WaitsInATool => format!(
            r#"{{"do": "run", "command": "{WAIT}"}}, {{"do": "awaitMessage"}}, {{"do": "say", "text": "Task T1 complete"}}"#
        ),
        Case::HitsALimit => {
            format!(r#"{{"do": "rateLimited", "status": "rejected", "resetsAt": {RESETS_AT}}}"#)
        }
        Case::LosesItsNetwork => {
            r#"{"do": "write", "path": "done.txt", "text": "x"}, {"do": "apiError", "status": null, "error": "unknown", "text": "API Error: Unable to connect to API (ConnectionRefused)"}"#
                .into()
        }
        Case::LeavesAGrandchild => format!(
            r#"{{"do": "run", "command": "{LEAVE}"}}, {{"do": "say", "text": "Task T1 complete"}}"#
        ),
    };
    let file = scene.home().join("scenario.json");
    std::fs::write(&file, format!(r#"{{"default": [{actions}]}}"#)).unwrap();
    let env = [
        ("HOME", scene.home().display().to_string()),
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("FAKE_AGENT_SCENARIO", file.display().to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    let program = fake_agent();
    let yaml = format!("claude:\n  command: [{program:?}]\n");
    (agent("claude", &yaml), env)
}
