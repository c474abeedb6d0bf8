//! The real Claude Code, headless, at the tasks of a project, against the scripted model.

use std::ffi::OsString;

use ralph_testkit::{
    agents,
    model::{Scenario, ScriptedModel},
};

use super::shop::{Shop, Tracked, task};
use crate::support::assert_all_dead;

/// As the prompt asks: work, the log, the status, a commit, the signal, last words. The second task is
/// ended by its signal alone.
const TWO: &str = r#"
conversations:
- when: "Id: T1"
  turns:
  - tools: [{write: {path: T1.txt, content: "T1\n"}}]
  - tools: [{bash: "cd .artefacts/shop && echo '[{\"iteration\": 1, \"task_id\": \"T1\", \"status\": \"completed\", \"summary\": \"wrote T1\", \"files_modified\": [\"T1.txt\"], \"obstacles\": []}]' > state.json && sed -i '0,/pending/s//completed/' tasks.json && git add -A && git commit -qm T1"}]
  - tools: [{write: {path: .artefacts/shop/done.md, content: "wrote T1\n"}}]
  - say: "Wrote it.\n\nTask T1 complete"
- when: "Id: T2"
  turns:
  - tools: [{bash: "echo T2 > T2.txt; echo done > .artefacts/shop/done.md"}]
  - say: "Finished."
"#;

#[test]
fn claude_code_executes_a_project_to_its_end() {
    let model = ScriptedModel::start(Scenario::parse(TWO).unwrap());
    let list = [task("T1", &[]), task("T2", &["T1"])];
    let mut shop = Shop::with(&list, Tracked::Yes, "");
    let config = format!("claude: {{command: [{:?}]}}\n", agents::claude());
    shop.project = shop.project.config(&config).agent("claude");
    for (name, value) in agents::claude_env(&shop.project.repo.home(), &model.url()) {
        if name != "PATH" {
            shop.project = shop.project.env(&name, OsString::from(value));
        }
    }
    let ran = shop.execute(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["T1 verified", "T2 verified"]);
    assert!(model.unscripted().is_empty(), "{:#?}", model.unscripted());
    assert_eq!(shop.project.landed(), ["T1", "T2"]);
    assert_eq!(shop.log(), ["1 T1 completed", "2 T2 completed"]);
    assert_eq!(shop.json("state.json")[0]["summary"], "wrote T1");
    assert_eq!(shop.json("state.json")[1]["summary"], "Finished.");
    shop.assert_readable_by_the_workflows_tool();
    let fresh = model.requests().iter().filter(|r| r.is_fresh()).count();
    assert_eq!(fresh, 2, "each task has an agent with a context of its own");
    assert_all_dead(&shop.project.repo.home());
}
