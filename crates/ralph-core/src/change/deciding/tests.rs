//! Tests of the files that decide what a verify command does, and of those that do not.

use proptest::prelude::*;

use super::*;

/// A repository in memory, and the commands that verify it.
struct Shop {
    files: Vec<(&'static str, &'static str)>,
    commands: Vec<VerifyCommand>,
}

impl Shop {
    fn derive(&self) -> DecidingFiles {
        let tracked: Vec<PathBuf> = self.files.iter().map(|(path, _)| path.into()).collect();
        let read = |path: &Path| {
            let found = self.files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| text.as_bytes().to_vec())
        };
        DecidingFiles::derive(&self.commands, &tracked, &read)
    }
}

fn shop(commands: &[&str], files: &[(&'static str, &'static str)]) -> DecidingFiles {
    let shell = |line: &&str| VerifyCommand::Shell((*line).to_owned());
    Shop {
        files: files.to_vec(),
        commands: commands.iter().map(shell).collect(),
    }
    .derive()
}

fn derived(commands: &[&str], files: &[(&'static str, &'static str)]) -> Vec<String> {
    let found = shop(commands, files);
    found
        .derived
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

/// Names that decide something in an ecosystem that is there.
#[rustfmt::skip]
const DECIDING: &[&str] = &[
    "package.json", "web/package.json", ".npmrc", ".yarnrc.yml", ".yarn/releases/yarn-4.cjs", ".pnpmfile.cjs",
    "pnpm-workspace.yaml", ".nvmrc", "turbo.json", "nx.json", "lerna.json", "angular.json",
    "jest.config.js", "web/jest.config.ts", "jest.config.mjs", "jest.setup.ts", "jest-e2e.json", "src/setupTests.ts",
    "vitest.config.ts", "vitest.workspace.ts", "vite.config.js", ".mocharc.yml", ".mocharc.json", "test/mocha.opts",
    "karma.conf.js", "ava.config.js", "playwright.config.ts", "cypress.config.js", "cypress.json",
    "cypress/support/commands.ts", "wdio.conf.ts", ".nycrc", ".nycrc.json", ".c8rc.json",
    "tsconfig.json", "tsconfig.build.json", "jsconfig.json", "babel.config.js", ".babelrc", ".swcrc",
    "eslint.config.mjs", ".eslintrc.json", ".eslintrc", ".eslintignore", ".prettierrc", "biome.json",
    "webpack.config.js", "rollup.config.mjs", "gulpfile.js", "Gruntfile.js", "next.config.js",
    "conftest.py", "tests/unit/conftest.py", "sitecustomize.py", "src/x.pth", "pytest.ini", "tox.ini", "noxfile.py",
    "setup.cfg", "setup.py", "pyproject.toml", ".coveragerc", "mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml",
    ".flake8", ".pylintrc", "pyrightconfig.json", ".python-version",
    "Cargo.toml", "crates/core/Cargo.toml", ".cargo/config.toml", ".cargo/config", "rust-toolchain",
    "rust-toolchain.toml", ".config/nextest.toml", "build.rs", "crates/core/build.rs", "clippy.toml",
    "rustfmt.toml", "deny.toml", "xtask/src/main.rs",
    "go.mod", "go.work", ".golangci.yml", ".golangci.toml", "magefile.go",
    "pom.xml", "api/pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
    "gradle.properties", "gradlew", "gradle/wrapper/gradle-wrapper.properties", "mvnw", ".mvn/jvm.config",
    "buildSrc/src/main/kotlin/tests.gradle.kts", "testng.xml", "build.sbt", "checkstyle.xml",
    "phpunit.xml", "phpunit.xml.dist", "composer.json", "tests/bootstrap.php", "tests/Pest.php", "phpstan.neon",
    ".rspec", "spec/spec_helper.rb", "spec/rails_helper.rb", "test/test_helper.rb", "Rakefile", "lib/tasks/test.rake",
    "Gemfile", ".rubocop.yml", "config/environments/test.rb",
    "CMakeLists.txt", "src/CMakeLists.txt", "cmake/tests.cmake", "CTestTestfile.cmake", "CMakePresets.json",
    "configure.ac", "meson.build", ".clang-tidy",
    "BUILD", "src/BUILD.bazel", "WORKSPACE", "MODULE.bazel", ".bazelrc", "tools/defs.bzl",
    "Shop.Tests/Shop.Tests.csproj", "Shop.sln", "Directory.Build.props", "test.runsettings",
    "mix.exs", "test/test_helper.exs", "dart_test.yaml", "Package.swift", "stack.yaml", "build.zig", "deno.json",
    "Makefile", "GNUmakefile", "sub/makefile", "mk/rules.mk", "justfile", ".justfile", "Taskfile.yml", "Taskfile.dist.yaml",
    "Dockerfile", "docker/Dockerfile.test", "docker-compose.test.yml", "compose.yaml", ".dockerignore",
    ".gitattributes", "sub/.gitattributes", ".husky/pre-commit", ".githooks/pre-push", ".lintstagedrc.json",
    "lint-staged.config.js", "lefthook.yml", ".pre-commit-config.yaml", ".env.test", ".env.test.local", ".envrc",
    ".tool-versions",
];

/// Names of daily work.
#[rustfmt::skip]
const HONEST: &[&str] = &[
    "src/main.rs", "src/lib.rs", "crates/core/src/builder.rs", "src/index.ts", "src/App.tsx", "src/config.ts",
    "src/jest.ts", "src/package.ts", "src/makefile_parser.rs", "src/docker.py", "lib/build.rb", "src/build/mod.rs",
    "src/eslint-rules/no-x.js", "src/setup.ts", "src/test-utils.ts", "tests/test_cart.py", "tests/cart.rs",
    "src/cart.test.ts", "spec/cart_spec.rb", "pkg/cart_test.go", "src/test/java/CartTest.java",
    "README.md", "CHANGELOG.md", "LICENSE", "docs/testing.md", "docs/Makefile.md", "docs/package.json.md",
    "assets/logo.png", "public/index.html", "styles/main.css", "data/prices.csv", "migrations/001.sql",
    "locales/de.json", "src/schema.json", "api/openapi.yaml", "k8s/deployment.yaml", "config/app.yml", ".gitignore",
    ".env.example", ".editorconfig", "Cargo.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "go.sum",
    "poetry.lock", "Gemfile.lock", "composer.lock", "tests/fixtures/project/package.json",
    "tests/fixtures/Makefile", "pkg/testdata/go.mod", "src/__init__.py", "scripts/deploy.sh", "main.go", "src/Main.java",
    "index.php", "app/models/cart.rb", "src/cart.cpp", "include/cart.h", "Program.cs", "lib/cart.ex", "lib/cart.dart",
    "notes.txt", "examples/cart.py", "benches/cart.rs", "src/rust-toolchain.rs", "src/conftest_helper.py",
];

#[test]
fn files_that_decide_are_known_by_their_names_where_nothing_else_is_known() {
    assert!(DECIDING.len() >= 150 && HONEST.len() >= 60);
    let by_name = DecidingFiles::by_name();
    let missed: Vec<_> = DECIDING
        .iter()
        .filter(|name| !by_name.contains(Path::new(name)))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let taken: Vec<_> = HONEST
        .iter()
        .filter(|name| by_name.contains(Path::new(name)))
        .collect();
    assert!(taken.is_empty(), "{taken:#?}");
}

#[test]
fn only_what_is_there_or_used_decides_by_its_name() {
    let rust = shop(&["cargo test"], &[("Cargo.toml", ""), ("src/lib.rs", "")]);
    for (name, decides) in [
        ("Cargo.toml", true),
        (".cargo/config.toml", true),
        ("build.rs", true),
        (".gitattributes", true),
        ("package.json", false),
        ("conftest.py", false),
        ("Makefile", false),
        ("Dockerfile", false),
        ("src/lib.rs", false),
    ] {
        assert_eq!(rust.contains(Path::new(name)), decides, "{name}");
    }
    // A command names a tool, and a file shows that another is there.
    let mixed = shop(
        &["make check"],
        &[
            ("web/package.json", "{}"),
            ("Makefile", "check:\n\tpytest\n"),
        ],
    );
    for name in ["Makefile", "rules.mk", "web/jest.config.js", "conftest.py"] {
        assert!(mixed.contains(Path::new(name)), "{name}");
    }
    assert!(!mixed.contains(Path::new("Cargo.toml")));
    let nothing = shop(&[], &[]);
    assert!(!nothing.contains(Path::new("Makefile")));
    assert!(nothing.contains(Path::new(".husky/pre-commit")));
}

#[test]
fn a_script_that_a_command_names_decides_however_it_is_started() {
    let files = [
        ("check.sh", "true"),
        ("scripts/check", "#!/bin/sh\ntrue"),
        ("scripts/check.py", "print(1)"),
        ("scripts/check.js", ""),
        ("tools/check/__main__.py", ""),
        ("tools/lint.py", ""),
        ("src/main.py", ""),
        ("src/index.js", ""),
        ("README.md", ""),
    ];
    for (command, found) in [
        ("./check.sh", &["check.sh"][..]),
        ("sh check.sh", &["check.sh"]),
        ("sh -eu check.sh", &["check.sh"]),
        ("bash ./check.sh --fast", &["check.sh"]),
        ("bash -c './check.sh && true'", &["check.sh"]),
        ("bash -lc \"cd scripts && ./check\"", &["scripts/check"]),
        ("CI=1 ./check.sh", &["check.sh"]),
        ("env CI=1 timeout 60 ./check.sh", &["check.sh"]),
        ("true && ./check.sh | tee log", &["check.sh"]),
        ("(cd scripts; ./check)", &["scripts/check"]),
        ("cd scripts && ./check", &["scripts/check"]),
        ("scripts/check", &["scripts/check"]),
        ("source check.sh", &["check.sh"]),
        (". ./check.sh", &["check.sh"]),
        ("python scripts/check.py", &["scripts/check.py"]),
        ("python3 -u scripts/check.py", &["scripts/check.py"]),
        ("uv run scripts/check.py", &["scripts/check.py"]),
        ("poetry run python scripts/check.py", &["scripts/check.py"]),
        ("python -m tools.check", &["tools/check/__main__.py"]),
        ("python3 -m tools.lint src", &["tools/lint.py"]),
        ("node scripts/check.js", &["scripts/check.js"]),
        (
            "node --test --import ./scripts/check.js",
            &["scripts/check.js"],
        ),
        ("pytest -c scripts/check.py", &["scripts/check.py"]),
        (
            "eslint --config=scripts/check.js src",
            &["scripts/check.js"],
        ),
        ("eslint src/index.js README.md", &[]),
        ("pytest src/main.py", &[]),
        ("cat README.md", &[]),
        ("cargo test", &[]),
        ("# ./check.sh", &[]),
        ("echo done # ./check.sh", &[]),
        ("../other/check.sh", &[]),
        ("/usr/bin/check.sh", &[]),
    ] {
        assert_eq!(derived(&[command], &files), found, "{command}");
    }
    let argv = Shop {
        files: files.to_vec(),
        commands: vec![VerifyCommand::Argv(
            ["bash", "-c", "./check.sh"].map(str::to_owned).into(),
        )],
    };
    assert!(argv.derive().contains(Path::new("check.sh")));
}

#[test]
fn a_script_leads_to_the_scripts_and_tools_that_it_starts() {
    let found = shop(
        &["./ci.sh"],
        &[
            (
                "ci.sh",
                "#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")\"\nscripts/unit.sh\npython scripts/more.py\n",
            ),
            ("scripts/unit.sh", "make -C lib test\n. ./helpers.sh\n"),
            ("scripts/helpers.sh", "./ci.sh\n"),
            (
                "scripts/more.py",
                "import subprocess\nsubprocess.run([\"bash\", \"scripts/last.sh\"])\nsubprocess.run(['npm', 'test'])\n",
            ),
            ("scripts/last.sh", "docker compose -f compose.test.yml up\n"),
            ("compose.test.yml", "services: {}\n"),
            ("lib/Makefile", "test:\n\t./run-tests\n"),
            ("lib/run-tests", "true\n"),
            ("scripts/deploy.sh", "true\n"),
        ],
    );
    for name in [
        "ci.sh",
        "scripts/unit.sh",
        "scripts/helpers.sh",
        "scripts/more.py",
        "scripts/last.sh",
        "compose.test.yml",
        "lib/Makefile",
        "lib/run-tests",
        "Dockerfile",
        "package.json",
    ] {
        assert!(found.contains(Path::new(name)), "{name}");
    }
    assert!(!found.contains(Path::new("scripts/deploy.sh")));
}

#[test]
fn scripts_of_a_package_are_followed_by_their_names() {
    let package = r#"{"scripts":{"pretest":"./before.sh","test":"run-s unit lint:*","unit":"node tools/unit.js && npm run -s deep","deep":"bash deep.sh","lint:js":"sh lint.sh","deploy":"./deploy.sh"}}"#;
    let files = [
        ("package.json", package),
        ("before.sh", ""),
        (
            "tools/unit.js",
            "require('./lib');\nconst { run } = require(\"./more/run.js\")\n",
        ),
        ("tools/lib.js", ""),
        ("tools/more/run.js", ""),
        ("deep.sh", ""),
        ("lint.sh", ""),
        ("deploy.sh", ""),
        (
            "web/package.json",
            r#"{"scripts":{"test":"./web-test.sh"}}"#,
        ),
        ("web/web-test.sh", ""),
    ];
    let all = [
        "before.sh",
        "deep.sh",
        "lint.sh",
        "package.json",
        "tools/lib.js",
        "tools/more/run.js",
        "tools/unit.js",
    ];
    for command in [
        "npm test",
        "npm t",
        "npm run test",
        "pnpm test",
        "yarn test",
        "yarn run test",
        "bun run test",
    ] {
        assert_eq!(derived(&[command], &files), all, "{command}");
    }
    assert_eq!(
        derived(&["npm run deep"], &files),
        ["deep.sh", "package.json"]
    );
    assert_eq!(
        derived(&["npx concurrently \"npm:deep\""], &files),
        ["deep.sh", "package.json"]
    );
    let web = ["web/package.json", "web/web-test.sh"];
    assert_eq!(derived(&["cd web && npm test"], &files), web);
    for command in [
        "npm test --workspace=web",
        "npm --prefix web test",
        "pnpm -r test",
        "yarn workspace web test",
        "turbo run test",
    ] {
        let found = shop(&[command], &files);
        assert!(found.contains(Path::new("web/web-test.sh")), "{command}");
    }
    assert!(derived(&["npm run nothing"], &files).is_empty());
    assert!(derived(&["npm test"], &[("package.json", "not json")]).is_empty());
}

#[test]
fn targets_of_a_makefile_are_followed_with_what_it_includes() {
    let files = [
        (
            "Makefile",
            "include mk/*.mk common.mk\nRUN = ./run.sh\n.PHONY: test deploy\nall: test\n\ntest unit: build tools/gen.sh\n\t@$(MAKE) -f extra.mk more\n\t-bash tests.sh\n\nbuild:\n\tsh build.sh\n\ndeploy:\n\t./deploy.sh\n",
        ),
        ("common.mk", "test: ; true\n"),
        ("mk/a.mk", ""),
        ("extra.mk", "more:\n\t./more.sh\n"),
        ("tests.sh", ""),
        ("build.sh", ""),
        ("tools/gen.sh", ""),
        ("more.sh", ""),
        ("deploy.sh", ""),
        ("run.sh", ""),
    ];
    let all = [
        "Makefile",
        "build.sh",
        "common.mk",
        "extra.mk",
        "mk/a.mk",
        "more.sh",
        "tests.sh",
        "tools/gen.sh",
    ];
    for command in [
        "make test",
        "make",
        "make all",
        "make -j4 unit V=1",
        "gmake test",
    ] {
        let found = derived(&[command], &files);
        for name in all {
            assert!(
                found.iter().any(|one| one == name),
                "{command}: {name} in {found:?}"
            );
        }
        assert!(
            !found.iter().any(|one| one == "deploy.sh"),
            "{command}: {found:?}"
        );
    }
    // A target that it does not name can be any of its patterns.
    assert!(
        derived(&["make x.o"], &files)
            .iter()
            .any(|one| one == "deploy.sh")
    );
    let just = [
        (
            "justfile",
            "import 'more.just'\nset shell := [\"bash\", \"-c\"]\n\ndefault: test\n\ntest arg=\"x\": build\n    @./test.sh {{arg}}\n\nbuild:\n    sh build.sh\n\ndeploy:\n    ./deploy.sh\n",
        ),
        ("more.just", "x:\n    true\n"),
        ("test.sh", ""),
        ("build.sh", ""),
        ("deploy.sh", ""),
    ];
    for command in ["just", "just test", "just test fast"] {
        let found = derived(&[command], &just);
        assert!(
            found.iter().any(|one| one == "test.sh"),
            "{command}: {found:?}"
        );
        assert!(
            found.iter().any(|one| one == "more.just"),
            "{command}: {found:?}"
        );
    }
    assert!(
        !derived(&["just test"], &just)
            .iter()
            .any(|one| one == "deploy.sh")
    );
}

/// Files with their texts.
type ShopFiles = &'static [(&'static str, &'static str)];

/// A command, the files that there are, and the one that it leads to.
#[rustfmt::skip]
const RUNNERS: &[(&str, ShopFiles, &str)] = &[
    ("task test", &[("Taskfile.yml", "tasks:\n  test:\n    cmds:\n      - ./t.sh\n"), ("t.sh", "")], "t.sh"),
    ("tox -e py", &[("tox.ini", "[testenv]\ncommands = bash t.sh\n    python x.py\n"), ("t.sh", ""), ("x.py", "")], "x.py"),
    ("nox", &[("noxfile.py", "session.run('bash', 't.sh')\n"), ("t.sh", "")], "t.sh"),
    ("pre-commit run -a", &[(".pre-commit-config.yaml", "repos:\n- hooks:\n  - entry: hooks/check.py\n"), ("hooks/check.py", "")], "hooks/check.py"),
    ("composer test", &[("composer.json", r#"{"scripts":{"test":["@lint","phpunit"],"lint":"php tools/lint.php"}}"#), ("tools/lint.php", "")], "tools/lint.php"),
    ("poe test", &[("pyproject.toml", "[tool.poe.tasks]\ntest = \"bash t.sh\"\n"), ("t.sh", "")], "t.sh"),
    ("rake test", &[("Rakefile", "task :test do\n  sh './t.sh'\nend\n"), ("t.sh", "")], "t.sh"),
    ("cargo xtask ci", &[(".cargo/config.toml", "[alias]\nxtask = \"run --package xtask --\"\n"), ("xtask/src/main.rs", "")], "xtask/src/main.rs"),
    ("cargo ci", &[(".cargo/config.toml", "[alias]\nci = [\"run\", \"-p\", \"checker\", \"--\"]\n"), ("tools/checker/src/main.rs", "")], "tools/checker/src/main.rs"),
    ("cargo run --bin check", &[("src/bin/check.rs", "")], "src/bin/check.rs"),
    ("go run ./tools/check", &[("tools/check/main.go", "")], "tools/check/main.go"),
    ("./gradlew test", &[("gradlew", "")], "gradlew"),
    ("./mvnw verify", &[("mvnw", "")], "mvnw"),
    ("docker build -f ci/Test.docker .", &[("ci/Test.docker", "FROM x\n")], "ci/Test.docker"),
    ("vendor/bin/phpunit -c ci/unit.xml", &[("ci/unit.xml", "<phpunit/>")], "ci/unit.xml"),
    ("bats tests/run.bats", &[("tests/run.bats", "")], "tests/run.bats"),
];

#[test]
fn other_runners_of_tasks_lead_to_their_scripts() {
    for (command, files, found) in RUNNERS {
        let all = derived(&[command], files);
        assert!(all.iter().any(|one| one == found), "{command}: {all:?}");
    }
}

#[test]
fn what_a_runners_configuration_loads_decides_too() {
    let found = derived(
        &["jest"],
        &[
            (
                "package.json",
                r#"{"jest":{"setupFiles":["<rootDir>/test/env.js"]},"main":"src/index.js"}"#,
            ),
            (
                "jest.config.js",
                "module.exports = {\n  collectCoverageFrom: ['src/index.js'],\n  setupFilesAfterEach: ['<rootDir>/test/setup.ts'],\n  reporters: ['default', './tools/reporter.js'],\n  ...require('./jest.base'),\n};\n",
            ),
            ("jest.base.js", ""),
            (
                "tsconfig.json",
                "{ \"extends\": \"./tsconfig.strict.json\", \"include\": [\"src/index.ts\"] }",
            ),
            ("tsconfig.strict.json", "{}"),
            (".mocharc.yml", "require: test/hooks.js\nspec: test/a.js\n"),
            ("test/env.js", ""),
            ("test/setup.ts", ""),
            ("test/hooks.js", ""),
            ("test/a.js", ""),
            ("tools/reporter.js", ""),
            ("src/index.js", ""),
            ("src/index.ts", ""),
        ],
    );
    assert_eq!(
        found,
        [
            "jest.base.js",
            "test/env.js",
            "test/hooks.js",
            "test/setup.ts",
            "tools/reporter.js",
            "tsconfig.strict.json"
        ]
    );
}

#[test]
fn a_new_file_that_a_command_would_find_decides() {
    for (command, files, new) in [
        ("python3 -m pytest -q", &[("src/a.py", "")][..], "pytest.py"),
        (
            "python3 -m pytest -q",
            &[("src/a.py", "")],
            "pytest/__init__.py",
        ),
        (
            "sh check.sh",
            &[("check.sh", "[ -f local.sh ] && . ./local.sh\nmake all\n")],
            "local.sh",
        ),
        (
            "node tools/check.js",
            &[
                ("tools/check.js", "const s = require('./setup');\n"),
                ("tools/setup.ts", ""),
            ],
            "tools/setup.js",
        ),
        (
            "make check",
            &[("Makefile", "-include conf/local\ncheck:\n\ttrue\n")],
            "conf/local",
        ),
        // To make, a target that is there as a file or a folder is done.
        (
            "make test",
            &[("Makefile", "test: unit\n\ttrue\nunit:\n\ttrue\n")],
            "test",
        ),
        (
            "make test",
            &[("Makefile", "test: unit\n\ttrue\nunit:\n\ttrue\n")],
            "unit/a.txt",
        ),
        ("make", &[("Makefile", "all:\n\ttrue\n")], "all"),
    ] {
        let found = shop(&[command], files);
        assert!(found.contains(Path::new(new)), "{command}: {new}");
    }
    for (command, files, new) in [
        (
            "make test",
            &[("Makefile", ".PHONY: test\ntest:\n\ttrue\n")][..],
            "test/a.py",
        ),
        (
            "make test",
            &[("Makefile", "test:\n\ttrue\n"), ("test/a.py", "")],
            "test/b.py",
        ),
        (
            "just test",
            &[("justfile", "test:\n    true\n")],
            "test/a.py",
        ),
        (
            "sh check.sh",
            &[("check.sh", "./run.sh $1/x.sh\n")],
            "src/a.rs",
        ),
        ("pytest -q", &[("src/a.py", "")], "pytest.md"),
        (
            "test -f A.txt && grep -f words.txt x",
            &[("x", "")],
            "A.txt",
        ),
    ] {
        let found = shop(&[command], files);
        assert!(!found.contains(Path::new(new)), "{command}: {new}");
    }
}

#[test]
fn a_loop_of_scripts_ends_and_reading_is_bounded() {
    let reads = std::cell::Cell::new(0);
    let tracked: Vec<PathBuf> = (0..2_000).map(|n| format!("s{n}.sh").into()).collect();
    let read = |path: &Path| {
        reads.set(reads.get() + 1);
        let name = path.display().to_string();
        let n: usize = name[1..name.len() - 3].parse().ok()?;
        let next: String = (0..20)
            .map(|more| format!("./s{}.sh\n", (n * 20 + more) % 2_000))
            .collect();
        Some(next.into_bytes())
    };
    let command = VerifyCommand::Shell("./s1.sh".into());
    let found = DecidingFiles::derive(&[command], &tracked, &read);
    assert!(found.contains(Path::new("s1.sh")));
    assert!(reads.get() <= 400, "{}", reads.get());
}

#[test]
#[rustfmt::skip]
fn daily_work_on_a_manifest_decides_nothing() {
    for (name, before, now, decides) in [
        (
            "package.json",
            r#"{"scripts":{"test":"jest"}}"#,
            r#"{"scripts":{"test":"jest"},"dependencies":{"a":"1"}}"#,
            false,
        ),
        (
            "package.json",
            r#"{"scripts":{"test":"jest"}}"#,
            r#"{"scripts":{"test":"true"}}"#,
            true,
        ),
        (
            "package.json",
            r#"{"jest":{}}"#,
            r#"{"jest":{"testMatch":[]}}"#,
            true,
        ),
        ("package.json", "{}", "{", true),
        (
            "composer.json",
            r#"{"require":{}}"#,
            r#"{"require":{"a/b":"1"}}"#,
            false,
        ),
        (
            "composer.json",
            r#"{"scripts":{"test":"phpunit"}}"#,
            r#"{"scripts":{"test":"true"}}"#,
            true,
        ),
        (
            "Cargo.toml",
            "[package]\nname = \"a\"\nversion = \"1\"\n\n[dependencies]\nb = \"1\"\n",
            "[package]\nname = \"a\"\nversion = \"2\"\n\n[dependencies]\nb = \"2\"\nc = \"1\"\n",
            false,
        ),
        (
            "Cargo.toml",
            "[package]\nname = \"a\"\n",
            "[package]\nname = \"a\"\nautotests = false\n",
            true,
        ),
        ("Cargo.toml", "[lib]\n", "[lib]\ntest = false\n", true),
        (
            "pyproject.toml",
            "[project]\nname = \"a\"\ndependencies = [\n  \"b\",\n]\n",
            "[project]\nname = \"a\"\ndependencies = [\n  \"b\",\n  \"c\",\n]\n",
            false,
        ),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\n",
            "[tool.pytest.ini_options]\naddopts = \"-k nothing\"\n",
            true,
        ),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\n",
            "[tool.poetry.dependencies]\na = \"1\"\n",
            false,
        ),
        (
            "go.mod",
            "module a\n\ngo 1.22\n",
            "module a\n\ngo 1.22\n\nrequire (\n\tb v1\n)\n",
            false,
        ),
        (
            "go.mod",
            "module a\n",
            "module a\n\nreplace b => ./fake\n",
            true,
        ),
        (
            "Gemfile",
            "source 'x'\ngem 'a'\n",
            "source 'x'\ngem 'a'\ngem 'b'\n",
            false,
        ),
        ("Gemfile", "gem 'a'\n", "gem 'a'\nload 'x.rb'\n", true),
        ("Makefile", "a", "b", true),
    ] {
        let differs = deciding_part_changed(Path::new(name), before.as_bytes(), now.as_bytes());
        assert_eq!(differs, decides, "{name}: {now}");
    }
}

proptest! {
    #[test]
    fn no_command_and_no_script_makes_it_panic(
        command in r#"(make|npm|test|run |-C|-f|=|cd |\$\(|\)|"|'|`|\\|&&|\||;|\n|\./a\.sh|python -m |\.\./|ü| |\PC){0,30}"#,
        script in r#"(make|include |test:|:|\t|\n|\./a\.sh|cargo x|=|\[alias\]|"|'|\{|\}|require\(|- |ü| |\PC){0,30}"#,
    ) {
        let tracked: Vec<PathBuf> = ["a.sh", "Makefile", "package.json", ".cargo/config.toml", "jest.config.js"]
            .map(PathBuf::from)
            .into();
        let read = |_: &Path| Some(script.clone().into_bytes());
        DecidingFiles::derive(&[VerifyCommand::Shell(command)], &tracked, &read);
    }
}
