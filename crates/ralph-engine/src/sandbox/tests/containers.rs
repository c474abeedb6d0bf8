//! Programs in containers, by podman and an image of Debian's packages.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ralph_core::config::AgentNetwork;
use ralph_testkit::image::IMAGE;

use super::ground::{CANARY, Machine, environment, lead_to_image, write};
use crate::layer::tests::support::{as_root_and_as_user, plain, written};
use crate::process::{Ended, Output, SandboxMeans, Stdin};
use crate::sandbox::{AgentFile, AgentFolder, SandboxUser};

const MEANS: SandboxMeans = SandboxMeans::Container;

as_root_and_as_user! {
    a_program_in_a_container_works_on_the_repository_as_its_owner: plain => |ground| {
        let machine = Machine::new(ground, MEANS);
        let (said, ended) = machine.run("cat tracked.txt; pwd; echo new >new.txt; exit 7");
        assert_eq!(said, format!("tracked\n{}\n", ground.repo.display()));
        assert_eq!(ended, Ended::Code(7));
        let made = fs::metadata(ground.repo.join("new.txt")).unwrap();
        assert_eq!(made.uid(), rustix::process::geteuid().as_raw());
        assert_eq!(made.gid(), rustix::process::getegid().as_raw());
    };

    in_a_layer_what_it_writes_stays_in_the_layer: plain => |ground| {
        let machine = Machine::new(ground, MEANS);
        let layer = ground.layer();
        let spec = machine.spec("echo changed >tracked.txt; cat tracked.txt");
        let spec = spec.mounts(layer.mount_plan().unwrap());
        let (said, ended) = machine.run_spec(spec, SandboxUser::Command);
        assert_eq!((said.as_str(), ended), ("changed\n", Ended::Code(0)));
        assert_eq!(ground.read("tracked.txt"), "tracked\n");
        assert_eq!(written(&layer), ["file tracked.txt 644 8"]);
    };

    its_streams_are_those_that_it_was_given: plain => |ground| {
        let machine = Machine::new(ground, MEANS);
        let script = "cat; test -t 0 && echo terminal; for i in 1 2 3; do echo out $i; echo err $i >&2; done";
        let spec = machine.spec(script).stdin(Stdin::Bytes(b"asked\n".to_vec()));
        let (said, _) = machine.run_spec(spec.clone(), SandboxUser::Command);
        assert_eq!(said, "asked\nout 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
        let spec = spec.output(Output::Separate);
        let (said, _) = machine.run_spec(spec, SandboxUser::Command);
        assert_eq!(said, "asked\nout 1\nout 2\nout 3\n");
    };

    it_gets_its_variables_and_those_of_the_image_but_none_of_the_machines_toolchains: plain => |ground| {
        let machine = Machine::new(ground, MEANS);
        let script = "echo \"$GIVEN $OF_THE_IMAGE $HOME $PATH\"; env | grep -E 'CARGO|_CONTAINERS|XDG_|LD_|CONTAINERS'";
        let spec = machine
            .spec(script)
            .env("GIVEN", "two\nlines")
            .env("CARGO_HOME", "/opt/cargo")
            .env("LD_LIBRARY_PATH", "/opt/lib");
        let (said, _) = machine.run_spec(spec, SandboxUser::Command);
        let home = machine.home.display();
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        assert_eq!(said, format!("two\nlines yes {home} {path}\n"));
    };

    an_agent_finds_its_login_in_a_home_of_its_own: plain => |ground| {
        let machine = Machine::new(ground, MEANS);
        write(&machine.home.join(".agent/login.json"), r#"{"token": "old"}"#);
        write(&machine.home.join(".agent/skills/a.md"), "skill");
        write(&machine.home.join(".agent/history"), CANARY);
        const FOLDERS: &[AgentFolder] = &[AgentFolder {
            variable: None,
            folder: ".agent",
            files: &[AgentFile::login("login.json"), AgentFile::shown("skills")],
        }];
        let script = "cd && find .agent -type f | sort; echo x >.agent/skills/b.md; echo '{\"token\": \"new\"}' >.agent/login.json";
        let (said, _) = machine.run_agent(script, FOLDERS);
        assert!(said.starts_with(".agent/login.json\n.agent/skills/a.md\n"), "{said}");
        let of_home = |path: &str| fs::read_to_string(machine.home.join(path));
        assert_eq!(of_home(".agent/login.json").unwrap(), "{\"token\": \"new\"}\n");
        assert!(of_home(".agent/skills/b.md").is_err());
    };

    nothing_of_a_container_is_left: plain => |ground| {
        let machine = Machine::new(ground, MEANS);
        machine.run("echo x >/usr/new; echo x >/tmp/new; (sleep 600 &) ; exit 0");
        assert!(!Path::new("/usr/new").exists() && !Path::new("/tmp/new").exists());
        let homes = ground.dir.join("data/homes");
        let left = fs::read_dir(&homes).into_iter().flatten().flatten();
        let left: Vec<_> = left.collect();
        assert!(left.is_empty(), "{left:?}");
        let (said, _) = machine.run("cat /usr/new /tmp/new 2>&1");
        assert_eq!(said.matches("No such file").count(), 2, "{said}");
    };

    without_a_network_a_container_has_a_loopback_of_its_own: plain => |ground| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ask = format!("bash -c 'echo >/dev/tcp/127.0.0.1/{port}' 2>&1 && echo reached");
        let machine = Machine::new(ground, MEANS);
        assert_eq!(machine.run_agent(&ask, &[]).0, "reached\n");
        drop(machine);
        let machine = Machine::with(ground, MEANS, |safety| safety.network = AgentNetwork::Off);
        let (said, _) = machine.run_agent(&ask, &[]);
        assert!(said.contains("refused"), "{said}");
        drop(machine);
        let machine = Machine::with(ground, MEANS, |safety| {
            safety.network = AgentNetwork::ModelOnly;
            safety.allow_hosts = vec![format!("127.0.0.1:{port}")];
        });
        assert_eq!(machine.run_agent(&ask, &[]).0, "reached\n");
        assert!(machine.connections.borrow().iter().any(|one| one.port == port && one.reached));
    };

    a_program_that_the_image_lacks_ends_as_in_a_shell: plain => |ground| {
        let machine = Machine::new(ground, MEANS);
        let mut spec = machine.spec("");
        spec.program = "no-such-program".into();
        spec.args.clear();
        let (said, ended) = machine.run_spec(spec, SandboxUser::Command);
        assert_eq!(ended, Ended::Code(127), "{said}");
        assert!(said.contains("no-such-program"), "{said}");
    };

    an_image_that_is_not_there_is_named_with_what_to_do: plain => |ground| {
        let home = ground.dir.join("home");
        fs::create_dir_all(&home).unwrap();
        lead_to_image(ground);
        let vars = environment(ground, &home);
        let said = Machine::find_container(ground, "localhost/no-such-image", &vars);
        assert!(said.starts_with("podman has no image localhost/no-such-image: `podman pull localhost/no-such-image`"), "{said}");
        for name in ["", "--privileged", "two words"] {
            let said = Machine::find_container(ground, name, &vars);
            assert_eq!(said, format!("`safety.container`: {name:?} names no image"));
        }
    };

    without_podman_it_is_said_what_to_install: plain => |ground| {
        let bin = ground.dir.join("bin");
        fs::create_dir(&bin).unwrap();
        let vars = [("PATH".into(), bin.clone().into())];
        let said = Machine::find_container(ground, IMAGE, &vars);
        assert_eq!(said, "`safety.container` needs podman or docker, and neither is on the PATH: install podman");
        write(&bin.join("docker"), "#!/bin/sh\necho no service; exit 1\n");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(bin.join("docker"), executable).unwrap();
        let said = Machine::find_container(ground, IMAGE, &vars);
        let wanted = format!("docker has no image {IMAGE}, or does not answer: `docker pull {IMAGE}`");
        assert!(said.starts_with(&wanted) && said.ends_with("(no service)"), "{said}");
    };
}
