//! Tests of Pi's stream, with what the real program wrote.
