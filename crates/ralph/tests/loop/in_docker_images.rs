//! Agents and verify commands in the files of an image that docker has: whole loops, with a docker service of the
//! test's own.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ralph_testkit::image::{IMAGE, image_folder};
use serde_json::{Value, json};

use crate::other_user::ORDINARY;
use crate::support::{Project, story, wait_until, write_program};

/// A docker service with the image of the tests, and a folder of programs in which podman is not.
struct Docker {
    folder: tempfile::TempDir,
    service: Child,
}

impl Docker {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let at = |name: &str| folder.path().join(name);
        let log = std::fs::File::create(at("log")).unwrap();
        let mut socket = std::ffi::OsString::from("unix://");
        socket.push(at("socket"));
        // Debian's is in a folder of the administrator.
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap());
        let service = Command::new("dockerd")
            .args(["--iptables=false", "--ip-masq=false", "--bridge=none"])
            .args([
                "--data-root".into(),
                at("data"),
                "--exec-root".into(),
                at("exec"),
            ])
            .args(["--pidfile".into(), at("pid")])
            .args(["--group", &ORDINARY.to_string()])
            .arg("--host")
            .arg(&socket)
            .env("PATH", &path)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("dockerd starts: install Debian's docker.io");
        let docker = Self { folder, service };
        docker.fill_programs();
        let answers = || {
            docker
                .client()
                .arg("version")
                .output()
                .unwrap()
                .status
                .success()
        };
        wait_until("docker answers", answers);
        docker.load();
        docker
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Links to the programs of this machine, without podman, and a docker that asks this service.
    fn fill_programs(&self) {
        let programs = self.at("programs");
        std::fs::create_dir(&programs).unwrap();
        for entry in std::fs::read_dir("/usr/bin").unwrap().flatten() {
            let name = entry.file_name();
            if name != "podman" && name != "docker" {
                std::os::unix::fs::symlink(entry.path(), programs.join(name)).unwrap();
            }
        }
        let path = std::env::var_os("PATH").unwrap();
        let mut folders = std::env::split_paths(&path);
        let docker = folders.find_map(|folder| {
            let docker = folder.join("docker");
            docker.is_file().then_some(docker)
        });
        let docker = docker.expect("docker is on the PATH: install Debian's docker.io");
        let socket = self.at("socket");
        let line = format!(
            "exec {} -H unix://{} \"$@\"",
            docker.display(),
            socket.display()
        );
        write_program(&programs.join("docker"), &line);
    }

    fn client(&self) -> Command {
        Command::new(self.at("programs/docker"))
    }

    fn load(&self) {
        let mut save = Command::new("podman")
            .args(["save", IMAGE])
            .env(
                "CONTAINERS_STORAGE_CONF",
                image_folder().join("storage.conf"),
            )
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let load = self
            .client()
            .arg("load")
            .stdin(save.stdout.take().unwrap())
            .output();
        assert!(save.wait().unwrap().success());
        let load = load.unwrap();
        assert!(load.status.success(), "{load:?}");
    }

    /// The containers that there are, running or not.
    fn containers(&self) -> String {
        let output = self.client().args(["ps", "-aq"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn project(&self, stories: &[Value]) -> Project {
        Project::with_stories(stories)
            .env("PATH", self.at("programs"))
            .env("RALPH_SAFETY_CONTAINER", IMAGE)
            .env("RALPH_SAFETY_ALLOW_WRITE", "[]")
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.service);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.service.wait();
    }
}

fn story_by(verify: &str) -> Value {
    let mut story = story("A");
    story["verify"] = json!([verify]);
    story
}

fn shell(line: &str) -> Value {
    json!({"default": [{"do": [{"run": line}, {"say": "Task {id} complete"}]}]})
}

/// A file of this machine that the image does not have.
const OF_MACHINE: &str = "/usr/bin/sqlite3";

#[test]
fn a_task_is_done_and_verified_in_the_files_of_an_image_of_dockers() {
    assert!(Path::new(OF_MACHINE).exists(), "install Debian's sqlite3");
    let docker = Docker::start();
    // As root and as an ordinary user, in a layer and in place.
    for (mode, user) in [("overlay", None), ("in_place", Some(ORDINARY))] {
        let how = format!("{mode}, {user:?}");
        let probe = format!(
            "{{ cat \"$HOME/.ssh/key\" ../other/file; printenv CANARY_TOKEN; cat {OF_MACHINE}; \
             python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"../other/service\"); print(1)'; \
             }} > seen.txt 2>/dev/null; echo x > ../other/file; echo x > /usr/bin/planted; \
             echo \"$OF_THE_IMAGE $(id -u)\" > A.txt; ls /usr/bin > /tmp/list"
        );
        let verify = "grep -q '^yes ' A.txt && ! test -s seen.txt && ! test -e /usr/bin/planted && ! test -e /tmp/list \
            && ! test -e /usr/bin/sqlite3 && test -d /usr/lib/git-core ";
        // In a layer all of it may be written, and is thrown away.
        let verify = if mode == "in_place" {
            format!("{verify} && ! (echo x > .mcp.json) && ! (echo x >> .git/config)")
        } else {
            verify.to_owned()
        };
        let project = docker
            .project(&[story_by(&verify)])
            .env("CANARY_TOKEN", "canary-7f3a91c2d4")
            .env("RALPH_WORKSPACE_MODE", mode)
            .env("RALPH_SAFETY_SANDBOX", "required")
            .env("RALPH_LOOP_MAX_ATTEMPTS", "1")
            .env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0")
            .script(&shell(&probe));
        let outside = [
            project.repo.home().join(".ssh/key"),
            project.outside("other/file"),
        ];
        for path in &outside {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "canary").unwrap();
        }
        let _service = UnixListener::bind(project.outside("other/service")).unwrap();
        if let Some(user) = user {
            project.give_to(user);
        }
        let ran = project.run_as(user).expect(0);
        assert_eq!(ran.verdicts(), ["A verified"], "{how}: {}", ran.all());
        let sandbox = ran.one("loop_started")["sandbox"].to_string();
        assert!(
            sandbox.contains("on, by container localhost/ralph-test (files by docker)"),
            "{how}: {sandbox}"
        );
        assert!(!project.repo.read("A.txt").ends_with(" 0\n"), "{how}");
        for path in &outside {
            assert_eq!(std::fs::read_to_string(path).unwrap(), "canary", "{how}");
        }
        assert_eq!(docker.containers(), "", "{how}");
        assert!(!project.data_dir().join("homes").exists(), "{how}");
        project.assert_nothing_alive();
    }
}

#[test]
fn an_image_that_docker_does_not_have_or_that_lacks_a_program_is_refused() {
    let docker = Docker::start();
    let project = docker
        .project(&[story_by("test -f A.txt")])
        .script(&shell("true"));
    project
        .run_with("RALPH_SAFETY_CONTAINER", "localhost/no-such-image")
        .expect(2)
        .says("docker has no image localhost/no-such-image, or does not answer: `docker pull");
    let lacking = docker
        .project(&[story_by("test -f A.txt")])
        .script(&shell("true"));
    let commands = r#"["no-such-program --check"]"#;
    let ran = lacking
        .run_with("RALPH_VERIFICATION_COMMANDS", commands)
        .expect(2);
    assert!(ran.stderr().contains("no-such-program"), "{}", ran.all());
    assert_eq!(docker.containers(), "");
}
