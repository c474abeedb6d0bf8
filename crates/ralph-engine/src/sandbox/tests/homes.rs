//! The homes of programs in a sandbox.

use std::fs;

use super::ground::{CANARY, Machine, write};
use crate::layer::ProgramFolder;
use crate::layer::tests::support::{as_root_and_as_user, plain};
use crate::process::{Ended, SandboxMeans};
use crate::sandbox::{AgentFile, AgentFileKind, AgentFolder, sweep_homes};

const FOLDERS: &[AgentFolder] = &[
    AgentFolder {
        variable: None,
        folder: ".agent",
        files: &[
            AgentFile::login("login.json"),
            AgentFile::copy("settings.json"),
            AgentFile::shown("skills"),
            AgentFile::copy("not-there.json"),
        ],
    },
    AgentFolder {
        variable: None,
        folder: "",
        files: &[AgentFile {
            name: ".agent.json",
            kind: AgentFileKind::State(|_, _| Some(b"trimmed".to_vec())),
        }],
    },
];

fn set_up(machine: &Machine<'_>) {
    for (path, content) in [
        (".agent/login.json", r#"{"token": "old"}"#),
        (".agent/settings.json", "settings"),
        (".agent/skills/a.md", "skill"),
        (".agent/sessions/other.jsonl", CANARY),
        (".agent.json", CANARY),
    ] {
        write(&machine.home.join(path), content);
    }
}

fn of_home(machine: &Machine<'_>, path: &str) -> String {
    fs::read_to_string(machine.home.join(path)).unwrap()
}

as_root_and_as_user! {
    an_agent_has_its_login_and_settings_and_nothing_else_of_the_home: plain => |ground| {
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        set_up(&machine);
        let (said, ended) = machine.run_agent(
            "cd && find . -type f | sort && cat .agent/login.json .agent/settings.json .agent/skills/a.md .agent.json",
            FOLDERS,
        );
        assert_eq!(ended, Ended::Code(0), "{said}");
        assert_eq!(
            said,
            "./.agent.json\n./.agent/login.json\n./.agent/settings.json\n./.agent/skills/a.md\n\
             {\"token\": \"old\"}settingsskilltrimmed"
        );
    };

    what_an_agent_writes_in_its_home_is_gone_but_for_a_renewed_login: plain => |ground| {
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        set_up(&machine);
        let (said, _) = machine.run_agent(
            "cd .. ; cd && echo '{\"token\": \"new\"}' >.agent/.t && mv .agent/.t .agent/login.json \
             && echo mine >.agent/settings.json && echo mine >.agent/skills/a.md; echo mine >new; ls .agent",
            FOLDERS,
        );
        assert_eq!(of_home(&machine, ".agent/login.json"), "{\"token\": \"new\"}\n", "{said}");
        assert_eq!(of_home(&machine, ".agent/settings.json"), "settings");
        assert_eq!(of_home(&machine, ".agent/skills/a.md"), "skill");
        assert!(!machine.home.join("new").exists());
        drop(machine);
        let left = fs::read_dir(ground.dir.join("data/homes")).into_iter().flatten().count();
        assert_eq!(left, 0, "no home is left behind");
    };

    a_login_of_another_shape_is_not_kept: plain => |ground| {
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        set_up(&machine);
        for broken in ["x", "{\"other\": 1}", "{\"token\": 1, \"more\": 2}", "[]"] {
            machine.run_agent(&format!("cd && echo '{broken}' >.agent/login.json"), FOLDERS);
            assert_eq!(of_home(&machine, ".agent/login.json"), r#"{"token": "old"}"#);
        }
        machine.run_agent("cd && rm .agent/login.json && ln -s settings.json .agent/login.json", FOLDERS);
        assert_eq!(of_home(&machine, ".agent/login.json"), r#"{"token": "old"}"#);
    };

    a_verify_command_has_an_empty_home_that_can_be_written: plain => |ground| {
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        set_up(&machine);
        let (said, _) = machine.run("cd && find . -mindepth 1 -type f && touch written && ls");
        assert_eq!(said, "written\n");
        assert!(!machine.home.join("written").exists());
    };

    a_person_can_show_the_home_and_more_of_the_machine: plain => |ground| {
        let other = ground.dir.join("other");
        for folder in ["bin", "registry"] {
            fs::create_dir_all(ground.dir.join("home/.cargo").join(folder)).unwrap();
        }
        let machine = Machine::with(ground, SandboxMeans::Namespaces, |safety| {
            safety.allow_read = vec!["~/.gitconfig".into(), other.clone()];
            safety.allow_write = vec!["~/Documents".into(), "~/.cargo".into()];
        });
        // Also what can only be read without that word.
        machine.run("echo x >~/.cargo/bin/x; echo y >~/.cargo/registry/y");
        assert_eq!(of_home(&machine, ".cargo/bin/x"), "x\n");
        assert_eq!(of_home(&machine, ".cargo/registry/y"), "y\n");
        let (said, _) = machine.run(
            "cat ~/.gitconfig \"$DIR/other/secret.txt\"; echo x >\"$DIR/other/secret.txt\"; echo new >~/Documents/new.txt",
        );
        assert!(said.starts_with(&format!("{CANARY}{CANARY}")), "{said}");
        assert!(said.contains("Read-only"), "{said}");
        assert_eq!(of_home(&machine, "Documents/new.txt"), "new\n");
        assert_eq!(fs::read_to_string(ground.dir.join("other/secret.txt")).unwrap(), CANARY);
    };

    devices_and_temporary_folders_work_as_usual: plain => |ground| {
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        let (said, ended) = machine.run(
            "set -e\necho x >/dev/null; echo x >>/dev/null; echo x 2>/dev/null >&2\n\
             head -c 3 /dev/zero | wc -c; head -c 3 /dev/urandom | wc -c; echo y >/dev/stdout; cat </dev/null\n\
             for f in /tmp /var/tmp /dev/shm \"$HOME\"; do echo z >$f/z; cat $f/z; done\n\
             /usr/bin/python3 -c 'import os; m, s = os.openpty(); print(os.ttyname(s))'",
        );
        assert_eq!(ended, Ended::Code(0), "{said}");
        assert_eq!(said, "3\n3\ny\nz\nz\nz\nz\n/dev/pts/0\n");
    };

    homes_of_dead_processes_are_swept_and_nothing_else: plain => |ground| {
        let homes = ground.dir.join("data/homes");
        let live = ProgramFolder::make(&homes).unwrap();
        let dead = "program-999999999-0199a0b1c2d37e4f8a9b0c1d2e3f4a5b";
        // In a sandbox the number of a process that lives is no process.
        let number = format!("program-{}-", std::process::id());
        assert!(live.path().file_name().unwrap().to_str().unwrap().starts_with(&number));
        for name in [dead, "mine", "program-12-x", "x-12"] {
            write(&homes.join(name).join("home/file"), "x");
        }
        sweep_homes(&ground.dir.join("data"));
        let mut left: Vec<String> = fs::read_dir(&homes)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with(".lock"))
            .collect();
        left.sort();
        let own = live.path().file_name().unwrap().to_str().unwrap();
        let mut expected = ["mine", "program-12-x", own, "x-12"];
        expected.sort_unstable();
        assert_eq!(left, expected);
    };
}
