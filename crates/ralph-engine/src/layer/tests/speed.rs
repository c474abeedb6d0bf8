//! The time that a layer costs.

use std::fs;
use std::time::Instant;

use super::support::{as_root_and_as_user, plain, scan};
use crate::layer::{Layer, LayerTarget};
use crate::process::{CommandSpec, spawn};

as_root_and_as_user! {
    #[ignore = "measures: 20,000 files and a folder of 1 GB"]
    a_layer_over_a_large_repository_is_quick: plain => |ground| {
        for folder in 0..200 {
            let folder = ground.repo.join(format!("folder-{folder}"));
            fs::create_dir(&folder).unwrap();
            for file in 0..100 {
                fs::write(folder.join(format!("file-{file}")), "content\n").unwrap();
            }
        }
        let cache = ground.repo.join("cache");
        fs::create_dir(&cache).unwrap();
        for file in 0..64 {
            fs::write(cache.join(file.to_string()), vec![7; 16 << 20]).unwrap();
        }
        let began = Instant::now();
        let place = ground.place();
        let found = began.elapsed();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // Returns when the program runs: after its exec.
        let start = |spec: CommandSpec, began: Instant| runtime.block_on(async {
            let mut running = spawn(&spec, ground.containment()).unwrap();
            let runs = began.elapsed();
            running.wait().await.unwrap();
            runs
        });
        let (mut layered, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..40 {
            let began = Instant::now();
            let layer = Layer::create(&place, &[LayerTarget::new(&ground.repo)]).unwrap();
            layered.push(start(ground.spec("true").mounts(layer.mount_plan().unwrap()), began));
            bare.push(start(ground.spec("true"), Instant::now()));
            layer.remove().unwrap();
        }
        layered.sort();
        bare.sort();
        let layer = ground.layer();
        ground.run(&layer, "cp -r folder-1 copy; echo x >>folder-2/file-3");
        let began = Instant::now();
        let entries = scan(&layer).len();
        let scanned = began.elapsed();
        let report = format!(
            "root: {}; place found in {found:?}; layer until the program runs: best {:?}, median {:?}; without a \
             layer: best {:?}, median {:?}; scan of {entries} entries: {scanned:?}\n",
            ground.is_root, layered[0], layered[20], bare[0], bare[20]
        );
        if let Some(file) = std::env::var_os("RALPH_LAYER_REPORT") {
            use std::io::Write as _;
            let mut file = fs::File::options().append(true).open(file).unwrap();
            file.write_all(report.as_bytes()).unwrap();
        }
        println!("{report}");
        // Of the best: other work on the machine is not its doing.
        assert!(layered[0].as_millis() <= 50, "{report}");
    };
}
