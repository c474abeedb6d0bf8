//! Tests of the scenario.
