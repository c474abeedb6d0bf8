//! The files of an image of docker's, which programs are shown instead of the system of this machine.
//!
//! docker is asked for the image and for nothing else: its programs are started by a service outside, which does not
//! end with ralph and is not held to its walls. So ralph keeps a copy of the files, and its own sandbox is made around
//! them. Nothing of the person's containers and images is changed.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::container::{answer_within, is_of_machine};
use crate::{
    layer::ProgramFolder,
    process::{CommandSpec, Containment, Output, OverlayXattrs, SandboxImage},
    programs::{find_program, path_folders},
};

/// The time that docker may take to answer a question, and to give an image away.
const PATIENCE: Duration = Duration::from_secs(60);
const EXPORT_PATIENCE: Duration = Duration::from_secs(1_800);
/// A copy that was not used for so long is deleted when another one is.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The search path of an image that names none.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Files that a container has from its machine.
const OF_MACHINE: [&str; 2] = ["etc/resolv.conf", "etc/hosts"];

/// Copies the files of an image: its first word is docker, then the image and the folder.
const EXPORT: &str = r#"set -e
id=$("$0" create "$1" /bin/sh)
trap '"$0" rm "$id" >/dev/null' EXIT
"$0" export "$id" | tar -x --no-same-owner --exclude='dev/*' -C "$2"
test -e "$2/bin/sh" -o -L "$2/bin/sh" || { echo "it has no /bin/sh"; exit 1; }"#;

/// An image, and the folder that its files are in.
#[derive(Debug, Clone)]
pub(super) struct DockerImage {
    /// As the configuration says it.
    name: String,
    folder: PathBuf,
    /// The variables that it sets.
    vars: Vec<(OsString, OsString)>,
}

/// A request for the files of an image.
pub(super) struct ImageRequest<'a> {
    pub(super) name: &'a str,
    pub(super) vars: &'a [(OsString, OsString)],
    pub(super) root: &'a Path,
    pub(super) data_dir: &'a Path,
    pub(super) containment: Containment,
}

impl ImageRequest<'_> {
    async fn ask(&self, spec: CommandSpec, patience: Duration) -> Result<String, String> {
        let mut spec = spec.output(Output::Merged);
        spec.env = self.vars.to_vec();
        answer_within(&spec, self.containment, patience).await
    }
}

impl DockerImage {
    /// Looks for docker and the image, and copies its files where they are not there yet; `Err` says what to do.
    pub(super) async fn find(request: &ImageRequest<'_>) -> Result<Self, String> {
        let name = request.name;
        let Some(docker) = find_program("docker", path_folders(request.vars)) else {
            return Err(
                "`safety.container` needs podman or docker, and neither is on the PATH: install podman"
                    .to_owned(),
            );
        };
        let format = "{{.Id}}{{range .Config.Env}}\n{{.}}{{end}}";
        let spec = CommandSpec::new(&docker, request.root)
            .args(["image", "inspect", "--format", format, name]);
        let found = request.ask(spec, PATIENCE).await.map_err(|said| {
            format!(
                "docker has no image {name}, or does not answer: `docker pull {name}` gets it, or \
                 `docker build -t {name} .` makes it ({said})"
            )
        })?;
        let mut lines = found.lines();
        let id = lines.next().unwrap_or_default();
        let id = id.strip_prefix("sha256:").unwrap_or(id);
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!("docker says nothing of the image {name}: {found}"));
        }
        let vars = lines.filter_map(|line| line.split_once('='));
        let images = request.data_dir.join("images");
        let image = Self {
            name: name.to_owned(),
            folder: images.join(id),
            vars: vars
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        };
        if !image.folder.is_dir() {
            image.copy(request, &docker, &images).await?;
        }
        image
            .use_now(&images)
            .map_err(|error| format!("{}: {error}", image.folder.display()))?;
        Ok(image)
    }

    async fn copy(
        &self,
        request: &ImageRequest<'_>,
        docker: &Path,
        images: &Path,
    ) -> Result<(), String> {
        let failed =
            |error: io::Error| format!("the files of {} can't be copied: {error}", self.name);
        // Swept where ralph is killed meanwhile.
        let own = ProgramFolder::make(&request.data_dir.join("homes")).map_err(failed)?;
        let files = own.path().join("files");
        fs::create_dir(&files).map_err(failed)?;
        let spec = CommandSpec::new("/bin/sh", request.root).args([
            "-c".into(),
            EXPORT.into(),
            docker.as_os_str().to_owned(),
            OsString::from(&self.name),
            files.clone().into_os_string(),
        ]);
        request
            .ask(spec, EXPORT_PATIENCE)
            .await
            .map_err(|said| format!("the files of {} can't be copied: {said}", self.name))?;
        fs::create_dir_all(images).map_err(failed)?;
        match fs::rename(&files, &self.folder) {
            // Another ralph was quicker.
            Err(_) if self.folder.is_dir() => Ok(()),
            renamed => renamed.map_err(failed),
        }
    }

    /// Brings what is the machine's up to date, and deletes copies that were not used for long.
    fn use_now(&self, images: &Path) -> io::Result<()> {
        for name in OF_MACHINE {
            let file = self.folder.join(name);
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            // It may be a link, which would lead out of the folder.
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            fs::write(
                &file,
                fs::read(Path::new("/").join(name)).unwrap_or_default(),
            )?;
        }
        let used = |folder: &Path| folder.join(OF_MACHINE[0]).metadata()?.modified();
        let now = used(&self.folder)?;
        for entry in fs::read_dir(images)?.flatten() {
            let then = used(&entry.path());
            let age = then.ok().and_then(|then| now.duration_since(then).ok());
            if age.is_some_and(|age| age > UNUSED) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns it in words: `container debian:12 (files by docker)`.
    pub(super) fn sentence(&self) -> String {
        format!("container {} (files by docker)", self.name)
    }

    pub(super) fn plan(&self) -> SandboxImage {
        let xattrs = if rustix::process::geteuid().is_root() {
            OverlayXattrs::Trusted
        } else {
            OverlayXattrs::User
        };
        SandboxImage {
            folder: self.folder.clone(),
            xattrs,
        }
    }

    /// Gives a program the variables of the image, and those of this machine that do not name what is not there.
    pub(super) fn change_environment(&self, env: &mut Vec<(OsString, OsString)>) {
        env.retain(|(name, _)| {
            let is_of_machine = name.to_str().is_some_and(is_of_machine);
            name != "PATH" && !is_of_machine
        });
        for (name, value) in &self.vars {
            if !env.iter().any(|(known, _)| known == name) {
                env.push((name.clone(), value.clone()));
            }
        }
        if !env.iter().any(|(name, _)| name == "PATH") {
            env.push(("PATH".into(), USUAL_PATH.into()));
        }
    }
}
