//! Toolchains that people have in their home, as their installers leave them there: agents and verify commands compile
//! and run with them in the sandbox of a loop, as root and as an ordinary user.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ralph_testkit::agents;
use serde_json::json;

use crate::{
    other_user::{ORDINARY, link, tool},
    support::{Project, Ran, story},
};

/// A folder or program that `scripts/toolchains` got.
fn got(name: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = match (named("RALPH_TOOLCHAINS_DIR"), named("CARGO_TARGET_DIR")) {
        (Some(folder), _) => workspace.join(folder),
        (None, Some(target)) => workspace.join(target).join("toolchains"),
        (None, None) => workspace.join("target/toolchains"),
    };
    let path = folder.join(name);
    assert!(path.exists(), "{path:?} is missing: run scripts/toolchains");
    path.canonicalize().unwrap()
}

/// Rust as rustup installs it: its own program in the place of each tool, and the toolchain elsewhere.
fn install_rust(home: &Path) {
    let sysroot = PathBuf::from(tool("rustc", &["--print", "sysroot"]));
    let name = sysroot.file_name().unwrap().to_str().unwrap();
    for part in ["bin", "lib"] {
        let to = home.join(".rustup/toolchains").join(name).join(part);
        link(&sysroot.join(part), &to);
    }
    let settings =
        format!("version = \"12\"\nprofile = \"minimal\"\ndefault_toolchain = \"{name}\"\n");
    std::fs::write(home.join(".rustup/settings.toml"), settings).unwrap();
    for name in ["downloads", "tmp", "update-hashes"] {
        std::fs::create_dir(home.join(".rustup").join(name)).unwrap();
    }
    let rustup = PathBuf::from(tool("sh", &["-c", "command -v rustup"]));
    let bin = home.join(".cargo/bin");
    link(&rustup.canonicalize().unwrap(), &bin.join("rustup"));
    for name in ["cargo", "rustc"] {
        symlink("rustup", bin.join(name)).unwrap();
    }
}

/// Fills a home, and returns the folders that its owner has on the `PATH`.
fn install(home: &Path) -> Vec<PathBuf> {
    install_rust(home);
    let node = tool(
        agents::node().to_str().unwrap(),
        &["-p", "process.execPath"],
    );
    let nvm = home.join(".nvm/versions/node/v22.0.0/bin");
    link(Path::new(&node), &nvm.join("node"));
    link(&got("uv"), &home.join(".local/bin/uv"));
    // Where uv makes its environments.
    std::fs::create_dir_all(home.join(".cache/uv")).unwrap();
    link(&got("go"), &home.join("sdk/go"));
    vec![
        home.join(".cargo/bin"),
        nvm,
        home.join(".local/bin"),
        home.join("sdk/go/bin"),
    ]
}

/// Runs a loop whose agent and whose verify commands use all of them.
fn run(user: Option<u32>) -> (Project, Ran) {
    let mut own = story("A");
    own["verify"] = json!([
        "cargo run --quiet --offline | grep -qx 'rust ran'",
        "node main.js | grep -qx 'node ran'",
        "uv run --quiet --no-project --offline python main.py | grep -qx 'python ran'",
        "go run main.go 2>&1 | grep -qx 'go ran'",
        "test $(wc -l < A.txt) -eq 4",
    ]);
    let versions = "{ rustc --version; node --version; uv --version; go version; } > A.txt";
    let project = Project::with_stories(&[own])
        .script(&json!({"default": [{"do": [{"run": versions}, {"say": "Task A complete"}]}]}))
        .env("RALPH_SAFETY_ALLOW_WRITE", "[]");
    let manifest = "[package]\nname = \"small\"\nversion = \"0.0.0\"\nedition = \"2021\"\n";
    project
        .repo
        .file(".gitignore", "/target\n")
        .file("Cargo.toml", manifest)
        .file("src/main.rs", "fn main() { println!(\"rust ran\"); }\n")
        .file("main.js", "console.log('node ran');\n")
        .file("main.py", "print('python ran')\n")
        .file(
            "main.go",
            "package main\n\nfunc main() { println(\"go ran\") }\n",
        );
    let lock = "version = 4\n\n[[package]]\nname = \"small\"\nversion = \"0.0.0\"\n";
    project.repo.file("Cargo.lock", lock).commit("programs");
    if let Some(user) = user {
        project.give_to(user);
    }
    let home = project.repo.home();
    let mut path = install(&home);
    path.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
    let path = std::env::join_paths(path).unwrap();
    let project = project.env("PATH", path);
    let ran = project.run_as(user);
    (project, ran)
}

fn verified(user: Option<u32>, sandbox: &str) {
    let (project, ran) = run(user);
    assert_eq!(ran.verdicts(), ["A verified"], "{}", ran.all());
    let started = ran.one("loop_started");
    let told = started["sandbox"].as_str().unwrap();
    assert!(told.contains(sandbox), "{told}");
    let home = project.repo.home();
    let kept = std::fs::read_dir(home.join(".cache/uv")).unwrap().count();
    assert_eq!(kept, 0, "what uv made is thrown away");
    assert!(!home.join(".cache/go-build").exists());
    assert!(!home.join(".cargo/.package-cache").exists());
}

#[test]
fn rust_node_python_and_go_of_the_home_work_in_the_sandbox_of_an_ordinary_user() {
    verified(Some(ORDINARY), "on, by namespaces");
}

#[test]
fn rust_node_python_and_go_of_the_home_work_in_the_sandbox_of_root() {
    verified(None, "namespaces");
}
