//! Tests of the stream.
