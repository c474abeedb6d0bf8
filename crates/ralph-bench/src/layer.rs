//! The time until a program runs in a layer over a large repository.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use ralph_core::config::{SafetyConfig, VerifyNetwork};
use ralph_engine::{
    layer::{Layer, LayerPlace, LayerTarget, PlaceRequest},
    process::{CommandSpec, Containment, Ended, spawn},
    sandbox::{Sandbox, SandboxFound, SandboxRequest, SandboxUser},
};
use ralph_testkit::TestRepo;

use crate::{
    BenchResult,
    figures::{median, milliseconds},
    fixture::Programs,
    table::{Row, Table, Target},
};

const FOLDERS: usize = 200;
const FILES: usize = 100;
const CACHE_BYTES: u64 = 1 << 30;

/// The folder that layers over a repository live in, and how programs are started in them.
pub(crate) struct LayerGround {
    place: LayerPlace,
    containment: Containment,
}

impl LayerGround {
    pub(crate) fn of(repo: &TestRepo) -> BenchResult<Self> {
        let containment = Containment::detect(None).containment;
        let data_dir = repo.outside().join("layer-data");
        let place = LayerPlace::find(&PlaceRequest {
            repository: repo.root(),
            data_dir: &data_dir,
            temp_dir: repo.outside(),
            memory_dir: None,
            memory_limit: 0,
            containment,
        });
        Ok(Self {
            place: place.map_err(|reason| format!("no layer can be used here: {reason}"))?,
            containment,
        })
    }

    /// The sandbox that ralph would have over a repository.
    pub(crate) fn sandbox(&self, repo: &TestRepo) -> BenchResult<Sandbox> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let found = runtime.block_on(SandboxFound::find(&SandboxRequest {
            safety: &SafetyConfig::default(),
            vars: &repo.environment(),
            root: repo.root(),
            git_folders: &[],
            git_settings: &[],
            allow_hosts: &[],
            verify_network: VerifyNetwork::Off,
            data_dir: &repo.outside().join("layer-data"),
            containment: self.containment,
        }))?;
        match found {
            SandboxFound::Walls(sandbox) => Ok(*sandbox),
            other => Err(other.sentence().into()),
        }
    }

    pub(crate) fn layer(&self, root: &Path) -> BenchResult<Layer> {
        Ok(Layer::create(&self.place, &[LayerTarget::new(root)])?)
    }

    /// Runs a program in namespaces, and in a layer if there is one, to its end; gives the time until it ran.
    pub(crate) async fn run(
        &self,
        layer: Option<&Layer>,
        spec: CommandSpec,
    ) -> BenchResult<Duration> {
        self.run_in(layer, None, spec).await
    }

    /// The same in a sandbox, if there is one.
    pub(crate) async fn run_in(
        &self,
        layer: Option<&Layer>,
        sandbox: Option<&Sandbox>,
        spec: CommandSpec,
    ) -> BenchResult<Duration> {
        let began = Instant::now();
        let mut spec = match layer {
            Some(layer) => spec.mounts(layer.mount_plan()?),
            None => spec,
        };
        let enclose = |sandbox: &Sandbox| sandbox.enclose(&mut spec, SandboxUser::Command);
        let _enclosure = sandbox.map(enclose).transpose()?;
        let mut running = spawn(&spec, self.containment)?;
        let runs = began.elapsed();
        if running.wait().await? == Ended::Code(0) {
            Ok(runs)
        } else {
            Err("a program of the floor failed".into())
        }
    }
}

pub(crate) fn measure(_: &Programs, repeats: usize, table: &mut Table) -> BenchResult<()> {
    let repo = TestRepo::new();
    for folder in 0..FOLDERS {
        for file in 0..FILES {
            repo.file(format!("folder-{folder}/file-{file}"), "content\n");
        }
    }
    repo.file(".gitignore", "/cache/\n").commit("files");
    repo.file("cache/blob", "");
    std::fs::File::options()
        .write(true)
        .open(repo.path("cache/blob"))?
        .set_len(CACHE_BYTES)?;
    let ground = LayerGround::of(&repo)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut times = Vec::new();
    for _ in 0..repeats.max(21) {
        let began = Instant::now();
        let layer = ground.layer(repo.root())?;
        let made = began.elapsed();
        let spec = CommandSpec::new("/bin/true", repo.root());
        times.push(milliseconds(
            made + runtime.block_on(ground.run(Some(&layer), spec))?,
        ));
    }
    table.add(&Row {
        what: "a layer over 20,000 files and 1 GB, until a program runs",
        value: median(&times).ok_or("nothing was measured")?,
        unit: "ms",
        target: Target::AtMost(50.0),
    });
    Ok(())
}
