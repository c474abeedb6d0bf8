//! The sandbox around agents and verify commands: what there is on this machine, and what each program sees.
//!
//! The process module makes it; here is decided what is in it. A program sees the system and toolchains to
//! read, the repository as its workspace says, a home of its own, and temporary folders of its own.
//! Everything else of the machine is not there.

mod bwrap;
mod container;
mod group;
mod home;
mod hosts;
mod identity;
mod image;
mod limits;
mod place;
mod relay;
#[cfg(test)]
mod tests;
mod toolchains;
mod view;

pub(crate) use home::sweep_homes;
pub use home::{AgentFile, AgentFileKind, AgentFolder};
pub use hosts::AllowedHost;
pub use limits::{TreeLimits, TreeWatch};
pub use place::SandboxPlace;

use std::{
    ffi::OsString,
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use ralph_core::{
    agent::Connection,
    config::{AgentNetwork, SafetyConfig, SandboxMode, VerifyNetwork},
};

use self::{
    container::{Container, ContainerRun, answer},
    home::{HomeRequest, SandboxHome},
    identity::{OwnerTrial, ProgramUser},
    image::{DockerImage, ImageRequest},
    relay::{Relay, RelayPlan},
    toolchains::SESSION_VARIABLES,
    view::{SandboxView, ViewRights, is_narrow},
};
use crate::{
    process::{
        BindAccess, CommandSpec, Containment, MountPlan, MountStep, Output, OverlayXattrs, Running,
        SandboxIdentity, SandboxMeans, SandboxNetwork, SandboxPlan, ShownAs, Stdin, TrialFailure,
        try_sandbox,
    },
    programs::{find_program, is_executable, path_folders},
};

/// The facts that a sandbox is made from.
#[derive(Debug, Clone, Copy)]
pub struct SandboxRequest<'a> {
    pub safety: &'a SafetyConfig,
    /// The environment that programs get.
    pub vars: &'a [(OsString, OsString)],
    /// The work tree that they work in.
    pub root: &'a Path,
    /// The git folders of the repository, and others that it can't do without.
    pub git_folders: &'a [PathBuf],
    /// Settings of git that programs get though they do not see the person's own.
    pub git_settings: &'a [(String, String)],
    /// Hosts that a person lists.
    pub allow_hosts: &'a [AllowedHost],
    pub verify_network: VerifyNetwork,
    pub data_dir: &'a Path,
    pub containment: Containment,
}

impl SandboxRequest<'_> {
    /// Tells whether a person asked for a network that only a sandbox can give.
    fn wants_own_network(&self) -> bool {
        self.safety.network != AgentNetwork::Open || self.verify_network == VerifyNetwork::Off
    }
}

/// The sandbox that a loop has, or the reason why it has none.
#[derive(Debug)]
pub enum SandboxFound {
    Walls(Box<Sandbox>),
    /// `safety.sandbox` says so.
    Off,
    /// There can be none here.
    Absent {
        reason: String,
    },
}

/// The walls around the programs of a loop.
#[derive(Debug, Clone)]
pub struct Sandbox {
    means: SandboxMeans,
    /// The container, where that is the means.
    container: Option<Container>,
    /// The image whose files are shown instead of the system's.
    image: Option<DockerImage>,
    /// The program, where that is the means.
    bwrap: Option<PathBuf>,
    view: SandboxView,
    root: PathBuf,
    git_folders: Vec<PathBuf>,
    git_settings: Vec<(String, String)>,
    home: Option<PathBuf>,
    /// The folder of ralph's that holds the homes of programs while they run.
    homes: PathBuf,
    nested: bool,
    overrides_owners: bool,
    user: UserOfPrograms,
    limits: TreeLimits,
    network: AgentNetwork,
    allow_hosts: Vec<AllowedHost>,
    verify_network: CommandNetwork,
}

/// The user that programs in a sandbox run as.
#[derive(Debug, Clone)]
enum UserOfPrograms {
    /// The one that ralph runs as, who is not root.
    Own,
    /// Ralph runs as root, and programs as another user.
    Another(Arc<ProgramUser>),
    /// Programs are root, without its rights, because there can be no other user here.
    Root { reason: String },
}

impl UserOfPrograms {
    /// The one of programs that another program starts, which makes the sandbox itself.
    fn of_started(by: &str) -> Self {
        if rustix::process::geteuid().is_root() {
            let reason = format!("{by} is started by root");
            Self::Root { reason }
        } else {
            Self::Own
        }
    }

    fn another(&self) -> Option<&ProgramUser> {
        match self {
            Self::Another(user) => Some(user),
            Self::Own | Self::Root { .. } => None,
        }
    }

    fn is_root(&self) -> bool {
        matches!(self, Self::Root { .. })
    }
}

/// The hosts that verify commands of a loop reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandNetwork {
    Open,
    Off,
}

/// The program that is put into a sandbox.
#[derive(Debug, Clone, Copy)]
pub enum SandboxUser<'a> {
    Agent {
        /// The folders of the home that it is set up by.
        folders: &'a [AgentFolder],
        /// The hosts of its model.
        hosts: &'a [&'a str],
    },
    /// A verify command or a formatter.
    Command,
}

/// The needs of a program in a sandbox as long as it runs.
#[derive(Debug)]
pub struct Enclosure {
    home: SandboxHome,
    /// A file that is there once a program in a container has begun.
    begun: Option<PathBuf>,
    doors: Option<RelayPlan>,
    relay: Option<Relay>,
}

impl Enclosure {
    /// Opens the doors of a program that has begun.
    pub(crate) fn attend(&mut self, running: &mut Running) -> io::Result<()> {
        if let Some(plan) = &self.doors {
            self.relay = Some(Relay::open(plan, running.take_doors())?);
        }
        Ok(())
    }

    /// Tells whether the program itself was started, and not only what makes the walls around it.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.as_ref().is_none_or(|file| file.exists())
    }

    /// Keeps what outlives the program: a login that it renewed.
    pub(crate) fn keep_logins(&self) -> io::Result<()> {
        self.home.keep_logins()
    }

    /// The hosts that it asked for.
    pub(crate) fn connections(&self) -> Vec<Connection> {
        let relay = self.relay.as_ref();
        relay.map(Relay::connections).unwrap_or_default()
    }
}

impl SandboxFound {
    /// Finds the strongest sandbox that works here, by really trying it. `Err` where one is required and there
    /// is none: the reason.
    pub async fn find(request: &SandboxRequest<'_>) -> Result<Self, String> {
        if request.safety.sandbox == SandboxMode::Off {
            if request.safety.container.is_some() {
                return Err("`safety.sandbox` is off, and `safety.container` names an image: take one of the two away"
                    .to_owned());
            }
            if request.wants_own_network() {
                return Err(
                    "`safety.sandbox` is off, and only a sandbox can limit the network".to_owned(),
                );
            }
            return Ok(Self::Off);
        }
        let is_required = request.safety.sandbox == SandboxMode::Required;
        if let Some(image) = &request.safety.container {
            if find_program("podman", path_folders(request.vars)).is_none() {
                let mut sandbox = Sandbox::in_image(image, request).await?;
                if let (true, UserOfPrograms::Root { reason }) = (is_required, &sandbox.user) {
                    return Err(root_is_not_kept_in(reason));
                }
                sandbox.limits.find_group();
                return Ok(Self::Walls(Box::new(sandbox)));
            }
            if is_required && rustix::process::geteuid().is_root() {
                return Err(
                    "ralph runs as root, and programs in a container would be root's: root is not kept in by \
                     a sandbox, so run ralph as another user"
                        .to_owned(),
                );
            }
            let sandbox = Sandbox::in_container(image, request).await?;
            return Ok(Self::Walls(Box::new(sandbox)));
        }
        let mut reasons = Vec::new();
        for means in SandboxMeans::ALL {
            match Sandbox::strongest(means, request).await {
                Ok(Sandbox {
                    user: UserOfPrograms::Root { reason },
                    ..
                }) if is_required => {
                    return Err(root_is_not_kept_in(&reason));
                }
                Ok(_) if is_required && means == SandboxMeans::Landlock => {
                    reasons.push("Landlock alone keeps less than `required` promises".to_owned());
                }
                Ok(_)
                    if !means.has_doors() && request.safety.network == AgentNetwork::ModelOnly =>
                {
                    return Err(format!(
                        "{means} can't let an agent reach its model alone, as `safety.network` asks for"
                    ));
                }
                Ok(_) if !means.has_own_network() && request.wants_own_network() => {
                    return Err(format!(
                        "{means} can't limit the network, as `safety.network` or `verification.network` asks for"
                    ));
                }
                Ok(sandbox) => {
                    let mut sandbox = sandbox.settle_caches(request.containment);
                    sandbox.limits.find_group();
                    return Ok(Self::Walls(Box::new(sandbox)));
                }
                Err(failure) => reasons.push(format!("{means}: {failure}")),
            }
        }
        let reason = reasons.join("; ");
        if is_required || request.wants_own_network() {
            return Err(reason);
        }
        Ok(Self::Absent { reason })
    }

    /// Tries each means, whatever the configuration says.
    pub async fn probe(
        request: &SandboxRequest<'_>,
    ) -> Vec<(SandboxMeans, Result<(), TrialFailure>)> {
        let mut tried = Vec::new();
        for means in SandboxMeans::ALL {
            let found = Sandbox::strongest(means, request).await;
            tried.push((means, found.map(|_| ())));
        }
        tried
    }

    /// Tells whether it promises less than one that is not reduced.
    pub fn is_reduced(&self) -> bool {
        matches!(self, Self::Walls(sandbox)
            if sandbox.means == SandboxMeans::Landlock || sandbox.user.is_root())
    }

    /// Returns what there is, behind `sandbox: `.
    pub fn sentence(&self) -> String {
        match self {
            Self::Walls(sandbox) => sandbox.sentence(),
            Self::Off => "off: `safety.sandbox` says so".to_owned(),
            Self::Absent { reason } => format!("none: {reason}"),
        }
    }
}

impl Sandbox {
    /// The strongest sandbox of one means that works here: programs of root's run as another user if they can.
    async fn strongest(
        means: SandboxMeans,
        request: &SandboxRequest<'_>,
    ) -> Result<Self, TrialFailure> {
        if means == SandboxMeans::Bwrap {
            return Self::by_bwrap(request).await;
        }
        Self::with_strongest_user(means, request, None)
    }

    /// The same by the keeper itself, with the files of an image if there is one.
    fn with_strongest_user(
        means: SandboxMeans,
        request: &SandboxRequest<'_>,
        image: Option<&DockerImage>,
    ) -> Result<Self, TrialFailure> {
        let new = |user| Self::new(means, request, user, image).tried(request.containment);
        if !rustix::process::geteuid().is_root() {
            return new(UserOfPrograms::Own);
        }
        let home = home_in(request.vars);
        let homes = request.data_dir.join("homes");
        let reason = match ProgramUser::choose(&homes, home.as_deref(), request.root) {
            Ok(user) => {
                let user = UserOfPrograms::Another(Arc::new(user));
                match new(user) {
                    Ok(sandbox) => return Ok(sandbox),
                    Err(failure) => failure.to_string(),
                }
            }
            Err(reason) => reason,
        };
        new(UserOfPrograms::Root { reason })
    }

    fn new(
        means: SandboxMeans,
        request: &SandboxRequest<'_>,
        user: UserOfPrograms,
        image: Option<&DockerImage>,
    ) -> Self {
        let home = home_in(request.vars);
        let rights = if user.is_root() {
            ViewRights::Root
        } else {
            ViewRights::Ordinary
        };
        let mut view = match means {
            SandboxMeans::Namespaces if image.is_some() => SandboxView::of_image_files(),
            SandboxMeans::Namespaces | SandboxMeans::Bwrap | SandboxMeans::Landlock => {
                let mut view = SandboxView::of_system(means, rights);
                view.add_toolchains(home.as_deref(), request.vars);
                view
            }
            SandboxMeans::Container => SandboxView::of_image(),
        };
        // Agents may ask it things, and it refuses the rest by itself.
        if let Ok(ralph) = std::env::current_exe() {
            view.add(&ralph, &ShownAs::ReadOnly);
        }
        for path in &request.safety.allow_read {
            view.allow_reads(&expand(path, home.as_deref(), request.root));
        }
        for path in &request.safety.allow_write {
            view.allow_writes(&expand(path, home.as_deref(), request.root));
        }
        let owner = request.root.metadata().map(|meta| meta.uid()).unwrap_or(0);
        Self {
            means,
            container: None,
            image: image.cloned(),
            bwrap: None,
            view,
            root: request.root.to_owned(),
            git_folders: request.git_folders.to_vec(),
            git_settings: request.git_settings.to_vec(),
            home,
            homes: request.data_dir.join("homes"),
            nested: request.safety.sandbox != SandboxMode::Required,
            overrides_owners: user.is_root() && owner != 0,
            user,
            limits: TreeLimits::new(request.safety),
            network: request.safety.network,
            allow_hosts: request.allow_hosts.to_vec(),
            verify_network: match request.verify_network {
                VerifyNetwork::Off | VerifyNetwork::Auto if means.has_own_network() => {
                    CommandNetwork::Off
                }
                VerifyNetwork::Off | VerifyNetwork::Auto | VerifyNetwork::Open => {
                    CommandNetwork::Open
                }
            },
        }
    }

    async fn by_bwrap(request: &SandboxRequest<'_>) -> Result<Self, TrialFailure> {
        let user = UserOfPrograms::of_started("bwrap");
        let mut sandbox = Self::new(SandboxMeans::Bwrap, request, user, None);
        sandbox.bwrap = Some(bwrap::find(request.vars)?);
        let tried = sandbox.try_shell(request).await;
        tried.map_err(|said| TrialFailure {
            step: "starting a shell".to_owned(),
            source: io::Error::other(said),
        })?;
        Ok(sandbox)
    }

    /// A sandbox by podman, which was tried; `Err` says why there is none.
    async fn in_container(image: &str, request: &SandboxRequest<'_>) -> Result<Self, String> {
        let means = SandboxMeans::Container;
        if !means.works_in(request.containment) {
            let containment = request.containment;
            return Err(format!(
                "`safety.container`: podman is started in a mount namespace, and {containment} has none"
            ));
        }
        let container =
            Container::find(image, request.vars, request.root, request.containment).await?;
        let user = UserOfPrograms::of_started("podman");
        let mut sandbox = Self::new(means, request, user, None);
        sandbox.container = Some(container.clone());
        let Err(first) = sandbox.try_shell(request).await else {
            return Ok(sandbox);
        };
        // Where podman lacks one, the first process of a container is the program itself.
        sandbox.container = Some(container.without_init());
        match sandbox.try_shell(request).await {
            Ok(()) => Ok(sandbox),
            Err(_) => Err(format!(
                "`safety.container`: nothing can be started in {image}: {first}"
            )),
        }
    }

    /// A sandbox of ralph's own around the files of an image of docker's; `Err` says why there is none.
    async fn in_image(name: &str, request: &SandboxRequest<'_>) -> Result<Self, String> {
        let means = SandboxMeans::Namespaces;
        if !means.works_in(request.containment) {
            let containment = request.containment;
            return Err(format!(
                "`safety.container`: it is made in a mount namespace, and {containment} has none"
            ));
        }
        container::check_name(name)?;
        let wanted = ImageRequest {
            name,
            vars: request.vars,
            root: request.root,
            data_dir: request.data_dir,
            containment: request.containment,
        };
        let image = DockerImage::find(&wanted).await?;
        let failed =
            |said: String| format!("`safety.container`: nothing can be started in {name}: {said}");
        let sandbox = Self::with_strongest_user(means, request, Some(&image));
        let sandbox = sandbox.map_err(|failure| failed(failure.to_string()))?;
        sandbox.try_shell(request).await.map_err(failed)?;
        Ok(sandbox)
    }

    /// Starts a shell that does nothing.
    async fn try_shell(&self, request: &SandboxRequest<'_>) -> Result<(), String> {
        let spec = CommandSpec::new("/bin/sh", &self.root).args(["-c", ":"]);
        let tried = self.ask(spec, request.vars, request.containment).await;
        tried.map(|_| ())
    }

    /// Runs a small program as a verify command; its output, as an error where it fails.
    async fn ask(
        &self,
        spec: CommandSpec,
        vars: &[(OsString, OsString)],
        containment: Containment,
    ) -> Result<String, String> {
        let mut spec = spec.output(Output::Merged);
        spec.env = vars.to_vec();
        let enclosure = self.enclose(&mut spec, SandboxUser::Command);
        let _enclosure = enclosure.map_err(|error| error.to_string())?;
        answer(&spec, containment).await
    }

    /// Returns those of these programs that are not in the image that programs run in; nothing where there is
    /// no image.
    pub(crate) async fn missing_in_image(
        &self,
        programs: &[&str],
        vars: &[(OsString, OsString)],
        containment: Containment,
    ) -> Result<Vec<String>, String> {
        if self.image().is_none() || programs.is_empty() {
            return Ok(Vec::new());
        }
        // Not as arguments, of which files are shown.
        let script = r#"while read -r program; do command -v -- "$program" >/dev/null || echo "$program"; done"#;
        let spec = CommandSpec::new("/bin/sh", &self.root)
            .args(["-c", script])
            .stdin(Stdin::Bytes(format!("{}\n", programs.join("\n")).into()));
        let missing = self.ask(spec, vars, containment).await?;
        Ok(missing.lines().map(str::to_owned).collect())
    }

    /// The image that programs run in.
    pub(crate) fn image(&self) -> Option<&str> {
        let container = self.container.as_ref().map(Container::image);
        container.or(self.image.as_ref().map(DockerImage::name))
    }

    /// Lets folders of downloads be read only, where the machine can't throw away what is written to them.
    fn settle_caches(mut self, containment: Containment) -> Self {
        let mut mounts = MountPlan::default();
        self.add_caches(&self.view, &mut mounts);
        if self.try_with(&mounts, containment).is_err() {
            self.view.read_caches();
        }
        self
    }

    /// Plans that what is written to folders of downloads is thrown away.
    fn add_caches(&self, view: &SandboxView, mounts: &mut MountPlan) {
        let xattrs = if rustix::process::geteuid().is_root() {
            OverlayXattrs::Trusted
        } else {
            OverlayXattrs::User
        };
        for path in view.caches() {
            mounts.steps.push(MountStep::Scratch {
                path: path.to_owned(),
                xattrs,
                most: None,
            });
        }
    }

    /// Returns it if it works.
    fn tried(self, containment: Containment) -> Result<Self, TrialFailure> {
        self.try_with(&MountPlan::default(), containment)?;
        Ok(self)
    }

    fn try_with(&self, mounts: &MountPlan, containment: Containment) -> Result<(), TrialFailure> {
        if self.means == SandboxMeans::Landlock && rustix::process::geteuid().is_root() {
            return Err(TrialFailure {
                step: "keeping root in".to_owned(),
                source: io::Error::new(
                    io::ErrorKind::Unsupported,
                    "root may change the modes and owners of all files",
                ),
            });
        }
        let mut view = self.view.clone();
        let mut mounts = mounts.clone();
        let prepared = |source| TrialFailure {
            step: "preparing a trial".to_owned(),
            source,
        };
        let user = self.user.another();
        let trial = user.map(|user| user.trial(&self.homes).map_err(prepared));
        let trial = trial.transpose()?;
        if let Some(trial) = &trial {
            let overlay = trial.overlay();
            view.set(overlay.target(), ShownAs::ReadWrite);
            mounts.steps.push(overlay);
            view.set(&self.root, ShownAs::ReadWrite);
            for folder in &self.git_folders {
                view.set(folder, ShownAs::ReadWrite);
            }
        }
        let mut plan = SandboxPlan {
            means: self.means,
            nested: self.nested,
            identity: self.identity(&mut view, Some(&mounts)),
            image: self.image.as_ref().map(DockerImage::plan),
            ..SandboxPlan::default()
        };
        view.into_plan(&mut plan);
        let files = trial.as_ref().map(OwnerTrial::mount_trial);
        try_sandbox(&plan, &mounts, files.as_ref(), containment)?;
        trial.map_or(Ok(()), |trial| trial.check())
    }

    /// Plans who the program is, and shows it.
    fn identity(
        &self,
        view: &mut SandboxView,
        mounts: Option<&MountPlan>,
    ) -> Option<SandboxIdentity> {
        let user = self.user.another()?;
        let identity = user.plan(view, mounts);
        user.show(view);
        Some(identity)
    }

    fn sentence(&self) -> String {
        let means = match (self.means, &self.container) {
            (SandboxMeans::Landlock, _) => {
                return "reduced: by Landlock, because namespaces are refused".to_owned();
            }
            (_, Some(container)) => container.sentence(),
            (means, None) => match &self.image {
                Some(image) => image.sentence(),
                None => means.to_string(),
            },
        };
        match &self.user {
            UserOfPrograms::Own => format!("on, by {means}"),
            UserOfPrograms::Another(_) => {
                format!("on, by {means}, and programs do not run as root")
            }
            UserOfPrograms::Root { reason } => {
                format!("reduced: by {means}, and programs run as root ({reason})")
            }
        }
    }

    /// Puts a program into the sandbox. Its home is there as long as what is returned.
    pub fn enclose(&self, spec: &mut CommandSpec, user: SandboxUser<'_>) -> io::Result<Enclosure> {
        let mut view = self.view.clone();
        let doors = self.doors(spec, user);
        let folders = match user {
            SandboxUser::Agent { folders, .. } => folders,
            SandboxUser::Command => &[],
        };
        let hosts = doors.as_ref().map(RelayPlan::hosts_file);
        let request = HomeRequest {
            home: self.home.as_deref(),
            homes: &self.homes,
            vars: &spec.env,
            root: &self.root,
            hosts: hosts.as_deref(),
        };
        let home = SandboxHome::make(&request, self.means, folders)?;
        home.show(&mut view);
        self.show_command(spec, &mut view);
        let is_here = spec.cwd.starts_with(&self.root);
        for folder in &self.git_folders {
            // A clone elsewhere may have its objects there.
            let kind = if is_here {
                ShownAs::ReadWrite
            } else {
                ShownAs::ReadOnly
            };
            view.set(folder, kind);
        }
        let work_tree = if is_here { &self.root } else { &spec.cwd };
        view.set(work_tree, ShownAs::ReadWrite);
        for step in spec.mounts.iter().flat_map(|plan| &plan.steps) {
            match step {
                MountStep::Overlay(overlay) => view.set(&overlay.target, ShownAs::ReadWrite),
                // Shown for writing by itself, it would be written in a container.
                MountStep::Bind { to, access, .. }
                    if *access == BindAccess::ReadOnly && view.has(to) =>
                {
                    view.set(to, ShownAs::ReadOnly);
                }
                MountStep::Bind { .. } | MountStep::Cover { .. } | MountStep::Scratch { .. } => {}
            }
        }
        if view.caches().next().is_some() {
            self.add_caches(&view, spec.mounts.get_or_insert_default());
        }
        let identity = self.identity(&mut view, spec.mounts.as_ref());
        let mut plan = SandboxPlan {
            means: self.means,
            identity,
            network: self.network_of(user, doors.as_ref()),
            nested: self.nested,
            overrides_owners: self.overrides_owners,
            limits: self.limits.of_program(self.means),
            image: self.image.as_ref().map(DockerImage::plan),
            shown: Vec::new(),
        };
        view.into_plan(&mut plan);
        self.change_environment(spec, &home, &plan);
        if doors.is_some() {
            let variables = RelayPlan::variables();
            spec.env
                .retain(|(name, _)| variables.iter().all(|(own, _)| name != own));
            let own = variables.into_iter();
            spec.env
                .extend(own.map(|(name, value)| (name.into(), value.into())));
        }
        if let Some(bwrap) = &self.bwrap {
            bwrap::wrap(bwrap, spec, &plan)?;
            plan.shown.clear();
        }
        let begun = self.use_container(spec, &mut plan, &home, doors.is_some())?;
        spec.sandbox = Some(plan);
        Ok(Enclosure {
            home,
            begun,
            doors,
            relay: None,
        })
    }

    /// Has the program run in the container, if there is one; returns the file that tells that it has begun.
    fn use_container(
        &self,
        spec: &mut CommandSpec,
        plan: &mut SandboxPlan,
        home: &SandboxHome,
        has_hosts: bool,
    ) -> io::Result<Option<PathBuf>> {
        let (Some(container), Some(folder)) = (&self.container, home.folder()) else {
            return Ok(None);
        };
        let run = ContainerRun {
            shown: &std::mem::take(&mut plan.shown),
            folder,
            home: self.home.as_deref(),
            has_hosts,
            overrides_owners: self.overrides_owners,
        };
        // podman itself makes mounts and namespaces; in the container its own filter keeps programs from that.
        plan.nested = true;
        container.wrap(spec, &run).map(Some)
    }

    /// The doors of an agent that reaches its model and no more.
    fn doors(&self, spec: &CommandSpec, user: SandboxUser<'_>) -> Option<RelayPlan> {
        let SandboxUser::Agent { hosts, .. } = user else {
            return None;
        };
        if self.network != AgentNetwork::ModelOnly {
            return None;
        }
        let named = hosts
            .iter()
            .filter_map(|host| AllowedHost::parse(host).ok());
        // An endpoint that the environment names is the one of its model.
        let endpoints = spec.env.iter().filter_map(|(name, value)| {
            let name = name.to_str()?;
            let is_endpoint = ["_BASE_URL", "_API_BASE", "_ENDPOINT", "_API_URL"]
                .iter()
                .any(|end| name.ends_with(end));
            AllowedHost::of_url(value.to_str()?).filter(|_| is_endpoint)
        });
        let all = named
            .chain(endpoints)
            .chain(self.allow_hosts.iter().cloned());
        Some(RelayPlan::new(all.collect()))
    }

    fn network_of(&self, user: SandboxUser<'_>, doors: Option<&RelayPlan>) -> SandboxNetwork {
        let is_open = match user {
            SandboxUser::Agent { .. } => self.network == AgentNetwork::Open,
            SandboxUser::Command => self.verify_network == CommandNetwork::Open,
        };
        if is_open {
            return SandboxNetwork::Open;
        }
        SandboxNetwork::Own {
            doors: doors.map(RelayPlan::addresses).unwrap_or_default(),
        }
    }

    /// Tells whether a path in it can be another than on the machine, or can't be written.
    pub(crate) fn has_own_root(&self) -> bool {
        self.means.has_own_root()
    }

    /// The most that the programs in it may use together.
    pub fn limits(&self) -> TreeLimits {
        self.limits.clone()
    }

    /// The hosts that verify commands reach.
    pub(crate) fn verify_network(&self) -> CommandNetwork {
        self.verify_network
    }

    /// The same sandbox with another network for verify commands.
    pub(crate) fn with_verify_network(&self, network: CommandNetwork) -> Self {
        Self {
            verify_network: network,
            ..self.clone()
        }
    }

    /// Says of a program that a message names as not found that it is on this machine and out of sight. The last line
    /// of the message counts.
    pub(crate) fn hint_of_hidden(
        &self,
        said: &str,
        vars: &[(OsString, OsString)],
    ) -> Option<String> {
        let line = said.lines().rev().find(|line| !line.trim().is_empty())?;
        let ends = |c: char| c.is_whitespace() || "()'\"`‘’:;,".contains(c);
        // What is not found stands behind who says so.
        let mut words = line.rsplit(ends).filter(|word| !word.is_empty());
        let hidden = words.find_map(|word| self.hidden_program(word, vars))?;
        Some(format!(
            "{} is on this machine and not visible in the sandbox: list it in `safety.allow_read`",
            hidden.display()
        ))
    }

    /// The place of a program that is on this machine, and that programs in the sandbox do not see.
    fn hidden_program(&self, name: &str, vars: &[(OsString, OsString)]) -> Option<PathBuf> {
        let path = Path::new(name);
        let found = if path.is_absolute() {
            Some(path.to_owned()).filter(|path| is_executable(path))
        } else if name.contains('/') {
            None
        } else {
            find_program(name, path_folders(vars))
        };
        let found = found.filter(|found| !found.starts_with(&self.root))?;
        let mut plan = SandboxPlan::default();
        self.view.clone().into_plan(&mut plan);
        // Folders may be links, such as /bin, and so may the program be.
        let folder = found.parent()?.canonicalize().ok()?;
        let there = [folder.join(found.file_name()?), found.canonicalize().ok()?];
        let is_seen = there.iter().all(|path| plan.shows(path));
        (!is_seen).then_some(found)
    }

    /// Shows the program of a command, and the files that its arguments name in full, also behind an `@`.
    fn show_command(&self, spec: &CommandSpec, view: &mut SandboxView) {
        let home = self.home.as_deref();
        // In a container it is the image's.
        if self.image().is_none()
            && let Some(program) = program_of(spec)
        {
            view.add_program(&program, home);
        }
        let paths = spec.args.iter().map(|arg| {
            let behind = arg.to_str().and_then(|arg| arg.strip_prefix('@'));
            behind.map_or(Path::new(arg), Path::new)
        });
        for path in paths.filter(|path| path.is_absolute() && is_narrow(path, home)) {
            view.add(path, &ShownAs::ReadOnly);
        }
    }

    fn change_environment(&self, spec: &mut CommandSpec, home: &SandboxHome, plan: &SandboxPlan) {
        spec.env.retain(|(name, value)| {
            let Some(name) = name.to_str() else {
                return true;
            };
            let is_hidden = name == "TMPDIR" && !plan.shows(Path::new(value));
            !is_hidden && !SESSION_VARIABLES.contains(&name)
        });
        home.change_environment(&mut spec.env);
        if let Some(image) = &self.image {
            image.change_environment(&mut spec.env);
        }
        if let Some(user) = self.user.another() {
            user.change_environment(&mut spec.env);
        }
        if self.git_settings.is_empty() {
            return;
        }
        let mut set = |name: String, value: &str| spec.env.push((name.into(), value.into()));
        set(
            "GIT_CONFIG_COUNT".to_owned(),
            &self.git_settings.len().to_string(),
        );
        for (index, (key, value)) in self.git_settings.iter().enumerate() {
            set(format!("GIT_CONFIG_KEY_{index}"), key);
            set(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
    }
}

/// Says that `required` can't be for root.
fn root_is_not_kept_in(reason: &str) -> String {
    format!(
        "ralph runs as root, and its programs can't run as another user here ({reason}): root is not kept in \
         by a sandbox"
    )
}

/// The home that the environment names, if it can be replaced: not the root folder, nor one of the system.
fn home_in(vars: &[(OsString, OsString)]) -> Option<PathBuf> {
    let (_, value) = vars.iter().find(|(name, _)| name == "HOME")?;
    let real = Path::new(value).canonicalize().ok()?;
    let is_system = ["/usr", "/etc", "/bin", "/lib", "/dev", "/proc", "/sys"]
        .iter()
        .any(|folder| real.starts_with(folder));
    (real.parent().is_some() && real.is_dir() && !is_system).then_some(real)
}

/// Says which paths of the configuration are not there: they can't be shown.
pub(crate) fn missing_paths(request: &SandboxRequest<'_>) -> Vec<String> {
    let home = home_in(request.vars);
    let SafetyConfig {
        allow_read,
        allow_write,
        ..
    } = request.safety;
    let keys = [("allow_read", allow_read), ("allow_write", allow_write)];
    let all = keys
        .iter()
        .flat_map(|(key, paths)| paths.iter().map(move |path| (key, path)));
    all.filter(|(_, path)| !expand(path, home.as_deref(), request.root).exists())
        .map(|(key, path)| format!("`safety.{key}`: {} is not there", path.display()))
        .collect()
}

/// A path of the configuration: `~/x` in the home, others from the repository.
fn expand(path: &Path, home: Option<&Path>, root: &Path) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => root.join(path),
    }
}

fn program_of(spec: &CommandSpec) -> Option<PathBuf> {
    let program = Path::new(&spec.program);
    if program.components().count() > 1 {
        return Some(spec.cwd.join(program));
    }
    find_program(program, path_folders(&spec.env))
}
