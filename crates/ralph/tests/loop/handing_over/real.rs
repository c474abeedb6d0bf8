//! The real Claude Code and the real Pi against the scripted model, whose answers say that the context
//! is nearly full.

use ralph_testkit::model::{Request, Scenario, ScriptedModel};
use serde_json::json;

use crate::support::{Project, assert_all_dead, nudge_is_sent, story, with_real};

/// Whoever is handed the work goes on from the half that is there.
const GOES_ON: &str = r#"
conversations:
- when: "Handoff from Iteration 1"
  turns:
  - tools: [{bash: "mv half.txt A.txt"}]
  - say: "Task A complete"
- when: "Id: A"
  turns:
  - tools: [{bash: "echo half > half.txt; until [ -e ../go ]; do sleep 0.02; done"}]
    usage: {input: 141000, output: 10, cache_read: 0, cache_write: 0}
"#;

/// Wraps up when it is asked to.
const WRAPS_UP: &str = r#"
  - say: "Stopped.\n\n<ralph>\nsummary: half\nnext: move half.txt\nhandoff: context_threshold\n</ralph>"
    usage: {input: 142000, output: 10, cache_read: 0, cache_write: 0}
  - say: "Nobody asked for more."
"#;

/// Goes on as if nothing had been said.
const IGNORES: &str = r#"
  - say: "One more thing first."
    tools: [{bash: "sleep 1000"}]
    usage: {input: 142000, output: 10, cache_read: 0, cache_write: 0}
  - say: "Task A complete"
"#;

struct Handed {
    project: Project,
    /// Those of agents at work, in their order.
    requests: Vec<Request>,
}

/// Runs a task whose first agent is asked to wrap up while its tool waits.
fn hands_over(agent: &str, answer: &str) -> Handed {
    let scenario = format!("{}{answer}", GOES_ON.trim_end());
    let model = ScriptedModel::start(Scenario::parse(&scenario).unwrap());
    let project = Project::with_stories(&[story("A")]);
    let home = project.repo.home();
    let project = with_real(project, agent, &model.url(), "");
    let mut live = project.start(&["--agent", agent]);
    let asked = live.wait_for("handoff_asked");
    assert_eq!(asked["trigger"], "context_threshold");
    assert_eq!(
        asked["sentence"],
        "70 % of its context are in use (141000 of 200000 tokens), more than 70 %"
    );
    nudge_is_sent(&mut live);
    std::fs::write(project.outside("go"), "").unwrap();
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A handoff", "A verified"], "{}", ran.all());
    assert_eq!(project.landed(), ["A"]);
    assert_all_dead(&home);
    assert!(model.unscripted().is_empty(), "{:#?}", model.unscripted());
    let mut requests = model.requests();
    requests.retain(|request| !request.tools().is_empty());
    Handed { project, requests }
}

impl Handed {
    /// The first agent was asked in its second request and had no third; the second one's first
    /// request says where the other stopped.
    #[track_caller]
    fn assert_boundary(&self) {
        let asks = |request: &Request| {
            request
                .text()
                .contains("please wrap up now. The reason: 70 %")
        };
        let asked: Vec<bool> = self.requests.iter().map(asks).collect();
        assert_eq!(asked, [false, true, false, false]);
        let fresh: Vec<bool> = self.requests.iter().map(Request::is_fresh).collect();
        assert_eq!(fresh, [true, false, true, false]);
        let prompt = self.requests[2].text();
        assert!(prompt.contains("## Handoff from Iteration 1\n\n**Phase:** handoff\n"));
        assert!(
            !self.requests[0]
                .text()
                .contains("## Handoff from Iteration")
        );
    }
}

fn wraps_up(agent: &str) {
    let handed = hands_over(agent, WRAPS_UP);
    handed.assert_boundary();
    let ending = &handed.project.iteration(1)["runs"][0]["ending"];
    assert_eq!(*ending, json!({"how": "finished"}));
    let prompt = handed.requests[2].text();
    assert!(
        prompt.contains("It said what is next: move half.txt"),
        "{prompt}"
    );
}

fn ignores_it(agent: &str) {
    let handed = hands_over(agent, IGNORES);
    handed.assert_boundary();
    let ending = &handed.project.iteration(1)["runs"][0]["ending"];
    assert_eq!(
        *ending,
        json!({"how": "handed_off", "trigger": "context_threshold"})
    );
}

#[test]
fn claude_code_wraps_up_and_another_one_goes_on() {
    wraps_up("claude");
}

#[test]
fn claude_code_that_goes_on_is_ended_before_it_asks_its_model_again() {
    ignores_it("claude");
}

#[test]
fn pi_wraps_up_and_another_one_goes_on() {
    wraps_up("pi");
}

#[test]
fn pi_that_goes_on_is_ended_before_it_asks_its_model_again() {
    ignores_it("pi");
}
