//! Files that say what is installed or built, the lock files that tools write by them, and what of the writing
//! of verify commands lands with a change.

use std::path::Path;

use globset::GlobSet;

use super::{BadGlob, compile_globs};

/// A lock file, and the names of the files that it is made from. A name that begins with `*` is an ending.
struct LockRule {
    lock: &'static str,
    manifests: &'static [&'static str],
}

const fn rule(lock: &'static str, manifests: &'static [&'static str]) -> LockRule {
    LockRule { lock, manifests }
}

const RULES: [LockRule; 33] = [
    rule("Cargo.lock", &["Cargo.toml"]),
    rule("package-lock.json", &["package.json"]),
    rule("npm-shrinkwrap.json", &["package.json"]),
    rule("yarn.lock", &["package.json"]),
    rule("pnpm-lock.yaml", &["package.json", "pnpm-workspace.yaml"]),
    rule("bun.lock", &["package.json"]),
    rule("bun.lockb", &["package.json"]),
    rule("deno.lock", &["deno.json", "deno.jsonc", "package.json"]),
    rule("poetry.lock", &["pyproject.toml"]),
    rule("uv.lock", &["pyproject.toml", "setup.py", "setup.cfg"]),
    rule("pdm.lock", &["pyproject.toml"]),
    rule("pylock.toml", &["pyproject.toml"]),
    rule("Pipfile.lock", &["Pipfile"]),
    rule("pixi.lock", &["pixi.toml", "pyproject.toml"]),
    rule("go.sum", &["go.mod"]),
    rule("go.work.sum", &["go.work", "go.mod"]),
    rule("composer.lock", &["composer.json"]),
    rule("Gemfile.lock", &["Gemfile", "*.gemspec"]),
    rule("gems.locked", &["gems.rb", "*.gemspec"]),
    rule("mix.lock", &["mix.exs"]),
    rule("rebar.lock", &["rebar.config"]),
    rule("flake.lock", &["flake.nix"]),
    rule("pubspec.lock", &["pubspec.yaml"]),
    rule("Podfile.lock", &["Podfile"]),
    rule("Package.resolved", &["Package.swift"]),
    rule("gradle.lockfile", &["build.gradle", "build.gradle.kts"]),
    rule("packages.lock.json", &["*.csproj", "*.fsproj"]),
    rule("Chart.lock", &["Chart.yaml"]),
    rule(".terraform.lock.hcl", &["*.tf"]),
    rule("stack.yaml.lock", &["stack.yaml", "package.yaml"]),
    rule("conan.lock", &["conanfile.txt", "conanfile.py"]),
    rule("shard.lock", &["shard.yml"]),
    rule("Manifest.toml", &["Project.toml"]),
];

fn name_of(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

fn is_named(name: &str, pattern: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(ending) => name.len() > ending.len() && name.ends_with(ending),
        None => name == pattern,
    }
}

/// Returns whether a file says what is to be installed or built.
pub fn is_manifest(path: &Path) -> bool {
    let name = name_of(path);
    let is_in_rules = RULES.iter().any(|rule| {
        let mut manifests = rule.manifests.iter();
        rule.lock == name || manifests.any(|manifest| is_named(name, manifest))
    });
    is_in_rules
        || ["setup.py", "setup.cfg", "pom.xml"].contains(&name)
        || name.starts_with("requirements") && name.ends_with(".txt")
        || name.starts_with("build.gradle")
}

/// The rule for what verify commands write: nothing of it lands, but lock files of what the change touches, and
/// what the configuration names.
#[derive(Debug, Clone)]
pub struct VerifyOutput {
    named: GlobSet,
}

impl VerifyOutput {
    /// Makes the rule, with the patterns of `verification.lands`.
    pub fn new(named: &[String]) -> Result<Self, BadGlob> {
        let named = compile_globs(named)?;
        Ok(Self { named })
    }

    /// Returns whether a file that a verify command wrote lands with a change of these paths. A lock file
    /// does if the change has it, or one of the files that it is made from: beside it, or in a folder below.
    pub fn lands<'a>(&self, path: &Path, mut changed: impl Iterator<Item = &'a Path>) -> bool {
        if self.named.is_match(path) {
            return true;
        }
        let Some(rule) = RULES.iter().find(|rule| rule.lock == name_of(path)) else {
            return false;
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        changed.any(|changed| {
            let mut manifests = rule.manifests.iter();
            changed == path
                || changed.starts_with(folder)
                    && manifests.any(|manifest| is_named(name_of(changed), manifest))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lands(path: &str, changed: &[&str], named: &[&str]) -> bool {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let rule = VerifyOutput::new(&named).unwrap();
        rule.lands(Path::new(path), changed.iter().map(Path::new))
    }

    #[test]
    fn a_lock_file_lands_with_the_change_that_it_belongs_to() {
        for (path, changed) in [
            ("Cargo.lock", "Cargo.toml"),
            ("Cargo.lock", "crates/one/Cargo.toml"),
            ("Cargo.lock", "Cargo.lock"),
            ("web/package-lock.json", "web/package.json"),
            ("web/yarn.lock", "web/packages/a/package.json"),
            ("go.sum", "go.mod"),
            ("Gemfile.lock", "thing.gemspec"),
            (".terraform.lock.hcl", "main.tf"),
        ] {
            assert!(
                lands(path, &["src/x", changed], &[]),
                "{path} with {changed}"
            );
        }
    }

    #[test]
    fn nothing_else_that_verification_writes_lands() {
        for (path, changed) in [
            ("Cargo.lock", "src/main.rs"),
            ("Cargo.lock", "package.json"),
            ("web/package-lock.json", "package.json"),
            ("web/package-lock.json", "website/package.json"),
            ("src/main.rs", "src/main.rs"),
            ("Cargo.toml", "Cargo.toml"),
            ("coverage/index.html", "Cargo.toml"),
            ("Gemfile.lock", ".gemspec"),
        ] {
            assert!(!lands(path, &[changed], &[]), "{path} with {changed}");
        }
        assert!(!lands("Cargo.lock", &[], &[]));
    }

    #[test]
    fn what_the_configuration_names_lands() {
        let named = ["src/generated/**", "*.snap"];
        assert!(lands("src/generated/a/b.rs", &["x"], &named));
        assert!(lands("deep/down/one.snap", &["x"], &named));
        assert!(!lands("src/other.rs", &["x"], &named));
        assert!(VerifyOutput::new(&["a[".to_owned()]).is_err());
    }

    #[test]
    fn manifests_and_lock_files_are_known_at_any_depth() {
        for path in [
            "package.json",
            "a/b/Cargo.toml",
            "uv.lock",
            "requirements-dev.txt",
            "x/build.gradle.kts",
            "pom.xml",
            "thing.gemspec",
        ] {
            assert!(is_manifest(Path::new(path)), "{path}");
        }
        for path in ["src/main.rs", "package.json/x", "README.md", "requirements"] {
            assert!(!is_manifest(Path::new(path)), "{path}");
        }
    }
}
