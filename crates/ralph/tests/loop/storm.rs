//! Ralph killed at moments that nobody chose, again and again.
//!
//! `RALPH_STORM_ROUNDS` says how often, `RALPH_STORM_SEED` repeats a storm that failed.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    crash::assert_as_if_undisturbed,
    support::{Project, story, story_after},
};

/// A small generator of numbers, so that a seed gives the same storm everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Work that takes a moment, in steps: a kill finds it half done.
fn slow_attempt(id: &str) -> Value {
    json!({"do": [
        {"write": {"path": "half.txt", "text": "x\n"}},
        {"take": 0.01},
        {"run": "sleep 0.01; rm -f half.txt"},
        {"write": {"path": format!("{id}.txt"), "text": format!("{id}\n")}},
        {"take": 0.01},
        {"say": format!("Task {id} complete")},
    ]})
}

fn project(is_tracked: bool) -> Project {
    let script = json!({"tasks": {
        "A": [slow_attempt("A")],
        "B": [{"do": [{"run": "rm -f B.txt"}, {"write": {"path": "wrong.txt", "text": "x"}}, {"say": "Task B complete"}], "fix": [{"run": "rm -f wrong.txt"}, {"write": {"path": "B.txt", "text": "B\n"}}, {"say": "Task B complete"}]}],
        "C": [slow_attempt("C")],
    }});
    let stories = [story("A"), story("B"), story_after("C", &["B"])];
    let project = if is_tracked {
        Project::with_stories(&stories)
    } else {
        Project::with_untracked_stories(&stories)
    };
    project.script(&script)
}

/// One storm: killed after a random event and a random moment, until the loop comes to its end.
fn storm(seed: u64) {
    let mut dice = Dice(seed | 1);
    let project = project(dice.roll(2) == 0);
    for kill in 0.. {
        assert!(kill < 200, "seed {seed}: it never comes to an end");
        let mut live = project.start(&[]);
        let mut lines = dice.roll(30);
        while lines > 0 && live.next_line().is_some() {
            lines -= 1;
        }
        let spins = dice.roll(200_000);
        for _ in 0..spins {
            std::hint::spin_loop();
        }
        live.signal(Signal::KILL);
        let ran = live.wait();
        match ran.code() {
            -9 => project.assert_nothing_alive(),
            0 => break,
            code => panic!("seed {seed}: exit code {code}: {}", ran.all()),
        }
    }
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "seed {seed}: {}", ran.all());
    assert_as_if_undisturbed(&project, &format!("seed {seed}"));
}

#[test]
fn killed_at_random_moments_no_task_is_lost_and_none_lands_twice() {
    let rounds = number("RALPH_STORM_ROUNDS").unwrap_or(2);
    let seed = number("RALPH_STORM_SEED").unwrap_or_else(|| {
        use std::hash::{BuildHasher as _, Hasher as _};
        std::hash::RandomState::new().build_hasher().finish()
    });
    for round in 0..rounds {
        let seed = seed.wrapping_add(round);
        #[allow(clippy::print_stdout, reason = "a storm that fails must be repeatable")]
        {
            println!("storm {round} of {rounds}: RALPH_STORM_SEED={seed}");
        }
        storm(seed);
    }
}
