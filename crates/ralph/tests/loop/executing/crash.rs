//! Ralph killed at every step of an execution: the log has each iteration once, and nothing is lost.

use ralph_engine::failpoint;

use crate::support::{Live, Ran, every_second, is_storm};

use super::shop::{Shop, Tracked, task};

/// T1 fails at first, T2 lands at once. Every agent adds to all files.
const PYTHON: &str = "
meet(message=f'met in {N}')
if TASK == 'T1' and not pathlib.Path('tried').exists():
    pathlib.Path('tried').write_text('x')
    log('completed', summary='a lie'); mark('T1', 'T2'); done()
else:
    whole()";

fn shop(tracked: Tracked) -> Shop {
    let shop = Shop::with(&[task("T1", &[]), task("T2", &["T1"])], tracked, PYTHON);
    shop.env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0")
        .env("RALPH_LOOP_MAX_NO_PROGRESS", "9")
}

fn killed(shop: &Shop, how: &str) -> Ran {
    let mut command = shop.project.execute_command("shop", &[]);
    command.env("RALPH_FAILPOINT", how);
    Live::start(command).wait()
}

#[track_caller]
fn assert_whole(shop: &Shop, how: &str) {
    assert_eq!(shop.project.landed(), ["T1", "T2"], "{how}");
    let standing = shop.standing();
    assert!(
        standing.iter().all(|s| s.contains(" completed ")),
        "{how}: {standing:?}"
    );
    let log = shop.log();
    let mut numbers: Vec<&str> = log.iter().map(|e| e.split(' ').next().unwrap()).collect();
    let all = numbers.len();
    numbers.dedup();
    assert_eq!(numbers.len(), all, "{how}: {log:?}");
    let of = |status: &str| log.iter().filter(|e| e.ends_with(status)).count();
    assert_eq!(of("completed"), 2, "{how}: {log:?}");
    assert!(
        of("T1 completed") == 1 && of("T2 completed") == 1,
        "{how}: {log:?}"
    );
    assert!(!shop.is_there("done.md"), "{how}");
    assert!(
        shop.read("results.md").contains("Every task is complete."),
        "{how}"
    );
    shop.assert_readable_by_the_workflows_tool();
    shop.project.assert_nothing_alive();
}

/// One attempt fails, and two land.
fn passes(point: &str) -> u32 {
    match point {
        "loop-begun" | "attempt-taken-up" | "verified" | "kept" => 1,
        _ => 2,
    }
}

/// Kills ralph at half of these places, at the last pass of each; in a storm at all passes of all of them.
fn everywhere(points: &[&str], tracked: Tracked) {
    for point in every_second(points, 1) {
        let first = if is_storm() { 1 } else { passes(point) };
        for pass in first..=passes(point) {
            let how = format!("{point}:{pass}");
            let shop = shop(tracked);
            let ran = killed(&shop, &how);
            assert_eq!(ran.code(), -9, "{how} is not passed: {}", ran.all());
            let ran = shop.execute(&[]);
            assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
            assert_whole(&shop, &how);
        }
    }
}

/// Half of the places a test, so that they share the processors.
const HALF: usize = failpoint::ALL.len() / 2 + 1;

#[test]
fn an_execution_killed_at_early_steps_goes_on() {
    everywhere(&failpoint::ALL[..HALF], Tracked::Yes);
}

#[test]
fn an_execution_killed_at_late_steps_goes_on() {
    everywhere(&failpoint::ALL[HALF..], Tracked::Yes);
}

#[test]
fn an_execution_in_ignored_files_killed_where_files_are_written_goes_on() {
    let points = [
        "agent-recorded",
        "agent-ended",
        "source-written",
        "committed",
        "recorded",
    ];
    everywhere(&points, Tracked::Ignored);
}

#[test]
fn what_an_agent_wrote_when_ralph_was_killed_is_no_more_believed_than_before() {
    let python = "
save('state.json', [{'iteration': 1, 'task_id': 'T2', 'status': 'completed', 'summary': 'x', 'files_modified': [], 'obstacles': []}])
(D / 'obstacles.json').write_text('{')
(D / 'spec.md').write_text('forged')
mark('T1', 'T2')
done()";
    let shop = Shop::new(python).in_place();
    shop.write("spec.md", "mine\n");
    shop.project.repo.commit("brief");
    let ran = killed(&shop, "agent-ended");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    assert_eq!(shop.read("spec.md"), "forged");
    let shop = shop.agent("whole()");
    shop.execute(&[]).expect(0);
    assert_eq!(shop.read("spec.md"), "mine\n");
    assert_eq!(
        shop.log(),
        [
            "1 T2 attempted",
            "1 T1 attempted",
            "2 T1 completed",
            "3 T2 completed"
        ]
    );
    assert!(
        shop.prompt(2, 1)
            .contains(".ralph/logs/iteration-1.obstacles.json")
    );
}

#[test]
fn another_loop_after_a_kill_does_not_take_the_projects_files_for_work() {
    let shop = Shop::new("whole()");
    let ran = killed(&shop, "agent-ended");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    let other = crate::support::prd(&[crate::support::story("Z")]).to_string();
    shop.project.repo.file("other.json", &other);
    let shop = shop.agent("pathlib.Path('Z.txt').write_text('x')\nprint('Task Z complete')");
    shop.project.run(&["other.json"]).expect(0);
    assert_eq!(shop.project.landed(), ["Z"]);
    assert_eq!(shop.project.files_of("HEAD"), ["Z.txt"]);
    assert_eq!(shop.log(), ["1 T1 attempted"]);
    assert_eq!(shop.standing(), ["T1 pending 1", "T2 pending 0"]);
}

#[test]
fn a_task_file_that_was_corrupt_when_ralph_was_killed_is_named_in_the_next_prompt() {
    let corrupt = "(D / 'tasks.json').write_text('{\"half\": [1')";
    for shop in [Shop::new(corrupt).in_place(), Shop::new(corrupt)] {
        let ran = killed(&shop, "agent-ended");
        assert_eq!(ran.code(), -9, "{}", ran.all());
        let shop = shop.agent("whole()");
        shop.execute(&[]).expect(0);
        assert_eq!(shop.standing(), ["T1 completed 2", "T2 completed 1"]);
        let told = "## Files that could not be read\n";
        let prompt = shop.prompt(2, 1);
        let (_, named) = prompt
            .split_once(told)
            .unwrap_or_else(|| panic!("{prompt}"));
        assert!(
            named.contains("\n- tasks.json could not be used ("),
            "{named}"
        );
        assert!(!shop.prompt(3, 1).contains(told), "told once");
    }
}
