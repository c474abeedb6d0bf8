//! Layers over repositories that are more than one folder: linked worktrees, git folders elsewhere, borrowed objects,
//! submodules; and folders that a change takes away.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Live, Project, Ran, story};

fn does(shell: &str) -> Value {
    json!({"default": [{"do": [{"run": shell}, {"say": "Task A complete"}]}]})
}

fn layered(shell: &str) -> Project {
    Project::with_stories(&[story("A")])
        .script(&does(shell))
        .env("RALPH_WORKSPACE_MODE", "overlay")
}

fn git_in(project: &Project, folder: &Path, args: &[&str]) -> String {
    let output = project
        .repo
        .command("git")
        .args(args)
        .current_dir(folder)
        .output();
    let output = output.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// All refs but ralph's own and the branch that is worked on.
fn refs(project: &Project, folder: &Path) -> Vec<String> {
    let all = git_in(
        project,
        folder,
        &["for-each-ref", "--format=%(refname) %(objectname)"],
    );
    let others = all.lines().filter(|line| !line.contains("ralph/"));
    others.map(str::to_owned).collect()
}

const MISCHIEF: &str = "echo x > A.txt; git add A.txt; git commit -qm mine; git branch -D other; git tag -d v1; \
    git config core.pager evil; rm -f \"$(git rev-parse --git-common-dir)/HEAD\"; true";

#[test]
fn a_linked_worktree_is_a_layer_with_the_folder_that_it_shares() {
    let project = layered(MISCHIEF);
    project.repo.git(["branch", "other"]);
    project.repo.git(["tag", "v1"]);
    let linked = project.outside("linked");
    let args = [
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        linked.to_str().unwrap(),
    ];
    project.repo.git(args);
    let before = refs(&project, &linked);
    let project = project.start_in(&linked);
    project.run(&[]).expect(0);
    assert_eq!(refs(&project, &linked), before);
    let log = git_in(&project, &linked, &["log", "--format=%s", "side.."]);
    assert_eq!(log, "feat: Write A");
    assert_eq!(git_in(&project, &linked, &["status", "--porcelain"]), "");
    assert!(
        !project
            .repo
            .try_git(["config", "core.pager"])
            .status
            .success()
    );
    assert_eq!(project.repo.branch(), "refs/heads/main");
}

#[test]
fn a_git_folder_elsewhere_is_a_layer_too() {
    let project = layered(MISCHIEF);
    let (work, git) = (project.outside("work"), project.outside("work.git"));
    let separate = format!("--separate-git-dir={}", git.display());
    let from = project.repo.root().to_str().unwrap().to_owned();
    project
        .repo
        .git(["clone", "-q", &separate, &from, work.to_str().unwrap()]);
    git_in(&project, &work, &["branch", "other"]);
    git_in(&project, &work, &["tag", "v1"]);
    let before = refs(&project, &work);
    let project = project.start_in(&work);
    project.run(&[]).expect(0);
    assert_eq!(refs(&project, &work), before);
    assert_eq!(
        git_in(&project, &work, &["log", "-1", "--format=%s"]),
        "feat: Write A"
    );
    assert_eq!(git_in(&project, &work, &["status", "--porcelain"]), "");
    assert!(git.join("HEAD").exists());
}

#[test]
fn borrowed_objects_are_a_layer_too() {
    let project = Project::with_stories(&[story("A")]);
    let lender = project.repo.root().join(".git/objects");
    let shell = format!("echo x > A.txt; rm -rf '{}'/*", lender.display());
    let project = project
        .script(&does(&shell))
        .env("RALPH_WORKSPACE_MODE", "overlay");
    let work = project.outside("borrower");
    let from = project.repo.root().to_str().unwrap().to_owned();
    project
        .repo
        .git(["clone", "-q", "--shared", &from, work.to_str().unwrap()]);
    let project = project.start_in(&work);
    project.run(&[]).expect(0);
    assert_eq!(
        git_in(&project, &work, &["log", "-1", "--format=%s"]),
        "feat: Write A"
    );
    assert_eq!(
        project.repo.git(["fsck", "--no-dangling", "--no-progress"]),
        ""
    );
}

/// A project with the submodule `lib`, whose one file says `one`.
fn with_submodule(shell: &str, verify: &str) -> (Project, PathBuf) {
    let mut own = story("A");
    own["verify"] = json!([verify]);
    let project = Project::with_stories(&[own])
        .script(&does(shell))
        .env("RALPH_WORKSPACE_MODE", "overlay");
    let module = project.outside("module");
    let path = module.to_str().unwrap();
    project.repo.git(["init", "-q", path]);
    std::fs::write(module.join("file"), "one\n").unwrap();
    git_in(&project, &module, &["add", "-A"]);
    git_in(&project, &module, &["commit", "-q", "-m", "one"]);
    project
        .repo
        .git(["submodule", "--quiet", "add", path, "lib"]);
    project.repo.commit("submodule");
    let lib = project.repo.root().join("lib");
    // As a clone has it: on a commit, not on a branch.
    git_in(&project, &lib, &["checkout", "-q", "--detach"]);
    (project, lib)
}

fn link_of(project: &Project, commit: &str) -> String {
    let line = project.repo.git(["ls-tree", commit, "lib"]);
    line.split_whitespace().nth(2).unwrap().to_owned()
}

#[test]
fn work_beside_a_submodule_lands_from_a_layer() {
    let (project, lib) = with_submodule(
        "cat lib/file && git -C lib log -1 && git status && echo x > A.txt",
        "test -f A.txt && grep -q one lib/file",
    );
    let before = link_of(&project, "HEAD");
    project.run(&[]).expect(0);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);
    assert_eq!(link_of(&project, "HEAD"), before);
    assert_eq!(project.leftovers(), [""; 0]);
    assert!(lib.join(".git").exists());
}

#[test]
fn a_submodule_that_is_moved_is_verified_landed_and_followed() {
    let (project, lib) = with_submodule(
        "cd lib && echo two > file && echo new > more && git add -A && git commit -qm two && cd .. && echo x > A.txt",
        "test -f A.txt && grep -q two lib/file && test -f lib/more",
    );
    let before = link_of(&project, "HEAD");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "lib", "prd.json"]);
    let now = link_of(&project, "HEAD");
    assert_ne!(now, before);
    assert_eq!(git_in(&project, &lib, &["rev-parse", "HEAD"]), now);
    assert_eq!(git_in(&project, &lib, &["log", "-1", "--format=%s"]), "two");
    assert_eq!(std::fs::read_to_string(lib.join("file")).unwrap(), "two\n");
    assert_eq!(git_in(&project, &lib, &["status", "--porcelain"]), "");
    assert_eq!(project.leftovers(), [""; 0]);
    let fsck = git_in(&project, &lib, &["fsck", "--no-dangling", "--no-progress"]);
    assert_eq!(fsck, "");
}

#[test]
fn what_a_submodule_does_not_hold_as_a_commit_is_not_verified_and_is_named() {
    let (project, lib) = with_submodule(
        "echo two > lib/file && echo x > A.txt",
        "test -f A.txt && grep -q two lib/file",
    );
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
    let named = ran.flags().iter().any(|f| f.contains("submodule lib"));
    assert!(named, "{:?}", ran.flags());
    assert_eq!(std::fs::read_to_string(lib.join("file")).unwrap(), "one\n");
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_submodule_can_be_removed() {
    let (project, _) = with_submodule(
        "git rm -q lib && echo x > A.txt",
        "test -f A.txt && test ! -e lib/file",
    );
    project.run(&[]).expect(0);
    assert_eq!(project.repo.git(["ls-files", "lib"]), "");
    assert_eq!(project.repo.read(".gitmodules"), "");
}

#[test]
fn a_submodule_that_an_agent_adds_is_verified_and_landed() {
    let (project, _) = with_submodule("true", "test -f A.txt");
    let module = project.outside("module");
    let shell = format!(
        "git -c protocol.file.allow=always submodule --quiet add '{}' deep/other && echo x > A.txt",
        module.display()
    );
    let mut own = story("A");
    own["verify"] = json!(["test -f A.txt && grep -q one deep/other/file"]);
    project.repo.prd(&crate::support::prd(&[own])).commit("own");
    let project = project.script(&does(&shell));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(
        project.files_of("HEAD"),
        [".gitmodules", "A.txt", "deep/other", "prd.json"]
    );
    let line = project.repo.git(["ls-tree", "HEAD", "deep/other"]);
    let head = git_in(&project, &module, &["rev-parse", "HEAD"]);
    assert!(line.starts_with(&format!("160000 commit {head}")), "{line}");
    assert_eq!(project.leftovers(), [""; 0]);
    project.repo.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "update",
        "--init",
    ]);
    assert_eq!(project.repo.read("deep/other/file"), "one\n");
}

#[test]
fn a_repository_that_no_one_names_is_refused() {
    let project = layered(
        "git init -q other && cd other && echo 1 > f && git add f && git commit -qm x && cd .. && echo x > A.txt",
    );
    let ran: Ran = project.run(&["--once"]).expect(4);
    assert_eq!(ran.verdicts(), ["A refused"]);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_submodule_that_is_not_where_it_is_recorded_is_worked_with_in_place_by_name() {
    let (project, lib) = with_submodule("true", "test -f A.txt");
    git_in(
        &project,
        &lib,
        &["commit", "-q", "--allow-empty", "-m", "ahead"],
    );
    let project = project.env("RALPH_WORKSPACE_MODE", "auto");
    let output = project.ralph(&["doctor"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("in place: the submodule lib is on another commit"),
        "{said}"
    );
}

/// `ralph run` as a user without privileges, to whom everything of the project belongs.
fn run_as_user(project: &Project) -> Ran {
    use std::os::unix::process::CommandExt as _;
    let mut command = project.run_command(&[]);
    if rustix::process::geteuid().is_root() {
        let mut chown = std::process::Command::new("chown");
        chown
            .args(["-hR", "65534:65534"])
            .arg(project.repo.outside());
        assert!(chown.status().unwrap().success());
        command.uid(65534).gid(65534);
    }
    Live::start(command).wait()
}

#[test]
fn an_ordinary_user_can_rename_folders_in_every_way() {
    // A program that does not know what to do about two file systems fails, and so does the attempt.
    for rename in [
        "git mv dir moved",
        "mv dir moved",
        "perl -e 'rename(\"dir\", \"moved\") or die $!'",
        "mkdir top && git mv dir/sub top/ && git mv dir moved && mkdir moved/sub && git mv top/sub/b moved/sub/b",
    ] {
        let project = layered(&format!(
            "set -e; {rename}; echo x > A.txt; echo more >> moved/a"
        ));
        project
            .repo
            .file("dir/a", "a\n")
            .file("dir/sub/b", "b\n")
            .file("dir/link-to", "c\n")
            .file("other/stays", "s\n")
            .file(".gitignore", "*.log\n");
        project.repo.commit("files");
        project
            .repo
            .file("dir/debug.log", "ignored\n")
            .file("other/mine.txt", "untracked\n");
        let ran = run_as_user(&project).expect(0);
        assert_eq!(ran.verdicts(), ["A verified"], "{rename}");
        assert_eq!(ran.flags(), [""; 0], "{rename}");
        let files = project.repo.git(["-c", "safe.directory=*", "ls-files"]);
        let expected = [
            ".gitignore",
            "A.txt",
            "README.md",
            "moved/a",
            "moved/link-to",
            "moved/sub/b",
            "other/stays",
            "prd.json",
        ];
        assert_eq!(files.lines().collect::<Vec<_>>(), expected, "{rename}");
        let inspected = ran.one("inspected");
        let stays = inspected["files"].as_array().unwrap().iter();
        assert!(
            !stays.into_iter().any(|f| f["path"] == "other/stays"),
            "{inspected}"
        );
        assert_eq!(project.repo.read("moved/a"), "a\nmore\n", "{rename}");
        assert_eq!(project.repo.read("other/mine.txt"), "untracked\n");
    }
}

#[test]
fn a_folder_that_a_change_empties_shows_in_verification_only_with_what_git_ignores() {
    let mut own = story("A");
    own["verify"] = json!([
        "test -f A.txt && test ! -e pkg/one/check && test -f pkg/one/built.o",
        "test ! -e pkg/two && test \"$(ls pkg)\" = one",
        "test -f was && test ! -e mine",
    ]);
    let shell = "echo x > A.txt; git rm -rq pkg/one pkg/two; rm -r was; echo file > was";
    let project = Project::with_stories(&[own])
        .script(&does(shell))
        .env("RALPH_WORKSPACE_MODE", "overlay");
    for path in ["pkg/one/check", "pkg/two/deep/check", "was/inner"] {
        project.repo.file(path, "1\n");
    }
    project.repo.file(".gitignore", "*.o\n").commit("packages");
    project.repo.file("pkg/one/built.o", "ignored\n");
    project.repo.file("mine/untracked", "a person's\n");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(project.repo.read("pkg/one/built.o"), "ignored\n");
    assert_eq!(project.repo.read("mine/untracked"), "a person's\n");
    assert_eq!(project.repo.read("was"), "file\n");
    assert!(!project.repo.exists("pkg/two"));
}

#[test]
fn an_attempt_that_made_a_file_of_a_folder_is_gone_on_with() {
    let first = "rm -r was; echo file > was; rm -r gone; false";
    let second = "test -f was && test ! -e gone && echo x > A.txt";
    let script = json!({"default": [
        {"do": [{"run": first}, {"say": "Task A complete"}]},
        {"do": [{"run": second}, {"say": "Task A complete"}]},
    ]});
    let project = Project::with_stories(&[story("A")])
        .script(&script)
        .config("loop:\n  max_verify_retries: 0\n")
        .env("RALPH_WORKSPACE_MODE", "overlay");
    project.repo.file("was/inner", "1\n").file("gone/f", "1\n");
    project.repo.commit("folders");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A failed", "A verified"]);
    assert_eq!(project.repo.read("was"), "file\n");
    assert!(!project.repo.exists("gone"));
}

/// A repository that ignores `node_modules` and files of logs, and has some.
fn with_ignored(shell: &str) -> Project {
    let project = layered(&format!("set -e; {shell}; echo x > A.txt"));
    project
        .repo
        .file(".gitignore", "node_modules/\nignored/\n*.log\n")
        .file("src/main.c", "main\n")
        .file("src/deep/part.c", "part\n")
        .file("src/.gitignore", "*.tmp\n")
        .commit("sources");
    for path in ["a/index.js", "b/deep/x.js", "c/debug.log"] {
        let path = format!("node_modules/{path}");
        project.repo.file(&path, "1\n");
    }
    project.repo.file("src/made.tmp", "1\n");
    project
}

#[test]
fn what_was_ignored_by_its_old_name_and_is_not_by_its_new_one_is_part_of_the_change() {
    for (shell, expected) in [
        (
            "mv node_modules vendor; echo more >> vendor/a/index.js; mv vendor/b lib; mv lib lib2",
            vec!["lib2/deep/x.js", "vendor/a/index.js"],
        ),
        (
            // A renamed folder that is renamed, with one taken out of it, and put into a new one.
            "mv node_modules one; mv one two; mkdir three; mv two/b three/; mv three/b/deep up; mv two three/two",
            vec!["three/two/a/index.js", "up/x.js"],
        ),
        (
            "mv node_modules vendor; rm vendor/a/index.js; rm -r vendor/b; mkdir vendor/b; echo new > vendor/b/y.js",
            vec!["vendor/b/y.js"],
        ),
        ("mv node_modules ignored", vec![]),
        ("mv node_modules vendor; mv vendor node_modules", vec![]),
        (
            // Its own rules go with a folder.
            "mv src other",
            vec![
                "other/.gitignore",
                "other/deep/part.c",
                "other/main.c",
                "src/.gitignore",
                "src/deep/part.c",
                "src/main.c",
            ],
        ),
        (
            "mkdir ignored; mv src ignored/",
            vec!["src/.gitignore", "src/deep/part.c", "src/main.c"],
        ),
        (
            "mv src/deep node_modules/deep; mv node_modules src/vendor",
            vec![
                "src/deep/part.c",
                "src/vendor/a/index.js",
                "src/vendor/b/deep/x.js",
                "src/vendor/deep/part.c",
            ],
        ),
        (
            // As a virtual environment does, whose own rules ignore all of it.
            "mkdir ignored; printf '*' > node_modules/.gitignore; mv node_modules env",
            vec![],
        ),
    ] {
        let project = with_ignored(shell);
        let ran = project.run(&[]).expect(0);
        assert_eq!(ran.verdicts(), ["A verified"], "{shell}");
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        expected.extend(["A.txt".to_owned(), "prd.json".to_owned()]);
        expected.sort();
        assert_eq!(project.files_of("HEAD"), expected, "{shell}");
        assert_eq!(project.repo.read("node_modules/a/index.js"), "1\n");
        assert_eq!(project.repo.read("src/made.tmp"), "1\n", "{shell}");
        // What ignored this one has moved.
        let mut left = project.leftovers();
        left.retain(|line| line != "?? src/made.tmp");
        assert_eq!(left, [""; 0], "{shell}");
    }
    let project = with_ignored("mv node_modules vendor; echo more >> vendor/a/index.js");
    project.run(&[]).expect(0);
    assert_eq!(project.repo.read("vendor/a/index.js"), "1\nmore\n");
    assert_eq!(project.repo.read("vendor/b/deep/x.js"), "1\n");
}

#[test]
fn a_renamed_folder_brings_along_what_is_in_the_caches_of_ralph() {
    let mut first = story("A");
    first["verify"] = json!([
        "test -f A.txt && mkdir -p node_modules/made && echo 2 > node_modules/made/by && rm -f node_modules/old"
    ]);
    let mut second = crate::support::story_after("B", &["A"]);
    second["verify"] =
        json!(["test -f vendor/made/by && test -f vendor/own && test ! -e vendor/old"]);
    let script = json!({"default": [{"do": [
        {"run": "test ! -d node_modules/made || mv node_modules vendor; echo x > {id}.txt"},
        {"say": "Task {id} complete"},
    ]}]});
    let project = Project::with_stories(&[first, second])
        .script(&script)
        .env("RALPH_WORKSPACE_MODE", "overlay");
    project
        .repo
        .file(".gitignore", "node_modules/\n")
        .commit("ignore");
    project
        .repo
        .file("node_modules/own", "1\n")
        .file("node_modules/old", "1\n");
    project.run(&[]).expect(0);
    assert_eq!(
        project.files_of("HEAD"),
        ["B.txt", "prd.json", "vendor/made/by", "vendor/own"]
    );
}

#[test]
fn a_file_too_large_for_a_commit_is_refused_also_if_a_renamed_folder_brings_it() {
    let project = with_ignored("mv node_modules vendor").env("RALPH_SAFETY_MAX_FILE_MB", "1");
    let big = "x".repeat(1_200_000);
    project.repo.file("node_modules/big.bin", &big);
    let ran = project.run(&["--once"]).expect(4);
    assert_eq!(ran.verdicts(), ["A refused"]);
    assert!(
        ran.all().contains("vendor/big.bin has 1200000 bytes"),
        "{}",
        ran.all()
    );
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_repository_in_an_ignored_folder_is_no_work() {
    let install = "git init -q node_modules/dep; cd node_modules/dep; echo 1 > f; git add f; git commit -qm x; cd ../..";
    let project = with_ignored(install);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);
    // By a name that is not ignored it is a repository that no one names.
    let project = with_ignored(&format!("{install}; mv node_modules/dep dep"));
    let ran = project.run(&["--once"]).expect(4);
    assert_eq!(ran.verdicts(), ["A refused"]);
    let project = with_ignored("mv node_modules vendor");
    let args = ["init", "-q", "node_modules/dep"];
    project.repo.git(args);
    let ran = project.run(&["--once"]).expect(4);
    assert_eq!(ran.verdicts(), ["A refused"]);
}

#[test]
fn a_repository_that_only_looks_like_a_submodule_is_refused() {
    let make = "git init -q --separate-git-dir .git/modules/sub sub; cd sub; echo one > file; git add file; \
        git commit -qm made; cd ..; ";
    let name = |url: &str| {
        format!(
            "git config -f .gitmodules submodule.sub.path sub; git config -f .gitmodules submodule.sub.url '{url}'; "
        )
    };
    let remote = |url: &str| format!("git -C sub remote add origin '{url}'; ");
    let relative = "echo gitdir: ../.git/modules/sub > sub/.git; ";
    let elsewhere = "https://example.invalid/sub";
    let forged = [
        format!("{make}{}", name(elsewhere)),
        // The same with a relative path to the git folder, as git makes it.
        format!("{make}{relative}{}", name(elsewhere)),
        format!(
            "{make}git config -f .gitmodules submodule.sub.path sub; {}",
            remote("/nowhere")
        ),
        // The place that it names is there, and does not have the commit.
        format!("{make}{relative}{}{}", name("MODULE"), remote("MODULE")),
        format!(
            "{make}{relative}{}{}",
            name("../module"),
            remote("../module")
        ),
        format!(
            "{make}{relative}{}{}",
            name("../nowhere"),
            remote("../nowhere")
        ),
        format!("{make}{relative}{}{}", name("./sub"), remote("./sub")),
    ];
    for mode in ["overlay", "in_place"] {
        // The rules are the same; one of either kind shows that they hold in place too.
        let places = if mode == "overlay" { 0..7 } else { 1..4 };
        for forged in &forged[places] {
            let (project, _) = with_submodule("true", "test -f A.txt");
            let module = project.outside("module");
            let shell = forged.replace("MODULE", module.to_str().unwrap());
            let shell = format!("set -e; {shell} git add .gitmodules sub; echo x > A.txt");
            let project = project
                .script(&does(&shell))
                .env("RALPH_WORKSPACE_MODE", mode);
            let ran = project.run(&["--once"]).expect(4);
            assert_eq!(ran.verdicts(), ["A refused"], "{mode}: {shell}");
            assert!(
                ran.all().contains("git submodule add"),
                "{mode}: {}",
                ran.all()
            );
            assert_eq!(project.repo.git(["ls-files", "sub"]), "", "{mode}: {shell}");
        }
    }
}
