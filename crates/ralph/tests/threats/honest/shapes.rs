//! Shapes of changes: each group is one loop, each pair an agent's work and what verifies it.

use super::Group;

/// Every group; [`super::there_are_enough_of_them`] counts them.
pub(super) const GROUPS: [&Group; 11] = [
    &RENAMES,
    &CONTENTS,
    &NAMES,
    &GIT,
    &COMMITS,
    &IGNORED,
    &GENERATED,
    &WRITING,
    &MONOREPO,
    &FOLDERS,
    &MOVED_LINES,
];

const RENAMES: Group = Group {
    name: "renames",
    base: "mkdir -p dir/sub src old; for i in 1 2 3 4 5 6 7 8 9; do echo $i > dir/sub/f$i; done; echo a > dir/a; echo m > src/main.c; \
           echo top > top.txt; echo i > old/inner; echo one > one; echo two > two",
    config: "{}\n",
    runs: &[
        (
            "mv top.txt deep.txt",
            "test -f deep.txt && test ! -e top.txt",
        ),
        ("git mv dir moved", "test -f moved/sub/f9"),
        ("mv moved again", "test -f again/sub/f9"),
        (
            "mv one t; mv two one; mv t two",
            "grep -q two one && grep -q one two",
        ),
        ("git mv deep.txt Deep.txt", "test -f Deep.txt"),
        (
            "rm src/main.c; mkdir src/main.c; echo x > src/main.c/x",
            "test -f src/main.c/x",
        ),
        (
            "git mv Deep.txt d.txt; echo more >> d.txt",
            "grep -q more d.txt",
        ),
        (
            "mkdir all; git mv again src all/",
            "test -f all/again/a && test -d all/src/main.c",
        ),
        (
            "python3 -c \"import os; os.rename('all', 'every')\"",
            "test -f every/again/a",
        ),
        (
            "mv every x; mv x every; echo 1 > every/new",
            "test -f every/new",
        ),
        (
            "git mv every/again/sub sub; git rm -rq every",
            "test -f sub/f1",
        ),
        (
            "mkdir -p a/b/c; mv sub a/b/c/sub; mv a/b/c/sub/f1 a/f1",
            "test -f a/f1 && test -f a/b/c/sub/f2",
        ),
        (
            "git mv a/f1 a/b/f1; git mv a/b/f1 a/f1; git mv a z",
            "test -f z/f1",
        ),
    ],
    after: "test -f z/f1 && test -f z/b/c/sub/f9 && test ! -e dir && test ! -e every && test -f d.txt",
};

const CONTENTS: Group = Group {
    name: "contents",
    base: "printf 'a\\r\\nb\\r\\n' > crlf.txt; printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh; mkdir lib; echo l > lib/l; ln -s lib/l link; echo x > common",
    config: "{}\n",
    runs: &[
        (
            "head -c 2000000 /dev/urandom > big.bin",
            "test $(wc -c < big.bin) = 2000000",
        ),
        ("printf 'x\\000y\\377\\n' > nul.bin", "test -s nul.bin"),
        (": > empty", "test -e empty"),
        ("printf 'no end' > no-newline", "test -f no-newline"),
        (
            "printf 'c\\r\\n' >> crlf.txt",
            "test $(grep -c \"$(printf '\\r')\" crlf.txt) = 3",
        ),
        (
            "printf 'abc' | iconv -t UTF-16 > utf16.txt",
            "test -s utf16.txt",
        ),
        (
            "yes x | tr -d '\\n' | head -c 2000000 > one-line.txt",
            "test -s one-line.txt",
        ),
        (
            "chmod -x run.sh; printf '#!/bin/sh\\n' > go.sh; chmod 755 go.sh",
            "test -x go.sh && test ! -x run.sh",
        ),
        (
            "ln -s lib/l second; ln -s lib to-lib; ln -s not-there dangling",
            "test -L dangling && test -f to-lib/l",
        ),
        ("rm link; cp lib/l link", "test -f link && test ! -L link"),
        ("rm lib/l; ln -s ../common lib/l", "test -L lib/l"),
        ("ln common hard; echo y >> hard", "grep -q y hard"),
        (
            "mkdir many; for i in $(seq 100); do echo $i > many/$i; done",
            "test $(ls many | wc -l) = 100",
        ),
        (
            "d=deep; for i in $(seq 12); do d=$d/$i; done; mkdir -p $d; echo x > $d/f",
            "test -d deep/1/2/3",
        ),
        ("rm -r many deep; echo less > less", "test -f less"),
        (
            "head -c 2000000 /dev/urandom > big.bin; gzip -c crlf.txt > c.gz",
            "test -s c.gz",
        ),
        (
            "sed -i 's/x/z/' common; touch -d 2001-01-01 common",
            "grep -q z common",
        ),
        (
            "cp run.sh copy.sh; chmod 700 copy.sh; chmod 600 common; echo s >> common",
            "test -x copy.sh",
        ),
    ],
    after: "test -x go.sh && test ! -x run.sh && test -L second && test -L dangling && test -f link && test $(wc -c < big.bin) = 2000000",
};

const NAMES: Group = Group {
    name: "names",
    base: "mkdir 'with space'; echo x > 'with space/a b'",
    config: "{}\n",
    runs: &[
        (
            "echo x > 'a b.txt'; echo y >> 'with space/a b'",
            "test -f 'a b.txt'",
        ),
        ("echo x > ünïcode-日本.txt", "test -f ünïcode-日本.txt"),
        (
            "echo x > \"$(printf 'new\\nline')\"",
            "test -f \"$(printf 'new\\nline')\"",
        ),
        (
            "echo x > \"$(printf 'tab\\there')\"",
            "test -f \"$(printf 'tab\\there')\"",
        ),
        (
            "echo x > \"$(printf 'bad\\377utf8')\"",
            "test -f \"$(printf 'bad\\377utf8')\"",
        ),
        ("echo x > ./-dash; echo x > ./--help", "test -f ./-dash"),
        (
            "echo x > '\"quoted\"'; echo x > 'back\\slash'",
            "test -f '\"quoted\"'",
        ),
        (
            "echo x > '*star*'; echo x > '[a]'; echo x > '!not'; echo x > '#hash'",
            "test -f '*star*'",
        ),
        ("echo x > $(printf 'n%.0s' $(seq 200))", "ls | grep -q nnnn"),
        (
            "mkdir -p .hidden/.deep; echo x > .hidden/.deep/.f; touch .gitkeep",
            "test -f .hidden/.deep/.f",
        ),
        (
            "git mv 'with space' 'other space'; mkdir node_module; echo x > node_module/git",
            "test -f 'other space/a b'",
        ),
        (
            "echo x > HEAD; echo x > config; mkdir refs; echo x > refs/heads; echo x > .gitfoo",
            "test -f HEAD",
        ),
        (
            "echo x > 'Ralph-Task: Z'; echo x > ralph; mkdir prd; echo x > prd/prd.json",
            "test -f prd/prd.json",
        ),
        (
            "rm ./-dash ./--help '*star*' \"$(printf 'bad\\377utf8')\"",
            "test ! -e ./-dash",
        ),
    ],
    after: "test -f 'other space/a b' && test -f \"$(printf 'new\\nline')\" && test ! -e ./-dash && test -f HEAD",
};

const GIT: Group = Group {
    name: "git",
    base: "echo base > f; echo g > g; printf 'a\\r\\nb\\r\\n' > eol.txt; echo x > stays",
    config: "{}\n",
    runs: &[
        ("echo 1 >> f; git stash -q; git stash pop -q", "grep -q 1 f"),
        (
            "echo 2 >> f; git add f; echo n > n; git stash -q -u; git stash apply -q; git stash drop -q",
            "grep -q 2 f && test -f n",
        ),
        (
            "echo 3 >> f; git add f; git reset -q; git add -A",
            "grep -q 3 f",
        ),
        (
            "echo 4 >> f; git checkout -q -- g; git restore --staged .; git diff > /dev/null",
            "grep -q 4 f",
        ),
        (
            "git rm -q g; echo h > h; git add h",
            "test ! -e g && test -f h",
        ),
        (
            "echo '*.txt text eol=lf' > .gitattributes; git add --renormalize .",
            "test -f .gitattributes",
        ),
        (
            "echo '*.txt text eol=crlf' > .gitattributes; git add --renormalize .; echo 6 > six",
            "test -f six",
        ),
        (
            "printf '* text=auto\\n*.png binary\\n*.gen linguist-generated\\n' > .gitattributes; echo x > a.gen",
            "test -f a.gen",
        ),
        (
            "git log -1 > /dev/null; git status --short; git gc -q; echo 8 > eight",
            "test -f eight",
        ),
        (
            "git config alias.x status; git config user.name Other; echo 9 > nine; git add nine",
            "test -f nine",
        ),
        (
            "git worktree add -q \"$HOME/wt\" HEAD; git worktree remove \"$HOME/wt\"; echo 10 > ten",
            "test -f ten",
        ),
        (
            "git clone -q . \"$HOME/clone\"; cp \"$HOME/clone/f\" copy-of-f; rm -rf \"$HOME/clone\"",
            "test -f copy-of-f",
        ),
        (
            "echo x > junk; git clean -fdq; echo 12 > twelve",
            "test -f twelve && test ! -e junk",
        ),
        ("git update-index --chmod=+x h; chmod +x h", "test -x h"),
        (
            "git apply --allow-empty /dev/null || true; git format-patch -1 -o \"$HOME/p\" > /dev/null; echo 14 > fourteen",
            "test -f fourteen",
        ),
        (
            "git blame f > /dev/null; git grep base > /dev/null; git bisect start > /dev/null; git bisect reset > /dev/null 2>&1; echo 15 > fifteen",
            "test -f fifteen",
        ),
    ],
    after: "grep -q 4 f && test -f fifteen && test ! -e g && test -x h",
};

const COMMITS: Group = Group {
    name: "commits of the agent's own",
    base: "echo base > f; echo base > s",
    config: "{}\n",
    runs: &[
        ("echo 1 >> f; git commit -qam one", "grep -q 1 f"),
        (
            "for i in a b c; do echo $i > c$i; git add -A; git commit -qm $i; done",
            "test -f cc",
        ),
        (
            "echo 2 >> f; git commit -qam two; echo 3 >> f",
            "grep -q 3 f",
        ),
        (
            "b=$(git branch --show-current); git switch -qc side; echo s >> s; git commit -qam s; git switch -q $b; echo 4 >> f; git commit -qam 4; git merge -q --no-edit side; git branch -qD side",
            "grep -q s s && grep -q 4 f",
        ),
        (
            "echo 5 >> f; git commit -qam 5; echo 6 >> f; git commit -qam 6; git rebase -q --exec true HEAD~2",
            "grep -q 6 f",
        ),
        (
            "echo 7 > seven; git add -A; git commit -qm wip; git commit -q --amend -m better",
            "test -f seven",
        ),
        (
            "echo bad > bad; git add -A; git commit -qm bad; git revert --no-edit HEAD > /dev/null; echo 8 > eight",
            "test -f eight && test ! -e bad",
        ),
        (
            "git commit -q --allow-empty -m nothing; echo 9 > nine",
            "test -f nine",
        ),
        (
            "echo 10 > ten; git add -A; git commit -qm 'feat: ten\n\nCo-Authored-By: Agent <agent@test.invalid>'",
            "test -f ten",
        ),
        (
            "echo x > x; git add -A; git commit -qm x; git rm -q x; git commit -qm 'x is gone'; echo 11 > eleven",
            "test -f eleven && test ! -e x",
        ),
        (
            "echo 12 > twelve; git add -A; git commit -qm 12; git reset -q --soft HEAD~1; git commit -qm again",
            "test -f twelve",
        ),
        (
            "echo 13 > thirteen; git add -A; git commit -qm 13; git tag -a mine -m mine; git tag -d mine",
            "test -f thirteen",
        ),
        (
            "git mv f renamed; git commit -qm move; git mv renamed f; git commit -qm back; echo 14 >> f; git commit -qam 14",
            "grep -q 14 f",
        ),
        (
            "echo 15 > fifteen; git add -A; GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@test.invalid git commit -qm 15 --date=2001-01-01T00:00:00",
            "test -f fifteen",
        ),
    ],
    after: "grep -q 14 f && test -f fifteen && test ! -e bad && test ! -e x",
};

const IGNORED: Group = Group {
    name: "ignoring",
    base: "echo build/ > .gitignore; mkdir -p build logs; echo o > build/out; echo e > .env; echo l > logs/a.log; echo l > logs/b.log; echo g > gen.js",
    config: "{}\n",
    runs: &[
        (
            "git rm -q --cached .env; echo .env >> .gitignore",
            "grep -q .env .gitignore",
        ),
        (
            "git rm -rq --cached logs; echo logs/ >> .gitignore",
            "grep -q logs .gitignore",
        ),
        (
            "mkdir -p build; echo app > build/app.js; git add -f build/app.js",
            "test -f build/app.js",
        ),
        (
            "echo '*.tmp' >> .gitignore; echo t > a.tmp; echo 4 > four",
            "test -f four",
        ),
        (
            "mkdir pkg; printf '*\\n!.gitignore\\n!keep\\n' > pkg/.gitignore; echo k > pkg/keep; echo d > pkg/dropped",
            "test -f pkg/keep",
        ),
        (
            "echo '!special.tmp' >> .gitignore; echo s > special.tmp",
            "test -f special.tmp",
        ),
        (
            "git rm -q --cached build/app.js; echo 7 > seven",
            "test -f seven",
        ),
        (
            "git rm -q gen.js; echo gen.js >> .gitignore; echo made > gen.js",
            "grep -q gen.js .gitignore",
        ),
        (
            "rm .gitignore; printf 'build/\\n.env\\nlogs/\\n*.tmp\\n!special.tmp\\ngen.js\\n*.o\\n' > .gitignore",
            "grep -q '[.]o' .gitignore",
        ),
        (
            "mkdir -p out/deep; echo o > out/deep/a.o; echo h > out/deep/a.h",
            "test -f out/deep/a.h",
        ),
        (
            "echo /four >> .gitignore; git rm -q --cached four",
            "grep -q four .gitignore",
        ),
        (
            "touch .gitkeep out/.gitkeep; git add -f .gitkeep",
            "test -e .gitkeep",
        ),
    ],
    after: "test -f pkg/keep && test -f special.tmp && test ! -e a.tmp || true; git ls-files > \"$HOME/tracked\"; ! grep -qx .env \"$HOME/tracked\"; ! grep -q '^logs/' \"$HOME/tracked\"; ! grep -qx four \"$HOME/tracked\"; ! grep -qx a.tmp \"$HOME/tracked\"; grep -qx pkg/keep \"$HOME/tracked\"",
};

/// The halves of a line that is found by its shape; it stands in the base of the repository.
const GENERATED: Group = Group {
    name: "generated and guarded files",
    base: "mkdir -p tests .github/workflows src docs; printf 'token = \"%s%s\"\\n' ghp_R4lphR4lphR4lph R4lphR4lphR4lphR4l7Xy > settings.toml; \
           printf 'def test_a():\\n    assert True\\n' > tests/test_a.py; printf 'def test_b():\\n    assert True\\n' > tests/test_b.py; \
           echo 'on: push' > .github/workflows/ci.yml; printf 'check:\\n\\ttrue\\n' > Makefile; echo '{\"lockfileVersion\": 3}' > package-lock.json; echo p > src/p.py; echo '# Agents' > AGENTS.md",
    config: "verification: {commands: [make -s check]}\n",
    runs: &[
        (
            "echo 'more = 1' >> settings.toml; chmod +x settings.toml",
            "grep -q more settings.toml",
        ),
        (
            "sed -i '1i first = 1' settings.toml",
            "grep -q first settings.toml",
        ),
        (
            "printf 'def test_c():\\n    assert True\\n' > tests/test_c.py",
            "test -f tests/test_c.py",
        ),
        (
            "git mv tests/test_b.py tests/test_bb.py",
            "test -f tests/test_bb.py",
        ),
        ("git rm -q tests/test_a.py src/p.py", "test ! -e src/p.py"),
        (
            "echo 'jobs: {}' >> .github/workflows/ci.yml",
            "grep -q jobs .github/workflows/ci.yml",
        ),
        ("printf '\\nlint:\\n\\ttrue\\n' >> Makefile", "make -s lint"),
        (
            "echo '{\"lockfileVersion\": 3, \"packages\": {}}' > package-lock.json; echo '{\"name\": \"p\"}' > package.json",
            "test -f package.json",
        ),
        (
            "mkdir -p src/gen; for i in 1 2 3; do echo \"// generated\" > src/gen/$i.ts; done",
            "test -f src/gen/3.ts",
        ),
        (
            "mkdir -p tests/__snapshots__; echo snap > tests/__snapshots__/a.snap",
            "test -f tests/__snapshots__/a.snap",
        ),
        (
            "echo changed > tests/__snapshots__/a.snap",
            "grep -q changed tests/__snapshots__/a.snap",
        ),
        (
            "printf '\\n## Build\\n\\nmake\\n' >> AGENTS.md; echo docs > docs/d.md",
            "grep -q Build AGENTS.md",
        ),
        (
            "sed -i 's/- (none yet)//' .ralph/progress.md; sed -i 's/^## Codebase Patterns$/&\\n\\n- use make/' .ralph/progress.md; echo 14 > fourteen",
            "test -f fourteen",
        ),
        (
            "printf 'import json\\n' > src/q.py; python3 src/q.py; echo 15 > fifteen",
            "test -f fifteen",
        ),
        (
            "rm -rf src/gen; git checkout -q -- src/gen; echo more >> src/gen/1.ts",
            "grep -q more src/gen/1.ts",
        ),
    ],
    after: "grep -q more settings.toml && grep -q jobs .github/workflows/ci.yml && test -f src/gen/2.ts",
};

const WRITING: Group = Group {
    name: "commands that write",
    base: "printf 'cache/\\n*.log\\n' > .gitignore; echo '[package]' > Cargo.toml; echo locked > Cargo.lock; echo x > src.rs",
    config: "verification:\n  format:\n    - sed -i 's/ *$//' *.txt 2> /dev/null || true\n  commands:\n    - mkdir -p cache && date > cache/stamp && echo ran >> verify.log\n    - test -s cache/stamp && echo coverage > coverage.xml\n",
    runs: &[
        ("printf 'a  \\n' > a.txt", "grep -qx a a.txt"),
        (
            "printf 'b  \\n' > b.txt; git add -A; git commit -qm b",
            "grep -qx b b.txt",
        ),
        (
            "echo y >> src.rs",
            "grep -q y src.rs && touch made-by-verify",
        ),
        (
            "echo 'dep = 1' >> Cargo.toml; echo relocked > Cargo.lock",
            "grep -q relocked Cargo.lock",
        ),
        (
            "mkdir -p cache; echo own > cache/own; echo 5 > five",
            "test -f five",
        ),
        ("echo log > agent.log; echo 6 > six", "test -f six"),
        ("rm a.txt; printf 'c \\t \\n' > c.txt", "test ! -e a.txt"),
        (
            "echo 8 > eight",
            "mkdir -p target/debug && echo o > target/debug/o; test -f eight",
        ),
    ],
    after: "test -f b.txt && grep -q relocked Cargo.lock && ! git ls-files | grep -q -e coverage -e made-by-verify -e target",
};

const MONOREPO: Group = Group {
    name: "monorepo",
    base: "for p in api web lib; do mkdir -p packages/$p/src packages/$p/node_modules; echo $p > packages/$p/src/main; echo '{}' > packages/$p/package.json; printf '#!/bin/sh\\ntest -f src/main\\n' > packages/$p/check.sh; done; \
           echo node_modules/ > .gitignore; echo warm > packages/api/node_modules/warm; mkdir -p tools; echo t > tools/t",
    config: "verification: {commands: [\"for p in packages/*/; do (cd $p && sh check.sh) || exit 1; done\"]}\n",
    runs: &[
        (
            "cd packages/api; echo more >> src/main",
            "grep -q more packages/api/src/main",
        ),
        (
            "cd packages/web/src; echo more >> main; git add .; git commit -qm web",
            "grep -q more packages/web/src/main",
        ),
        (
            "mkdir -p packages/new/src; cp packages/lib/src/main packages/lib/check.sh packages/new/ ; mv packages/new/main packages/new/src/",
            "test -f packages/new/src/main",
        ),
        (
            "mkdir packages/core; git mv packages/lib/src packages/core/src; cp packages/lib/check.sh packages/lib/package.json packages/core; mkdir packages/lib/src; echo stub > packages/lib/src/main",
            "test -f packages/core/src/main",
        ),
        (
            "for p in packages/*/; do echo x > $p/CHANGELOG.md; done",
            "test -f packages/web/CHANGELOG.md",
        ),
        (
            "cat packages/api/node_modules/warm; echo used > packages/api/src/used",
            "test -f packages/api/node_modules/warm",
        ),
        (
            "mv tools/t packages/api/src/t; rmdir tools; ln -s ../../api/src/t packages/web/src/t",
            "test ! -e tools/t",
        ),
        (
            "rm packages/new/CHANGELOG.md; echo 8 > packages/core/eight",
            "test -f packages/core/eight",
        ),
    ],
    after: "test -f packages/core/eight && test ! -e tools && test -L packages/web/src/t",
};

/// Folders that are gone after the change: what verifies must not find them.
const FOLDERS: Group = Group {
    name: "folders that are gone",
    base: "mkdir -p packages/one packages/two old deep/er/est away; for p in one two; do echo ok > packages/$p/check; done; echo i > old/inner; echo d > deep/er/est/f; echo a > away/a",
    config: "verification: {commands: [\"for p in packages/*/; do test -f $p/check || exit 1; done\"]}\n",
    runs: &[
        ("git rm -rq packages/one", "test ! -e packages/one"),
        (
            "git mv packages/two packages/three",
            "test ! -e packages/two && test -f packages/three/check",
        ),
        ("rm -r old; echo now-a-file > old", "test -f old"),
        ("rm -r deep", "test ! -e deep"),
        ("rm -r away; ln -s packages away", "test -L away"),
        (
            "rm away; mkdir away; echo a > away/a",
            "test -d away && test ! -L away",
        ),
        (
            "rm old; mkdir -p old/again; echo x > old/again/x; rm -r away",
            "test -d old && test ! -e away",
        ),
        ("echo x > $(printf 'n%.0s' $(seq 250))", "ls | grep -q nnnn"),
    ],
    after: "test ! -e packages/one && test ! -e packages/two && test ! -e deep && test ! -e away && test -f old/again/x",
};

/// Lines that look like secrets and stood in the base already.
const MOVED_LINES: Group = Group {
    name: "lines that moved",
    base: "printf 'token = \"%s%s\"\\n' ghp_R4lphR4lphR4lph R4lphR4lphR4lphR4l7Xy > settings.toml; mkdir keys; echo x > keys/x",
    config: "{}\n",
    runs: &[
        ("git mv settings.toml conf.toml", "test -f conf.toml"),
        (
            "mkdir conf; git mv conf.toml conf/settings.toml; echo 'more = 1' >> conf/settings.toml",
            "grep -q more conf/settings.toml",
        ),
        (
            "mv conf config; sed -i '1i first = 1' config/settings.toml",
            "grep -q first config/settings.toml",
        ),
        (
            "grep token config/settings.toml >> keys/x; sed -i /token/d config/settings.toml",
            "grep -q token keys/x",
        ),
    ],
    after: "grep -q token keys/x && test -f config/settings.toml",
};

fn renames(mode: &str) {
    RENAMES.check(mode);
}
modes!(renames);

fn contents(mode: &str) {
    CONTENTS.check(mode);
}
modes!(contents);

fn names(mode: &str) {
    NAMES.check(mode);
}
modes!(names);

fn git(mode: &str) {
    GIT.check(mode);
}
modes!(git);

fn commits(mode: &str) {
    COMMITS.check(mode);
}
modes!(commits);

fn ignored(mode: &str) {
    IGNORED.check(mode);
}
modes!(ignored);

fn generated(mode: &str) {
    GENERATED.check(mode);
}
modes!(generated);

fn writing(mode: &str) {
    WRITING.check(mode);
}
modes!(writing);

fn monorepo(mode: &str) {
    MONOREPO.check(mode);
}
modes!(monorepo);

fn folders(mode: &str) {
    FOLDERS.check(mode);
}
modes!(folders);

fn moved_lines(mode: &str) {
    MOVED_LINES.check(mode);
}
modes!(moved_lines);

#[test]
fn in_place_with_walls_work_that_leaves_the_git_folder_alone_lands() {
    for group in [&RENAMES, &CONTENTS, &NAMES, &FOLDERS, &MOVED_LINES] {
        group.check_in_place_with_walls();
    }
}
