//! The container that programs run in where `safety.container` names an image.
//!
//! podman makes it, started below the keeper as any program is: it sees the layer, and all that it starts ends
//! with the run. It reads the person's images and changes nothing of theirs: what it writes is in a folder of
//! ralph's that goes with the run, also after SIGKILL. Images of docker's are [`super::image`].

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::toolchains::{CACHE_VARIABLES, MOVED, PROGRAM_VARIABLES};
use crate::{
    inside_run::RUN_MARK,
    layer::mount_points_below,
    process::{
        BindAccess, CommandSpec, Containment, Ended, MountStep, Output, SandboxMeans, SandboxPlan,
        ShownAs, ShownPath, Tail, spawn,
    },
    programs::{find_program, path_folders},
};

/// The time that podman may take to answer a question.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most lines and bytes of an answer that are kept.
const LONGEST_ANSWER: usize = 4_096;

/// Settings of podman's own. Nothing of the person's is added to what ralph asks for.
const SETTINGS: &str = "[engine]\nlock_type = \"file\"\nevents_logger = \"none\"\n\
                        cgroup_manager = \"cgroupfs\"\n[containers]\nkeyring = false\n";

/// Variables that podman reads itself. The program in the container gets the person's, podman gets others.
const OWN_VARIABLES: [&str; 3] = ["HOME", "PATH", "TMPDIR"];
const OWN_PREFIXES: [&str; 5] = ["XDG_", "CONTAINER", "_CONTAINERS_", "STORAGE_", "LD_"];

/// Control groups of the second kind beside those of the first: `crun` refuses to work where it sees both.
const SECOND_CONTROL_GROUPS: &str = "/sys/fs/cgroup/unified";

/// Folders that no one works in, one of which podman's own is shown at: the path of that may have no more than
/// 50 characters.
const SHORT_PLACES: [&str; 5] = ["/boot", "/srv", "/media", "/mnt", "/opt"];

/// Starts the program such that one that is not there is told as in a shell.
const STARTER: &str = r#"exec "$0" "$@""#;

/// An image, and the podman that runs it.
#[derive(Debug, Clone)]
pub(super) struct Container {
    podman: PathBuf,
    /// As the configuration says it.
    name: String,
    /// As it was when it was found: a name can be given to another image.
    id: String,
    stores: ImageStores,
    /// True if podman has a first process for containers, which ends its programs on signals as usual.
    has_init: bool,
}

/// The places where podman keeps the person's images.
#[derive(Debug, Clone)]
struct ImageStores {
    folders: Vec<PathBuf>,
    driver: String,
}

impl ImageStores {
    /// The person's own, and the one that the image is in, which others may share: its last layer is in
    /// `STORE/overlay/ID/diff`.
    fn new(own: &str, layer: &str, driver: &str) -> Self {
        let own = PathBuf::from(own);
        let shared = Path::new(layer).ancestors().nth(3);
        let shared = shared.filter(|folder| folder.parent().is_some() && **folder != own);
        let shared = shared.map(Path::to_owned);
        Self {
            folders: [own].into_iter().chain(shared).collect(),
            driver: driver.to_owned(),
        }
    }
}

/// The needs of one program in a container.
pub(super) struct ContainerRun<'a> {
    pub(super) shown: &'a [ShownPath],
    /// A folder of ralph's that is there as long as the program.
    pub(super) folder: &'a Path,
    pub(super) home: Option<&'a Path>,
    /// True if one of the paths that are shown is the file of hosts.
    pub(super) has_hosts: bool,
    pub(super) overrides_owners: bool,
}

impl Container {
    /// Looks for podman and the image; `Err` says what to do.
    pub(super) async fn find(
        name: &str,
        vars: &[(OsString, OsString)],
        root: &Path,
        containment: Containment,
    ) -> Result<Self, String> {
        check_name(name)?;
        let Some(podman) = find_program("podman", path_folders(vars)) else {
            return Err("`safety.container`: podman is not on the PATH any more".to_owned());
        };
        let ask = async |args: &[&str]| {
            // In the namespaces that it has later, so that it need not make some, which would stay behind.
            let plan = SandboxPlan {
                means: SandboxMeans::Container,
                nested: true,
                ..SandboxPlan::default()
            };
            let mut spec = CommandSpec::new(&podman, root)
                .args(["--log-level=error"])
                .args(args)
                .output(Output::Merged)
                .sandbox(plan);
            spec.env = vars.to_vec();
            spec.env.extend(user_namespace_variables());
            answer(&spec, containment).await
        };
        let format = "{{.Id}}\n{{.GraphDriver.Data.UpperDir}}";
        let found = ask(&["image", "inspect", "--format", format, name]).await;
        let found = found.map_err(|said| {
            format!(
                "podman has no image {name}: `podman pull {name}` gets it, or `podman build -t {name} .` makes it \
                 ({said})"
            )
        })?;
        let format = "{{.Store.GraphRoot}}\n{{.Store.GraphDriverName}}";
        let store = ask(&["info", "--format", format]).await;
        let store = store.map_err(|said| format!("podman does not work here: {said}"))?;
        let (Some((id, layer)), Some((folder, driver))) =
            (found.split_once('\n'), store.split_once('\n'))
        else {
            return Err(format!(
                "podman says nothing of its images: {found} {store}"
            ));
        };
        Ok(Self {
            podman,
            name: name.to_owned(),
            id: id.to_owned(),
            stores: ImageStores::new(folder, layer, driver),
            has_init: true,
        })
    }

    /// The same without a first process of podman's.
    pub(super) fn without_init(self) -> Self {
        Self {
            has_init: false,
            ..self
        }
    }

    /// Returns it in words: `container debian:12 (podman)`.
    pub(super) fn sentence(&self) -> String {
        format!("container {} (podman)", self.name)
    }

    pub(super) fn image(&self) -> &str {
        &self.name
    }

    /// Has podman run the program of a specification in the container; returns a file that is there once the
    /// program has begun.
    pub(super) fn wrap(
        &self,
        spec: &mut CommandSpec,
        run: &ContainerRun<'_>,
    ) -> io::Result<PathBuf> {
        let state = run.folder.join("podman");
        fs::create_dir(&state)?;
        fs::write(state.join("containers.conf"), SETTINGS)?;
        fs::write(state.join("run"), spec.keeper.as_str())?;
        let place = self.short_place(run)?;
        let steps = &mut spec.mounts.get_or_insert_default().steps;
        steps.push(MountStep::Bind {
            from: state.clone(),
            to: place.to_owned(),
            access: BindAccess::ReadWrite,
        });
        if Path::new(SECOND_CONTROL_GROUPS).is_dir() {
            let path = SECOND_CONTROL_GROUPS.into();
            steps.push(MountStep::Cover { path });
        }
        let mut args = self.own_options(place);
        args.extend(self.walls(run));
        args.extend(mounts_of(run.shown));
        args.extend(bind(&place.join("run"), Path::new(RUN_MARK), Access::Read));
        args.extend(variables(spec, run, place));
        args.extend(["--pidfile".into(), place.join("pid").into()]);
        args.extend(["--workdir".into(), spec.cwd.clone().into()]);
        args.push((&self.id).into());
        args.extend(["/bin/sh", "-c", STARTER].map(OsString::from));
        args.push(std::mem::take(&mut spec.program));
        args.append(&mut spec.args);
        spec.program = self.podman.clone().into();
        spec.args = args;
        Ok(state.join("pid"))
    }

    /// A folder at which podman's own can be shown without hiding what it needs.
    fn short_place(&self, run: &ContainerRun<'_>) -> io::Result<&'static Path> {
        let shown = run.shown.iter().flat_map(|shown| match &shown.kind {
            ShownAs::Instead { from } => [from, &shown.path],
            _ => [&shown.path, &shown.path],
        });
        let stores = self.stores.folders.iter();
        let needed: Vec<&PathBuf> = shown.chain(stores).chain([&self.podman]).collect();
        let is_free = |place: &&Path| {
            let is_folder = place.symlink_metadata().is_ok_and(|meta| meta.is_dir());
            is_folder && !needed.iter().any(|path| path.starts_with(place))
        };
        let mut places = SHORT_PLACES.iter().map(Path::new);
        places.find(is_free).ok_or_else(|| {
            io::Error::other(format!(
                "podman needs one of these folders, all of which are used or not there: {}",
                SHORT_PLACES.join(", ")
            ))
        })
    }

    /// Options for the folders that podman itself works in.
    fn own_options(&self, state: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        for (option, folder) in [
            ("--root", "storage"),
            ("--runroot", "state"),
            ("--tmpdir", "tmp"),
            ("--network-config-dir", "networks"),
        ] {
            args.extend([option.into(), state.join(folder).into()]);
        }
        args.extend(["--storage-driver".into(), (&self.stores.driver).into()]);
        for folder in &self.stores.folders {
            let mut store = OsString::from("additionalimagestore=");
            store.push(folder);
            args.extend(["--storage-opt".into(), store]);
        }
        args
    }

    fn walls(&self, run: &ContainerRun<'_>) -> Vec<OsString> {
        let mut args = vec![
            "run",
            "--rm",
            "--interactive",
            "--pull=never",
            "--log-driver=passthrough",
            "--entrypoint=",
            // The keeper has made the network, and holds limits and processes together.
            "--network=host",
            "--cgroups=disabled",
            "--cap-drop=all",
            "--security-opt=no-new-privileges",
            // Files of the repository keep their labels.
            "--security-opt=label=disable",
            // Groups of the first kind name a program that the kernel starts outside.
            "--security-opt=mask=/sys/fs/cgroup",
            "--http-proxy=false",
            "--systemd=false",
            "--user=0:0",
            // Those that the keeper has set.
            "--ulimit=host",
        ];
        if self.has_init {
            args.push("--init");
        }
        if run.has_hosts {
            args.push("--no-hosts");
        }
        if run.overrides_owners {
            args.extend([
                "--cap-add=chown",
                "--cap-add=dac_override",
                "--cap-add=fowner",
            ]);
        }
        args.into_iter().map(OsString::from).collect()
    }
}

/// Refuses what can't be the name of an image.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
        return Err(format!("`safety.container`: {name:?} names no image"));
    }
    Ok(())
}

/// Runs podman or a program in a container to its end; its output, as an error where it fails.
pub(super) async fn answer(spec: &CommandSpec, containment: Containment) -> Result<String, String> {
    answer_within(spec, containment, PATIENCE).await
}

/// The same with another patience.
pub(super) async fn answer_within(
    spec: &CommandSpec,
    containment: Containment,
    patience: Duration,
) -> Result<String, String> {
    let mut running = spawn(spec, containment).map_err(|error| error.to_string())?;
    let mut said = Tail::new(LONGEST_ANSWER);
    let ended = running
        .finish_within(patience, &mut |bytes| said.push(bytes))
        .await;
    let said = said.text().trim().to_owned();
    match ended {
        Some(Ok(Ended::Code(0))) => Ok(said),
        Some(Ok(_)) => Err(said),
        Some(Err(error)) => Err(error.to_string()),
        None => Err(format!("no answer within {} s", patience.as_secs())),
    }
}

/// Names the variables that the program gets. Values stay out of the list of processes, but for those of
/// variables that podman reads itself.
fn variables(spec: &mut CommandSpec, run: &ContainerRun<'_>, state: &Path) -> Vec<OsString> {
    let mut args = Vec::new();
    let mut given = Vec::new();
    for (name, value) in std::mem::take(&mut spec.env) {
        let Some(text) = name.to_str().filter(|text| is_plain_name(text)) else {
            continue;
        };
        if text == "PATH" {
            given.push((name, value));
        } else if is_of_machine(text) {
            // They name what is not there, in the place of the image's own.
        } else if is_own(text) {
            let value = match run.home.filter(|_| text == "HOME") {
                Some(home) => home.as_os_str().to_owned(),
                None => value,
            };
            let mut assignment = name;
            assignment.push("=");
            assignment.push(value);
            args.extend(["--env".into(), assignment]);
        } else {
            args.extend(["--env".into(), name.clone()]);
            given.push((name, value));
        }
    }
    given.push(("HOME".into(), state.into()));
    given.push(("XDG_RUNTIME_DIR".into(), state.into()));
    given.push((
        "CONTAINERS_CONF".into(),
        state.join("containers.conf").into(),
    ));
    given.extend(user_namespace_variables());
    spec.env = given;
    args
}

/// Tells podman that it is in the user namespace that it would make for an ordinary user: the keeper's.
fn user_namespace_variables() -> Vec<(OsString, OsString)> {
    let user = rustix::process::geteuid();
    if user.is_root() {
        return Vec::new();
    }
    let group = rustix::process::getegid();
    vec![
        ("_CONTAINERS_USERNS_CONFIGURED".into(), "done".into()),
        (
            "_CONTAINERS_ROOTLESS_UID".into(),
            user.as_raw().to_string().into(),
        ),
        (
            "_CONTAINERS_ROOTLESS_GID".into(),
            group.as_raw().to_string().into(),
        ),
    ]
}

fn is_plain_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_part)
}

/// Tells whether a variable names programs, libraries or downloads of this machine.
pub(super) fn is_of_machine(name: &str) -> bool {
    name.starts_with("LD_")
        || PROGRAM_VARIABLES.contains(&name)
        || CACHE_VARIABLES.contains(&name)
        || MOVED.iter().any(|(variable, _)| *variable == name)
}

fn is_own(name: &str) -> bool {
    OWN_VARIABLES.contains(&name) || OWN_PREFIXES.iter().any(|start| name.starts_with(start))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// Mounts of the paths that are shown, in the words of podman. Links, devices and terminals are the image's and podman's own.
fn mounts_of(shown: &[ShownPath]) -> Vec<OsString> {
    let mut args = Vec::new();
    for ShownPath { path, kind } in shown {
        match kind {
            ShownAs::ReadOnly => {
                args.extend(bind(path, path, Access::Read));
                // Only the top of a tree of mounts becomes read-only.
                for below in mount_points_below(path) {
                    args.extend(bind(&below, &below, Access::Read));
                }
            }
            ShownAs::ReadWrite => args.extend(bind(path, path, Access::Write)),
            ShownAs::Instead { from } => args.extend(bind(from, path, Access::Write)),
            ShownAs::Memory => {
                let options = [
                    field("destination", path),
                    "tmpfs-mode=1777".into(),
                    "exec".into(),
                ];
                args.extend(mount("tmpfs", &options));
            }
            ShownAs::Device | ShownAs::Terminals | ShownAs::Link { .. } => {}
        }
    }
    args
}

fn bind(from: &Path, to: &Path, access: Access) -> [OsString; 2] {
    let access = match access {
        Access::Read => "ro=true",
        Access::Write => "ro=false",
    };
    let options = [
        field("source", from),
        field("destination", to),
        access.into(),
    ];
    mount("bind", &options)
}

fn mount(kind: &str, fields: &[OsString]) -> [OsString; 2] {
    let mut value = OsString::from(format!("type={kind}"));
    for field in fields {
        value.push(",");
        value.push(field);
    }
    ["--mount".into(), value]
}

/// One field of a list that podman separates by commas.
fn field(name: &str, path: &Path) -> OsString {
    let mut field = OsString::from(name);
    field.push("=");
    match path.to_str().filter(|text| text.contains([',', '"'])) {
        Some(text) => format!("\"{name}={}\"", text.replace('"', "\"\"")).into(),
        None => {
            field.push(path);
            field
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_read_from_the_store_that_it_is_in() {
        let folders = |layer: &str| ImageStores::new("/var/own/store", layer, "overlay").folders;
        let own = folders("/var/own/store/overlay/1f/diff");
        assert_eq!(own, [Path::new("/var/own/store")]);
        let shared = folders("/var/shared/overlay/1f/diff");
        assert_eq!(shared, ["/var/own/store", "/var/shared"].map(Path::new));
        assert_eq!(folders("<no value>"), [Path::new("/var/own/store")]);
    }

    #[test]
    fn a_path_with_a_comma_or_a_quote_stays_one_field() {
        let said = |path: &str| field("source", Path::new(path)).into_string().unwrap();
        assert_eq!(said("/a b:c"), "source=/a b:c");
        assert_eq!(said("/a,b"), "\"source=/a,b\"");
        assert_eq!(said("/a\"b"), "\"source=/a\"\"b\"");
    }
}
