//! Tests of how a failure reads.
