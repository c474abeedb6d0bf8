//! Configuration from real files in real folders.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_core::config::{FlagValue, Origin, guess_verify};
use tempfile::TempDir;

use super::{
    ProjectKind, Request, Settings, SettingsError, Surroundings, find_project, load,
    read_project_files,
};

/// git, untouched by whatever the machine's user has set.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    command
}

/// A home and a repository, both empty and real.
struct Scene {
    _dir: TempDir,
    home: PathBuf,
    repo: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        let (home, repo) = (base.join("home"), base.join("repo"));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(&repo).unwrap();
        let made = git(&repo).args(["init", "-q"]).status().unwrap();
        assert!(made.success());
        let env = vec![("HOME".into(), home.clone().into_os_string())];
        Self {
            _dir: dir,
            home,
            repo,
            env,
        }
    }

    fn write(&self, path: &Path, text: impl AsRef<[u8]>) -> &Self {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn var(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    fn load_from(&self, start: &Path) -> Result<Settings, SettingsError> {
        self.load_with(start, Request::default())
    }

    fn load_with(&self, start: &Path, request: Request) -> Result<Settings, SettingsError> {
        let surroundings = Surroundings {
            start: start.to_owned(),
            env: self.env.clone(),
        };
        load(&surroundings, request)
    }

    fn load(&self) -> Result<Settings, SettingsError> {
        self.load_from(&self.repo)
    }
}

fn iterations(settings: &Settings) -> u32 {
    settings.resolved.config.loop_.max_iterations
}

fn limit(n: u32) -> String {
    format!("loop:\n  max_iterations: {n}\n")
}

#[test]
fn without_any_file_the_defaults_hold() {
    let scene = Scene::new();
    let settings = scene.load().unwrap();
    assert_eq!(iterations(&settings), 50);
    assert_eq!(settings.root, scene.repo);
    assert_eq!(settings.config_file, None);
    assert_eq!(settings.user_file, None);
    assert_eq!(settings.project.kind, ProjectKind::Repository);
}

#[test]
fn the_files_the_environment_and_the_flags_are_read_in_order() {
    let scene = Scene::new();
    let user = scene.home.join(".config/ralph/ralph.yaml");
    let own = scene.repo.join("ralph.yaml");
    scene.write(&user, limit(11));
    let settings = scene.load().unwrap();
    assert_eq!(iterations(&settings), 11);
    assert_eq!(settings.user_file, Some(user));

    scene.write(&own, limit(12));
    let settings = scene.load().unwrap();
    assert_eq!(iterations(&settings), 12);
    assert_eq!(
        settings.resolved.origin("loop.max_iterations"),
        &Origin::File { path: own, line: 2 }
    );

    let scene = scene.var("RALPH_LOOP_MAX_ITERATIONS", "13");
    assert_eq!(iterations(&scene.load().unwrap()), 13);
    let request = Request {
        config_file: None,
        flags: vec![FlagValue {
            key: "loop.max_iterations".into(),
            value: 14.into(),
            flag: "--max-iterations".into(),
        }],
    };
    let settings = scene.load_with(&scene.repo, request).unwrap();
    assert_eq!(iterations(&settings), 14);
}

#[test]
fn the_users_file_is_looked_for_where_xdg_says() {
    let scene = Scene::new();
    let elsewhere = scene.home.join("xdg");
    scene.write(&elsewhere.join("ralph/ralph.yml"), limit(21));
    scene.write(&scene.home.join(".config/ralph/ralph.yaml"), limit(22));
    let scene = scene.var("XDG_CONFIG_HOME", elsewhere.into_os_string());
    assert_eq!(iterations(&scene.load().unwrap()), 21);

    let scene = Scene::new();
    scene.write(&scene.home.join(".config/ralph/ralph.yaml"), limit(22));
    let scene = scene.var("XDG_CONFIG_HOME", "relative");
    assert_eq!(iterations(&scene.load().unwrap()), 22);
}

#[test]
fn the_projects_file_is_found_from_a_folder_within() {
    let scene = Scene::new();
    let deep = scene.repo.join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    scene.write(&scene.repo.join("ralph.yml"), limit(31));
    let settings = scene.load_from(&deep).unwrap();
    assert_eq!(iterations(&settings), 31);
    assert_eq!(settings.root, scene.repo);
    assert_eq!(settings.resolved.notes, []);
}

#[test]
fn a_file_below_the_root_is_not_used_and_that_is_said() {
    let scene = Scene::new();
    let inner = scene.repo.join("a/ralph.yaml");
    scene.write(&inner, limit(41));
    std::fs::create_dir_all(scene.repo.join("a/b")).unwrap();
    let settings = scene.load_from(&scene.repo.join("a/b")).unwrap();
    assert_eq!(iterations(&settings), 50);
    let notes: Vec<String> = settings
        .resolved
        .notes
        .iter()
        .map(|n| n.to_string())
        .collect();
    let expected = format!(
        "{} is not used: the configuration of a project is at its root, {}",
        inner.display(),
        scene.repo.display()
    );
    assert_eq!(notes, [expected]);
}

#[test]
fn two_files_at_once_are_refused() {
    let scene = Scene::new();
    scene.write(&scene.repo.join("ralph.yaml"), limit(1));
    scene.write(&scene.repo.join("ralph.yml"), limit(2));
    let error = scene.load().unwrap_err().to_string();
    assert!(
        error.ends_with("ralph.yml are there; keep one of them"),
        "{error}"
    );
}

#[test]
fn a_named_file_takes_the_place_of_the_projects_own() {
    let scene = Scene::new();
    scene.write(&scene.repo.join("ralph.yaml"), limit(51));
    scene.write(&scene.repo.join("conf/other.yaml"), limit(52));
    let request = |file: &str| Request {
        config_file: Some(file.into()),
        flags: Vec::new(),
    };
    let settings = scene
        .load_with(&scene.repo, request("conf/other.yaml"))
        .unwrap();
    assert_eq!(iterations(&settings), 52);
    let error = scene
        .load_with(&scene.repo, request("nowhere.yaml"))
        .unwrap_err();
    assert!(error.to_string().ends_with("repo/nowhere.yaml"), "{error}");
}

#[test]
fn the_root_is_relative_to_the_file_that_sets_it() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.repo.join("conf/inner")).unwrap();
    scene.write(&scene.repo.join("conf/other.yaml"), "repo: {root: inner}\n");
    let request = Request {
        config_file: Some("conf/other.yaml".into()),
        flags: Vec::new(),
    };
    let settings = scene.load_with(&scene.repo, request).unwrap();
    assert_eq!(settings.root, scene.repo.join("conf/inner"));

    let scene = scene.var("RALPH_REPO_ROOT", "conf");
    assert_eq!(scene.load().unwrap().root, scene.repo.join("conf"));

    scene.write(&scene.repo.join("file"), "");
    let scene = scene.var("RALPH_REPO_ROOT", "file");
    let last_wins = scene.load().unwrap_err();
    let expected = format!(
        "`repo.root` (env RALPH_REPO_ROOT) is no folder: {}",
        scene.repo.join("file").display()
    );
    assert_eq!(last_wins.to_string(), expected);
}

#[test]
fn a_file_that_is_no_text_or_too_large_is_refused_by_name() {
    let scene = Scene::new();
    let path = scene.repo.join("ralph.yaml");
    scene.write(&path, b"loop: \xff\n");
    let error = scene.load().unwrap_err().to_string();
    assert!(
        error.ends_with("ralph.yaml is not UTF-8 text: byte 6 is no part of a character"),
        "{error}"
    );
    scene.write(&path, vec![b'#'; 1024 * 1024 + 1]);
    let error = scene.load().unwrap_err().to_string();
    assert!(
        error.ends_with("is larger than 1048576 bytes, too large for a configuration"),
        "{error}"
    );
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = scene.load().unwrap_err().to_string();
    assert!(error.starts_with("cannot read "), "{error}");
}

#[test]
fn mistakes_are_told_with_the_path_of_their_file() {
    let scene = Scene::new();
    let path = scene.repo.join("ralph.yaml");
    scene.write(&path, "loop:\n  max_iteration: 5\n");
    let expected = format!(
        "{}:2:3: unknown key `loop.max_iteration`; did you mean `loop.max_iterations`?",
        path.display()
    );
    assert_eq!(scene.load().unwrap_err().to_string(), expected);
}

#[test]
fn a_variable_that_is_no_text_matters_only_if_it_is_ralphs() {
    let scene = Scene::new().var("OTHER", OsString::from_vec(vec![0xff]));
    assert_eq!(iterations(&scene.load().unwrap()), 50);
    let scene = scene.var("RALPH_CLAUDE_MODEL", OsString::from_vec(vec![0xff]));
    assert_eq!(
        scene.load().unwrap_err().to_string(),
        "environment variable RALPH_CLAUDE_MODEL is not UTF-8 text"
    );
}

#[test]
fn outside_a_repository_the_folder_itself_is_the_project() {
    let scene = Scene::new();
    let folder = scene.home.join("plain");
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    scene.write(&folder.join("ralph.yaml"), limit(61));
    let settings = scene.load_from(&folder).unwrap();
    assert_eq!(settings.project.kind, ProjectKind::Folder);
    assert_eq!(iterations(&settings), 61);
}

#[test]
fn a_linked_worktree_and_a_symbolic_link_lead_to_the_right_root() {
    let scene = Scene::new();
    let run = |args: &[&str]| {
        let status = git(&scene.repo)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"])
            .args(args)
            .status();
        assert!(status.unwrap().success());
    };
    run(&[
        "commit",
        "-q",
        "--allow-empty",
        "--no-verify",
        "-m",
        "first",
    ]);
    run(&["worktree", "add", "-q", "../tree"]);
    let tree = scene.repo.parent().unwrap().join("tree");
    std::fs::create_dir(tree.join("sub")).unwrap();
    assert_eq!(find_project(&tree.join("sub")).unwrap().root, tree);
    let link = scene.home.join("link");
    std::os::unix::fs::symlink(&scene.repo, &link).unwrap();
    assert_eq!(find_project(&link).unwrap().root, scene.repo);
}

#[test]
fn the_files_of_a_project_are_read_for_guessing() {
    let scene = Scene::new();
    scene.write(
        &scene.repo.join("package.json"),
        r#"{"scripts": {"test": "x"}}"#,
    );
    scene.write(&scene.repo.join("yarn.lock"), "");
    scene.write(&scene.repo.join("Cargo.toml"), b"\xff");
    let files = read_project_files(&scene.repo).unwrap();
    let commands: Vec<String> = guess_verify(&files)
        .iter()
        .map(|g| g.command.to_string())
        .collect();
    assert_eq!(commands, ["yarn test"]);
}
