//! Repositories that belong to somebody else: root works over one in a layer, and leaves everything to its owner;
//! an ordinary user works in place, and is told why.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::{Live, Project, Ran, good_attempt, good_script, story};

/// The owner of the repository, and its group.
const OWNER: (u32, u32) = (1234, 1235);

fn give(path: &Path, (user, group): (u32, u32)) {
    let owner = format!("{user}:{group}");
    let chown = Command::new("chown")
        .args(["-hR", &owner])
        .arg(path)
        .status();
    assert!(chown.unwrap().success());
}

fn owner_of(path: &Path) -> (u32, u32) {
    let meta = path.symlink_metadata().unwrap();
    (meta.uid(), meta.gid())
}

/// Everything below a folder that is not the owner's.
fn not_given(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        if owner_of(&path) != OWNER {
            found.push(path.clone());
        }
        if path.symlink_metadata().unwrap().is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            pending.extend(entries.map(|entry| entry.unwrap().path()));
        }
    }
    found
}

#[test]
fn root_works_in_a_layer_over_what_belongs_to_another_user_and_leaves_it_all_to_them() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // With a third owner no swap of two shows all files as those of the program's user.
    leaves_all_to_owners(
        "auto",
        None,
        "on, by namespaces, and programs do not run as root",
    );
    leaves_all_to_owners("auto", Some((4321, 4321)), "reduced");
    leaves_all_to_owners("off", None, "off");
    leaves_all_to_owners("off", Some((4321, 4321)), "off");
}

/// Runs a loop of root's over a repository of another user in which one file may be a third one's.
fn leaves_all_to_owners(sandbox: &str, third: Option<(u32, u32)>, said: &str) {
    let mut own = story("A");
    own["verify"] = json!(["test -f A.txt && grep -q more kept && test -f new/deep/file"]);
    let first = "set -e; git status > /dev/null; echo x > A.txt; echo more >> kept; mkdir -p new/deep; \
        echo f > new/deep/file; ln -s kept link; mv dir moved; echo more >> moved/b; git mv old renamed; \
        rm gone; chmod +x run.sh; echo more >> others";
    // With what ralph has written into the git folder meanwhile.
    let second = "set -e; echo x > B.txt; git add -A; git commit -qm mine; echo y >> kept";
    let attempt = |id: &str, shell: &str| json!([{"do": [{"run": shell}, {"say": format!("Task {id} complete")}]}]);
    let project = Project::with_stories(&[own, story("B")])
        .script(&json!({"tasks": {"A": attempt("A", first), "B": attempt("B", second)}}))
        .env("RALPH_WORKSPACE_MODE", "overlay")
        .env("RALPH_SAFETY_SANDBOX", sandbox);
    let repo = &project.repo;
    for path in ["kept", "dir/a", "dir/b", "old", "gone", "run.sh", "others"] {
        repo.file(path, "1\n");
    }
    repo.commit("files");
    // Without this no git of root's works there, and ralph says so.
    repo.git(["config", "--global", "safe.directory", "*"]);
    give(repo.root(), OWNER);
    let owner_of_one = third.unwrap_or(OWNER);
    give(&repo.root().join("others"), owner_of_one);
    let ran = project.run(&[]).expect(0);
    let walls = ran.one("loop_started")["sandbox"].clone();
    let walls = walls.as_str().unwrap();
    assert!(walls.starts_with(said), "{sandbox}, {third:?}: {walls}");
    assert_eq!(
        ran.verdicts(),
        ["A verified", "B verified"],
        "{sandbox}, {third:?}: {}",
        ran.all()
    );
    assert_eq!(project.files_of("HEAD"), ["B.txt", "kept", "prd.json"]);
    let files = project.files_of("HEAD~1");
    let expected = [
        "A.txt",
        "dir/a",
        "dir/b",
        "gone",
        "kept",
        "link",
        "moved/a",
        "moved/b",
        "new/deep/file",
        "old",
        "others",
        "prd.json",
        "renamed",
        "run.sh",
    ];
    assert_eq!(files, expected);
    assert_eq!(repo.read("kept"), "1\nmore\ny\n");
    assert_eq!(repo.read("moved/b"), "1\nmore\n");
    let others = repo.root().join("others");
    assert_eq!(owner_of(&others), owner_of_one, "a file keeps its owner");
    give(&others, OWNER);
    assert_eq!(not_given(repo.root()), Vec::<PathBuf>::new());
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn in_place_what_programs_of_root_make_is_the_owners_in_a_sandbox_and_roots_without() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let shell = "set -e; echo x > A.txt; mkdir made; echo x > made/file; echo more >> kept";
    for (sandbox, owner) in [("auto", OWNER), ("off", (0, 0))] {
        let script = json!({"default": [{"do": [{"run": shell}, {"say": "Task A complete"}]}]});
        let project = Project::with_stories(&[story("A")])
            .script(&script)
            .in_place()
            .env("RALPH_SAFETY_SANDBOX", sandbox);
        let repo = &project.repo;
        repo.file("kept", "1\n").commit("file");
        repo.git(["config", "--global", "safe.directory", "*"]);
        give(repo.root(), OWNER);
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"], "{sandbox}");
        for path in ["A.txt", "made", "made/file"] {
            let made = repo.root().join(path);
            assert_eq!(owner_of(&made), owner, "{sandbox}: {path}");
        }
        assert_eq!(owner_of(&repo.root().join("kept")), OWNER, "{sandbox}");
        for folder in [".git", ".ralph"] {
            let others = not_given(&repo.root().join(folder));
            assert_eq!(others, Vec::<PathBuf>::new(), "{sandbox}: {folder}");
        }
    }
}

#[test]
fn what_root_writes_into_the_git_folder_of_another_user_becomes_theirs() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let project = Project::with_stories(&[story("A")])
        .script(&good_script())
        .in_place();
    let repo = &project.repo;
    repo.git(["config", "--global", "safe.directory", "*"]);
    give(repo.root(), OWNER);
    // A second name of it stands elsewhere.
    let elsewhere = project.outside("elsewhere");
    std::fs::write(&elsewhere, "root's\n").unwrap();
    std::fs::hard_link(&elsewhere, repo.root().join(".git/linked")).unwrap();
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(
        not_given(&repo.root().join(".git")),
        [repo.root().join(".git/linked")]
    );
    assert_eq!(owner_of(&elsewhere), (0, 0));
    // Their own git goes on with it.
    let mut commit = repo.command("git");
    commit.args(["commit", "-q", "--allow-empty", "-m", "theirs"]);
    commit.uid(OWNER.0).gid(OWNER.1).current_dir(repo.root());
    give(&repo.home(), OWNER);
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(repo.outside(), open).unwrap();
    let commit = commit.output().unwrap();
    assert!(commit.status.success(), "{commit:?}");
}

#[test]
fn an_ordinary_user_works_in_place_where_a_file_is_not_theirs_and_is_told_which() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let project = Project::with_stories(&[story("A")])
        .script(&good_script())
        .env("RALPH_WORKSPACE_MODE", "auto");
    project.repo.file("dir/foreign", "1\n").commit("file");
    give(project.repo.outside(), (65534, 65534));
    let foreign = project.repo.root().join("dir/foreign");
    give(&foreign, OWNER);
    let mut command = project.run_command(&[]);
    command.uid(65534).gid(65534);
    let ran = Live::start(command).wait().expect(0);
    let said = ran.one("loop_started")["workspace"].clone();
    let expected = format!(
        "in place: 1 tracked paths belong to another user or group, which a layer can't change, such as {} (user 1234, group 1235)",
        foreign.display()
    );
    let said = said.as_str().unwrap();
    assert!(said.starts_with(&expected), "{said}");
    assert_eq!(ran.verdicts(), ["A verified"]);
}

/// `ralph run` as root of a user namespace that knows one user, as in a container without privileges.
fn run_in_container(project: &Project) -> Ran {
    let run = project.run_command(&[]);
    let mut command = project.repo.command("unshare");
    command
        .args(["--user", "--map-root-user"])
        .arg(run.get_program())
        .args(run.get_args())
        .current_dir(run.get_current_dir().unwrap());
    let own = run.get_envs();
    command.envs(own.filter_map(|(name, value)| Some((name, value?))));
    command.uid(65534).gid(65534);
    Live::start(command).wait()
}

#[test]
fn root_of_a_container_without_privileges_works_in_layers_and_sees_whom_it_does_not_know() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let shell = "set -e; echo x > A.txt; echo more >> dir/a; mv dir moved; rm gone";
    let project = Project::with_stories(&[story("A"), story("B")]).script(&json!({"tasks": {
        "A": [{"do": [{"run": shell}, {"say": "Task A complete"}]}],
    }, "default": [good_attempt()]}));
    let project = project.env("RALPH_WORKSPACE_MODE", "auto");
    let repo = &project.repo;
    for path in ["dir/a", "gone", "foreign"] {
        repo.file(path, "1\n");
    }
    repo.commit("files");
    give(repo.outside(), (65534, 65534));
    let ran = run_in_container(&project).expect(0);
    let said = ran.one("loop_started")["workspace"].clone();
    let place = format!("layers in {}/layers", project.data_dir().display());
    assert_eq!(said, place.as_str());
    assert_eq!(ran.verdicts(), ["A verified", "B verified"]);
    let status = repo.git(["-c", "safe.directory=*", "ls-files"]);
    let expected = [
        "A.txt",
        "B.txt",
        "README.md",
        "foreign",
        "moved/a",
        "prd.json",
    ];
    assert_eq!(status.lines().collect::<Vec<_>>(), expected);
    assert_eq!(repo.read("moved/a"), "1\nmore\n");
    assert_eq!(owner_of(&repo.root().join("moved/a")), (65534, 65534));
    // A file of a user whom the namespace does not know could not be changed in a layer.
    give(&repo.root().join("foreign"), OWNER);
    repo.prd(&crate::support::prd(&[story("C")]));
    repo.git(["-c", "safe.directory=*", "add", "-A"]);
    repo.git(["-c", "safe.directory=*", "commit", "-q", "-m", "again"]);
    give(&repo.root().join(".git"), (65534, 65534));
    let ran = run_in_container(&project).expect(0);
    let said = ran.one("loop_started")["workspace"].clone();
    let said = said.as_str().unwrap();
    assert!(said.contains("belong to another user or group"), "{said}");
    assert!(
        said.contains("repo/foreign (user 65534, group 65534)"),
        "{said}"
    );
}
