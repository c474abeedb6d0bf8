//! Recorded streams of the real agents, explained: what each came to was read in the capture and the
//! facts about the agent, by hand.

use ralph_testkit::{TestRepo, captures};
use serde_json::{Value, json};

use crate::support::ralph;

/// What each capture of Claude Code came to. `exit` is how the shell tells it; `read` and `written`
/// are of the cache; `turns` are those of all its results; `last` and `peak` are the context in use.
const CLAUDE: &str = "
capture                      exit  outcome      in    out    read    written  cost      turns  last   peak    denied           resets
bash_timeout                 0     completed    20    40     0       0        0.0011    2      10     10      -                -
bg_long                      0     completed    20    40     0       0        0.0011    2      10     10      -                -
bg_short                     0     completed    30    60     0       0        0.00165   3      10     10      -                -
bg_state                     0     completed    30    60     0       0        0.00165   3      10     10      -                -
ctl_interrupt                0     completed    20    40     0       0        0.0011    4      10     10      -                -
ctl_interrupt_api            0     interrupted  0     0      0       0        0.0       2      -      -       -                -
ctl_queries                  0     completed    200   600    100000  2000     0.0785    2      51100  51100   -                -
ctx_reactive                 0     completed    2200  770    588000  0        0.19455   13     32100  195100  -                -
demo_T1_1                    0     completed    800   240    30000   1800     0.02175   2      16300  16300   -                -
demo_T1_2                    0     completed    800   240    30000   1800     0.02175   2      16300  16300   -                -
demo_T2_1                    0     completed    1200  360    45000   2700     0.032625  3      16300  16300   -                -
f_401                        143   auth         0     0      0       0        -         -      -      -       -                -
f_429_forever                1     overloaded   0     0      0       0        0.0       1      -      -       -                -
f_429_then_ok                0     completed    20    40     0       0        0.0011    2      10     10      -                -
f_500_second_turn            1     overloaded   10    20     0       0        0.00055   2      10     10      -                -
f_529_fallback_model         1     overloaded   0     0      0       0        0.0       1      -      -       -                -
f_529_forever                1     overloaded   0     0      0       0        0.0       1      -      -       -                -
f_credit                     1     api_error    0     0      0       0        0.0       1      -      -       -                -
f_prompt_too_long            1     api_error    0     0      0       0        0.0       1      -      -       -                -
f_refused                    1     overloaded   0     0      0       0        0.0       1      -      -       -                -
f_sse_overloaded             0     completed    20    40     0       0        0.0011    2      10     10      -                -
f_stall_mid                  0     completed    20    40     0       0        0.0011    2      10     10      -                -
f_trunc_3                    0     completed    20    40     0       0        0.0011    2      10     10      -                -
f_trunc_forever              1     overloaded   0     0      0       0        0.0       1      -      -       -                -
first                        0     completed    300   150    36000   9000     0.0795    3      15100  15100   -                -
hook_batch_halt              0     interrupted  10    20     0       0        0.00055   2      10     10      -                -
hook_pre_deny                0     completed    20    40     0       0        0.0011    3      10     10      Bash             -
hook_stop2                   0     completed    400   40     0       0        0.003     4      100    100     -                -
json_schema_invalid_then_ok  0     completed    20    40     0       0        0.0011    3      10     10      -                -
json_schema_ok               0     completed    20    40     0       0        0.0011    3      10     10      -                -
long_bash                    0     completed    20    40     0       0        0.0011    2      10     10      -                -
max_budget                   1     budget       4000  4000   0       0        0.12      4      1000   1000    -                -
max_turns_3                  1     max_turns    3000  3000   0       0        0.09      4      1000   1000    -                -
max_turns_parallel           0     completed    20    40     0       0        0.0011    4      10     10      -                -
no_auth                      1     auth         0     0      0       0        0.0       1      -      -       -                -
nudge_during_final_text      0     completed    20    40     0       0        0.0011    2      10     10      -                -
nudge_during_tool            0     completed    30    60     0       0        0.00165   3      10     10      -                -
nudge_priority_now           0     completed    30    60     0       0        0.00165   4      10     10      -                -
oauth_429_rejected           1     usage_limit  0     0      0       0        0.0       1      -      -       -                2026-11-15T09:07:20Z
oauth_429_weekly             1     usage_limit  0     0      0       0        0.0       1      -      -       -                2026-11-15T09:07:42Z
oauth_allowed                0     completed    20    40     0       0        0.00066   2      10     10      -                -
oauth_warning                0     completed    20    40     0       0        0.00066   2      10     10      -                -
perm_default                 0     completed    20    40     0       0        0.0011    5      10     10      Write,Bash,Bash  -
perm_dontAsk                 0     completed    20    40     0       0        0.0011    5      10     10      Write,Bash,Bash  -
permission_prompt_stdio      0     completed    40    80     0       0        0.0022    4      10     10      Bash             -
session_state                0     completed    20    40     0       0        0.0011    2      10     10      -                -
sig_SIGINT_api               0     no_result    0     0      0       0        -         -      -      -       -                -
sig_SIGINT_tool              1     interrupted  10    20     0       0        0.00055   3      10     10      -                -
sig_SIGTERM_tool             143   interrupted  10    1      0       0        -         -      10     10      -                -
stop_empty                   0     completed    20    40     0       0        0.00066   2      -      -       -                -
stop_max_tokens              0     completed    110   32020  0       0        0.48063   1      10     100     -                -
stop_refusal                 1     refused      10    20     0       0        0.00033   1      -      -       -                -
stream_json_partial          0     completed    400   200    48000   12000    0.106     6      15100  15100   -                -
subagent                     0     completed    3015  37     500000  0        0.1596    2      2000   2000    -                -
tool_unknown                 0     completed    20    40     0       0        0.0011    3      10     10      -                -
two_turns                    0     completed    20    40     0       0        0.0011    2      10     10      -                -
";

/// What each capture of Pi came to: as above, without what Pi does not say by itself. Those of `rpc`
/// are notes of both directions; what Pi wrote is read.
const PI: &str = "
capture                    outcome      in    out  read  written  cost
pi-err-400-json.jsonl      api_error    0     0    0     0        0
pi-err-401-json.jsonl      auth         0     0    0     0        0
pi-err-429-json.jsonl      overloaded   0     0    0     0        0
pi-err-429then-ok-json.jsonl  completed 100   20   0     0        0.0006
pi-err-drop-json.jsonl     completed    200   21   0     0        0.000915
pi-json-conn-error.stdout  overloaded   0     0    0     0        0
pi-json.stdout             completed    1500  160  4800  500      0.010215
pi-rpc-abort-stream.jsonl  interrupted  500   1    0     0        0.001515
pi-rpc-abort.jsonl         completed    400   80   0     0        0.0024
pi-rpc-steer.jsonl         completed    400   80   0     0        0.0024
";

/// A row of the table, in the words of the JSON form.
fn expected(row: &[&str]) -> Value {
    let number = |text: &str| match text {
        "-" => Value::Null,
        text => serde_json::from_str(text).unwrap(),
    };
    let denied = match row[11] {
        "-" => Vec::new(),
        tools => tools.split(',').collect(),
    };
    let resets = match row[12] {
        "-" => None,
        time => Some(time),
    };
    let used = row[3..7].iter().map(|text| number(text));
    json!({
        "outcome": row[2], "used": used.collect::<Vec<_>>(), "cost": number(row[7]),
        "turns": number(row[8]), "last": number(row[9]), "peak": number(row[10]),
        "denied": denied, "resets": resets,
    })
}

/// The same of what the program printed.
fn found(explained: &Value) -> Value {
    let usage = &explained["usage"];
    let context = explained["context"]["turns"].as_array().unwrap();
    let denied = explained["denied"].as_array().unwrap().iter();
    // Money is a sum of fractions: the last digits differ.
    let cost = usage["costUsd"]
        .as_f64()
        .map(|cost| (cost * 1e9).round() / 1e9);
    json!({
        "outcome": explained["outcome"],
        "used": [usage["inputTokens"], usage["outputTokens"], usage["cacheReadTokens"], usage["cacheWriteTokens"]],
        "cost": cost, "turns": explained["turns"],
        "last": context.last(), "peak": context.iter().max_by_key(|used| used.as_u64()),
        "denied": denied.map(|tool| tool.as_str().unwrap().split(' ').next()).collect::<Vec<_>>(),
        "resets": explained["resetsAt"],
    })
}

fn check(agent: &str, ending: &str, table: &str) {
    let repo = TestRepo::bare_folder();
    let mut wrong = Vec::new();
    for line in table.trim().lines().skip(1) {
        let row: Vec<&str> = line.split_whitespace().collect();
        let file = captures::path(&format!("{agent}/{}{ending}", row[0]));
        let args = [
            "agent",
            "explain",
            "--agent",
            agent,
            "--json",
            "--exit-code",
            row[1],
        ];
        let args: Vec<&str> = args.into_iter().chain([file.to_str().unwrap()]).collect();
        let (is, should) = (found(&ralph(&repo, &args).json(0)), expected(&row));
        if is != should {
            wrong.push(format!("{}:\n  is     {is}\n  should {should}", row[0]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_capture_of_claude_code_is_what_it_was() {
    check("claude", ".jsonl", CLAUDE);
}

#[test]
fn every_capture_of_pi_is_what_it_was() {
    let repo = TestRepo::bare_folder();
    let mut wrong = Vec::new();
    for line in PI.trim().lines().skip(1) {
        let row: Vec<&str> = line.split_whitespace().collect();
        let lines = captures::agent_lines(&format!("pi/{}", row[0]));
        repo.file("run.jsonl", lines.join("\n") + "\n");
        let args = ["agent", "explain", "--agent", "pi", "--json", "run.jsonl"];
        let is = found(&ralph(&repo, &args).json(0));
        let numbers: Vec<f64> = row[2..7].iter().map(|text| text.parse().unwrap()).collect();
        let used = is["used"].as_array().unwrap().iter();
        let mut figures: Vec<f64> = used.map(|figure| figure.as_f64().unwrap()).collect();
        figures.push(is["cost"].as_f64().unwrap_or(0.0));
        if is["outcome"] != row[1] || figures != numbers {
            wrong.push(format!("{line}\n  is {is}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// File, agent, exit code, outcome, then tokens: in without what was cached, out, read from cache.
const OTHERS: [(&str, &str, &str, &str, [u64; 3]); 5] = [
    ("codex-json", "codex", "0", "completed", [1400, 100, 2300]),
    ("codex-err-401", "codex", "1", "auth", [0, 0, 0]),
    ("codex-err-429", "codex", "1", "overloaded", [0, 0, 0]),
    (
        "opencode-json",
        "opencode",
        "0",
        "completed",
        [1400, 100, 2300],
    ),
    ("gemini-json", "gemini", "0", "completed", [1400, 100, 2300]),
];

#[test]
fn every_capture_of_the_other_agents_is_what_it_was() {
    let repo = TestRepo::bare_folder();
    for (name, agent, code, outcome, tokens) in OTHERS {
        let file = captures::path(&format!("pi/{name}.out"));
        let file = file.to_str().unwrap();
        let args = ["agent", "explain", "--agent", agent, "--json"];
        let args = [&args[..], &["--exit-code", code, file]].concat();
        let told = ralph(&repo, &args).json(0);
        assert_eq!(told["outcome"], outcome, "{name}");
        let usage = &told["usage"];
        let used = ["inputTokens", "outputTokens", "cacheReadTokens"].map(|key| usage[key].clone());
        assert_eq!(used, tokens.map(Value::from), "{name}");
        if outcome == "completed" {
            let said = "All done. <promise>DONE</promise>";
            assert_eq!(told["finalMessage"], said, "{name}");
        }
    }
}
