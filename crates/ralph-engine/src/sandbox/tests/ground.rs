//! A small machine for one test: a home with secrets, another project, services, and the repository.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use ralph_core::agent::Connection;
use ralph_core::config::{SafetyConfig, SandboxMode, VerifyNetwork};
use ralph_testkit::image::{IMAGE, image_folder};

use crate::layer::Layer;
use crate::layer::tests::support::{Ground, run_attended};
use crate::process::{CommandSpec, Ended, SandboxMeans};
use crate::sandbox::{
    AgentFolder, AllowedHost, Sandbox, SandboxFound, SandboxRequest, SandboxUser, UserOfPrograms,
};

/// The text that must not be read.
pub(super) const CANARY: &str = "canary-7f3a91";

/// Files of the home that no program but the user's own has to do with.
pub(super) const PRIVATE: [&str; 42] = [
    ".ssh/id_ed25519",
    ".ssh/config",
    ".ssh/known_hosts",
    ".gnupg/private-keys-v1.d/key.key",
    ".aws/credentials",
    ".azure/msal_token_cache.json",
    ".config/gcloud/credentials.db",
    ".config/git/config",
    ".config/git/credentials",
    ".config/gh/hosts.yml",
    ".config/op/config",
    ".config/rclone/rclone.conf",
    ".config/google-chrome/Default/Cookies",
    ".config/systemd/user/x.service",
    ".config/autostart/x.desktop",
    ".config/fish/config.fish",
    ".git-credentials",
    ".gitconfig",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config",
    ".docker/config.json",
    ".kube/config",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".bash_history",
    ".bashrc",
    ".profile",
    ".zshrc",
    ".mozilla/firefox/x.default/logins.json",
    ".local/share/keyrings/login.keyring",
    ".local/share/ralph/ralph.db",
    "Documents/letter.txt",
];

/// One machine, with a sandbox of one means.
pub(super) struct Machine<'a> {
    pub(super) ground: &'a Ground,
    pub(super) home: PathBuf,
    pub(super) sandbox: Sandbox,
    /// The hosts that the last program asked for.
    pub(super) connections: RefCell<Vec<Connection>>,
    _services: Vec<UnixListener>,
}

impl<'a> Machine<'a> {
    /// A machine that must allow the means.
    pub(super) fn new(ground: &'a Ground, means: SandboxMeans) -> Self {
        Self::with(ground, means, |_| {})
    }

    /// A machine that can't let programs of root's run as another user.
    pub(super) fn reduced(ground: &'a Ground) -> Self {
        Self::build(
            ground,
            SandboxMeans::Namespaces,
            |_| {},
            Some("a test says so"),
        )
    }

    pub(super) fn with(
        ground: &'a Ground,
        means: SandboxMeans,
        configure: impl FnOnce(&mut SafetyConfig),
    ) -> Self {
        Self::build(ground, means, configure, None)
    }

    fn build(
        ground: &'a Ground,
        means: SandboxMeans,
        configure: impl FnOnce(&mut SafetyConfig),
        stays_root: Option<&str>,
    ) -> Self {
        let home = ground.dir.join("home");
        for path in PRIVATE {
            write(&home.join(path), CANARY);
        }
        write(&ground.dir.join("other/secret.txt"), CANARY);
        write(&ground.dir.join("data/ralph.db"), CANARY);
        write(&ground.repo.join("tracked.txt"), "tracked\n");
        let sockets = ["docker.sock", "bus", "ssh-agent"];
        let mut services: Vec<UnixListener> = sockets
            .iter()
            .map(|name| {
                let path = ground.dir.join("run").join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                let _ = fs::remove_file(&path);
                UnixListener::bind(path).unwrap()
            })
            .collect();
        services.push(abstract_service(&ground.dir));
        let mut safety = SafetyConfig {
            sandbox: SandboxMode::Auto,
            ..SafetyConfig::default()
        };
        configure(&mut safety);
        let vars = environment(ground, &home);
        let hosts = safety.allow_hosts.iter();
        let hosts: Vec<AllowedHost> = hosts
            .map(|host| AllowedHost::parse(host).unwrap())
            .collect();
        let request = SandboxRequest {
            safety: &safety,
            vars: &vars,
            root: &ground.repo,
            git_folders: &[],
            git_settings: &[],
            allow_hosts: &hosts,
            verify_network: VerifyNetwork::Open,
            data_dir: &ground.dir.join("data"),
            containment: ground.containment(),
        };
        let sandbox = match (means, stays_root) {
            (SandboxMeans::Container, _) => {
                lead_to_image(ground);
                let found = block_on(Sandbox::in_container(IMAGE, &request));
                found.unwrap_or_else(|reason| panic!("{reason}"))
            }
            (_, Some(reason)) => {
                let reason = reason.to_owned();
                let user = UserOfPrograms::Root { reason };
                let tried = Sandbox::new(means, &request, user, None).tried(ground.containment());
                tried.unwrap_or_else(|failure| panic!("{means}: {failure}"))
            }
            (_, None) => block_on(Sandbox::strongest(means, &request))
                .unwrap_or_else(|failure| panic!("{means}: {failure}")),
        };
        Self {
            ground,
            home,
            sandbox,
            connections: RefCell::default(),
            _services: services,
        }
    }

    /// Looks for a container, and says why there is none.
    pub(super) fn find_container(
        ground: &Ground,
        image: &str,
        vars: &[(OsString, OsString)],
    ) -> String {
        let safety = SafetyConfig {
            container: Some(image.to_owned()),
            ..SafetyConfig::default()
        };
        let request = SandboxRequest {
            safety: &safety,
            vars,
            root: &ground.repo,
            git_folders: &[],
            git_settings: &[],
            allow_hosts: &[],
            verify_network: VerifyNetwork::Open,
            data_dir: &ground.dir.join("data"),
            containment: ground.containment(),
        };
        block_on(SandboxFound::find(&request)).unwrap_err()
    }

    /// Tries one means, and says why it does not work.
    pub(super) fn probe(ground: &Ground, home: &Path, means: SandboxMeans) -> Result<(), String> {
        let tried = Self::ask(ground, home, SandboxMode::Auto, |request| {
            block_on(Sandbox::strongest(means, request))
        });
        tried.map(|_| ()).map_err(|failure| failure.to_string())
    }

    /// Finds the sandbox of a loop.
    pub(super) fn find(ground: &Ground, mode: SandboxMode) -> Result<SandboxFound, String> {
        let home = ground.dir.join("home");
        fs::create_dir_all(&home).unwrap();
        Self::ask(ground, &home, mode, |request| {
            block_on(SandboxFound::find(request))
        })
    }

    fn ask<T>(
        ground: &Ground,
        home: &Path,
        mode: SandboxMode,
        ask: impl FnOnce(&SandboxRequest<'_>) -> T,
    ) -> T {
        ask(&SandboxRequest {
            safety: &SafetyConfig {
                sandbox: mode,
                ..SafetyConfig::default()
            },
            vars: &environment(ground, home),
            root: &ground.repo,
            git_folders: &[],
            git_settings: &[],
            allow_hosts: &[],
            verify_network: VerifyNetwork::Open,
            data_dir: &ground.dir.join("data"),
            containment: ground.containment(),
        })
    }

    /// Runs a shell script in the sandbox.
    pub(super) fn run(&self, script: &str) -> (String, Ended) {
        self.run_as(script, SandboxUser::Command)
    }

    /// The same for an agent that is set up by folders of the home.
    pub(super) fn run_agent(&self, script: &str, folders: &[AgentFolder]) -> (String, Ended) {
        self.run_as(
            script,
            SandboxUser::Agent {
                folders,
                hosts: &[],
            },
        )
    }

    /// Runs a shell script in the sandbox, over a layer.
    pub(super) fn run_in_layer(&self, layer: &Layer, script: &str) -> (String, Ended) {
        let spec = self.spec(script).mounts(layer.mount_plan().unwrap());
        self.run_spec(spec, SandboxUser::Command)
    }

    /// The sentence about the sandbox.
    pub(super) fn sentence(&self) -> String {
        self.sandbox.sentence()
    }

    fn run_as(&self, script: &str, user: SandboxUser<'_>) -> (String, Ended) {
        self.run_spec(self.spec(script), user)
    }

    pub(super) fn run_spec(&self, mut spec: CommandSpec, user: SandboxUser<'_>) -> (String, Ended) {
        let mut enclosure = self.sandbox.enclose(&mut spec, user).unwrap();
        let ran = run_attended(&spec, self.ground.containment(), |running| {
            enclosure.attend(running).unwrap();
        });
        enclosure.keep_logins().unwrap();
        *self.connections.borrow_mut() = enclosure.connections();
        ran.unwrap()
    }

    /// A shell script for the sandbox, which is not in it yet.
    pub(super) fn spec(&self, script: &str) -> CommandSpec {
        let mut spec = self.ground.spec("/bin/sh").args(["-c", script]);
        spec.env.retain(|(name, _)| name != "HOME");
        spec.env("HOME", &self.home)
            .env("LISTENER", abstract_name(&self.ground.dir))
            .env("SSH_AUTH_SOCK", self.ground.dir.join("run/ssh-agent"))
            .env("XDG_RUNTIME_DIR", self.ground.dir.join("run"))
    }
}

pub(super) fn environment(ground: &Ground, home: &Path) -> Vec<(OsString, OsString)> {
    let mut env = ground.spec("true").env;
    env.push(("HOME".into(), home.into()));
    let storage = ground.dir.join("storage.conf");
    env.push(("CONTAINERS_STORAGE_CONF".into(), storage.into()));
    env.push(("XDG_RUNTIME_DIR".into(), ground.dir.join("run").into()));
    env
}

/// Leads podman to the image of the tests, which it shares with others. An ordinary user can use only files that
/// are its own.
pub(super) fn lead_to_image(ground: &Ground) {
    let dir = &ground.dir;
    let name = if ground.is_root {
        "store"
    } else {
        "store-of-user"
    };
    let (own, shared) = (dir.join("store"), image_folder().join(name));
    let (own, shared, run) = (own.display(), shared.display(), dir.join("podman-run"));
    let text = format!(
        "[storage]\ndriver = \"overlay\"\ngraphroot = \"{own}\"\nrootless_storage_path = \"{own}\"\n\
         runroot = \"{}\"\n[storage.options]\nadditionalimagestores = [\"{shared}\"]\n",
        run.display()
    );
    write(&dir.join("storage.conf"), &text);
    fs::create_dir_all(dir.join("run")).unwrap();
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future)
}

pub(super) fn abstract_name(dir: &Path) -> String {
    let name = dir.file_name().unwrap().to_str().unwrap();
    format!("ralph-test-{name}-{}", rustix::process::geteuid().as_raw())
}

fn abstract_service(dir: &Path) -> UnixListener {
    use std::os::linux::net::SocketAddrExt as _;
    let name = abstract_name(dir);
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
    UnixListener::bind_addr(&address).unwrap()
}

pub(super) fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
