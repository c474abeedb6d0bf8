//! `ralph install` and `ralph uninstall`: what they write, and that nothing else is touched.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use ralph_testkit::TestRepo;

fn ralph(repo: &TestRepo, args: &[&str]) -> Output {
    let mut command = repo.command(env!("CARGO_BIN_EXE_ralph"));
    command.args(args).output().unwrap()
}

#[track_caller]
fn text(output: &Output, code: i32) -> String {
    let all = [output.stdout.clone(), output.stderr.clone()].concat();
    let all = String::from_utf8_lossy(&all).into_owned();
    assert_eq!(output.status.code(), Some(code), "{all}");
    all
}

/// Every file and folder below a folder, with its bytes.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path.clone());
                found.insert(path, None);
            } else {
                found.insert(path.clone(), Some(fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// The folder that an agent loads, for the user and for a project, and a file that is in it.
const PLACES: [(&str, &str, &str, &str); 2] = [
    (
        "claude",
        ".claude/skills/ralph",
        ".claude/skills/ralph",
        "hooks/hooks.json",
    ),
    (
        "pi",
        ".pi/agent/extensions/ralph",
        ".pi/extensions/ralph",
        "package.json",
    ),
];

#[test]
fn what_install_wrote_is_taken_away_and_all_else_stays_byte_for_byte() {
    for (agent, of_user, of_project, file) in PLACES {
        for (scope, with_settings) in [
            ("", false),
            ("", true),
            ("--project", false),
            ("--project", true),
        ] {
            let repo = TestRepo::new();
            let (top, folder) = match scope {
                "" => (repo.home(), repo.home().join(of_user)),
                _ => (repo.root().to_owned(), repo.root().join(of_project)),
            };
            if with_settings {
                let settings = folder
                    .parent()
                    .unwrap()
                    .parent()
                    .unwrap()
                    .join("settings.json");
                fs::create_dir_all(settings.parent().unwrap()).unwrap();
                fs::write(settings, "{ \"model\":\t\"x\" , // mine\n}").unwrap();
                let own = folder.parent().unwrap().join("mine/SKILL.md");
                fs::create_dir_all(own.parent().unwrap()).unwrap();
                fs::write(own, "mine\n").unwrap();
            }
            let before = everything(&top);
            let args: Vec<&str> = ["install", agent, scope]
                .into_iter()
                .filter(|a| !a.is_empty())
                .collect();
            let said = text(&ralph(&repo, &args), 0);
            assert!(said.starts_with("installed into "), "{said}");
            assert!(said.contains("no settings were changed"), "{said}");
            assert!(folder.join(file).is_file(), "{agent} {scope}");
            let installed = everything(&top);
            assert!(installed.len() > before.len());
            for (path, bytes) in &before {
                assert_eq!(installed.get(path), Some(bytes), "{}", path.display());
            }
            let again = text(&ralph(&repo, &args), 0);
            assert!(again.starts_with("ralph is in "), "{again}");
            assert_eq!(everything(&top), installed);

            let mut args = args;
            args[0] = "uninstall";
            let said = text(&ralph(&repo, &args), 0);
            assert!(said.starts_with("removed from "), "{said}");
            assert_eq!(everything(&top), before, "{agent} {scope}");
            let again = text(&ralph(&repo, &args), 0);
            assert!(again.starts_with("nothing to remove: "), "{again}");
            assert_eq!(everything(&top), before);
        }
    }
}

/// Files of the folders that are for their development.
const NOT_SHIPPED: [&str; 3] = ["tests", "biome.json", "tsconfig.json"];

#[test]
fn every_file_of_the_plugin_and_the_package_is_installed() {
    for (agent, of_user, _, _) in PLACES {
        let repo = TestRepo::new();
        text(&ralph(&repo, &["install", agent]), 0);
        let folder = repo.home().join(of_user);
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../integrations")
            .join(agent);
        let names = |folder: &Path| -> Vec<PathBuf> {
            let files = everything(folder)
                .into_iter()
                .filter(|(_, bytes)| bytes.is_some());
            let names = files.map(|(path, _)| path.strip_prefix(folder).unwrap().to_owned());
            let is_shipped = |path: &PathBuf| {
                let first = path.iter().next().unwrap().to_str().unwrap();
                !NOT_SHIPPED.contains(&first) && first != ".ralph-installed.json"
            };
            names.filter(is_shipped).collect()
        };
        assert_eq!(names(&folder), names(&source), "{agent}");
    }
}

#[test]
fn a_file_that_a_person_changed_is_left_and_named() {
    for (agent, of_user, _, file) in PLACES {
        let repo = TestRepo::new();
        text(&ralph(&repo, &["install", agent]), 0);
        let folder = repo.home().join(of_user);
        fs::write(folder.join(file), "mine\n").unwrap();
        let said = text(&ralph(&repo, &["install", agent]), 0);
        assert!(
            said.contains(&format!("left as it is, as it was changed by hand: {file}")),
            "{said}"
        );
        assert_eq!(fs::read_to_string(folder.join(file)).unwrap(), "mine\n");
        let said = text(&ralph(&repo, &["uninstall", agent]), 0);
        assert!(
            said.contains(&format!("left, as it was changed by hand: {file}")),
            "{said}"
        );
        let left = everything(&folder);
        let files: Vec<_> = left.iter().filter(|(_, bytes)| bytes.is_some()).collect();
        assert_eq!(files.len(), 1, "{left:?}");
    }
}

#[test]
fn an_older_version_is_replaced_and_a_file_that_is_no_more_is_removed() {
    let repo = TestRepo::new();
    text(&ralph(&repo, &["install", "claude"]), 0);
    let folder = repo.home().join(".claude/skills/ralph");
    let manifest = folder.join(".ralph-installed.json");
    let mut known: serde_json::Value =
        serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    fs::write(folder.join("gone.md"), "").unwrap();
    // SHA-256 of nothing.
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    known["files"]["gone.md"] = empty.into();
    known["files"]["README.md"] = empty.into();
    fs::write(folder.join("README.md"), "").unwrap();
    fs::write(&manifest, known.to_string()).unwrap();
    let said = text(&ralph(&repo, &["install", "claude"]), 0);
    assert!(said.contains("(1 files written)"), "{said}");
    assert!(
        said.contains("removed gone.md, which this version does not have"),
        "{said}"
    );
    assert!(!folder.join("gone.md").exists());
    assert_ne!(fs::read(folder.join("README.md")).unwrap(), b"");
}

#[test]
fn a_folder_of_somebody_else_is_refused_by_name() {
    let repo = TestRepo::new();
    let folder = repo.home().join(".claude/skills/ralph");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), "mine\n").unwrap();
    let said = text(&ralph(&repo, &["install", "claude"]), 2);
    assert!(
        said.contains("skills/ralph is there already, and `ralph install` did not make it"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(folder.join("SKILL.md")).unwrap(),
        "mine\n"
    );
    assert!(text(&ralph(&repo, &["uninstall", "claude"]), 0).starts_with("nothing to remove"));
    let said = text(&ralph(&repo, &["install", "cursor"]), 2);
    assert!(said.contains("possible values: claude, pi"), "{said}");
}

#[test]
fn hooks_start_this_program_where_the_path_has_no_ralph() {
    let repo = TestRepo::new();
    text(&ralph(&repo, &["install", "claude"]), 0);
    let hooks = repo.home().join(".claude/skills/ralph/hooks/hooks.json");
    let program = Path::new(env!("CARGO_BIN_EXE_ralph"))
        .canonicalize()
        .unwrap();
    let expected = format!("\"{} hook stop\"", program.display());
    assert!(fs::read_to_string(&hooks).unwrap().contains(&expected));

    let bin = repo.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(&program, bin.join("ralph")).unwrap();
    let mut command = repo.command(&program);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let output = command
        .args(["install", "claude"])
        .env("PATH", path)
        .output()
        .unwrap();
    text(&output, 0);
    assert!(
        fs::read_to_string(&hooks)
            .unwrap()
            .contains("\"ralph hook stop\"")
    );
}
