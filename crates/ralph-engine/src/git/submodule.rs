//! Submodules: what an agent made of one in a layer, and how the user's own follows.
//!
//! A submodule has a git folder of its own, of which an agent in a layer has a copy. Its commit is taken from
//! there object by object, and each is hashed again. Nothing is asked of that git folder's settings: the calls are
//! those of the repository around it, with other objects.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::call::Index;
use super::index_file::copy_index;
use super::refs::{HeadFile, find_packed, parse_head, replace_under_lock};
use super::repo::remove_if_there;
use super::status::path_of;
use super::{GitError, Oid, Repo};

/// A submodule as the repository around it records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gitlink {
    pub path: PathBuf,
    pub commit: Oid,
}

/// A submodule that is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submodule {
    pub path: PathBuf,
    /// The commit that the repository around it records.
    pub commit: Oid,
    pub git_dir: PathBuf,
}

/// The place of a submodule's commit, besides the git folder of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitAt {
    /// A repository on this machine has it.
    Here,
    /// The URL leads to this machine, and nothing there has it.
    Nowhere,
    /// The URL leads to another machine, which is not asked.
    Elsewhere,
}

impl Submodule {
    /// Finds the git folder of a submodule; `None` where it is not checked out.
    pub fn of(root: &Path, link: &Gitlink) -> Option<Self> {
        let folder = root.join(&link.path);
        let dot_git = folder.join(".git");
        let meta = fs::symlink_metadata(&dot_git).ok()?;
        let git_dir = if meta.is_dir() {
            dot_git
        } else {
            let text = crate::plain_file::read(&dot_git).ok()?;
            let text = String::from_utf8(text).ok()?;
            folder.join(text.strip_prefix("gitdir:")?.trim())
        };
        Some(Self {
            path: link.path.clone(),
            commit: link.commit.clone(),
            git_dir: git_dir.canonicalize().ok()?,
        })
    }

    /// Returns the commit that is checked out, by the files that `read` shows.
    pub fn head(&self, read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Option<Oid> {
        match parse_head(&read(&self.git_dir.join("HEAD"))?) {
            HeadFile::Detached(oid) => Some(oid),
            HeadFile::Branch(branch) => {
                let name = format!("refs/heads/{branch}");
                let loose = read(&self.git_dir.join(&name));
                let loose = loose
                    .and_then(|bytes| Oid::parse(String::from_utf8_lossy(&bytes).trim_end()).ok());
                let packed = || find_packed(&read(&self.git_dir.join("packed-refs"))?, &name);
                loose.or_else(packed)
            }
            HeadFile::Other(_) => None,
        }
    }

    /// Finds a submodule that is not checked out by what git has stored of it.
    pub(super) fn stored(git_dir: &Path, link: &Gitlink) -> Option<Self> {
        let git_dir = git_dir.join("modules").join(&link.path);
        Some(Self {
            path: link.path.clone(),
            commit: link.commit.clone(),
            git_dir: git_dir.canonicalize().ok()?,
        })
    }

    fn objects(&self) -> PathBuf {
        self.git_dir.join("objects")
    }
}

/// The submodules in what `git ls-tree -z` printed.
pub(super) fn gitlinks_in(listed: &[u8]) -> Vec<Gitlink> {
    let records = listed.split(|byte| *byte == 0);
    let links = records.filter_map(|record| {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        let head = std::str::from_utf8(record.get(..tab)?).ok()?;
        let oid = head.strip_prefix("160000 commit ")?;
        Some(Gitlink {
            path: path_of(record.get(tab + 1..)?),
            commit: Oid::parse(oid).ok()?,
        })
    });
    links.collect()
}

impl Repo {
    /// Takes a commit of a submodule, and all that it needs, from the objects that an agent wrote into those of the
    /// user's own submodule. Returns false where it is not whole.
    pub async fn take_module_commit(
        &self,
        module: &Submodule,
        commit: &Oid,
        written: &Path,
    ) -> Result<bool, GitError> {
        let _state = self.in_order().await;
        if !self.module_holds(module, commit).await? {
            let known = Some(&module.commit);
            if !self
                .copy_module_objects(module, commit, known, written)
                .await?
            {
                return Ok(false);
            }
        }
        // No branch of the submodule leads there: git must not take it for rubbish.
        let kept = module.git_dir.join("refs/ralph/kept").join(commit.as_str());
        fs::create_dir_all(kept.parent().unwrap_or(&kept))
            .and_then(|()| fs::write(&kept, format!("{commit}\n")))
            .map_err(GitError::io("write", &kept))?;
        Ok(true)
    }

    /// Takes the commit of a submodule that an agent added into a folder of objects of ralph's own. Returns false
    /// where it is not whole.
    pub async fn take_new_module(
        &self,
        module: &Submodule,
        written: &Path,
    ) -> Result<bool, GitError> {
        let _state = self.in_order().await;
        let objects = module.objects();
        if objects.is_dir() && self.module_holds(module, &module.commit).await? {
            return Ok(true);
        }
        fs::create_dir_all(&objects).map_err(GitError::io("make", &objects))?;
        self.copy_module_objects(module, &module.commit, None, written)
            .await
    }

    /// Copies a commit and all that it needs, but what is known already. Returns false where it is not whole.
    async fn copy_module_objects(
        &self,
        module: &Submodule,
        commit: &Oid,
        known: Option<&Oid>,
        written: &Path,
    ) -> Result<bool, GitError> {
        let objects = module.objects();
        let args = ["rev-list", "--objects", commit.as_str()];
        let mut listed = self.git(args).objects(&objects, Some(written));
        if let Some(known) = known {
            listed = listed.arg(format!("^{known}"));
        }
        let listed = listed.answer().await?;
        if listed.code != Some(0) {
            return Ok(false);
        }
        let mut names = Vec::new();
        let lines = listed.stdout.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
            names.extend_from_slice(name);
            names.push(b'\n');
        }
        let pack = self.git(["pack-objects", "--stdout", "-q"]);
        let pack = pack.objects(&objects, Some(written)).stdin(names);
        let pack = pack.answer().await?;
        if pack.code != Some(0) {
            return Ok(false);
        }
        // Names each object by what it holds.
        let unpack = self.git(["unpack-objects", "-q", "--strict"]);
        let unpack = unpack.objects(&objects, None).stdin(pack.stdout);
        unpack.answer().await?;
        self.module_holds(module, commit).await
    }

    async fn module_holds(&self, module: &Submodule, commit: &Oid) -> Result<bool, GitError> {
        let args = ["rev-list", "--objects", "--quiet", commit.as_str()];
        let call = self.git(args).objects(&module.objects(), None);
        Ok(call.answer().await?.code == Some(0))
    }

    /// Tells if a commit is where a URL leads, so that who clones gets it.
    pub async fn is_at(&self, url: &str, commit: &Oid) -> Result<CommitAt, GitError> {
        let Some(place) = self.place_of(url).await? else {
            return Ok(CommitAt::Elsewhere);
        };
        let is_inside = |folder: &Path| place.starts_with(folder);
        if self.folders().into_iter().any(is_inside) {
            return Ok(CommitAt::Nowhere);
        }
        let mut bare = place.clone().into_os_string();
        bare.push(".git");
        let git_dirs = [place.join(".git"), place, PathBuf::from(bare)];
        for git_dir in git_dirs.into_iter().filter(|d| d.join("objects").is_dir()) {
            let module = Submodule {
                path: PathBuf::new(),
                commit: commit.clone(),
                git_dir,
            };
            if self.module_holds(&module, commit).await? {
                return Ok(CommitAt::Here);
            }
        }
        Ok(CommitAt::Nowhere)
    }

    /// The place on this machine that the URL of a submodule leads to.
    async fn place_of(&self, url: &str) -> Result<Option<PathBuf>, GitError> {
        let on_disk = |url: &str| {
            let path = url.strip_prefix("file://").unwrap_or(url);
            path.starts_with('/').then(|| PathBuf::from(path))
        };
        if !url.starts_with("./") && !url.starts_with("../") {
            return Ok(on_disk(url));
        }
        // From where this repository was cloned, or itself.
        let origin = self.git(["config", "--get", "remote.origin.url"]);
        let origin = origin.answer().await?;
        let origin = String::from_utf8_lossy(&origin.stdout).trim().to_owned();
        let from = match origin.as_str() {
            "" => Some(self.root.clone()),
            origin => on_disk(origin),
        };
        Ok(from.map(|mut place| {
            for part in Path::new(url).components() {
                match part {
                    Component::ParentDir => drop(place.pop()),
                    Component::Normal(name) => place.push(name),
                    Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
                }
            }
            place
        }))
    }

    /// Returns the commits that a tree records for these submodules.
    pub async fn gitlinks_of(
        &self,
        tree: &Oid,
        paths: impl IntoIterator<Item = &Path>,
    ) -> Result<Vec<Gitlink>, GitError> {
        let mut call = self.git(["ls-tree", "-z", tree.as_str(), "--"]);
        for path in paths {
            call = call.arg(path);
        }
        Ok(gitlinks_in(&call.run().await?))
    }

    /// Writes the files of a submodule's commit into a folder.
    pub async fn fill_module(
        &self,
        module: &Submodule,
        commit: &Oid,
        folder: &Path,
    ) -> Result<(), GitError> {
        let _state = self.in_order().await;
        let objects = module.objects();
        remove_if_there(&self.shadow.index_of(Index::Module))?;
        let read = self.git(["read-tree", commit.as_str()]);
        let read = read.objects(&objects, None).index(Index::Module);
        read.run().await?;
        let mut prefix = std::ffi::OsString::from("--prefix=");
        prefix.push(folder);
        prefix.push("/");
        let args = ["checkout-index", "--all", "--force", "--quiet"];
        let write = self.git(args).arg(prefix).index(Index::Module);
        write.objects(&objects, None).run().await.map(drop)
    }

    /// Makes the submodules in the user's folder follow. Returns those that are left as they are, as a person has
    /// changed them or is on a branch there.
    pub(super) async fn follow_modules(
        &self,
        from: &Oid,
        to: &Oid,
    ) -> Result<Vec<PathBuf>, GitError> {
        let output = self.raw_diff(from, to).await?;
        let mut fields = output.split(|byte| *byte == 0);
        let mut left = Vec::new();
        while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
            let head = String::from_utf8_lossy(head);
            let words: Vec<&str> = head.split(' ').collect();
            if let [":000000", "160000", ..] = words.as_slice() {
                // As after a pull: `git submodule update --init` fills it.
                let folder = self.root.join(path_of(path));
                let _ = fs::create_dir_all(folder);
                continue;
            }
            let [":160000", "160000", old, new, ..] = words.as_slice() else {
                continue;
            };
            let (Ok(old), Ok(new)) = (Oid::parse(old), Oid::parse(new)) else {
                continue;
            };
            let path = path_of(path);
            let link = Gitlink {
                path: path.clone(),
                commit: old,
            };
            if let Some(module) = Submodule::of(&self.root, &link)
                && !self.follow_module(&module, &new).await?
            {
                left.push(path);
            }
        }
        Ok(left)
    }

    /// Brings one submodule along. Returns false if it can't be.
    async fn follow_module(&self, module: &Submodule, new: &Oid) -> Result<bool, GitError> {
        let head = module.git_dir.join("HEAD");
        match fs::read(&head).map(|bytes| parse_head(&bytes)) {
            Ok(HeadFile::Detached(now)) if now == *new => return Ok(true),
            Ok(HeadFile::Detached(now)) if now == module.commit => {}
            _ => return Ok(false),
        }
        let _state = self.in_order().await;
        let (index, ours) = (
            module.git_dir.join("index"),
            self.shadow.index_of(Index::Module),
        );
        let folder = self.root.join(&module.path);
        remove_if_there(&ours)?;
        copy_index(&index, &ours).map_err(GitError::io("copy", &index))?;
        let args = [
            "read-tree",
            "-m",
            "-u",
            module.commit.as_str(),
            new.as_str(),
        ];
        let call = self.git(args).objects(&module.objects(), None);
        let call = call.index(Index::Module).work_tree(&folder);
        if call.answer().await?.code != Some(0) {
            return Ok(false);
        }
        let written = fs::read(&ours).map_err(GitError::io("read", &ours))?;
        let done = replace_under_lock(&index, &written)
            .and_then(|()| replace_under_lock(&head, format!("{new}\n").as_bytes()));
        Ok(done.is_ok())
    }
}
