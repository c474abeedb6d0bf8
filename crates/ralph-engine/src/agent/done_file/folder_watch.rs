//! Waits until something is written in a folder, by inotify. Says only that: what it was, its caller
//! looks at.

use std::{io, path::Path};

/// A folder that is watched; on systems without inotify there is none, and a timer looks.
pub(super) struct FolderWatch(
    #[cfg(target_os = "linux")] tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>,
    #[cfg(not(target_os = "linux"))] std::convert::Infallible,
);

#[cfg(target_os = "linux")]
impl FolderWatch {
    /// `None` where it can't be watched: it is not there, or all watches are used up.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let fd = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let written = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::CREATE;
        let gone = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        add_watch(&fd, folder, written | gone | WatchFlags::ONLYDIR).ok()?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for types that could close the descriptor; this one owns it"
        )]
        tokio::io::unix::AsyncFd::new(fd).ok().map(Self)
    }

    async fn written(&self) -> io::Result<()> {
        use rustix::fs::inotify::{ReadFlags, Reader};
        let mut ready = self.0.readable().await?;
        let mut space = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(self.0.get_ref(), &mut space);
        loop {
            match reader.next() {
                Ok(event) => {
                    let gone = ReadFlags::IGNORED | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF;
                    if event.events().intersects(gone) {
                        return Err(io::ErrorKind::NotFound.into());
                    }
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    ready.clear_ready();
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl FolderWatch {
    pub(super) fn of(_folder: &Path) -> Option<Self> {
        None
    }

    async fn written(&self) -> io::Result<()> {
        match self.0 {}
    }
}

/// Waits until something was written in the folder; for ever, where nothing watches it. An error says
/// that the watch is of no more use.
pub(super) async fn written(watch: Option<&FolderWatch>) -> io::Result<()> {
    match watch {
        Some(watch) => watch.written().await,
        None => std::future::pending().await,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn what_is_written_or_moved_into_the_folder_wakes_who_watches_it() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let watch = FolderWatch::of(folder.path()).unwrap();
        std::fs::write(folder.path().join("done.md"), "x").unwrap();
        let woken = tokio::time::timeout(LIMIT, written(Some(&watch))).await;
        assert!(woken.unwrap().is_ok());
        std::fs::write(outside.path().join("new"), "x").unwrap();
        std::fs::rename(outside.path().join("new"), folder.path().join("done.md")).unwrap();
        let woken = tokio::time::timeout(LIMIT, written(Some(&watch))).await;
        assert!(woken.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_folder_that_is_gone_is_an_error_and_one_that_never_was_has_no_watch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("project");
        assert!(FolderWatch::of(&path).is_none());
        std::fs::create_dir(&path).unwrap();
        let watch = FolderWatch::of(&path).unwrap();
        std::fs::remove_dir(&path).unwrap();
        let woken = tokio::time::timeout(LIMIT, written(Some(&watch))).await;
        assert!(woken.unwrap().is_err());
    }
}
