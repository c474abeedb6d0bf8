//! Lines for a log, whole.

use ralph_core::event::{Event, WaitReason};

use super::{
    super::{Colours, PlainReporter, Verbosity},
    Closing, Shared, look, story,
    story::{Story, at},
    tell,
};

fn plain(story: &Story, verbosity: Verbosity, colours: Colours) -> String {
    let out = Shared::default();
    tell(
        &mut PlainReporter::new(out.clone(), look(verbosity, colours)),
        story,
    );
    out.text()
}

#[test]
fn a_loop_in_which_all_goes_well() {
    insta::assert_snapshot!(plain(&story::success(), Verbosity::Normal, Colours::Off), @r"
    ━━━ ralph run ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 2026-03-01 ━━━
    [10:00:00] tasks   PRD.json · 1/4 complete (3 remaining: 2 ready, 1 waiting)
               branch  ralph/users from main@0123456789
               agent   claude
               where   layers in /data/layers
               sandbox on, by namespaces
               limits  at most 50 iterations
    [10:00:00] ▸ baseline: 2 commands before any work
    [10:00:03] ✓ baseline: all verify commands pass before any work

    ━━━ Iteration 17: US-002 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 1 of 50 ━━━
    [10:00:04] ▸ Add the user model · attempt 1 of 3
    [10:00:05]     read  src/lib.rs
    [10:00:09]     edit  src/model.rs
    [10:01:01]   changed 2 files: src/model.rs (new), src/lib.rs
    [10:01:02]   ✓ cargo test                             1.4s
    [10:01:03] ✓ landed 3f2a91c0 feat: US-002 as asked
    [10:01:03] ✓ US-002 verified · 1m 38s · 12.3k tokens · $0.42

    ━━━ Done ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 2026-03-01 ━━━
    [10:15:33] ✓ all tasks are complete
                 4/4 complete (0 remaining)
                 4 iterations · 15m 33s · 1.2M tokens · $4.20
                 next:
                   git diff main...ralph/users   2 commits on ralph/users
                   ralph report                  everything about this feature
    ");
}

#[test]
fn an_eventful_loop_at_normal_verbosity() {
    insta::assert_snapshot!(plain(&story::eventful(), Verbosity::Normal, Colours::Off), @r"
    ━━━ ralph run, resumed ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 2026-03-01 ━━━
    [10:00:00] tasks   PRD.json · 1/4 complete (3 remaining: 2 ready, 1 waiting)
               branch  ralph/users from main@0123456789
               agent   claude
               where   layers in /data/layers
               sandbox on, by namespaces
               limits  at most 50 iterations
                       continues the interrupted loop
    [10:00:00] the branch ralph/users exists: it is continued
    [10:00:00] ! claude runs without a sandbox and may do anything you may
    [10:00:00] ▸ baseline: 2 commands before any work
    [10:00:02] ! already fails before any work: npm run lint

    ━━━ Iteration 17: US-002 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 1 of 50 ━━━
    [10:00:04] ▸ Add the user model · attempt 1 of 3
    [10:00:07]     read  src/lib.rs
    [10:00:09]     bash  cargo test --workspace --no-fail-fast
    [10:00:32]     the agent waits before it retries its model (retry 1): overloaded
    [10:01:00]   changed 2 files: src/model.rs (new), src/old.rs (deleted)
    [10:01:00]   ! a test was removed: tests/old.rs
    [10:01:12]   ✗ cargo test                              12s  regressed
    [10:01:13]   ▸ run 2: a new agent, to fix only what failed
    [10:01:30]   changed 5 files: a (new), b (new), c (new), d, 1 more
    [10:01:31]   ✗ cargo test                              12s  regressed
    [10:01:31]   ✗ npm run lint                           0.9s  was already broken
    [10:01:42] ✗ US-002: verification failed: cargo test · 1m 38s · 12.3k tokens · $0.42
                 │ running 2 tests
                 │
                 │ thread 'model' panicked at src/model.rs:9:5:
                 │ assertion failed
                 log .ralph/logs/17.jsonl

    ━━━ Iteration 18: US-002 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 2 of 50 ━━━
    [10:01:43] ▸ Add the user model · attempt 2 of 3
    [10:01:43]   ▸ run 1: a new agent, to fix only what failed
    [10:02:30]   changed 1 file: src/model.rs (new)
    [10:02:31]   ✓ cargo test                             1.0s
    [10:02:32] ✓ landed 3f2a91c0 feat: US-002 as asked
    [10:02:32] ✓ US-002 verified · 1m 38s · 12.3k tokens · $0.42

    ━━━ Iteration 19: US-003 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 3 of 50 ━━━
    [10:03:20] ▸ Show the users · attempt 1 of 3
    [10:03:40]   changed nothing
    [10:03:41] ✗ US-003: the agent claims to be done, but changed nothing · 1m 38s · 12.3k tokens · $0.42
                 log .ralph/logs/19.jsonl

    ━━━ Iteration 20: US-003 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 4 of 50 ━━━
    [10:03:42] ▸ Show the users · attempt 2 of 3
    [10:04:00]   changed 1 file: .github/workflows/ci.yml
    [10:04:00] ✗ US-003: refused: the change touches the protected path .github/workflows/ci.yml · 1m 38s · 12.3k tokens · $0.42
                 log .ralph/logs/20.jsonl

    ━━━ Iteration 21: US-005 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 5 of 50 ━━━
    [10:04:01] ▸ Write the guide · attempt 1 of 3
    [10:04:10]   changed 1 file: docs/guide.md (new)
    [10:04:11] ! landed aaaa91c0 feat: US-005 as asked
                 unverified: no verify command for it
    [10:04:11] ! US-005: complete, but unverified: there is no verify command · 1m 38s · 12.3k tokens · $0.42

    ━━━ Iteration 22: US-003 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 6 of 50 ━━━
    [10:05:00] ▸ Show the users · attempt 3 of 3
    [10:05:10]   changed 1 file: x
    [10:05:20]   ! would be refused: secret in x
    [10:05:20] ! US-003: the agent asks a person · 1m 38s · 12.3k tokens · $0.42
                 log .ralph/logs/22.jsonl

    ━━━ A person is needed · US-003 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ question 3 ━━━
    [10:05:20] ! deviation: Spec requires deprecated API endpoint
                 │ US-003 specifies /api/v1/users but the code uses /api/v2/users.
                 │ The v1 endpoint is deprecated.
                 1. Use v2 instead (update acceptance criteria)
                 2. Use v1 anyway (technical debt)
                 Which API version should I target?
    [10:05:30] ! US-006 is blocked: 3 of 3 attempts failed, the last one: verification failed: cargo test

    ━━━ Stopped ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 2026-03-01 ━━━
    [10:15:33] ! work is left, but no task is ready
                 3/6 complete (3 remaining: 1 waiting, 2 blocked), 1 unverified
                 4 iterations · 15m 33s · 1.2M tokens · $4.20
                 US-003 can't be started: it is set aside
                 US-004 can't be started: US-003 is open; US-009 does not exist
                 US-006 can't be started
                 hint: `ralph status` shows what blocks what; `ralph unblock --task ID` or `ralph retry --task ID` opens a task again
                 exit code 4: a person is needed
    ");
}

#[test]
fn quiet_says_what_needs_a_person_and_how_it_ended() {
    insta::assert_snapshot!(plain(&story::eventful(), Verbosity::Quiet, Colours::Off), @r"
    [10:00:00] ! claude runs without a sandbox and may do anything you may
    [10:00:02] ! already fails before any work: npm run lint

    ━━━ A person is needed · US-003 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ question 3 ━━━
    [10:05:20] ! deviation: Spec requires deprecated API endpoint
                 │ US-003 specifies /api/v1/users but the code uses /api/v2/users.
                 │ The v1 endpoint is deprecated.
                 1. Use v2 instead (update acceptance criteria)
                 2. Use v1 anyway (technical debt)
                 Which API version should I target?
    [10:05:30] ! US-006 is blocked: 3 of 3 attempts failed, the last one: verification failed: cargo test
    [10:15:33] ! work is left, but no task is ready · 3/6 complete (3 remaining: 1 waiting, 2 blocked), 1 unverified · 4 iterations · 15m 33s · 1.2M tokens · $4.20 · exit code 4
    ");
    insta::assert_snapshot!(plain(&story::success(), Verbosity::Quiet, Colours::Off), @r"
    [10:15:33] ✓ all tasks are complete · 4/4 complete (0 remaining) · 4 iterations · 15m 33s · 1.2M tokens · $4.20
    ");
}

#[test]
fn verbose_shows_what_the_agent_says_and_does() {
    let story = story::eventful()[..24].to_vec();
    insta::assert_snapshot!(plain(&story, Verbosity::Verbose, Colours::Off), @r"
    ━━━ ralph run, resumed ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 2026-03-01 ━━━
    [10:00:00] tasks   PRD.json · 1/4 complete (3 remaining: 2 ready, 1 waiting)
               branch  ralph/users from main@0123456789
               agent   claude
               where   layers in /data/layers
               sandbox on, by namespaces
               limits  at most 50 iterations
                       continues the interrupted loop
               loop    0198c0de-0000-7000-8000-000000000001
    [10:00:00] the branch ralph/users exists: it is continued
    [10:00:00] ! claude runs without a sandbox and may do anything you may
    [10:00:00] ▸ baseline: 2 commands before any work
    [10:00:02] ! already fails before any work: npm run lint

    ━━━ Iteration 17: US-002 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 1 of 50 ━━━
    [10:00:04] ▸ Add the user model · attempt 1 of 3
    [10:00:04]   ▸ run 1: a new agent
    [10:00:05]     agent started · model large-1 · version 2.1.0
    [10:00:06]     │ I read the model first.
                   │ Then I change it.
    [10:00:07]     read  src/lib.rs
    [10:00:09]     bash  cargo test --workspace --no-fail-fast
    [10:00:30]     failed: bash cargo test --workspace --no-fail-fast
    [10:00:32]     the agent waits before it retries its model (retry 1): overloaded
    [10:01:00]   changed 2 files
                   src/model.rs (new)
                   src/old.rs (deleted)
    [10:01:00]   ! a test was removed: tests/old.rs
    [10:01:00]   ▸ cargo test
    [10:01:12]   ✗ cargo test                              12s  regressed
    [10:01:13]   ▸ run 2: a new agent, to fix only what failed
    [10:01:30]   changed 5 files
                   a (new)
                   b (new)
                   c (new)
                   d
                   e (type changed)
    [10:01:31]   ✗ cargo test                              12s  regressed
    [10:01:31]   ✗ npm run lint                           0.9s  was already broken
    [10:01:42] ✗ US-002: verification failed: cargo test · 1m 38s · 12.3k tokens · $0.42
                 1.2k in · 2.5k out · 8.6k read from cache · 0 written to it · context 6.2k
                 │ running 2 tests
                 │
                 │ thread 'model' panicked at src/model.rs:9:5:
                 │ assertion failed
                 log .ralph/logs/17.jsonl
    ");
}

#[test]
fn very_verbose_shows_all_of_the_stream() {
    let story = story::eventful()[5..18].to_vec();
    insta::assert_snapshot!(plain(&story, Verbosity::VeryVerbose, Colours::Off), @r"

    ━━━ Iteration 17: US-002 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 1 of 50 ━━━
    [10:00:04] ▸ Add the user model · attempt 1 of 3
               iteration id 0198c0de-0000-7000-8000-0000000000a1
    [10:00:04]   ▸ run 1: a new agent
    [10:00:05]     agent started · model large-1 · version 2.1.0 · session s-77
    [10:00:06]     │ I read the model first.
                   │ Then I change it.
    [10:00:07]     read  src/lib.rs
    [10:00:07]     read  src/lib.rs
    [10:00:08]     done: read src/lib.rs
    [10:00:09]     bash  cargo test --workspace --no-fail-fast
    [10:00:30]     failed: bash cargo test --workspace --no-fail-fast
    [10:00:31]     500 in · 1.0k out · 3.5k read from cache · 0 written to it · context 2.5k
    [10:00:32]     the agent waits before it retries its model (retry 1): overloaded
    [10:01:00]   changed 2 files
                   src/model.rs (new)
                   src/old.rs (deleted)
    [10:01:00]   ! a test was removed: tests/old.rs
    [10:01:00]   ▸ cargo test
    ");
}

#[test]
fn a_usage_limit_is_said_in_the_readers_own_time() {
    insta::assert_snapshot!(plain(&story::limit(), Verbosity::Normal, Colours::Off), @r"

    ━━━ Iteration 17: US-002 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 1 of 50 ━━━
    [10:00:04] ▸ Add the user model · attempt 1 of 3
    [10:00:30]   ! usage limit reached (five_hour), resets Sun 15:30
    [10:00:31] ! US-002: usage limit reached, resets Sun 15:30 · 1m 38s · 12.3k tokens · $0.42
                 log .ralph/logs/17.jsonl

    ━━━ Stopped ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 2026-03-01 ━━━
    [10:00:31] ! the agent's usage limit is reached, it resets at 2026-03-01T14:30:00Z
                 that is Sun 15:30 here
                 1/4 complete (3 remaining: 2 ready, 1 waiting)
                 4 iterations · 15m 33s · 1.2M tokens · $4.20
                 hint: `ralph run` goes on after the reset; no attempt was charged
                 exit code 6: agent unavailable
    ");
}

#[test]
fn colours_are_there_if_asked_for() {
    let text = plain(&story::success(), Verbosity::Normal, Colours::On);
    insta::assert_snapshot!(text.replace('\x1b', "ESC"), @r"
    ESC[2m━━━ESC[0m ESC[1mralph runESC[0m ESC[2m━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ESC[0m ESC[2m2026-03-01ESC[0m ESC[2m━━━ESC[0m
    ESC[2m[10:00:00]ESC[0m tasks   PRD.json · 1/4 complete (3 remaining: 2 ready, 1 waiting)
               branch  ralph/users from main@0123456789
               agent   claude
               where   layers in /data/layers
               sandbox on, by namespaces
               limits  at most 50 iterations
    ESC[2m[10:00:00]ESC[0m ESC[36mESC[1m▸ESC[0m baseline: 2 commands before any work
    ESC[2m[10:00:03]ESC[0m ESC[32mESC[1m✓ESC[0m baseline: all verify commands pass before any work

    ESC[2m━━━ESC[0m ESC[1mIteration 17: US-002ESC[0m ESC[2m━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ESC[0m ESC[2m1 of 50ESC[0m ESC[2m━━━ESC[0m
    ESC[2m[10:00:04]ESC[0m ESC[36mESC[1m▸ESC[0m ESC[1mAdd the user modelESC[0m · attempt 1 of 3
    ESC[2m[10:00:05]ESC[0m     ESC[2mread  src/lib.rsESC[0m
    ESC[2m[10:00:09]ESC[0m     ESC[2medit  src/model.rsESC[0m
    ESC[2m[10:01:01]ESC[0m   changed 2 files: src/model.rs (new), src/lib.rs
    ESC[2m[10:01:02]ESC[0m   ESC[32mESC[1m✓ESC[0m cargo test                             1.4s
    ESC[2m[10:01:03]ESC[0m ESC[32mESC[1m✓ESC[0m landed ESC[36m3f2a91c0ESC[0m feat: US-002 as asked
    ESC[2m[10:01:03]ESC[0m ESC[32mESC[1m✓ESC[0m ESC[1mUS-002ESC[0m verified · ESC[2m1m 38s · 12.3k tokens · $0.42ESC[0m

    ESC[2m━━━ESC[0m ESC[1mDoneESC[0m ESC[2m━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ESC[0m ESC[2m2026-03-01ESC[0m ESC[2m━━━ESC[0m
    ESC[2m[10:15:33]ESC[0m ESC[32mESC[1m✓ESC[0m ESC[1mall tasks are completeESC[0m
                 4/4 complete (0 remaining)
                 4 iterations · 15m 33s · 1.2M tokens · $4.20
                 ESC[36mnext:ESC[0m
                   git diff main...ralph/users   2 commits on ralph/users
                   ralph report                  everything about this feature
    ");
}

#[test]
fn without_colours_no_escape_code_is_written() {
    for verbosity in [
        Verbosity::Quiet,
        Verbosity::Normal,
        Verbosity::Verbose,
        Verbosity::VeryVerbose,
    ] {
        let text = plain(&story::eventful(), verbosity, Colours::Off);
        assert!(!text.contains('\x1b'), "{verbosity:?}");
    }
}

#[test]
fn a_closed_pipe_ends_the_output_and_nothing_else() {
    let out = Shared::default();
    let refused = std::sync::Arc::default();
    let pipe = Closing {
        left: 1,
        out: out.clone(),
        refused: std::sync::Arc::clone(&refused),
    };
    let mut plain = PlainReporter::new(pipe, look(Verbosity::Normal, Colours::Off));
    tell(&mut plain, &story::success());
    assert!(out.text().starts_with("━━━ ralph run ━"));
    assert_eq!(out.text().lines().count(), 7);
    assert_eq!(*refused.lock().unwrap(), 1, "it is not tried again");
}

#[test]
fn a_log_says_that_it_waits_when_it_begins_and_again_from_time_to_time() {
    let waiting = |seconds: i64, nth| {
        let event = Event::Waiting {
            reason: WaitReason::UsageLimit,
            until: at(8000),
            seconds: 0.0,
            nth,
            detail: String::new(),
        };
        (at(seconds), event)
    };
    let overloaded = Event::Waiting {
        reason: WaitReason::Overload,
        until: at(8022),
        seconds: 20.0,
        nth: 1,
        detail: "try 1 of 6: 529 Overloaded".into(),
    };
    let story = vec![waiting(0, 1), waiting(1800, 2), (at(8002), overloaded)];
    insta::assert_snapshot!(plain(&story, Verbosity::Normal, Colours::Off), @r"
    [10:00:00] ! usage limit, continues at 12:13 (in 2h 13m)
    [10:30:00] ! usage limit, continues at 12:13 (in 1h 43m)
    [12:13:22] ! the API is overloaded, retrying in 20s: try 1 of 6: 529 Overloaded
    ");
    assert_eq!(plain(&story, Verbosity::Quiet, Colours::Off), "");
}
