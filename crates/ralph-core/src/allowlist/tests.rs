//! Lines that are allowed and refused, with the program or the reason that is named.

use proptest::prelude::*;

use super::*;

fn list() -> Allowlist {
    let entries = [
        "cargo",
        "cat",
        "find",
        "git status",
        "git commit",
        "grep",
        "jq",
        "npm run",
        "rm",
        "sed",
        "tools/check",
        "./run.sh",
        "sudo",
    ];
    Allowlist::new(&entries.map(str::to_owned)).unwrap()
}

#[test]
fn lines_with_listed_programs_are_allowed() {
    let lines = [
        "cargo test",
        "cargo",
        "  cargo test  # with a note; touch x",
        "cargo test && cargo build || cat log",
        "cargo test; cat a; grep b c",
        "cargo test &",
        "cat a | grep b |& cat",
        "cargo test 2>&1 | grep -v warn > out.txt 2>/dev/null",
        "cargo test &> all.log",
        "> empty.txt",
        "2>/dev/null cat a",
        "A=1 B=\"two $C\" cargo test",
        "X=$(cat a); echo $X",
        "a=(one two); echo \"${a[@]}\"",
        "(cd web && cargo test)",
        "{ cargo test; cat a; } > log 2>&1",
        "if cat a; then cargo test; elif grep b c; then :; else false; fi",
        "while read -r line; do echo \"$line\"; done < a.txt",
        "while IFS= read -r line; do cat \"$line\"; done",
        "until cat a; do cargo test; done",
        "for f in *.rs \"$(cat list)\"; do cat \"$f\"; done",
        "for f; do cat \"$f\"; done",
        "case \"$x\" in a|b) cargo test ;; (*) cat a;; esac",
        "case x in\n a) cat b\nesac",
        "! grep -q a b",
        "time cargo test",
        "time -p cat a",
        "check() { cargo test; }; check",
        "function check { cargo test; }\ncheck now",
        "[ -f a ] && [[ -n $x ]] && test -d b",
        "export A=1; set -eu; cd x; pwd; umask 022; wait",
        "echo $((1 + $n * (2 - x)))",
        "echo ${x:-$(cat a)} ${y%.rs} ${#z}",
        "cat <<EOF\ntouch x; $HOME\nEOF",
        "cat <<'EOF' > a.sh\n$(touch x) `touch y`\nEOF\ncargo test",
        "cat <<-E\n\tbody\n\tE\ncat b",
        "git commit -m \"$(cat <<'EOF'\nA subject with 'quotes' and $(touch x)\nEOF\n)\"",
        "grep x <<< \"$y\"",
        "grep -f <(cat a) b",
        "env cargo test",
        "env -i -- A=1 cargo test",
        "env -u HOME A=b cargo test",
        "nice -n 5 cargo test",
        "nice -10 cargo test",
        "timeout 60 cargo test",
        "timeout -k 5 --signal=KILL 1m cargo test",
        "nohup cargo test &",
        "stdbuf -oL cargo test",
        "command cargo test",
        "command -v touch",
        "exec cargo test",
        "exec 3>&1",
        "cat list | xargs cargo test",
        "cat list | xargs -0 -n1 -P4 rm",
        "cat list | xargs -I{} cat {} x",
        "sh -c 'cargo test'",
        "bash -lc 'cargo test && cat a'",
        "bash -euo pipefail -c \"cargo test\"",
        "/usr/bin/env bash -c 'cat a'",
        "eval 'cargo test'",
        "trap 'rm -f tmp' EXIT; trap - INT; trap '' TERM",
        "find . -name '*.rs'",
        "find \"$d\" -name x -exec cat {} \\; -exec grep -q y {} +",
        "git status",
        "git status --short",
        "npm run build",
        "/usr/bin/cat a",
        "tools/check --all",
        "./run.sh",
        "sudo -u me cargo test",
        "'car'go test",
        "\\cat a",
        "cargo \\\n  test",
        "cat a\ncat b\n\n# note\ncat c",
        "echo 'a `b` $(c)'",
        "printf '%s\\n' \"a;b|c&d\" > x",
        "cat \"a b\"/*.txt ~/x {a,b}",
        "",
        "# nothing",
    ];
    let refused = lines.map(|line| (line, list().check_line(line)));
    let refused: Vec<_> = refused.iter().filter(|(_, found)| found.is_err()).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn a_program_that_is_not_listed_is_named_wherever_it_stands() {
    let table = [
        ("touch x", "touch"),
        ("cargo test; touch x", "touch"),
        ("cargo test && touch x", "touch"),
        ("cargo test || touch x", "touch"),
        ("cat a | touch x", "touch"),
        ("cat a & touch x", "touch"),
        ("cat a\ntouch x", "touch"),
        ("(touch x)", "touch"),
        ("{ touch x; }", "touch"),
        ("if touch x; then :; fi", "touch"),
        ("if :; then :; else touch x; fi", "touch"),
        ("while :; do touch x; done", "touch"),
        ("for a in b; do touch x; done", "touch"),
        ("case a in a) touch x;; esac", "touch"),
        ("case a in b) :;; a) touch x; esac", "touch"),
        ("! touch x", "touch"),
        ("time touch x", "touch"),
        ("echo $(touch x)", "touch"),
        ("echo \"a $(touch x) b\"", "touch"),
        ("echo `touch x`", "touch"),
        ("echo \"`touch x`\"", "touch"),
        ("echo `echo \\`touch x\\``", "touch"),
        ("echo ${a:-$(touch x)}", "touch"),
        ("A=$(touch x) cargo test", "touch"),
        ("A=1 touch x", "touch"),
        ("a=(b $(touch x))", "touch"),
        ("cat <(touch x)", "touch"),
        ("cat > $(touch x)", "touch"),
        ("cat <<EOF\n$(touch x)\nEOF", "touch"),
        ("cat <<EOF\n`touch x`\nEOF", "touch"),
        ("cat <<'EOF'\nbody\nEOF\ntouch x", "touch"),
        ("cat <<A; touch x\nbody\nA", "touch"),
        ("f() { touch x; }; f", "touch"),
        ("touch x; touch() { :; }", "touch"),
        ("(touch() { :; }); touch x", "touch"),
        ("false && touch() { :; }; touch x", "touch"),
        ("touch() { :; } | cat; touch x", "touch"),
        ("touch() { :; }; command touch x", "touch"),
        ("> f touch x", "touch"),
        ("2>&1 touch x", "touch"),
        ("to\"uc\"h x", "touch"),
        ("t\\ouch x", "touch"),
        ("env touch x", "touch"),
        ("env -i A=B touch x", "touch"),
        ("cat a | xargs touch", "touch"),
        ("cat a | xargs -n 1 touch", "touch"),
        ("cat a | xargs -I{} touch {}", "touch"),
        ("sh -c 'touch x'", "touch"),
        ("bash -lc \"touch x\"", "touch"),
        ("/bin/sh -ec 'cargo test; touch x'", "touch"),
        ("bash -o pipefail -c 'touch x'", "touch"),
        ("sh -c 'sh -c \"touch x\"'", "touch"),
        ("nice -n 5 touch x", "touch"),
        ("timeout 5 touch x", "touch"),
        ("nohup touch x &", "touch"),
        ("setsid -w touch x", "touch"),
        ("stdbuf -o L touch x", "touch"),
        ("command touch x", "touch"),
        ("builtin touch x", "touch"),
        ("exec touch x", "touch"),
        ("exec -a cargo touch x", "touch"),
        ("eval touch x", "touch"),
        ("eval 'cargo; touch' x", "touch"),
        ("trap 'touch x' EXIT", "touch"),
        ("find . -exec touch {} \\;", "touch"),
        ("find . -name a -execdir sh -c 'touch x' \\;", "touch"),
        ("sudo touch x", "touch"),
        ("doas cargo test", "doas"),
        ("busybox touch x", "touch"),
        ("bash script.sh", "bash"),
        ("cat a | sh", "sh"),
        ("/usr/bin/touch x", "/usr/bin/touch"),
        ("/tmp/cargo test", "/tmp/cargo"),
        ("./cargo test", "./cargo"),
        ("/bin/../tmp/cargo", "/bin/../tmp/cargo"),
        ("check", "check"),
        ("git push", "git push"),
        ("git", "git"),
        ("git -c alias.x='!touch x' status", "git -c"),
        ("git $X", "git $X"),
        ("npm install", "npm install"),
        ("cat a | xargs git", "git"),
        (". ./env.sh", "."),
        ("source env.sh", "source"),
        ("alias cargo=touch", "alias"),
        ("[[ -n a || touch ]]", "touch"),
        ("echo a #b\ntouch x", "touch"),
        ("echo a#b; touch x", "touch"),
    ];
    for (line, named) in table {
        let found = list().check_line(line);
        let program = match &found {
            Err(CommandRefusal::NotListed { program, .. }) => program.as_str(),
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(program, named, "{line}");
    }
}

#[test]
fn a_line_that_is_not_understood_is_refused() {
    let lines = [
        "$X",
        "$X test",
        "\"$X\" test",
        "`cat a` x",
        "$(cat a)",
        "{touch,x}",
        "tou?h x",
        "~/bin/tool",
        "$'touch' x",
        "=touch x",
        "env $X cargo test",
        "env -S 'touch x'",
        "timeout $N cargo test",
        "cat a | xargs env",
        "cat a | xargs sh -c",
        "cat a | xargs -I{} {}",
        "cat a | xargs -I% sh -c 'cat %'",
        "cat a | xargs -I cargo cargo",
        "find . -exec {} \\;",
        "find . -exec sh -c 'cat {}' \\;",
        "find . $X",
        "find . -exec touch {}",
        "cat a | xargs find .",
        "sh -c \"$X\"",
        "bash -login -c 'cat a'",
        "unset PATH; cat a",
        "find . -exec cat + {}",
        "bash --rcfile x -c 'cat a'",
        "eval \"$X\"",
        "eval $(cat a)",
        "trap \"$X\" EXIT",
        "((x=1))",
        "echo $((a[1]))",
        "echo $((cat a) | cat)",
        "echo $[1+1]",
        "echo ${x@P}",
        "echo ${ touch x; }",
        "echo ${x:-'}'; touch y'}",
        "echo $'a\\'; touch x; echo '",
        "coproc cat a",
        "cat a &> b touch x",
        "echo { a } always { touch x }",
        "ls *(e:'touch x':)",
        "echo 'open",
        "echo \"open",
        "echo `open",
        "echo $(cat a",
        "(cat a",
        "if cat a; then",
        "cat a; }",
        "cat a)",
        "cat a ;; cat b",
        "| cat",
        "cat a |",
        "cat a &&",
        "cat <<EOF\nno end",
        "cat <<EOF\na\\\nEOF\ntouch x\nEOF",
        "cat <<$X\nEOF",
        "cat <<EOF \"a\nb\"\nEOF",
        "echo \\",
        "PATH=. cargo test",
        "export PATH=/tmp:$PATH",
        "LD_PRELOAD=./x.so cargo test",
        "env PATH=. cargo test",
        "read PATH < a; cargo test",
        "for PATH in .; do cargo test; done",
        "BASH_ENV=x bash -c 'cat a'",
        "exec() { :; }; exec touch x",
        "touch() { :; }; unset -f touch; touch x",
        "x='a[$(touch y)]'; echo $((x))",
        "[ -v 'a[$(touch x)]' ]",
        "cat \0",
    ];
    for line in lines {
        let found = list().check_line(line);
        let is_refused = matches!(found, Err(CommandRefusal::NotUnderstood { .. }));
        assert!(is_refused, "{line}: {found:?}");
    }
}

#[test]
fn a_command_of_words_is_checked_without_a_shell() {
    let argv =
        |words: &[&str]| VerifyCommand::Argv(words.iter().map(|w| (*w).to_owned()).collect());
    for words in [
        &["cargo", "test", "$(touch x)"][..],
        &["sh", "-c", "cat a"],
        &["git", "status"],
    ] {
        assert_eq!(list().check_command(&argv(words)), Ok(()), "{words:?}");
    }
    for words in [
        &["touch", "cargo"][..],
        &["sh", "-c", "touch x"],
        &["git", "push"],
        &["cat a"],
        &[],
    ] {
        assert!(list().check_command(&argv(words)).is_err(), "{words:?}");
    }
}

#[test]
fn an_empty_list_is_none_and_a_blank_entry_allows_nothing() {
    assert_eq!(Allowlist::new(&[]), None);
    let blank = Allowlist::new(&[" ".to_owned()]).unwrap();
    assert!(blank.check_line("touch x").is_err());
}

#[test]
fn the_reason_names_the_program_and_the_list() {
    let list = Allowlist::new(&["cargo".to_owned(), "git status".to_owned()]).unwrap();
    assert_eq!(
        list.check_line("cat a").unwrap_err().to_string(),
        "`cat` is not in `safety.allowed_commands` (cargo, git status)"
    );
    assert_eq!(
        list.check_line("$X").unwrap_err().to_string(),
        "it can't be told which programs the command starts: the program `$X` is known only when it runs; write \
         it in a simpler way, with programs of `safety.allowed_commands` (cargo, git status)"
    );
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    for (open, close) in [
        ("(", ")"),
        ("$(", ")"),
        ("{ ", ";}"),
        ("${x:-", "}"),
        ("! ", ""),
        ("a=(", ")"),
    ] {
        let line = format!("{}cat{}", open.repeat(20_000), close.repeat(20_000));
        assert!(list().check_line(&line).is_err(), "{open}");
    }
    let mut line = "cat a".to_owned();
    for _ in 0..12 {
        line = format!("sh -c '{}'", line.replace('\'', "'\\''"));
        if line.len() > 100_000 {
            break;
        }
    }
    let _ = list().check_line(&line);
}

proptest! {
    #[test]
    fn no_line_makes_it_panic(line in any::<String>()) {
        let _ = list().check_line(&line);
    }

    #[test]
    fn no_mix_of_shell_pieces_makes_it_panic(
        pieces in proptest::collection::vec(prop::sample::select(&PIECES[..]), 0..24)
    ) {
        let _ = list().check_line(&pieces.concat());
    }

    /// Whatever is put before or around it, a program behind a line break that is read as one is seen.
    #[test]
    fn a_program_behind_whole_commands_is_always_seen(
        before in proptest::collection::vec(prop::sample::select(&WHOLE[..]), 0..6)
    ) {
        let line = format!("{}\ntouch x", before.join("\n"));
        prop_assert!(list().check_line(&line).is_err());
    }
}

const PIECES: [&str; 44] = [
    "cat", "touch", " ", "\n", ";", "&", "|", "(", ")", "{", "}", "'", "\"", "`", "$", "$(", "${",
    "$((", "))", "<", ">", "<<E", "E", "\\", "#", "=", "if ", "then ", "fi", "for ", "in ", "do ",
    "done", "case ", "esac", ";;", "sh -c ", "env ", "xargs ", "find ", "-exec ", "é", "x",
    "eval ",
];

const WHOLE: [&str; 8] = [
    "cat a | grep b",
    "cat <<E\nbody\nE",
    "cat <<'E'\n$(\nE",
    "if cat a; then cat b; fi",
    "case a in b) cat c;; esac",
    "f() { cat a; }",
    "echo 'a\nb' \"c\nd\" # note '",
    "for f in a; do cat $f; done",
];
