//! Agents and verify commands that use `ralph` themselves: they can read, and never speak as a person.

use std::process::Command;

use serde_json::json;

use crate::support::{Project, good_script, story, write_program};

const MODES: [&str; 2] = ["overlay", "in_place"];

/// Every command that writes, as an agent would give it.
const WRITING: &[&str] = &[
    "run",
    "run --once --task B",
    "execute shop",
    "loop 'do it'",
    "demo",
    "stop",
    "revert -i 1 --force",
    "squash",
    "checkpoint create",
    "checkpoint restore 0",
    "pause",
    "pause --now",
    "intervene handoff",
    "resume",
    "retry --task B",
    "skip --task B --reason done",
    "unblock --task B",
    "say hello",
    "answer 1 --skip",
    "monitor",
    "tasks add 'More work'",
    "tasks add --from-suggestions 1",
    "tasks source prd.json",
    "tasks source --forget",
    "plan brief.md",
    "import prd.json --to native",
    "init",
    "interview shop",
    "notify test",
    "agent talk",
];

/// Every command that only looks.
const READING: &[&str] = &[
    "status",
    "status --json",
    "tasks list",
    "tasks show B",
    "tasks add --from-suggestions",
    "tasks source",
    "loops",
    "logs",
    "report",
    "report --json",
    "cost",
    "tokens",
    "escalations",
    "health --json",
    "checkpoint list",
    "lint",
    "config",
    "doctor",
    "agent list",
    "run --dry-run",
    "import prd.json --to native --dry-run",
    "completions bash",
    "--help",
    "skip --help",
    "--version",
];

/// A line of shell that runs each command in this way, and notes its exit code and what it said.
fn each(project: &Project, commands: &[&str], way: &str) -> String {
    let notes = project.outside("notes");
    let notes = notes.display();
    let run = |command: &&str| {
        let given = way.replace("@ralph", &format!("{} {command}", ralph()));
        format!(
            "said=$({given} 2>&1 </dev/null); printf '%s|%s|%s\\n' \"$?\" {command:?} \"$(printf %s \"$said\" | tr '\\n' ' ')\" >>{notes}"
        )
    };
    commands.iter().map(run).collect::<Vec<_>>().join("\n")
}

fn ralph() -> &'static str {
    env!("CARGO_BIN_EXE_ralph")
}

/// Makes the line of shell by which a command is given in some way.
type Way = fn(&Project) -> String;

/// The exit code, the command and the words of each that was noted.
fn noted(project: &Project) -> Vec<(i32, String, String)> {
    let notes = std::fs::read_to_string(project.outside("notes")).unwrap_or_default();
    let parse = |line: &str| {
        let mut parts = line.splitn(3, '|');
        let code = parts.next().unwrap().parse().unwrap();
        let mut next = || parts.next().unwrap().to_owned();
        (code, next(), next())
    };
    notes.lines().map(parse).collect()
}

/// A project whose agent runs this in a shell while it does the first of two stories.
fn speaking(make: impl FnOnce(&Project) -> String) -> Project {
    let project = Project::with_stories(&[story("A"), story("B")]);
    let shell = make(&project);
    write_program(&project.outside("speak.sh"), &shell);
    let run = format!("sh {}", project.outside("speak.sh").display());
    let script = json!({"default": [{"do": [
        {"run": run},
        {"write": {"path": "A.txt", "text": "x\n"}},
        {"say": "Task A complete"},
    ]}]});
    project.script(&script)
}

/// Fails unless each was refused by name, and nothing of it came to be.
#[track_caller]
fn assert_refused(project: &Project, count: usize, why: &str) {
    let noted = noted(project);
    assert_eq!(noted.len(), count, "{noted:#?}");
    for (code, command, said) in noted {
        assert_eq!(code, 2, "{command}: {said}");
        assert!(
            said.contains("is refused inside a run"),
            "{command}: {said}"
        );
        assert!(said.contains(why), "{command}: {said}");
        assert!(!said.contains("os error"), "{command}: {said}");
    }
    let status = project
        .ralph(&["tasks", "list", "--json"])
        .output()
        .unwrap();
    let status = String::from_utf8_lossy(&status.stdout);
    assert!(
        !status.contains("skipped") && !status.contains("More work"),
        "{status}"
    );
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn every_writing_command_is_refused_inside_a_run() {
    for mode in MODES {
        let project =
            speaking(|project| each(project, WRITING, "@ralph")).env("RALPH_WORKSPACE_MODE", mode);
        let before = project.repo.read("prd.json");
        project.run(&["--once"]).expect(0);
        assert_refused(&project, WRITING.len(), "an agent or a verify command");
        let after = project.repo.read("prd.json");
        assert_eq!(
            after.matches("\"id\"").count(),
            before.matches("\"id\"").count()
        );
        assert!(!project.passes("B"), "{mode}");
    }
}

#[test]
fn no_way_of_starting_it_gets_around_the_refusal() {
    let ways: [(&str, Way); 7] = [
        ("an empty environment", |_| "env -i @ralph".into()),
        ("another data folder", |p| {
            let other = p.outside("elsewhere");
            format!("env RALPH_DATA_DIR={} @ralph", other.display())
        }),
        ("another home", |p| {
            format!(
                "env -u RALPH_DATA_DIR -u XDG_DATA_HOME HOME={} @ralph",
                p.outside("h").display()
            )
        }),
        ("a session of its own", |_| "setsid -w @ralph".into()),
        ("an orphan", |p| {
            let (out, code) = (p.outside("orphan.out"), p.outside("orphan.code"));
            let (out, code) = (out.display(), code.display());
            format!(
                "sh -c \"rm -f {code}; (setsid sh -c 'sleep 0.1; @ralph >{out} 2>&1; echo \\$? >{code}' &) ; \
                 until [ -s {code} ]; do sleep 0.02; done; cat {out}; exit \\$(cat {code})\""
            )
        }),
        ("a copy of the program", |p| {
            let (from, to) = (ralph(), p.outside("innocent"));
            let to = to.display();
            format!("sh -c 'cp {from} {to}; exec {to} skip --task B --reason done'")
        }),
        ("a namespace of its own", |_| {
            "unshare -Urpf --mount-proc @ralph".into()
        }),
    ];
    for mode in MODES {
        for (name, way) in &ways {
            let project =
                speaking(|project| each(project, &["skip --task B --reason done"], &way(project)))
                    .env("RALPH_WORKSPACE_MODE", mode);
            project.run(&["--once"]).expect(0);
            let noted = noted(&project);
            if *name == "a namespace of its own" && noted[0].2.contains("unshare") {
                continue;
            }
            assert_refused(&project, 1, "");
        }
    }
}

#[test]
fn a_run_without_namespaces_is_known_by_its_processes() {
    // Without a keeper only the data folder leads to the loop, which an empty environment does not name.
    for (containment, ways) in [
        (
            "subreaper",
            &["@ralph", "env -i @ralph", "setsid -w @ralph"][..],
        ),
        ("process-group", &["@ralph"][..]),
    ] {
        for way in ways {
            let project = speaking(|project| each(project, &["skip --task B --reason done"], way))
                .in_place()
                .env("RALPH_CONTAINMENT", containment);
            project.run(&["--once"]).expect(0);
            assert_refused(&project, 1, "");
        }
    }
}

#[test]
fn reading_commands_work_inside_a_run() {
    for mode in MODES {
        let project =
            speaking(|project| each(project, READING, "@ralph")).env("RALPH_WORKSPACE_MODE", mode);
        project.run(&["--once"]).expect(0);
        let noted = noted(&project);
        assert_eq!(noted.len(), READING.len(), "{noted:#?}");
        for (code, command, said) in &noted {
            // These two say by their code what they found.
            let expected: &[i32] = match command.as_str() {
                "doctor" | "lint" => &[0, 1, 2],
                _ => &[0],
            };
            assert!(expected.contains(code), "{mode}, {command}: {code}, {said}");
            assert!(
                !said.contains("inside a run") && !said.contains("read-only"),
                "{mode}, {command}: {said}"
            );
        }
        let said = |command: &str| {
            let found = noted.iter().find(|(_, one, _)| one == command);
            &found.unwrap().2
        };
        assert!(said("status").contains("iteration 1"), "{}", said("status"));
        assert!(
            said("tasks list").contains("Write B"),
            "{}",
            said("tasks list")
        );
        assert!(said("loops").contains("running"), "{}", said("loops"));
    }
}

#[test]
fn a_verify_command_is_refused_too() {
    for mode in MODES {
        let project = Project::with_stories(&[story("A"), story("B")])
            .script(&good_script())
            .env("RALPH_WORKSPACE_MODE", mode);
        let check = each(&project, &["skip --task B --reason done"], "@ralph");
        write_program(&project.outside("check.sh"), &check);
        let check = format!(
            "verification: {{commands: [\"sh {}\"]}}\n",
            project.outside("check.sh").display()
        );
        let project = project.config(&check);
        project.run(&["--once", "--task", "A"]).expect(0);
        // Once before any work, once after it.
        assert_refused(&project, 2, "an agent or a verify command");
    }
}

#[test]
fn a_program_that_drives_ralph_with_a_data_folder_of_its_own_is_none_of_ours() {
    for mode in MODES {
        let project = speaking(|project| {
            let inner = project.outside("inner");
            let inner = inner.display();
            let git = "git -c user.name=T -c user.email=t@test.invalid";
            format!(
                "set -e; mkdir -p {inner}/repo {inner}/data; cd {inner}/repo; git init -q -b main .\n\
                 export RALPH_DATA_DIR={inner}/data RALPH_SAFETY_ALLOW_WRITE='[\"{inner}\"]'\n\
                 export GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@test.invalid\n\
                 export GIT_COMMITTER_NAME=T GIT_COMMITTER_EMAIL=t@test.invalid\n\
                 {ralph} tasks add 'Inner work' --id I1 --verify 'test -f I1.txt'\n\
                 {ralph} tasks add 'Inner rest' --id I2 --verify 'false'\n\
                 {git} add -A; {git} commit -qm start\n\
                 printf '#!/bin/sh\\ncd {inner}/repo; {ralph} skip --task I2 --reason x >{inner}/said 2>&1; \
                 echo $? >{inner}/code; echo x > I1.txt; echo Task I1 complete\\n' > {inner}/agent; chmod +x {inner}/agent\n\
                 {ralph} run --once --agent command:{inner}/agent > {inner}/run 2>&1 || {{ cat {inner}/run; exit 1; }}\n\
                 {ralph} skip --task I2 --reason 'by hand' > {inner}/skipped 2>&1; echo done > {inner}/done\n",
                ralph = ralph()
            )
        })
        .env("RALPH_WORKSPACE_MODE", mode);
        let ran = project.run(&["--once"]).expect(0);
        let read = |name: &str| {
            let path = project.outside("inner").join(name);
            std::fs::read_to_string(path)
                .unwrap_or_else(|e| panic!("{mode} {name}: {e}\n{}", ran.all()))
        };
        assert_eq!(read("done"), "done\n", "{mode}");
        assert_eq!(read("code"), "2\n", "{mode}: {}", read("said"));
        assert!(
            read("said").contains("inside a run"),
            "{mode}: {}",
            read("said")
        );
        assert!(
            read("skipped").contains("I2"),
            "{mode}: {}",
            read("skipped")
        );
    }
}

#[test]
fn a_person_is_not_refused_while_a_loop_runs() {
    let project =
        Project::with_stories(&[story("A"), story("B")]).script(&json!({"default": [{"do": [
            {"run": format!("until [ -e {} ]; do sleep 0.02; done", "GO")},
            {"write": {"path": "{id}.txt", "text": "x\n"}},
            {"say": "Task {id} complete"},
        ]}]}));
    let go = project.outside("go");
    let script = std::fs::read_to_string(project.outside("script.json")).unwrap();
    std::fs::write(
        project.outside("script.json"),
        script.replace("GO", &go.display().to_string()),
    )
    .unwrap();
    let live = project.start(&[]);
    crate::support::wait_until("the agent runs", || {
        let logs = project.repo.root().join(".ralph/logs");
        std::fs::read_dir(logs).is_ok_and(|mut all| all.next().is_some())
    });
    let mut skip: Command = project.ralph(&["skip", "--task", "B", "--reason", "not now"]);
    let skipping = skip.stdout(std::process::Stdio::piped()).spawn().unwrap();
    std::fs::write(&go, "").unwrap();
    let skipped = skipping.wait_with_output().unwrap();
    assert!(skipped.status.success(), "{skipped:?}");
    live.wait().expect(0);
    assert_eq!(project.landed(), ["A"]);
}
