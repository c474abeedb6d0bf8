//! Class 8: secrets that leave by another way than the diff.

use serde_json::json;

use crate::scene::{deed, holders, patient, said_by, script, story_by};
use crate::support::{Project, story};

/// The halves of a token that is found by its shape; neither a file here nor a script holds it whole.
const HALVES: (&str, &str) = ("ghp_R4lphR4lphR4lph", "R4lphR4lphR4lphR4l7Xy");

fn secret() -> String {
    format!("{}{}", HALVES.0, HALVES.1)
}

/// Prints the token.
fn printed() -> String {
    format!("printf '%s%s' {} {}", HALVES.0, HALVES.1)
}

/// Places where the token would be found: what was printed, the commits, ralph's files besides the raw output
/// of the agent, which says that it has everything.
#[track_caller]
fn assert_nowhere(project: &Project, said: &str, how: &str) {
    let secret = secret();
    assert!(!said.contains(&secret), "{how}: printed: {said}");
    for args in [&["status"][..], &["report"], &["tasks", "list"]] {
        let shown = said_by(project, args);
        assert!(
            !shown.contains(&secret),
            "{how}: {args:?} shows it: {shown}"
        );
    }
    let log = project.repo.git(["log", "-p", "--branches", "--format=%B"]);
    assert!(!log.contains(&secret), "{how}: committed");
    let folders = [project.repo.path(".ralph"), project.data_dir()];
    let mut held = holders(&[&folders[0], &folders[1]], &secret);
    held.retain(|path| !path.contains("/logs/") || path.ends_with(".json"));
    assert_eq!(held, [""; 0], "{how}");
}

fn g08_a_secret_in_the_closing_words_is_not_passed_on(mode: &str) {
    let shell = format!(
        "cat > /dev/null; echo x > A.txt; t=$({}); echo \"I used $t for the service.\"; \
         echo \"<ralph>\"; echo \"summary: uses $t\"; echo \"learnings: [\\\"the token is $t\\\"]\"; echo \"</ralph>\"; echo \"Task A complete\"",
        printed()
    );
    let project = patient(Project::with_stories(&[story("A")]), mode).command(&shell);
    let ran = project.run(&[]).expect(0);
    assert_nowhere(&project, &ran.all(), mode);
}
modes!(
    g08_a_secret_in_the_closing_words_is_not_passed_on,
    both: "open: no filter for what leaves ralph besides the diff"
);

fn g08_a_secret_in_the_notes_of_a_task_does_not_land(mode: &str) {
    let mut own = story("A");
    own["notes"] = json!("");
    let bad = format!(
        "work; t=$({}); sed -i \"s/\\\"notes\\\": \\\"\\\"/\\\"notes\\\": \\\"$t\\\"/\" prd.json",
        printed()
    );
    let project = patient(Project::with_stories(&[own]), mode).script(&script(&[("A", &bad)]));
    let ran = project.run(&[]);
    assert_nowhere(&project, &ran.all(), mode);
    assert!(!project.repo.read("prd.json").contains(&secret()));
}
modes!(
    g08_a_secret_in_the_notes_of_a_task_does_not_land,
    both: "open: no filter for what leaves ralph besides the diff"
);

fn g08_a_secret_in_the_output_of_a_failing_command_is_not_passed_on(mode: &str) {
    let check = format!("{}; echo; exit 1", printed());
    let project = patient(Project::with_stories(&[story_by("A", &[&check])]), mode)
        .env("RALPH_LOOP_MAX_ATTEMPTS", "2")
        .command("cat >> \"$HOME/prompts\"; date +%N > A.txt; echo \"Task A complete\"");
    let ran = project.run(&[]);
    let prompts = std::fs::read_to_string(project.repo.home().join("prompts")).unwrap();
    assert!(
        !prompts.contains(&secret()),
        "{mode}: the next prompt has it"
    );
    assert_nowhere(&project, &ran.all(), mode);
}
modes!(
    g08_a_secret_in_the_output_of_a_failing_command_is_not_passed_on,
    both: "open: no filter for what leaves ralph besides the diff"
);

fn g08_a_mark_that_the_agent_makes_itself_allows_nothing(mode: &str) {
    let bad = format!(
        "work; t=$({}); echo \"token = '$t' # ralph:allow-secret\" > settings.py",
        printed()
    );
    let project =
        patient(Project::with_stories(&[story("A")]), mode).script(&script(&[("A", &bad)]));
    let ran = project.run(&[]);
    assert!(project.landed().is_empty(), "{mode}: {}", ran.all());
}
modes!(
    g08_a_mark_that_the_agent_makes_itself_allows_nothing,
    both: "open: no filter for what leaves ralph besides the diff"
);

fn g08_the_agents_own_key_does_not_reach_verify_commands(mode: &str) {
    let check = "env > \"$HOME/env\"; test -f A.txt";
    let project = patient(Project::with_stories(&[story_by("A", &[check])]), mode)
        .env("ANTHROPIC_API_KEY", "a-value-to-look-for")
        .env("OPENAI_API_KEY", "a-value-to-look-for")
        .script(&json!({"default": [deed("work")]}));
    project.run(&[]).expect(0);
    let env = std::fs::read_to_string(project.repo.home().join("env")).unwrap();
    assert!(!env.contains("a-value-to-look-for"), "{mode}: {env}");
}
modes!(g08_the_agents_own_key_does_not_reach_verify_commands);
