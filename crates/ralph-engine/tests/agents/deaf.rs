//! An agent that asks again and again, and never reads what it is answered.

use ralph_core::agent::{AgentEvent, Ending, NudgeState};

use crate::support::{Scene, agent, limits};

/// Asks with ids that are long, so that the answers are, too; ends once the file `go` is there.
const SCRIPT: &str = r#"
session=96f2987e-5248-42db-bb6b-0f4d74caaa31
echo '{"type":"system","subtype":"init","session_id":"'$session'","model":"m"}'
long=$(head -c 200000 /dev/zero | tr '\0' x)
for n in 1 2 3 4 5 6 7 8 9 10; do
    for m in 1 2 3 4 5 6 7 8 9 10; do
        echo '{"type":"control_request","request_id":"'$n$m$long'","request":{"tool_name":"Bash"}}'
    done
done
while [ ! -e go ]; do sleep 0.05; done
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Task T1 complete","session_id":"'$session'"}'
"#;

#[test]
fn answers_that_are_never_read_do_not_pile_up_and_that_is_said() {
    let scene = Scene::new("conversations:\n- turns:\n  - say: never asked\n");
    std::fs::write(scene.repo().join("agent.sh"), SCRIPT).unwrap();
    let claude = agent("claude", "claude: {command: [sh, agent.sh]}\n");
    let env = vec![("PATH".to_owned(), std::env::var("PATH").unwrap())];
    let mut live = scene.start(claude, env, "Do the task T1.", limits());
    let is_said = |event: &AgentEvent| {
        let said = "it does not read its input: nothing more is written to it";
        matches!(event, AgentEvent::Notice { text } if text == said)
    };
    live.wait_for("notice", is_said);
    live.nudge("Are you there?");
    let impossible = NudgeState::Impossible;
    live.wait_for(
        "refusal",
        |event| matches!(event, AgentEvent::Nudge { state, .. } if *state == impossible),
    );
    std::fs::write(scene.repo().join("go"), "").unwrap();
    let ran = live.join();
    assert_eq!(ran.report.ending, Ending::Finished);
    let times = ran.events.iter().filter(|event| is_said(event)).count();
    assert_eq!(times, 1);
}
