//! The time that a layer costs.

use std::fs;
use std::time::Instant;

use super::support::{as_root_and_as_user, plain, scan};
use crate::layer::{Layer, LayerTarget};

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
        let mut times = Vec::new();
        for _ in 0..20 {
            let began = Instant::now();
            let layer = Layer::create(&place, &[LayerTarget::new(&ground.repo)]).unwrap();
            ground.run(&layer, "true");
            let ran = began.elapsed();
            let bare = Instant::now();
            super::support::run_spec(&ground.spec("sh").args(["-c", "true"]), ground.containment()).unwrap();
            times.push((ran, bare.elapsed()));
            layer.remove().unwrap();
        }
        times.sort();
        let layer = ground.layer();
        ground.run(&layer, "cp -r folder-1 copy; echo x >>folder-2/file-3");
        let began = Instant::now();
        let entries = scan(&layer).len();
        let scanned = began.elapsed();
        let report = format!(
            "root: {}; place found in {found:?}; layer, program, end: median {:?}, worst {:?}; without a \
             layer: median {:?}; scan of {entries} entries: {scanned:?}\n",
            ground.is_root, times[10].0, times[19].0, times[10].1
        );
        if let Some(file) = std::env::var_os("RALPH_LAYER_REPORT") {
            use std::io::Write as _;
            let mut file = fs::File::options().append(true).open(file).unwrap();
            file.write_all(report.as_bytes()).unwrap();
        }
        println!("{report}");
        assert!(times[10].0.as_millis() <= 50, "{report}");
    };
}
