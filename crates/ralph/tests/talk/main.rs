//! Commands that need a real terminal, `ralph agent talk` above all: tmux, a shell in it, and a person's keys.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod answering;
mod choosing;
mod claude;
mod claude_loop;
mod hand_over;
mod health;
mod interview;
mod keys;
mod panic;
mod pi;
mod pi_loop;
mod refusing;
mod screens;
mod support;
mod watch;
