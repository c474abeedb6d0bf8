//! The checks that ask git. The one file of the program that starts `git` by itself.

use std::{path::Path, process::Command};

use ralph_core::figures::first_of;

use super::Check;

/// The oldest git that ralph is known to work with.
const OLDEST: (u32, u32) = (2, 30);

/// Paths that a message names.
const MOST_PATHS: usize = 5;

/// Whether git is there and new enough.
pub(super) fn program() -> Vec<Check> {
    let said = match ask(Path::new("."), &["--version"]) {
        Ok(said) => said,
        Err(why) => {
            let check = Check::problem("git", format!("git can't be started ({why})"));
            return vec![check.hint("install git 2.30 or newer")];
        }
    };
    let version = said.trim_start_matches("git version ").trim();
    let check = match parse_version(version) {
        Some(found) if found < OLDEST => {
            Check::problem("git", format!("git {version} is too old")).hint("install 2.30 or newer")
        }
        Some(_) => Check::ok("git", format!("git {version}")),
        None => Check::warning("git", format!("can't tell which version {version:?} is"))
            .hint("2.30 or newer is needed"),
    };
    vec![check]
}

/// Who commits, and what state the repository is in. `not_dirt` are paths that may be changed.
pub(super) fn repository(root: &Path, not_dirt: &[String]) -> Vec<Check> {
    let git_dir = match ask(root, &["rev-parse", "--absolute-git-dir"]) {
        Ok(dir) => dir,
        // A repository of somebody else, say: git says itself what to do.
        Err(why) => {
            return vec![Check::problem(
                "repository",
                format!("git refuses it: {why}"),
            )];
        }
    };
    let git_dir = Path::new(&git_dir);
    let mut checks = vec![identity(root)];
    checks.push(match under_way(git_dir) {
        Some((what, end)) => Check::problem("repository", format!("{what} is under way")).hint(end),
        None => head(root),
    });
    checks.push(clean(root, not_dirt));
    checks
}

fn identity(root: &Path) -> Check {
    let of = |key: &str, var: &str| {
        let set = std::env::var(var).ok().filter(|value| !value.is_empty());
        set.or_else(|| ask(root, &["config", "--get", key]).ok())
            .filter(|value| !value.is_empty())
    };
    let name = of("user.name", "GIT_COMMITTER_NAME");
    let email = of("user.email", "GIT_COMMITTER_EMAIL");
    match (name, email) {
        (Some(name), Some(email)) => Check::ok("identity", format!("commits as {name} <{email}>")),
        (_, _) => Check::problem("identity", "git does not know who commits").hint(
            "`git config --global user.name NAME` and `git config --global user.email EMAIL`",
        ),
    }
}

fn under_way(git_dir: &Path) -> Option<(&'static str, &'static str)> {
    let marks = [
        ("MERGE_HEAD", "a merge", "finish it, or `git merge --abort`"),
        (
            "rebase-merge",
            "a rebase",
            "finish it, or `git rebase --abort`",
        ),
        (
            "rebase-apply",
            "a rebase",
            "finish it, or `git rebase --abort`",
        ),
        (
            "CHERRY_PICK_HEAD",
            "a cherry-pick",
            "finish it, or `git cherry-pick --abort`",
        ),
        (
            "REVERT_HEAD",
            "a revert",
            "finish it, or `git revert --abort`",
        ),
        ("BISECT_LOG", "a bisection", "end it: `git bisect reset`"),
    ];
    let found = marks.iter().find(|(mark, ..)| git_dir.join(mark).exists());
    found.map(|(_, what, end)| (*what, *end))
}

fn head(root: &Path) -> Check {
    if ask(root, &["rev-parse", "--verify", "-q", "HEAD"]).is_err() {
        return Check::problem("repository", "there is no commit yet")
            .hint("ralph begins from a commit: make a first one");
    }
    match ask(root, &["symbolic-ref", "-q", "--short", "HEAD"]) {
        Ok(branch) => Check::ok("repository", format!("on {branch}")),
        Err(_) => Check::warning("repository", "HEAD is on no branch")
            .hint("ralph makes its own branch from here; `git switch BRANCH` if that is not meant"),
    }
}

fn clean(root: &Path, not_dirt: &[String]) -> Check {
    let args = [
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=no",
        "--no-renames",
    ];
    let said = match ask(root, &args) {
        Ok(said) => said,
        Err(why) => return Check::problem("tree", format!("git status fails: {why}")),
    };
    let entries = said.split('\0').filter_map(|entry| entry.get(3..));
    let dirty: Vec<String> = entries
        .filter(|path| !not_dirt.iter().any(|own| Path::new(path).starts_with(own)))
        .map(str::to_owned)
        .collect();
    if dirty.is_empty() {
        return Check::ok("tree", "nothing uncommitted");
    }
    let names = first_of(&dirty, MOST_PATHS);
    Check::warning("tree", format!("changes that are not committed: {names}"))
        .hint("commit or stash them: `ralph run` refuses to start on them")
}

/// Standard output of a git command without its last line break, or why it failed.
fn ask(folder: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(args)
        .current_dir(folder)
        .env("LC_ALL", "C")
        // A look must not write to the index.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().next().unwrap_or_default();
        return Err(first.trim_start_matches("fatal: ").to_owned());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.trim_end_matches('\n').to_owned())
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(['.', ' ', '-']);
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_builds_of_git_print_them_are_read() {
        for (text, expected) in [
            ("2.47.1", Some((2, 47))),
            ("2.30.windows.1", Some((2, 30))),
            ("2.39.5 (Apple Git-154)", Some((2, 39))),
            ("next", None),
        ] {
            assert_eq!(parse_version(text), expected, "{text}");
        }
        assert!((2, 29) < OLDEST && (2, 30) >= OLDEST && (3, 0) >= OLDEST);
    }
}
