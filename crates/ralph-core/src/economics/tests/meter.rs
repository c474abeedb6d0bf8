//! Tests what a run comes to while it runs.

use super::*;
use crate::economics::{Meter, Metered};

#[test]
fn a_meter_comes_to_the_larger_of_what_is_told_and_what_the_calls_cost() {
    let mut meter = Meter::new(shipped());
    let opus = |output| call("claude-opus-4-8", Caller::Agent, tokens(0, output, 0, 0));
    // 10,000 tokens at $25 a million, and what the second answer grows by.
    assert_eq!(meter.add(&opus(10_000)), Metered::Priced);
    assert_eq!(meter.add(&opus(2_000)), Metered::Priced);
    assert_eq!(meter.spent(), usd(0.3));
    meter.tell(usd(0.25));
    assert_eq!(meter.spent(), usd(0.3));
    meter.tell(usd(0.75));
    assert_eq!(meter.spent(), usd(0.75));
}

#[test]
fn what_an_agent_says_of_a_call_goes_before_the_table() {
    let mut meter = Meter::new(shipped());
    let mut told = call("claude-opus-4-8", Caller::Subagent, tokens(0, 10_000, 0, 0));
    told.told = Some(usd(0.01));
    assert_eq!(meter.add(&told), Metered::Priced);
    assert_eq!(meter.spent(), usd(0.01));
}

#[test]
fn a_model_that_only_its_family_has_a_price_for_is_named_once_and_counts() {
    let mut meter = Meter::new(shipped());
    let newer = |output| call("claude-opus-7", Caller::Agent, tokens(0, output, 0, 0));
    assert_eq!(meter.add(&newer(10_000)), Metered::NewEstimated);
    assert_eq!(meter.add(&newer(10_000)), Metered::Priced);
    assert_eq!(meter.spent(), usd(0.5));
}

#[test]
fn a_model_without_a_price_is_told_once_and_costs_nothing() {
    let mut meter = Meter::new(shipped());
    let unknown = |output| call("unheard-of", Caller::Agent, tokens(0, output, 0, 0));
    assert_eq!(meter.add(&unknown(0)), Metered::Priced, "nothing is used");
    assert_eq!(meter.add(&unknown(5)), Metered::NewUnpriced);
    assert_eq!(meter.add(&unknown(5)), Metered::Unpriced);
    assert_eq!(meter.spent(), Dollars::NOTHING);
}
