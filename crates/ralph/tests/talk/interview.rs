//! `ralph interview` in a real terminal, with agents that are small programs: how rounds end, what
//! the person is asked between them, and what is left when they stop.

mod real;

use rustix::process::Signal;

use crate::support::{Pane, Scene, marked, ralph, wait};

/// What every agent here begins with: its prompt is kept, and it knows which run it is. `stay` waits
/// to be ended, as an agent does that goes on talking.
const BEGIN: &str = r#"
n=$(($(cat ../n 2>/dev/null || echo 0) + 1))
echo $n > ../n
printf '%s' "${@: -1}" > ../prompt-$n
A=.artefacts/shop
amend() { echo "- learnt $1" >> $A/spec.md; }
finish() { echo 'all said' > $A/done.md; }
stay() { echo "STAYING-$n"; while :; do sleep 1000; done; }
tasks() {
  printf '{"project_name": "shop", "version": 1, "tasks": [{"id": "T1", "title": "Keep the entries", "description": "Write src/store.py with a function that appends an entry to a file.", "acceptance": ["`make test` passes"], "verify": ["make test"], "status": "pending", "dependencies": [%s], "attempts": 0, "max_attempts": 3, "blocked": false}]}' "$1" > $A/tasks.json
}
"#;

const SPEC: &str = "# shop\n";

fn scene(script: &str) -> Scene {
    let scene = Scene::with_script(&format!("{BEGIN}\n{script}\n"));
    scene.write("repo/.artefacts/shop/spec.md", SPEC);
    scene
}

/// Starts an interview; the line ends with its exit code.
fn start(scene: &Scene, pane: &Pane, rest: &str) {
    let (mark, ralph) = (scene.mark(), ralph());
    let line = format!(
        "{mark} {} interview shop {rest}; echo code=$?",
        ralph.display()
    );
    pane.line(&line);
}

fn read(scene: &Scene, name: &str) -> String {
    let path = scene.folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn exists(scene: &Scene, name: &str) -> bool {
    scene.repo().join(".artefacts/shop").join(name).exists()
}

#[test]
fn rounds_end_by_their_file_and_the_last_one_shows_the_tasks() {
    let scene =
        scene("case $n in 1|2) amend $n; finish; stay ;; 3) amend $n; tasks; finish; stay ;; esac");
    // Of an earlier time: it must not end the first round.
    scene.write("repo/.artefacts/shop/done.md", "stale\n");
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    start(&scene, &pane, "");
    pane.wait_for(".artefacts/shop/spec.md: +1 -0");
    pane.wait_for("+ - learnt 1");
    pane.wait_for("Enter continues with round 2 of 3, [s]top:");
    assert!(!exists(&scene, "done.md"));
    pane.key("Enter");
    pane.wait_for("Enter continues with round 3 of 3, [s]top:");
    pane.key("Enter");
    pane.wait_for("→ T1 Keep the entries  next");
    pane.wait_for("the interview is complete");
    pane.wait_for("code=0");
    for (round, has_tasks) in [(1, false), (2, false), (3, true)] {
        let prompt = read(&scene, &format!("prompt-{round}"));
        let heading = format!("# Interview about the project shop: round {round} of 3\n");
        assert!(prompt.starts_with(&heading), "{prompt}");
        assert_eq!(prompt.contains("project_name"), has_tasks, "{prompt}");
    }
    let kept = |n: u32| {
        read(
            &scene,
            &format!("repo/.artefacts/shop/history/round-{n}-spec.md"),
        )
    };
    assert_eq!(kept(0), SPEC);
    assert_eq!(kept(2), "# shop\n- learnt 1\n- learnt 2\n");
    assert_eq!(kept(3), read(&scene, "repo/.artefacts/shop/spec.md"));
    assert!(!exists(&scene, "done.md") && !exists(&scene, "history/interview.json"));
    pane.assert_plain();
    assert_eq!(pane.keep_modes(&scene, "after"), before);
    scene.assert_all_dead();
}

#[test]
fn an_agent_that_leaves_has_the_person_say_what_counts() {
    let scene = scene("amend $n; exit $((n - 1))");
    let pane = scene.shell();
    start(&scene, &pane, "--rounds 2");
    pane.wait_for("script exited without marking the round as done");
    pane.wait_for("Did this round count? [y]es, [a]gain, [s]top:");
    // An answer that is none of these asks again.
    pane.line("perhaps");
    pane.line("a");
    pane.wait_for("script exited with code 1");
    assert!(read(&scene, "prompt-2").contains("round 1 of 2"));
    assert!(!exists(&scene, "history/round-1-spec.md"));
    pane.line("y");
    pane.wait_for("kept as .artefacts/shop/history/round-1-spec.md");
    pane.wait_for("Enter continues with round 2 of 2, [s]top:");
    pane.line("s");
    pane.wait_for("stopped; `ralph interview shop` continues");
    pane.wait_for("code=3");
    let kept = read(&scene, "repo/.artefacts/shop/history/round-1-spec.md");
    assert_eq!(kept, "# shop\n- learnt 1\n- learnt 2\n");
    scene.assert_all_dead();
}

#[test]
fn ctrl_c_between_rounds_loses_nothing_and_the_interview_goes_on_later() {
    let scene = scene("amend $n; [ $n = 1 ] || tasks; finish; stay");
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    start(&scene, &pane, "--rounds 2");
    pane.wait_for("Enter continues with round 2 of 2, [s]top:");
    pane.key("C-c");
    pane.wait_for("stopped; `ralph interview shop` continues");
    pane.wait_for("code=130");
    assert_eq!(pane.keep_modes(&scene, "after"), before);
    scene.assert_all_dead();
    assert_eq!(
        read(&scene, "repo/.artefacts/shop/spec.md"),
        "# shop\n- learnt 1\n"
    );
    start(&scene, &pane, "");
    pane.wait_for("continuing with round 2 of 2");
    pane.wait_for("the interview is complete");
    pane.wait_for("code=0");
    assert!(read(&scene, "prompt-2").contains("round 2 of 2"));
    assert!(exists(&scene, "history/round-2-spec.md"));
}

#[test]
fn tasks_that_are_wrong_are_corrected_in_rounds_of_their_own() {
    let scene =
        scene("case $n in 1) amend 1; finish ;; 2) tasks '\"T9\"'; finish ;; 3) tasks ;; esac");
    let pane = scene.shell();
    start(&scene, &pane, "--rounds 1");
    pane.wait_for("tasks.json is not there: it must be written");
    pane.wait_for("Enter continues with repair 1 of at most 2, [s]top:");
    pane.key("Enter");
    pane.wait_for("task T1 depends on T9, which does not exist");
    pane.wait_for("Enter continues with repair 2 of at most 2, [s]top:");
    pane.key("Enter");
    // It left without its file, but what it was to make is right.
    pane.wait_for("the interview is complete");
    pane.wait_for("code=0");
    let repair = read(&scene, "prompt-3");
    assert!(repair.contains("task T1 depends on T9, which does not exist"));
    assert!(
        repair.contains("Create `.artefacts/shop/done.md`"),
        "{repair}"
    );
}

#[test]
fn tasks_that_stay_wrong_end_the_interview_and_can_be_made_later() {
    let scene = scene("[ $n != 4 ] || tasks; finish");
    let pane = scene.shell();
    start(&scene, &pane, "--rounds 1");
    pane.wait_for("Enter continues with repair 1 of at most 2");
    pane.key("Enter");
    pane.wait_for("Enter continues with repair 2 of at most 2");
    pane.key("Enter");
    pane.wait_for("can't be used, also after 2 repairs");
    pane.wait_for("code=2");
    start(&scene, &pane, "--rounds 1");
    pane.wait_for("the interview is complete");
    pane.wait_for("code=0");
}

#[test]
fn a_brief_that_an_agent_removes_is_put_back() {
    let scene = scene("rm $A/spec.md; finish");
    let pane = scene.shell();
    start(&scene, &pane, "--rounds 2");
    pane.wait_for(".artefacts/shop/spec.md was deleted; it was restored");
    pane.wait_for(".artefacts/shop/spec.md is unchanged");
    pane.wait_for("Enter continues with round 2 of 2");
    assert_eq!(read(&scene, "repo/.artefacts/shop/spec.md"), SPEC);
    pane.key("C-d");
    pane.wait_for("code=3");
}

#[test]
fn ralph_that_is_asked_to_end_in_a_round_ends_the_agent_too() {
    let scene = scene("amend 1; stay");
    let pane = scene.shell();
    start(&scene, &pane, "");
    pane.wait_for("STAYING-1");
    let all = marked(&scene.mark());
    let ralph = all.iter().find(|p| p.command.contains("interview shop"));
    ralph
        .unwrap_or_else(|| panic!("{all:?}"))
        .signal(Signal::TERM);
    pane.wait_for("stopped; `ralph interview shop` continues");
    pane.wait_for("code=143");
    scene.assert_all_dead();
    assert!(!exists(&scene, "history/round-1-spec.md"));
}

#[test]
fn an_agent_that_is_killed_has_the_person_say_what_counts() {
    let scene = scene("amend 1; stay");
    let pane = scene.shell();
    start(&scene, &pane, "");
    pane.wait_for("STAYING-1");
    pane.foreground().signal(Signal::KILL);
    pane.wait_for("script was killed by signal 9");
    pane.wait_for("Did this round count? [y]es, [a]gain, [s]top:");
    pane.key("C-c");
    pane.wait_for("code=130");
    scene.assert_all_dead();
}

#[test]
fn ctrl_c_while_a_headless_agent_works_ends_it_and_the_interview() {
    let scene = scene("touch ../up; stay");
    let path = scene.folder().join("agent.sh");
    scene.write(
        "repo/ralph.yaml",
        &format!("agent: {{name: script, command: [bash, {path:?}], dialect: text}}\n"),
    );
    let pane = scene.shell();
    start(&scene, &pane, "--headless");
    wait(
        || scene.folder().join("up").exists().then_some(()),
        || pane.screen(),
    );
    pane.key("C-c");
    pane.wait_for("stopped; `ralph interview shop --headless` continues");
    pane.wait_for("code=130");
    scene.assert_all_dead();
}

#[test]
fn an_agent_without_a_conversation_is_refused_with_the_way_out() {
    let scene = scene("");
    let pane = scene.shell();
    start(&scene, &pane, "--agent command:cat");
    pane.wait_for("command:cat has no interactive mode");
    pane.wait_for("or add `--headless`");
    pane.wait_for("code=2");
}

#[test]
fn a_second_interview_at_the_same_time_is_refused() {
    let scene = scene("stay");
    let pane = scene.shell();
    start(&scene, &pane, "");
    pane.wait_for("STAYING-1");
    let second = std::process::Command::new(ralph())
        .args(["interview", "shop", "--headless"])
        .env_clear()
        .envs(scene.env())
        .current_dir(scene.repo())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(2));
    let said = String::from_utf8(second.stderr).unwrap();
    let says = "error: another ralph process runs an interview about shop\n";
    assert!(said.starts_with(says), "{said}");
}

#[test]
fn an_agent_that_is_not_there_is_said_before_anything_is_begun() {
    let scene = scene("");
    scene.write(
        "repo/ralph.yaml",
        "agent: {name: missing, command: [no-such-agent], dialect: claude}\n",
    );
    let pane = scene.shell();
    start(&scene, &pane, "");
    pane.wait_for("program not found: no-such-agent");
    pane.wait_for("code=6");
    assert!(!exists(&scene, "history"));
}

/// Asks two questions, then does what it is told.
const ASKS: &str = r#"
cat > ../prompt-$n
case $n in
  1) echo '{"questions": [{"id": "storage", "question": "Where is it kept?", "options": ["a file", "SQLite"]}, {"id": "users", "question": "Who uses it?"}]}' ;;
  2) amend $n; tasks ;;
esac
"#;

#[test]
fn questions_of_a_headless_interview_are_asked_on_the_terminal_and_answers_survive_ctrl_c() {
    let scene = scene(ASKS);
    let path = scene.folder().join("agent.sh");
    scene.write(
        "repo/ralph.yaml",
        &format!("agent: {{name: script, command: [bash, {path:?}], dialect: text}}\n"),
    );
    let pane = scene.shell();
    start(&scene, &pane, "--headless --rounds 1");
    pane.wait_for("storage: Where is it kept?");
    pane.wait_for("a number, an answer of your own, or Enter to leave it to the agent:");
    pane.key("2");
    pane.key("Enter");
    pane.wait_for("users: Who uses it?");
    pane.key("C-c");
    pane.wait_for("stopped; `ralph interview shop --headless` continues");
    pane.wait_for("code=130");
    start(&scene, &pane, "--headless");
    // The first time is still on the screen.
    let question = "your answer, or Enter to leave it to the agent:";
    let asked_twice = || pane.screen().matches(question).count() == 2;
    wait(|| asked_twice().then_some(()), || pane.screen());
    pane.line("only-me");
    pane.wait_for("the interview is complete");
    pane.wait_for("code=0");
    let amend = read(&scene, "prompt-2");
    assert!(
        amend.contains("Question: Where is it kept?\nAnswer: SQLite\n"),
        "{amend}"
    );
    assert!(
        amend.contains("Question: Who uses it?\nAnswer: only-me\n"),
        "{amend}"
    );
}
