//! Tests of how Pi is started.
