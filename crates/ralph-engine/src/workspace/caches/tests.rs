//! The limits of a cache: its size, and how long it was not used.

use super::*;
use crate::{
    layer::{FileSystemKind, PlaceDisk, PlaceKind},
    process::{FolderRename, OverlayOptions, OverlaySync},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A worktree, and a place for its caches.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["place", "root/.git", "upper/node_modules"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self, max_bytes: u64) -> Caches {
        let place = LayerPlace {
            folder: self.path("place"),
            kind: PlaceKind::Data,
            file_system: FileSystemKind::TMPFS,
            disk: PlaceDisk::Memory,
            options: OverlayOptions {
                xattrs: OverlayXattrs::User,
                sync: OverlaySync::Durable,
            },
            folder_rename: FolderRename::CrossDevice,
            // A cache gets half of it.
            max_bytes: Some(2 * max_bytes),
        };
        Caches::open(&place, &self.path("root"), CacheAccess::Write)
    }

    /// Takes a verification that wrote a file of this size.
    fn take(&self, caches: &mut Caches, name: &str, bytes: usize) {
        let folder = self.path("upper/node_modules");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), "x".repeat(bytes)).unwrap();
        let from = VerifiedIn {
            upper: &self.path("upper"),
            since: SystemTime::UNIX_EPOCH,
            commit: &Oid::parse(&"1".repeat(40)).unwrap(),
            changed: &[],
            by_agent: false,
        };
        caches.take(&["node_modules".into()], from).unwrap();
    }

    /// The names in the folder of the cache, but for the lock.
    fn held(&self, caches: &Caches) -> usize {
        let entries = fs::read_dir(&caches.folder).unwrap().flatten();
        entries.filter(|entry| entry.file_name() != LOCK).count()
    }
}

#[test]
fn a_cache_that_grows_over_its_limit_is_begun_again() {
    let scene = Scene::new();
    let mut caches = scene.open(1000);
    scene.take(&mut caches, "one", 400);
    scene.take(&mut caches, "two", 600);
    assert_eq!(caches.lowers().len(), 2, "as much as is allowed");
    scene.take(&mut caches, "three", 1);
    assert_eq!(caches.lowers(), Vec::<PathBuf>::new());
    assert_eq!(scene.held(&caches), 0, "nothing of it is left on the disk");
    scene.take(&mut caches, "four", 1000);
    assert_eq!(caches.lowers().len(), 1);
    // On a disk the limit is what the documentation says.
    assert_eq!(MOST_BYTES, 20 * 1024 * 1024 * 1024);
}

#[test]
fn a_cache_that_was_not_used_for_long_is_deleted_unless_it_is_shown_to_a_program() {
    assert_eq!(LONGEST_UNUSED, 30 * DAY);
    for (unused, is_kept) in [(LONGEST_UNUSED - DAY, true), (LONGEST_UNUSED + DAY, false)] {
        let scene = Scene::new();
        let mut caches = scene.open(1000);
        scene.take(&mut caches, "one", 1);
        let folder = caches.folder.clone();
        let stack = File::options()
            .write(true)
            .open(folder.join(STACK))
            .unwrap();
        let now = stack.metadata().unwrap().modified().unwrap();
        stack.set_modified(now - unused).unwrap();
        sweep_caches(&scene.path("place"));
        assert!(folder.exists(), "one that is open is left alone");
        drop(caches);
        sweep_caches(&scene.path("place"));
        assert_eq!(folder.exists(), is_kept, "{unused:?}");
        if is_kept {
            // To open it is to use it.
            drop(scene.open(1000));
            let used = fs::metadata(folder.join(STACK)).unwrap().modified();
            assert!(used.unwrap().elapsed().unwrap() < DAY);
        }
    }
}
