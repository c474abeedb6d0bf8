//! The plugin in the real Claude Code.
