//! Ralph killed, stopped and looked at from beside: the chain stays whole.

use ralph_engine::failpoint;
use rustix::process::Signal;

use super::{asked, assert_whole, chain, project, sqlite};
use crate::support::{Project, every_second, story, story_after, wait_until};

#[test]
fn a_kill_at_any_step_leaves_one_whole_chain_and_each_iteration_in_it_once() {
    for point in every_second(&failpoint::ALL, 1) {
        let project = project();
        // Of three iterations the second fails, and the third goes on with its work.
        let pass = match point {
            "loop-begun" | "attempt-taken-up" | "verified" | "kept" => 1,
            _ => 2,
        };
        let how = format!("{point}:{pass}");
        let ran = project.run_with("RALPH_FAILPOINT", &how);
        assert_eq!(ran.code(), -9, "{how} is not passed: {}", ran.all());
        let found = asked(&project, &["checkpoint", "verify"]);
        assert_eq!(found["whole"], true, "{how}, before the next run: {found}");
        project.run(&[]).expect(0);
        let found = asked(&project, &["checkpoint", "verify", "--all"]);
        assert_eq!(found["whole"], true, "{how}: {found}");
        assert_eq!(found["loops"].as_array().unwrap().len(), 1, "{how}");
        let kept = sqlite(
            &project,
            "SELECT group_concat(iteration) FROM checkpoint WHERE body ->> '$.metadata.trigger' = 'iteration'",
        );
        let recorded = sqlite(
            &project,
            "SELECT group_concat(n) FROM (SELECT n FROM iteration WHERE record IS NOT NULL ORDER BY n)",
        );
        assert_eq!(kept, recorded, "{how}");
        assert_eq!(
            chain(&project, &[]).last().unwrap(),
            &format!("stop {} complete", recorded.rsplit(',').next().unwrap()),
            "{how}"
        );
    }
}

#[test]
fn a_stop_is_kept_and_the_next_loop_has_a_chain_of_its_own() {
    let stories = [story("A"), story_after("B", &["A"])];
    let go = "while [ ! -e ../go ]; do sleep 0.02; done";
    let project = Project::with_stories(&stories).command(&format!(
        "[ $RALPH_TASK_ID = A ] || {{ echo begun; {go}; }}\n\
         echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\""
    ));
    let mut live = project.start(&[]);
    live.wait_for("landed");
    live.wait_for("run_started");
    live.signal(Signal::TERM);
    live.wait().expect(143);
    let kept = chain(&project, &[]);
    let expected = [
        "iteration 1 complete",
        "iteration 2 planning",
        "stop 2 planning",
    ];
    assert_eq!(kept, expected);
    std::fs::write(project.repo.root().join("../go"), "").unwrap();
    project.run(&[]).expect(0);
    assert_eq!(
        chain(&project, &[]),
        ["iteration 3 complete", "stop 3 complete"]
    );
    assert_whole(&project, 2, 5);
}

#[test]
fn one_can_be_made_while_an_agent_runs_and_never_of_what_the_agent_committed() {
    let stories = [story("A"), story_after("B", &["A"])];
    let project = Project::with_stories(&stories).in_place();
    let (go, begun) = (project.outside("go"), project.outside("begun"));
    let project = project.command(&format!(
        "echo x > $RALPH_TASK_ID.txt\n\
         if [ $RALPH_TASK_ID = B ]; then\n\
           git add -A && git commit -qm mine\n\
           touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done\n\
         fi\n\
         echo \"Task $RALPH_TASK_ID complete\"",
        begun = begun.display(),
        go = go.display(),
    ));
    let mut live = project.start(&[]);
    let landed = live.wait_for("landed")["commit"].clone();
    wait_until("the agent has committed", || begun.exists());
    let made = asked(&project, &["checkpoint", "create", "--note", "halfway"]);
    assert_eq!(made["checkpoint"]["recovery"]["commit"], landed);
    assert_ne!(landed, project.repo.git(["rev-parse", "HEAD"]).as_str());
    std::fs::write(&go, "").unwrap();
    live.wait();
    let kept = chain(&project, &[]);
    assert_eq!(kept[..2], ["iteration 1 complete", "manual 1 complete"]);
    assert_whole(&project, 1, kept.len() as u64);
}
