//! New dependencies, installed by the real npm, pip and cargo from places on this machine.

use serde_json::{Map, Value, json};

use super::{assert_all_landed, ids, shell};
use crate::scene::{MODES, deed, patient, story_by};
use crate::support::{Project, prd};

/// Honest runs of this file, in one mode.
pub(super) const RUNS: usize = 2 + 1 + 2;

/// A project with these runs, after the packages were made outside of it.
fn installs(mode: &str, base: &str, runs: &[(&str, &str)]) -> Project {
    let project = patient(Project::new(), mode);
    shell(&project, base, mode);
    let ids = ids(runs.len());
    let stories: Vec<Value> = ids
        .iter()
        .zip(runs)
        .map(|(id, (_, verify))| story_by(id, &[verify]))
        .collect();
    let tasks: Map<String, Value> = ids
        .iter()
        .zip(runs)
        .map(|(id, (does, _))| (id.clone(), json!([deed(&format!("set -e; {does}"))])))
        .collect();
    project.repo.prd(&prd(&stories)).commit("base");
    project
        .env("RALPH_VERIFICATION_BASELINE", "false")
        .script(&json!({"tasks": tasks}))
}

fn lands(mode: &str, base: &str, runs: &[(&str, &str)]) {
    // The toolchain of this machine is in another home.
    let toolchain = cargo_folder().parent().unwrap();
    let project =
        installs(mode, base, runs).env("RALPH_SAFETY_ALLOW_READ", format!("[{toolchain:?}]"));
    let ran = project.run(&[]);
    assert_all_landed(&project, &ran, runs.len(), mode);
    assert_eq!(project.leftovers(), [""; 0], "{mode}");
}

#[test]
fn npm_installs_a_tarball() {
    let base = "mkdir -p ../pkg/one ../pkg/two; for p in one two; do (cd ../pkg/$p; printf '{\"name\": \"%s\", \"version\": \"1.0.0\", \"main\": \"i.js\"}' $p > package.json; \
        echo \"module.exports = '$p'\" > i.js; tar czf ../$p.tgz --transform 's,^,package/,' package.json i.js); done; \
        echo node_modules/ > .gitignore; echo '{\"name\": \"app\", \"version\": \"1.0.0\"}' > package.json";
    let install = |name: &str| {
        format!("npm install --offline --no-audit --no-fund --silent ../pkg/{name}.tgz")
    };
    let (one, two) = (install("one"), install("two"));
    for mode in MODES {
        lands(
            mode,
            base,
            &[
                (
                    &one,
                    "node -e \"if (require('one') !== 'one') process.exit(1)\"",
                ),
                (
                    &two,
                    "node -e \"require('one'); require('two')\" && grep -q two package-lock.json",
                ),
            ],
        );
    }
}

#[test]
fn pip_installs_a_wheel() {
    let wheel = r#"
import sys, zipfile
for name in ('one', 'two'):
    with zipfile.ZipFile(f'../wheels/{name}-1.0-py3-none-any.whl', 'w') as z:
        z.writestr(f'{name}.py', f'NAME = "{name}"\n')
        i = f'{name}-1.0.dist-info/'
        z.writestr(i + 'METADATA', f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n')
        z.writestr(i + 'WHEEL', 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        z.writestr(i + 'RECORD', '')
"#;
    let base = format!(
        "mkdir ../wheels; cat > ../make.py <<'END'\n{wheel}END\npython3 ../make.py; echo .venv/ > .gitignore; : > requirements.txt"
    );
    let install = "python3 -m venv --without-pip .venv; printf 'one==1.0\\ntwo==1.0\\n' >> requirements.txt; \
        python3 -m pip --python .venv/bin/python install -q --disable-pip-version-check --no-index --find-links ../wheels -r requirements.txt";
    for mode in MODES {
        lands(
            mode,
            &base,
            &[(install, ".venv/bin/python -c 'import one, two'")],
        );
    }
}

/// Puts the toolchain that built the tests on the PATH: in a scratch home rustup would know none.
fn with_cargo(line: &str) -> String {
    let bin = cargo_folder().display();
    format!("PATH='{bin}':$PATH; export PATH; {line}")
}

fn cargo_folder() -> &'static std::path::Path {
    std::path::Path::new(env!("CARGO")).parent().unwrap()
}

#[test]
fn cargo_takes_a_path_and_a_vendored_crate() {
    let krate = |name: &str, version: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n"
        )
    };
    let base = format!(
        "mkdir -p helper; printf '{}' > helper/Cargo.toml; echo 'pub fn help() -> u8 {{ 1 }}' > helper/lib.rs; \
         printf '{}[workspace]\\n' > Cargo.toml; echo '#[test] fn t() {{}}' > lib.rs; printf 'target/\\n' > .gitignore; cargo generate-lockfile --offline -q",
        krate("helper", "0.1.0"),
        krate("app", "0.1.0")
    );
    let base = with_cargo(&base);
    let path = "printf '[dependencies]\\nhelper = { path = \"helper\" }\\n' >> Cargo.toml; \
        echo '#[test] fn h() { assert_eq!(helper::help(), 1); }' >> lib.rs; cargo check -q --offline";
    let path = with_cargo(path);
    let vendored = format!(
        "mkdir -p third/party .cargo; printf '{}' > third/party/Cargo.toml; echo 'pub fn party() -> u8 {{ 2 }}' > third/party/lib.rs; \
         echo '{{\"files\":{{}}}}' > third/party/.cargo-checksum.json; \
         printf '[source.crates-io]\\nreplace-with = \"third\"\\n[source.third]\\ndirectory = \"third\"\\n' > .cargo/config.toml; \
         printf 'party = \"1\"\\n' >> Cargo.toml; echo '#[test] fn p() {{ assert_eq!(party::party(), 2); }}' >> lib.rs; cargo generate-lockfile --offline -q",
        krate("party", "1.0.0")
    );
    let vendored = with_cargo(&vendored);
    let test = with_cargo("cargo test -q --offline");
    let test_both = format!("{test} && grep -q party Cargo.lock");
    for mode in MODES {
        lands(mode, &base, &[(&path, &test), (&vendored, &test_both)]);
    }
}
