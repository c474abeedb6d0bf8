//! `ralph mcp`, asked by clients of both eras of the protocol.
