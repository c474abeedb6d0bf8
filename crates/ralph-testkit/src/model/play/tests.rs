//! Tests of the play.
