//! The plugin in the real Claude Code, at both pins.

mod hooks;
mod loops;
mod sessions;
mod skills;
mod support;
