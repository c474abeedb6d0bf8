//! The real Claude Code and the real Pi.
