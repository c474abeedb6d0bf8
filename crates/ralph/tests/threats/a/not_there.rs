//! Case 35 where there is nothing yet: what ralph or an agent trusts can't be made by a program in a sandbox, the
//! person's folder shows no trace of that, and nothing is left of it, whoever dies.

use rustix::process::{Pid, Signal, kill_process};

use crate::other_user::ORDINARY;
use crate::scene::{alone, patient, script, story_by};
use crate::support::{Project, Ran, wait_until};

/// Files that ralph or an agent trusts, none of which is there.
const NOT_THERE: [&str; 13] = [
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".pi/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    "opencode.json",
    "opencode.jsonc",
    ".opencode/opencode.json",
    "ralph.yaml",
    "ralph.yml",
    ".ralph/prompts/iteration.md",
    ".ralph/prompts/plan.md",
];

/// Fails if one of them is there, or a folder for it, in whatever form.
#[track_caller]
fn assert_none_there(project: &Project, how: &str) {
    let left = places_left(project);
    assert!(left.is_empty(), "{how}: {left:?}");
}

fn places_left(project: &Project) -> Vec<&'static str> {
    let folders = [
        ".claude",
        ".pi",
        ".codex",
        ".gemini",
        ".opencode",
        ".ralph/prompts",
    ];
    let places = NOT_THERE.into_iter().chain(folders);
    let root = project.repo.root();
    places
        .filter(|path| root.join(path).symlink_metadata().is_ok())
        .collect()
}

fn a35_what_is_trusted_and_not_there_is_not_there_after_a_run(mode: &str) {
    // By an agent whose attempt fails, and by one that leaves them alone: nothing empty is left in their places.
    let makes: String = NOT_THERE
        .iter()
        .map(|path| format!("mkdir -p $(dirname {path}); echo '{{}}' > {path}; "))
        .collect();
    for does in [makes.as_str(), "true", "work"] {
        for sandbox in ["auto", "off"] {
            let project = alone(mode, does)
                .env("RALPH_SAFETY_SANDBOX", sandbox)
                .env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
            project.run(&["--once"]);
            for path in NOT_THERE {
                let how = format!("{mode}, {sandbox}, {does}: {path}");
                assert!(!project.repo.exists(path), "{how}");
            }
            if sandbox == "auto" {
                assert_none_there(&project, &format!("{mode}, {does}"));
            }
        }
    }
}
modes!(a35_what_is_trusted_and_not_there_is_not_there_after_a_run);

/// The ways in which a sandbox is made for the tests, and who ralph is.
const KINDS: [(&str, &str, Option<u32>); 4] = [
    ("namespaces", "", None),
    ("namespaces", "", Some(ORDINARY)),
    ("bwrap", "subreaper", None),
    ("bwrap", "subreaper", Some(ORDINARY)),
];

fn run_by(project: &Project, user: Option<u32>) -> Ran {
    if let Some(user) = user {
        project.give_to(user);
    }
    project.run_as(user)
}

/// A project in place with walls of this kind.
fn walled(project: Project, containment: &str) -> Project {
    let project = patient(project, "in_place").env("RALPH_SAFETY_SANDBOX", "auto");
    if containment.is_empty() {
        return project;
    }
    project.env("RALPH_CONTAINMENT", containment)
}

/// Each path is tried in every way; what succeeds is written down.
fn tries() -> String {
    let mut tries = String::new();
    let mut attempt = |deed: &str| {
        tries += &format!("({deed}) 2>/dev/null && echo \"{deed}\" >> open.txt; ");
    };
    for path in NOT_THERE {
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        attempt(&format!("mkdir -p {folder} && echo '{{}}' > {path}"));
        attempt(&format!("echo '{{}}' >> {path}"));
        attempt(&format!("cp made {path}"));
        attempt(&format!("cp made other; mv -f other {path}"));
        attempt(&format!("ln -f made {path}"));
        attempt(&format!("ln -sf /tmp/settings {path}"));
        attempt(&format!("mkdir {path}"));
        attempt(&format!("rm {path}"));
        attempt(&format!("rm -r {path}"));
        attempt(&format!("chmod 666 {path}"));
        attempt(&format!("mv {path} moved"));
        attempt(&format!("umount {path}"));
        if folder != "." {
            attempt(&format!("mv {folder} moved"));
            attempt(&format!("rm -r {folder}"));
            attempt(&format!("rmdir {folder}"));
            attempt(&format!("mkdir new; mv -T new {folder}"));
            attempt(&format!("ln -sfT /tmp {folder}"));
        }
    }
    tries
}

#[test]
fn a35_in_place_what_is_trusted_and_not_there_can_not_be_made_in_a_sandbox() {
    // Without walls each of the ways leads somewhere.
    let open = walled(
        alone("in_place", &format!("echo x > made; {}", tries())),
        "",
    )
    .env("RALPH_SAFETY_SANDBOX", "off");
    open.run(&["--once"]);
    let attempt = open.attempts().pop().unwrap();
    let done = open.repo.git(["show", &format!("{attempt}:open.txt")]);
    for way in ["echo", "cp", "cp made other; mv", "ln -f", "ln -sf", "rm"] {
        for path in NOT_THERE {
            let is_so = |line: &str| line.starts_with(way) && line.contains(path);
            assert!(done.lines().any(is_so), "{way}, {path}: {done}");
        }
    }
    for (means, containment, user) in KINDS {
        let how = format!("{means}, {user:?}");
        // What it may write is there as ever, also in a folder that is made for the time of the run.
        let deed = format!(
            "echo x > made; {} rm -rf made new moved other; git status --porcelain > \"$HOME/status\"; \
             mkdir -p .claude/commands docs; echo do > .claude/commands/do.md; echo x > docs/new.md; \
             echo note >> progress.md; work",
            tries()
        );
        let verify = "! (echo '{}' > .mcp.json) && ! (mkdir -p .pi && echo '{}' > .pi/settings.json) \
            && ! (echo x > ralph.yaml) && ! test -e open.txt && test -f A.txt";
        let project = walled(
            Project::with_stories(&[story_by("A", &[verify])]),
            containment,
        )
        .script(&script(&[("A", &deed)]));
        let ran = run_by(&project, user).expect(0);
        let sandbox = ran.one("loop_started")["sandbox"].to_string();
        assert!(sandbox.contains(means), "{how}: {sandbox}");
        assert!(
            !project.repo.exists("open.txt"),
            "{how}: {}",
            project.repo.read("open.txt")
        );
        assert_eq!(ran.verdicts(), ["A verified"], "{how}: {}", ran.all());
        // git saw nothing but the agent's own work.
        let status = std::fs::read_to_string(project.repo.home().join("status")).unwrap();
        let seen = status
            .lines()
            .filter(|line| *line != "?? .ralph/.gitignore");
        assert_eq!(seen.collect::<Vec<_>>(), [""; 0], "{how}");
        assert_eq!(project.repo.read(".claude/commands/do.md"), "do\n", "{how}");
        assert_eq!(project.repo.read("docs/new.md"), "x\n", "{how}");
        assert!(project.repo.read("progress.md").contains("note"), "{how}");
        assert_eq!(places_left(&project), [".claude"], "{how}");
    }
}

#[test]
fn a35_in_place_a_person_sees_nothing_of_what_is_kept_free_and_what_they_put_there_stays() {
    let wait = "touch \"$HOME/begun\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.01; done; work";
    let project = walled(alone("in_place", wait), "");
    let live = project.start(&[]);
    let home = project.repo.home();
    wait_until("the agent begins", || home.join("begun").exists());
    assert!(
        !places_left(&project).is_empty(),
        "something stands in the places"
    );
    assert_eq!(project.leftovers(), [""; 0], "git shows nothing of it");
    assert_eq!(project.repo.git(["add", "-A", "-n"]), "");
    // ralph itself does not take it for a configuration.
    let status = project.ralph(&["status"]).output().unwrap();
    assert!(status.status.success(), "{status:?}");
    // An editor writes a file beside it and moves that there.
    let root = project.repo.root();
    std::fs::write(root.join("saved"), "{\"of\": \"a person\"}").unwrap();
    std::fs::rename(root.join("saved"), root.join(".mcp.json")).unwrap();
    std::fs::write(root.join(".pi/own.txt"), "of a person").unwrap();
    std::fs::write(home.join("go"), "").unwrap();
    live.wait().expect(0);
    assert_eq!(project.repo.read(".mcp.json"), "{\"of\": \"a person\"}");
    assert_eq!(project.repo.read(".pi/own.txt"), "of a person");
    assert_eq!(places_left(&project), [".mcp.json", ".pi"]);
}

/// The processes that ralph started itself: the keepers of its programs.
fn keepers(ralph: Pid) -> Vec<Pid> {
    let ralph = ralph.as_raw_nonzero();
    let text = std::fs::read_to_string(format!("/proc/{ralph}/task/{ralph}/children")).unwrap();
    let pids = text.split_whitespace().map(|pid| pid.parse().unwrap());
    pids.filter_map(Pid::from_raw).collect()
}

#[test]
fn a35_in_place_nothing_stands_in_their_places_after_sigkill() {
    for (_, containment, _) in [KINDS[0], KINDS[2]] {
        let project = walled(
            alone("in_place", "touch \"$HOME/begun\"; sleep 60"),
            containment,
        );
        let home = project.repo.home();
        let begin = || {
            let _ = std::fs::remove_file(home.join("begun"));
            let live = project.start(&[]);
            wait_until("the agent begins", || home.join("begun").exists());
            assert!(!places_left(&project).is_empty(), "{containment}");
            live
        };
        // The keepers outlive ralph for as long as it takes.
        let live = begin();
        live.signal(Signal::KILL);
        live.wait();
        wait_until("nothing is there", || places_left(&project).is_empty());
        project.assert_nothing_alive();
        // With keepers and ralph gone at once, the next command does it.
        let live = begin();
        live.signal(Signal::STOP);
        for keeper in keepers(live.pid()) {
            kill_process(keeper, Signal::KILL).unwrap();
        }
        live.signal(Signal::KILL);
        live.wait();
        assert!(!places_left(&project).is_empty(), "{containment}");
        let status = project.ralph(&["status"]).output().unwrap();
        assert!(status.status.success(), "{status:?}");
        assert_none_there(&project, containment);
    }
}
