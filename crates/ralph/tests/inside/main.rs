//! ralph inside the agents: the Pi package, the Claude Code plugin and the MCP server, with the real programs against
//! the scripted model.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod claude;
mod installing;
mod mcp;
mod pi;
