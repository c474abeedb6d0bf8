//! Toolchains below the home: programs run, downloads are read, and nothing of theirs is changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::ground::{Machine, write};
use crate::layer::tests::support::{Ground, as_root_and_as_user, plain};
use crate::process::{Ended, SandboxMeans};

fn program(path: &Path, says: &str) {
    write(path, &format!("#!/bin/sh\necho {says} \"$@\"\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The toolchains of a home as their installers lay them out.
fn install(ground: &Ground) {
    let home = ground.dir.join("home");
    program(&home.join(".rustup/toolchains/stable/bin/cargo"), "cargo");
    fs::create_dir_all(home.join(".cargo/bin")).unwrap();
    symlink(
        "../../.rustup/toolchains/stable/bin/cargo",
        home.join(".cargo/bin/cargo"),
    )
    .unwrap();
    write(&home.join(".cargo/registry/cache/a.crate"), "crate");
    program(&home.join(".nvm/versions/node/v22/bin/node"), "node");
    write(
        &home.join(".nvm/versions/node/v22/lib/node_modules/npm/x.js"),
        "npm",
    );
    program(&home.join(".pyenv/versions/3.12/bin/python"), "python");
    program(&home.join(".pyenv/shims/python"), "shim");
    program(&home.join("sdk/go1.25/bin/go"), "go");
    write(&home.join("go/pkg/mod/cache/m.zip"), "module");
    write(&home.join(".cache/uv/wheels/w.whl"), "wheel");
    write(&home.join(".m2/repository/a/a.jar"), "jar");
    write(&home.join(".npm/_cacache/index/i"), "index");
}

as_root_and_as_user! {
    toolchains_of_the_home_run: plain => |ground| {
        install(ground);
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        let (said, ended) = machine.run(
            "PATH=$HOME/.cargo/bin:$HOME/.nvm/versions/node/v22/bin:$HOME/.pyenv/shims:$HOME/sdk/go1.25/bin:$PATH\n\
             cargo a && node b && python c && go d && cat ~/.nvm/versions/node/v22/lib/node_modules/npm/x.js",
        );
        assert_eq!(ended, Ended::Code(0), "{said}");
        assert_eq!(said, "cargo a\nnode b\nshim c\ngo d\nnpm");
    };

    downloads_are_read_and_what_is_written_to_them_is_thrown_away: plain => |ground| {
        install(ground);
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        let (said, ended) = machine.run(
            "set -e\ncd\n\
             cat .cargo/registry/cache/a.crate go/pkg/mod/cache/m.zip .cache/uv/wheels/w.whl .m2/repository/a/a.jar .npm/_cacache/index/i\n\
             echo changed >.cargo/registry/cache/a.crate; rm go/pkg/mod/cache/m.zip; mkdir .cache/uv/new; mv .m2/repository/a/a.jar .m2/repository/b.jar\n\
             cat .cargo/registry/cache/a.crate; ls .cache/uv .m2/repository",
        );
        assert_eq!(ended, Ended::Code(0), "{said}");
        assert_eq!(said, "cratemodulewheeljarindexchanged\n.cache/uv:\nnew\nwheels\n\n.m2/repository:\na\nb.jar\n");
        let home = ground.dir.join("home");
        assert_eq!(fs::read_to_string(home.join(".cargo/registry/cache/a.crate")).unwrap(), "crate");
        assert!(home.join("go/pkg/mod/cache/m.zip").exists());
        assert!(!home.join(".cache/uv/new").exists());
        assert!(home.join(".m2/repository/a/a.jar").exists());
    };

    programs_of_the_home_can_not_be_changed: plain => |ground| {
        install(ground);
        let machine = Machine::new(ground, SandboxMeans::Namespaces);
        for path in [".rustup/toolchains/stable/bin/cargo", ".cargo/bin/cargo", ".pyenv/shims/python"] {
            let (said, _) = machine.run(&format!("echo x >~/{path} && echo OPEN; rm ~/{path} && echo OPEN; touch ~/{path}2 && echo OPEN"));
            assert!(!said.contains("OPEN"), "{path}: {said}");
        }
    };
}
