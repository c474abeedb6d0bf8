//! Caches of ralph's own: what verifications of landed changes built is there for the next one, nothing else
//! gets in, and nothing old passes for new.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Project, good_attempt, good_script, story};

fn attempt(shell: &str) -> Value {
    json!({"do": [{"run": shell}, {"say": "Task {id} complete"}]})
}

/// A project with layers in which git ignores what is installed and built.
fn project(stories: &[Value], config: &str) -> Project {
    let project = Project::with_stories(stories)
        .config(config)
        .env("RALPH_WORKSPACE_MODE", "overlay");
    project
        .repo
        .file(".gitignore", "node_modules/\ntarget/\n")
        .commit("ignore");
    project
}

fn in_home(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.repo.home().join(name)).unwrap_or_default()
}

fn caches(project: &Project) -> Vec<PathBuf> {
    let folder = project.data_dir().join("layers");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let entries = entries.map(|entry| entry.unwrap().path());
    entries
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("cache-")
        })
        .collect()
}

/// Counts its runs in a folder that is a cache by its name, and tells how many it knows of.
const COUNTING: &str = "verification:\n  commands:\n    - mkdir -p target; echo run >> target/runs; cp target/runs \"$HOME/runs\"\nloop:\n  max_verify_retries: 0\n";

#[test]
fn a_verification_finds_what_those_before_it_built_and_so_does_an_agent() {
    let agent = attempt("cp target/runs \"$HOME/agent-{id}\"; echo x > {id}.txt");
    let project = project(&[story("A"), story("B"), story("C")], COUNTING)
        .script(&json!({"default": [agent]}));
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B", "C"]);
    // One of the base, and one of each that landed.
    assert_eq!(in_home(&project, "runs").lines().count(), 4);
    assert_eq!(in_home(&project, "agent-A").lines().count(), 1);
    assert_eq!(in_home(&project, "agent-C").lines().count(), 3);
    assert!(!project.repo.exists("target"), "the user's folder has none");
}

#[test]
fn many_generations_become_one_and_nothing_is_lost() {
    let names: Vec<String> = (0..8).map(|n| format!("T{n}")).collect();
    let stories: Vec<Value> = names.iter().map(|name| story(name)).collect();
    let config = COUNTING.replace(
        "echo run",
        "rm -rf target/old; mkdir target/old; touch target/old/$(cat target/runs 2>/dev/null | wc -l); echo run",
    );
    let config = config.replace(
        "cp target/runs",
        "ls target/old > \"$HOME/old\"; cp target/runs",
    );
    let project = project(&stories, &config).script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(in_home(&project, "runs").lines().count(), 9);
    assert_eq!(in_home(&project, "old"), "8\n", "a deleted folder stays so");
    let cache = caches(&project).remove(0);
    let entries = std::fs::read_dir(cache).unwrap();
    let entries = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    let generations = entries.filter(|name| name.starts_with("generation-"));
    assert!(generations.count() <= 5);
}

#[test]
fn what_is_installed_again_each_time_takes_the_place_of_what_was_there() {
    let config = "verification:\n  prepare:\n    - rm -rf node_modules && mkdir -p node_modules/dep && echo 1 > node_modules/dep/a\n  commands:\n    - test -f node_modules/dep/a\n";
    let project = project(&[story("A"), story("B"), story("C")], config).script(&good_script());
    project.run(&[]).expect(0);
    let cache = caches(&project).remove(0);
    let text = std::fs::read_to_string(cache.join("stack.json")).unwrap();
    let stack: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(stack["generations"].as_array().unwrap().len(), 1, "{stack}");
}

#[test]
fn the_cache_of_a_candidate_that_fails_is_dropped() {
    let bad = attempt("echo x > other.txt");
    let project =
        project(&[story("A")], COUNTING).script(&json!({"default": [bad, good_attempt()]}));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A failed", "A verified"]);
    assert_eq!(
        in_home(&project, "runs").lines().count(),
        2,
        "the base's and its own"
    );
}

#[test]
fn a_poisoned_cache_of_an_agent_reaches_no_verification_and_no_other_agent() {
    let mut own = story("A");
    own["verify"] = json!(["node_modules/.bin/check"]);
    let poison = attempt(
        "echo bad > A.txt; printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/check; \
         mkdir -p target; echo evil > target/planted",
    );
    let honest = attempt(
        "cat node_modules/.bin/check > \"$HOME/seen\"; ls target > \"$HOME/target\" 2>&1; echo good > A.txt",
    );
    let project = project(&[own], "loop:\n  max_verify_retries: 0\n")
        .script(&json!({"default": [poison, honest]}));
    let check = "#!/bin/sh\ngrep -q good A.txt && test ! -e target/planted\n";
    project.repo.file("node_modules/.bin/check", check);
    let path = project.repo.root().join("node_modules/.bin/check");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A failed", "A verified"]);
    assert_eq!(in_home(&project, "seen"), check);
    assert!(!in_home(&project, "target").contains("planted"));
    assert_eq!(project.repo.read("node_modules/.bin/check"), check);
}

/// Builds by times, as make does: what is newer than its result is built again.
const BUILDING: &str =
    "verification:\n  commands:\n    - sh build.sh\nloop:\n  max_verify_retries: 0\n";
const BUILD: &str = "mkdir -p target\n\
    if [ ! -e target/out ] || [ src.txt -nt target/out ]; then cp src.txt target/out; fi\n\
    grep -q good target/out\n";

fn building(agent: &str) -> Project {
    let project = project(&[story("A"), story("B")], BUILDING).script(&json!({
        "tasks": {"A": [good_attempt()]}, "default": [attempt(agent)]
    }));
    project
        .repo
        .file("build.sh", BUILD)
        .file("src.txt", "good\n")
        .commit("sources");
    project
}

#[test]
fn an_old_time_does_not_pass_off_what_was_built_before_as_the_candidates() {
    let project = building("echo bad > src.txt; touch -d 2001-01-01 src.txt; echo x > {id}.txt");
    let ran = project.run(&["--max-iterations", "2"]).expect(3);
    assert_eq!(ran.verdicts(), ["A verified", "B failed"]);
}

#[test]
fn nor_where_a_person_committed_an_older_file() {
    let project = building(
        "cp target/out \"$HOME/seen\"; sh build.sh; cp target/out \"$HOME/built\"; echo x > {id}.txt",
    );
    project.run(&["--task", "A"]).expect(0);
    project.repo.file("src.txt", "bad\n").commit("older");
    let touched = project
        .repo
        .command("touch")
        .args(["-d", "2001-01-01", "src.txt"])
        .current_dir(project.repo.root())
        .status();
    assert!(touched.unwrap().success());
    let ran = project.run(&["--max-iterations", "1"]).expect(3);
    assert_eq!(ran.verdicts(), ["B failed"]);
    assert!(ran.all().contains("sh build.sh"), "{}", ran.all());
    assert_eq!(in_home(&project, "built"), "bad\n", "nor to an agent");
}

#[test]
fn cargo_builds_a_candidate_again_whose_file_looks_older_than_what_is_kept() {
    let config = "verification:\n  commands:\n    - cargo test --quiet --offline\nloop:\n  max_verify_retries: 0\n";
    let bad = attempt(
        "sed -i 's/ 2 / 3 /' src/lib.rs; touch -d 2001-01-01 src/lib.rs; echo x > {id}.txt",
    );
    let project = project(&[story("A"), story("B")], config)
        .script(&json!({"tasks": {"A": [good_attempt()]}, "default": [bad]}));
    // The tools themselves: what stands for them on the path needs a home of the user's.
    let tools = PathBuf::from(std::env::var_os("CARGO").unwrap());
    let path = format!(
        "{}:{}",
        tools.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let project = project.env("PATH", path);
    project
        .repo
        .file(
            "Cargo.toml",
            "[package]\nname = \"two\"\nedition = \"2021\"\n",
        )
        .file(
            "src/lib.rs",
            "pub fn two() -> u32 { 2 }\n#[test]\nfn is_two() { assert_eq!(two(), 1 + 1); }\n",
        )
        .commit("sources");
    let ran = project.run(&["--max-iterations", "2"]).expect(3);
    assert_eq!(ran.verdicts(), ["A verified", "B failed"]);
    let text = std::fs::read_to_string(caches(&project).remove(0).join("stack.json")).unwrap();
    assert!(text.contains("\"target\""), "{text}");
}

#[test]
fn nor_where_the_verifications_between_did_not_build_it() {
    let own = |id: &str, command: &str| {
        let mut story = story(id);
        story["verify"] = json!([command]);
        story
    };
    let stories = [
        own("A", "sh build.sh"),
        own("B", "mkdir -p target; date > target/b"),
        own("C", "sh build.sh"),
    ];
    let project = project(&stories, "loop:\n  max_verify_retries: 0\n").script(&good_script());
    project
        .repo
        .file("build.sh", BUILD)
        .file("src.txt", "good\n")
        .commit("sources");
    project.run(&["--task", "A"]).expect(0);
    project.repo.file("src.txt", "bad\n").commit("older");
    let set_back = || {
        let mut touch = project.repo.command("touch");
        let touched = touch.args(["-d", "2001-01-01", "src.txt"]).status();
        assert!(touched.unwrap().success());
    };
    set_back();
    project.run(&["--task", "B"]).expect(0);
    set_back();
    let ran = project.run(&["--task", "C", "--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["C failed"]);
}

#[test]
fn a_dependency_that_only_an_agent_installed_serves_later_tasks_and_is_flagged_there_too() {
    let mut stories = [story("A"), story("B")];
    for story in &mut stories {
        story["verify"] = json!(["test -f node_modules/dep/index.js"]);
    }
    let install = attempt(
        "mkdir -p node_modules/dep; echo 1 > node_modules/dep/index.js; \
         echo '{\"dependencies\": {\"dep\": \"1\"}}' > package.json",
    );
    let project = project(&stories, "loop:\n  max_verify_retries: 0\n")
        .script(&json!({"tasks": {"A": [install]}, "default": [good_attempt()]}));
    let ran = project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    let flags = ran.flags();
    let flagged = flags.iter().filter(|f| f.starts_with("caches: agent"));
    assert_eq!(flagged.count(), 2, "{flags:?}");
    assert!(!project.repo.exists("node_modules"));
}

#[test]
fn a_cache_that_the_user_made_again_since_is_the_users() {
    let project = project(&[story("A"), story("B")], COUNTING).script(&good_script());
    project.run(&["--task", "A"]).expect(0);
    project.repo.file("target/runs", "of the user\n");
    project.run(&["--task", "B"]).expect(0);
    assert!(in_home(&project, "runs").starts_with("of the user\n"));
    assert_eq!(project.repo.read("target/runs"), "of the user\n");
}

#[test]
fn what_a_killed_run_was_writing_is_no_cache_and_one_whose_repository_is_gone_is_deleted() {
    let project = project(&[story("A"), story("B")], COUNTING).script(&good_script());
    project.run(&["--task", "A"]).expect(0);
    let cache = caches(&project).remove(0);
    std::fs::create_dir_all(cache.join("generation-half/target")).unwrap();
    std::fs::write(cache.join("generation-half/target/runs"), "half\n").unwrap();
    project.run(&["--task", "B"]).expect(0);
    assert!(!in_home(&project, "runs").contains("half"));
    assert!(!cache.join("generation-half").exists());
    let other = self::project(&[story("A")], COUNTING)
        .script(&good_script())
        .env("RALPH_DATA_DIR", project.data_dir());
    std::fs::remove_dir_all(project.repo.root()).unwrap();
    other.run(&[]).expect(0);
    assert!(!cache.exists());
    assert_eq!(caches(&other).len(), 1);
}

#[test]
fn a_cache_that_git_does_not_ignore_any_more_is_not_shown() {
    let agent = attempt("echo node_modules/ > .gitignore; echo x > {id}.txt");
    let project = project(&[story("A"), story("B")], COUNTING)
        .script(&json!({"tasks": {"A": [good_attempt()]}, "default": [agent]}));
    project.run(&[]).expect(0);
    assert_eq!(in_home(&project, "runs").lines().count(), 1);
}

/// Writes files that it says nothing of, as many tools do.
const WRITING: &str = "verification:\n  commands:\n    - echo made > Cargo.lock; mkdir -p gen; echo made > gen/out.txt; echo made > stamp.txt\n";

#[test]
fn a_lock_file_that_verification_writes_lands_with_the_change_that_it_belongs_to() {
    for mode in ["overlay", "in_place"] {
        for (agent, lock) in [
            ("echo x > A.txt; echo dep >> Cargo.toml", "made"),
            ("echo x > A.txt; echo mine > Cargo.lock", "made"),
            ("echo x > A.txt", "old"),
        ] {
            let how = format!("{mode}, {agent}");
            let project = project(&[story("A")], WRITING)
                .script(&json!({"default": [attempt(agent)]}))
                .env("RALPH_WORKSPACE_MODE", mode);
            project
                .repo
                .file("Cargo.toml", "[package]\n")
                .file("Cargo.lock", "old\n")
                .file("stamp.txt", "old\n")
                .commit("files");
            let ran = project.run(&[]).expect(0);
            assert_eq!(project.repo.git(["show", "HEAD:Cargo.lock"]), lock, "{how}");
            assert_eq!(project.repo.read("Cargo.lock").trim(), lock, "{how}");
            assert_eq!(project.repo.git(["show", "HEAD:stamp.txt"]), "old");
            // In the user's own folder what verification made stays.
            let left = if mode == "overlay" { "" } else { "?? gen/" };
            assert_eq!(project.repo.git(["status", "--porcelain"]), left, "{how}");
            let told = ran.all().contains("Cargo.lock: as verification wrote it");
            assert_eq!(told, lock == "made", "{how}: {}", ran.all());
        }
    }
}

#[test]
fn a_lock_file_of_a_change_that_fails_is_put_back() {
    let config = format!("{WRITING}    - test -f B.txt\nloop:\n  max_verify_retries: 0\n");
    for mode in ["overlay", "in_place"] {
        let project = project(&[story("A")], &config)
            .script(&json!({"default": [attempt("echo x > A.txt; echo dep >> Cargo.toml")]}))
            .env("RALPH_WORKSPACE_MODE", mode);
        project
            .repo
            .file("Cargo.toml", "[package]\n")
            .file("Cargo.lock", "old\n")
            .commit("files");
        project.run(&["--once"]).expect(3);
        assert_eq!(project.repo.read("Cargo.lock"), "old\n", "{mode}");
        assert_eq!(project.repo.read("Cargo.toml"), "[package]\n", "{mode}");
        assert_eq!(project.landed(), [""; 0], "{mode}");
    }
}

#[test]
fn what_the_configuration_names_lands_and_what_may_not_land_does_not() {
    // In place, what a baseline made is not told from what a person made.
    let config = format!("{WRITING}  lands: [gen/*.txt]\n  baseline: false\n");
    let blocked =
        format!("{config}safety:\n  protected_paths: [gen]\nloop:\n  max_verify_retries: 0\n");
    for mode in ["overlay", "in_place"] {
        let project = project(&[story("A")], &config)
            .script(&good_script())
            .env("RALPH_WORKSPACE_MODE", mode);
        project.run(&[]).expect(0);
        assert_eq!(
            project.repo.git(["show", "HEAD:gen/out.txt"]),
            "made",
            "{mode}"
        );
        assert_eq!(
            project.repo.git(["ls-files", "stamp.txt", "Cargo.lock"]),
            "",
            "{mode}"
        );
        let project = self::project(&[story("A")], &blocked)
            .script(&good_script())
            .env("RALPH_WORKSPACE_MODE", mode);
        let ran = project.run(&["--once"]).expect(3);
        assert_eq!(ran.verdicts(), ["A failed"], "{mode}");
        assert!(ran.all().contains("gen/out.txt"), "{mode}: {}", ran.all());
        assert_eq!(project.landed(), [""; 0], "{mode}");
    }
}
