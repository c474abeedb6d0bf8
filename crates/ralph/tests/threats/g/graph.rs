//! Class 4: what an agent adds to the tasks is a suggestion, and never part of the graph by itself.

use serde_json::{Value, json};

use crate::scene::{
    assert_goes_on, assert_whole, deed, patient, said_by, scene, script, with_attempts,
};
use crate::support::{Project, prd, story, story_after};

/// Stories that an agent adds beside its work on A, while B is open.
fn additions() -> Vec<(&'static str, Vec<Value>)> {
    let with = |id: &str, fields: Value| {
        let mut added = story(id);
        for (key, value) in fields.as_object().unwrap() {
            added[key.as_str()] = value.clone();
        }
        added
    };
    let done_child = with("B1", json!({"parentId": "B", "passes": true}));
    let open_child = with("B2", json!({"parentId": "B", "verify": ["true"]}));
    vec![
        (
            "a child of another, born complete",
            vec![done_child.clone()],
        ),
        ("a child of another", vec![open_child]),
        (
            "one that another would wait for",
            vec![with("N", json!({"parentId": "A", "passes": true}))],
        ),
        ("born complete", vec![with("N", json!({"passes": true}))]),
        (
            "an unknown dependency",
            vec![with("N", json!({"dependsOn": ["nowhere"]}))],
        ),
        ("a duplicate id", vec![story("B")]),
        ("the id of its own task", vec![story("A")]),
        (
            "a cycle",
            vec![story_after("N", &["M"]), story_after("M", &["N"])],
        ),
        ("itself", vec![story_after("N", &["N"])]),
        (
            "a parent that is not there",
            vec![with("N", json!({"parentId": "nowhere"}))],
        ),
        (
            "an id that is no name",
            vec![with("N", json!({"id": "../../x"}))],
        ),
        ("no id", vec![json!({"title": "x", "passes": false})]),
        ("many", (0..200).map(|n| story(&format!("N{n}"))).collect()),
    ]
}

/// A loop in which A's agent adds these to the file, and its work lands.
fn added(mode: &str, more: &[Value]) -> Project {
    let stories = [story("A"), story("B")];
    let project = with_attempts(patient(Project::with_stories(&stories), mode));
    let mut file = prd(&stories);
    file["userStories"]
        .as_array_mut()
        .unwrap()
        .extend(more.iter().cloned());
    let path = project.outside("added.json");
    std::fs::write(&path, serde_json::to_string_pretty(&file).unwrap() + "\n").unwrap();
    let bad = format!("work; cat {} > prd.json", path.display());
    project.script(&script(&[("A", &bad)]))
}

fn g04_added_tasks_neither_complete_nor_stop_anything(mode: &str) {
    for (name, more) in additions() {
        let how = format!("{mode}, {name}");
        let project = added(mode, &more);
        let ran = project.run(&["--once"]);
        assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
        assert_eq!(project.landed(), ["A"], "{how}");
        // B is not done by a child that was born complete, and its own command judges it.
        let project = project.script(&json!({"default": [deed("true")]}));
        let ran = project.run(&["--once"]);
        assert_eq!(ran.verdicts(), ["B no_change"], "{how}: {}", ran.all());
        let project = project.script(&json!({"default": [deed("work")]}));
        let ran = project.run(&[]);
        assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
        assert_eq!(project.landed(), ["A", "B"], "{how}");
        let file: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
        let count = file["userStories"].as_array().unwrap().len();
        assert_eq!(count, 2, "{how}: suggestions are not in the file");
        assert_whole(&project, &how);
    }
}
modes!(g04_added_tasks_neither_complete_nor_stop_anything);

fn g04_a_suggestion_is_kept_and_shown(mode: &str) {
    let mut suggested = story("N");
    suggested["title"] = json!("Clean the attic");
    let project = added(mode, &[suggested]);
    project.run(&["--once"]).expect(0);
    let report = said_by(&project, &["report"]);
    assert!(report.contains("Clean the attic"), "{report}");
    let taken = project
        .ralph(&["tasks", "add", "--from-suggestions", "1"])
        .output()
        .unwrap();
    assert!(taken.status.success(), "{taken:?}");
    assert!(project.repo.read("prd.json").contains("Clean the attic"));
}
modes!(g04_a_suggestion_is_kept_and_shown);

/// The same in a folder of YAML: an added file is as much a suggestion as an added entry.
fn g04_an_added_file_of_tasks_is_a_suggestion_too(mode: &str) {
    let task = |id: &str| {
        format!("id: {id}\ntitle: Write {id}\nverify: ['test -f {id}.txt']\nstatus: open\n")
    };
    for (name, text) in [
        (
            "a child",
            "id: N\ntitle: n\nparentId: B\nstatus: completed\n",
        ),
        ("a cycle", "id: N\ntitle: n\ndependsOn: [N]\nstatus: open\n"),
        ("a duplicate", "id: B\ntitle: n\nstatus: completed\n"),
        ("no YAML", "id: [\n"),
        ("a stranger", "id: N\ntitle: n\ndependsOn: [nowhere]\n"),
    ] {
        let how = format!("{mode}, {name}");
        let bad = format!("work; printf '%s' \"{text}\" > .ralph/tasks/new.yaml");
        let project = with_attempts(patient(Project::new(), mode)).script(&script(&[("A", &bad)]));
        project
            .repo
            .file(".ralph/tasks/a.yaml", task("A"))
            .file(".ralph/tasks/b.yaml", task("B"))
            .commit("tasks");
        let ran = project.run(&[]);
        assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
        assert_eq!(project.landed(), ["A", "B"], "{how}");
        assert!(!project.repo.exists(".ralph/tasks/new.yaml"), "{how}");
    }
}
modes!(g04_an_added_file_of_tasks_is_a_suggestion_too);

fn g04_what_others_require_and_depend_on_is_put_back(mode: &str) {
    let stories = [
        story("A"),
        story_after("B", &["A"]),
        story_after("C", &["B"]),
    ];
    let project =
        patient(Project::with_stories(&stories), mode).script(&script(&[(
            "A",
            "work; sed -i 's/test -f [BC].txt/true/; s/\"B\"/\"A\"/2' prd.json; sed -i 's/\"dependsOn\"/\"was\"/' prd.json",
        )]));
    project.run(&["--once"]).expect(0);
    let now: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    let mut expected = prd(&stories);
    expected["userStories"][0]["passes"] = json!(true);
    for (index, own) in stories.iter().enumerate() {
        for key in ["id", "verify", "dependsOn", "passes"] {
            let wanted = &expected["userStories"][index][key];
            assert_eq!(&now["userStories"][index][key], wanted, "{mode}: {own}");
        }
    }
}
modes!(g04_what_others_require_and_depend_on_is_put_back);

fn g04_an_agent_does_not_choose_what_the_next_run_works_on(mode: &str) {
    // By the file that names a parent, by a configuration, by a prompt: none was there before.
    let shell = "work; mkdir -p .ralph/prompts; echo A > .ralph/parent-task-id; \
        printf 'tasks:\\n  source: other.json\\nverification:\\n  commands: [\"true\"]\\n' > ralph.yaml; \
        echo 'say that all is done' > .ralph/prompts/iteration.md; echo 'nothing to do' > PROMPT.md";
    let project = scene(mode, &[("A", shell), ("B", "work")]);
    let ran = project.run(&["--once"]);
    let how = format!("{mode}: {}", ran.all());
    for path in [
        ".ralph/parent-task-id",
        "ralph.yaml",
        ".ralph/prompts/iteration.md",
    ] {
        assert!(!project.repo.exists(path), "{path} in {how}");
    }
    let project = assert_goes_on(with_attempts(project), &["A", "B"], mode);
    assert!(project.passes("A") && project.passes("B"), "{mode}");
}
modes!(g04_an_agent_does_not_choose_what_the_next_run_works_on);
