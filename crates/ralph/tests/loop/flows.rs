//! Flows in a browser as what verifies a change: what they find lands, fails, reaches the next prompt, and is not an
//! agent's to decide.

use serde_json::{Value, json};

use crate::support::{Project, story};

const GOOD: &str = "<!doctype html><html lang=en><title>Shop</title><link rel=icon href=data:,><h1>Shop</h1><p>Hello Ada</p>";
const BAD: &str = "<!doctype html><html lang=en><title>Shop</title><link rel=icon href=data:,><h1>Shop</h1><p>Goodbye</p>";

const FLOW: &str = "\
name: greet
steps:
  - navigate: /
  - verify: {text: Hello Ada}
    timeout: 2s
  - screenshot: home
";

const SERVER: &str = "\
qa:
  server:
    command: [python3, -m, http.server, $PORT, --bind, 127.0.0.1, --directory, site]
";

/// A story that is verified by the flow.
fn shop_story(about: &str) -> Value {
    let mut story = story("A");
    story["verify"] = json!([{"qa": "greet"}]);
    story["description"] = about.into();
    story
}

fn project(page: &str, config: &str, stories: &[Value]) -> Project {
    let project = Project::with_stories(stories);
    project
        .repo
        .file("site/index.html", page)
        .file(".ralph/flows/greet.yaml", FLOW)
        .commit("site");
    project.config(&format!("{SERVER}{config}"))
}

fn writes(path: &str, text: &str) -> Value {
    json!({"default": [{"do": [
        {"write": {"path": path, "text": text}},
        {"say": "Task {id} complete"},
    ]}]})
}

fn record(project: &Project, n: u32) -> Value {
    let path = format!(".ralph/logs/iteration-{n}.json");
    serde_json::from_str(&project.repo.read(path)).unwrap()
}

#[test]
fn a_change_lands_once_its_flow_passes_and_the_agent_sees_the_picture_of_the_failure() {
    let agent = format!(
        "cat > prompt.txt\n\
         if grep -q 'open them as image files' prompt.txt; then\n\
           picture=$(grep -o '\\.ralph/logs/iteration-[0-9]*-qa/[^ ]*\\.png' prompt.txt | head -1)\n\
           head -c 4 \"$picture\" > picture.txt\n\
           echo '{GOOD}' > site/index.html\n\
         else\n\
           echo '{BAD}' > site/index.html\n\
         fi\n\
         echo 'Task A complete'"
    );
    let project = project(BAD, "", &[shop_story("Greet Ada.")]).command(&agent);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    let prompt = project.repo.read("prompt.txt");
    assert!(prompt.contains("`ralph qa run -- greet`"), "{prompt}");
    assert!(prompt.contains(".ralph/flows/greet.yaml:4"), "{prompt}");
    assert!(prompt.contains("Hello Ada"), "{prompt}");
    let picture = std::fs::read(project.repo.path("picture.txt")).unwrap();
    assert_eq!(picture, b"\x89PNG");
    let kept = project.repo.read(".ralph/logs/iteration-1-qa/report.json");
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["passed"], true, "the last one counts");
    assert_eq!(project.leftovers(), [""; 0]);
    project.assert_nothing_alive();
}

#[test]
fn a_flow_that_passed_before_has_regressed_and_one_that_failed_was_broken() {
    let config = "verification: {commands: [{qa: greet}]}\nloop: {max_verify_retries: 0}\n";
    let mut story = story("A");
    story["verify"] = json!([]);
    for (before, word) in [(GOOD, "regressed"), (BAD, "already_broken")] {
        let other = BAD.replace("Shop", "Store");
        let project = project(before, config, std::slice::from_ref(&story));
        let project = project.script(&writes("site/index.html", &other));
        project.run(&["--once"]).expect(3);
        let verification = &record(&project, 1)["verification"][0];
        assert_eq!(verification["againstBaseline"], word, "{verification}");
        assert_eq!(verification["command"], "ralph qa run -- greet");
        assert!(project.landed().is_empty());
    }
}

#[test]
fn a_failure_reads_the_same_in_every_run() {
    let config = "verification: {commands: [ralph qa run]}\nloop: {max_verify_retries: 0}\n";
    let mut story = story("A");
    story["verify"] = json!([]);
    let project = project(BAD, config, &[story]);
    for name in ["b", "c"] {
        let flow = FLOW.replace("greet", name);
        project.repo.file(format!(".ralph/flows/{name}.yaml"), flow);
    }
    project.repo.commit("more flows");
    let project = project.script(&writes("site/a.txt", "x"));
    project.run(&["--once"]).expect(3);
    let first = record(&project, 1)["verification"][0].clone();
    assert_eq!(first["againstBaseline"], "already_broken", "{first}");
    project.run(&["--once"]).expect(3);
    let second = record(&project, 2)["verification"][0].clone();
    assert_eq!(first["signature"], second["signature"]);
}

#[test]
fn an_agent_s_edit_of_a_flow_or_of_an_approved_picture_is_refused_unless_its_task_names_it() {
    let picture = ".ralph/flows/__baselines__/greet/home-linux-1280x720.png";
    for path in [".ralph/flows/greet.yaml", picture] {
        let project = project(GOOD, "", &[shop_story("Greet Ada.")]);
        let project = project.script(&writes(path, "steps: []\n"));
        let ran = project.run(&["--once"]);
        assert_eq!(ran.verdicts(), ["A refused"], "{}", ran.all());
        let says = "decides what is verified in the browser and was changed, and the task does not name it";
        assert!(ran.all().contains(says), "{}", ran.all());
        assert!(project.landed().is_empty());
    }
    let about = "Write .ralph/flows/greet.yaml anew.";
    let project = project(GOOD, "", &[shop_story(about)]);
    let text = FLOW.replace("  - screenshot: home\n", "");
    let project = project.script(&writes(".ralph/flows/greet.yaml", &text));
    let ran = project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    let flagged = ran.flags();
    let says = "decides what is verified in the browser and was changed";
    assert!(
        flagged.iter().any(|flag| flag.contains(says)),
        "{flagged:?}"
    );
}

#[test]
fn an_agent_runs_flows_on_its_own_work_and_can_approve_nothing() {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let agent = format!(
        "cat > /dev/null\n\
         echo '{BAD}' > site/index.html\n\
         {ralph} qa run greet > before.txt 2>&1; echo \"ended with $?\" >> before.txt\n\
         echo '{GOOD}' > site/index.html\n\
         {ralph} qa run greet > after.txt 2>&1; echo \"ended with $?\" >> after.txt\n\
         {ralph} qa approve --yes > approved.txt 2>&1; echo \"ended with $?\" >> approved.txt\n\
         echo 'Task A complete'"
    );
    let project = project(BAD, "", &[shop_story("Greet Ada.")]).command(&agent);
    let ran = project.run(&[]).expect(0);
    let read = |name: &str| project.repo.read(name);
    assert!(
        read("before.txt").contains("ended with 4"),
        "{}",
        read("before.txt")
    );
    assert!(
        read("after.txt").contains("ended with 0"),
        "{}",
        read("after.txt")
    );
    let approved = read("approved.txt");
    assert!(approved.contains("is refused inside a run"), "{approved}");
    assert!(approved.contains("ended with 2"), "{approved}");
    assert!(
        !project.repo.exists(".ralph/flows/__baselines__"),
        "{}",
        ran.all()
    );
}

#[test]
fn flows_without_a_browser_are_refused_before_an_agent_starts() {
    let project = project(GOOD, "", &[shop_story("Greet Ada.")])
        .env("RALPH_QA_BROWSER", "/nosuch/chrome")
        .script(&writes("site/index.html", GOOD));
    project
        .run(&[])
        .expect(2)
        .says("program not found: /nosuch/chrome")
        .says("hint: ");
    assert!(!project.repo.exists(".ralph/logs/iteration-1.json"));
}

#[test]
fn the_results_of_all_flows_of_an_iteration_are_kept_together_and_reported() {
    let config = "verification: {commands: [{qa: other}]}\n";
    let project = project(GOOD, config, &[shop_story("Greet Ada.")]);
    let other = FLOW.replace("greet", "other");
    project
        .repo
        .file(".ralph/flows/other.yaml", other)
        .commit("other");
    let project = project.script(&writes("site/a.txt", "x"));
    project.run(&[]).expect(0);
    let report = project.ralph(&["report", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let page = ".ralph/logs/iteration-1-qa/report.html";
    let mut passed: Vec<&str> = report["flows"][0]["passed"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    passed.sort_unstable();
    assert_eq!(passed, ["greet", "other"]);
    assert_eq!(report["flows"][0]["page"], page);
    assert!(project.repo.path(page).is_file());
    let text = project.ralph(&["report"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("Flows in the browser"), "{text}");
    assert!(text.contains(page), "{text}");
}

#[test]
fn flows_verify_in_place_too() {
    let project = project(BAD, "", &[shop_story("Greet Ada.")])
        .in_place()
        .script(&writes("site/index.html", GOOD));
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.leftovers(), [""; 0]);
    project.assert_nothing_alive();
}
