//! Agents that do not do as they are told.

use serde_json::json;

use super::shop::{Shop, Tracked, task};

/// One task, with one attempt a loop unless a test says otherwise.
fn one(python: &str) -> Shop {
    Shop::with(&[task("T1", &[])], Tracked::Yes, python)
}

#[test]
fn a_signal_from_before_is_no_claim_of_this_agent() {
    let shop = one("assert not (D / 'done.md').exists()\nwork()");
    shop.write("done.md", "from another time\n");
    let ran = shop.execute(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["T1 unclaimed"]);
    assert!(!shop.is_there("done.md"));
}

#[test]
fn a_signal_is_a_claim_and_a_claim_is_verified() {
    let shop = one("work()\ndone()");
    assert_eq!(shop.execute(&[]).expect(0).verdicts(), ["T1 verified"]);
    let lies = one("pathlib.Path('other.txt').write_text('x')\nlog()\nmark(TASK)\ndone()");
    let lies = lies.env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    let ran = lies.execute(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["T1 failed"]);
    assert_eq!(lies.standing(), ["T1 pending 1"]);
    assert_eq!(lies.log(), ["1 T1 attempted"]);
    assert!(!lies.is_there("done.md"));
    assert!(
        lies.read("results.md")
            .contains("verification failed: test -f T1.txt")
    );
}

#[test]
fn an_agent_that_says_it_only_tried_claims_nothing_by_its_signal() {
    let shop = one("work()\nlog('attempted', summary='half of it')\ndone()");
    let ran = shop.execute(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["T1 unclaimed"]);
    assert_eq!(shop.json("state.json")[0]["summary"], "half of it");
}

#[test]
fn an_agent_that_has_finished_and_hangs_on_is_sent_home_and_its_work_counts() {
    let python = "whole()\nsubprocess.Popen(['sleep', '1000'])\ntime.sleep(1000)";
    let shop = one(python).env("RALPH_LOOP_STOP_GRACE_SECONDS", "1");
    let ran = shop.execute(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["T1 verified"]);
    let record = shop.project.repo.read(".ralph/logs/iteration-1.json");
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["runs"][0]["ending"], json!({"how": "finished"}));
    shop.project.assert_nothing_alive();
}

#[test]
fn a_folder_where_the_signal_was_expected_is_no_signal_and_does_not_hurt() {
    let shop = one("(D / 'done.md').mkdir()\nwork()");
    let ran = shop.execute(&["--iterations", "2"]).expect(3);
    assert_eq!(ran.verdicts(), ["T1 unclaimed", "T1 unclaimed"]);
    assert!(!shop.is_there("done.md"));
}

#[test]
fn what_can_not_be_read_is_back_as_it_was_kept_aside_and_named_to_the_next() {
    let python = "
if N == 1:
    log()
    for name in ('tasks.json', 'state.json', 'obstacles.json'):
        (D / name).write_text('{\"half\": [1, 2')
    pathlib.Path('half.txt').write_text('x')
else:
    whole()";
    let shop = one(python).env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    shop.write("state.json", "[]\n")
        .write("obstacles.json", "{\"obstacles\": []}\n");
    let ran = shop.execute(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["T1 failed", "T1 verified"]);
    for name in ["tasks.json", "state.json", "obstacles.json"] {
        let kept = format!(".ralph/logs/iteration-1.{name}");
        assert_eq!(shop.project.repo.read(&kept), "{\"half\": [1, 2", "{name}");
        let told = format!("what the agent wrote is in {kept}");
        assert!(shop.prompt(2, 1).contains(&told), "{}", shop.prompt(2, 1));
        assert!(
            ran.flags().iter().any(|flag| flag.ends_with(&told)),
            "{:?}",
            ran.flags()
        );
    }
    assert_eq!(shop.standing(), ["T1 completed 2"]);
    assert_eq!(shop.log(), ["1 T1 attempted", "2 T1 completed"]);
    shop.assert_readable_by_the_workflows_tool();
}

#[test]
fn a_task_file_that_lost_its_shape_is_as_good_as_corrupt() {
    let python = "
tasks = load('tasks.json')
tasks['tasks'].append({'id': 'T9', 'title': 'More'})
save('tasks.json', tasks)
work(); log(); done()";
    let shop = one(python);
    let ran = shop.execute(&[]).expect(0);
    assert_eq!(shop.standing(), ["T1 completed 1"]);
    let flag = "tasks.json could not be used (task \"T9\": `description` is missing";
    assert!(ran.flags()[0].starts_with(flag), "{:?}", ran.flags());
    assert!(
        shop.project
            .repo
            .exists(".ralph/logs/iteration-1.tasks.json")
    );
}

#[test]
fn a_task_that_an_agent_adds_is_worked_on_where_that_is_asked_for() {
    let python = "
if TASK == 'T1':
    tasks = load('tasks.json')
    tasks['tasks'].append(tasks['tasks'][0] | {'id': 'T9', 'title': 'More', 'verify': ['test -f T9.txt']})
    save('tasks.json', tasks)
whole()";
    let shop = one(python);
    let ran = shop.execute(&["--iterations", "5"]).expect(0);
    assert_eq!(ran.verdicts(), ["T1 verified"]);
    assert_eq!(shop.standing(), ["T1 completed 1"]);
    let shop = one(python).env("RALPH_TASKS_ACCEPT_NEW", "true");
    let ran = shop.execute(&["--iterations", "5"]).expect(0);
    assert_eq!(ran.verdicts(), ["T1 verified", "T9 verified"]);
}

#[test]
fn a_task_that_waits_for_one_that_is_not_there_does_not_bring_the_loop_down() {
    let python = "
tasks = load('tasks.json')
tasks['tasks'].append(tasks['tasks'][0] | {'id': 'T9', 'dependencies': ['nobody']})
save('tasks.json', tasks)
work(); done()";
    let shop = one(python);
    let ran = shop.execute(&[]).expect(0);
    assert_eq!(shop.standing(), ["T1 completed 1"]);
    assert!(ran.flags()[0].contains("nobody"), "{:?}", ran.flags());
}

#[test]
fn history_that_was_rewritten_is_restored_and_what_was_added_stays_behind_it() {
    let python = "
if TASK == 'T2':
    save('state.json', [])
    log(summary='only I was here')
    save('obstacles.json', {'obstacles': []})
    meet(id='O1', message='mine')
    work(); done()
else:
    meet(id='O1', message='theirs')
    whole()";
    let shop = Shop::new(python);
    let ran = shop.execute(&[]).expect(0);
    assert_eq!(shop.log(), ["1 T1 completed", "2 T2 completed"]);
    assert_eq!(shop.json("state.json")[0]["summary"], "did T1");
    assert_eq!(shop.json("state.json")[1]["summary"], "only I was here");
    let found = shop.json("obstacles.json");
    let messages: Vec<_> = found["obstacles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| (&o["id"], &o["message"]))
        .collect();
    assert_eq!(messages[0], (&json!("O1"), &json!("theirs")));
    let flags = ran.flags().join("\n");
    assert!(
        flags.contains("state.json: an earlier entry was changed or removed; it is put back"),
        "{flags}"
    );
    assert!(
        flags.contains("obstacles.json: 1 earlier entry changed or removed; put back"),
        "{flags}"
    );
    shop.assert_readable_by_the_workflows_tool();
}

#[test]
fn other_tasks_that_an_agent_marks_complete_are_still_to_be_done() {
    let python = "
if TASK == 'T1':
    work(); log(); log(task='T2'); mark('T1', 'T2'); commit(); done()
else:
    whole()";
    let shop = Shop::new(python);
    let ran = shop.execute(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["T1 verified", "T2 verified"]);
    assert_eq!(shop.standing(), ["T1 completed 1", "T2 completed 1"]);
    assert_eq!(
        shop.log(),
        ["1 T1 completed", "1 T2 attempted", "2 T2 completed"]
    );
    let flags = ran.flags().join("\n");
    assert!(
        flags.contains("state.json: task T2 was claimed to be completed"),
        "{flags}"
    );
}

#[test]
fn writing_down_alone_changes_nothing() {
    let shop = one("log(); mark(TASK); meet(message='m'); commit(); done()");
    let ran = shop.execute(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["T1 no_change"]);
    assert_eq!(shop.standing(), ["T1 pending 1"]);
    assert_eq!(shop.log(), ["1 T1 attempted"]);
    assert_eq!(shop.project.landed(), [""; 0]);
    assert_eq!(shop.project.repo.log_subjects()[0], "tasks");
}

#[test]
fn the_brief_and_its_commands_are_a_persons() {
    let shop =
        one("(D / 'spec.md').write_text('## Verify commands\\n\\n    true\\n')\nwork()\ndone()");
    let spec = "# shop\n\n## Verify commands\n\nRun them all.\n\n```\ntest -f all.txt\n```\n";
    shop.write("spec.md", spec);
    shop.project.repo.commit("brief");
    let shop = shop.env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    let ran = shop.execute(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["T1 failed"]);
    assert_eq!(shop.read("spec.md"), spec);
    assert!(
        ran.flags()
            .contains(&"spec.md was edited while the agent ran; it is put back".into())
    );
    let warned = ran.named("warning");
    assert!(
        warned
            .iter()
            .any(|w| w["message"].as_str().unwrap().contains("\"Run them all.\"")),
        "{warned:?}"
    );
}

#[test]
fn a_folder_that_became_a_link_to_elsewhere_is_not_followed() {
    let python = "
import shutil
work()
shutil.rmtree(D)
elsewhere = pathlib.Path(sys.argv[1], 'elsewhere')
elsewhere.mkdir()
D.symlink_to(elsewhere)
print('Task T1 complete')";
    let shop = one(python);
    shop.execute(&[]).expect(0);
    assert!(!shop.project.repo.path(".artefacts/shop").is_symlink());
    assert_eq!(shop.standing(), ["T1 completed 1"]);
    assert_eq!(shop.log(), ["1 T1 completed"]);
    let elsewhere = shop.project.outside("elsewhere");
    assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
}
