//! Tests of tokens, prices, budgets and forecasts. Figures are written down from the providers' lists.

mod budgets;
mod forecasts;

use super::*;
use crate::{agent::Usage, dollars::Dollars};

pub(super) fn usd(amount: f64) -> Dollars {
    Dollars::told(amount)
}

fn shipped() -> Prices {
    Prices::with(&PriceTable::new())
}

fn tokens(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Tokens {
    Tokens {
        input,
        output,
        cache_read,
        cache_write,
    }
}

fn call(model: &str, caller: Caller, tokens: Tokens) -> ModelCall {
    ModelCall {
        model: Some(model.into()),
        caller,
        tokens,
        told: None,
    }
}

/// Rows of the shipped table that name models.
const LISTED: usize = 71;

#[test]
fn the_shipped_table_can_be_read_and_is_dated() {
    let prices = shipped();
    assert_eq!(prices.as_of(), "2026-11-16");
    let rows = prices.rows();
    let of = |basis| rows.iter().filter(|row| row.basis == basis).count();
    assert_eq!(
        (of(PriceBasis::Listed), of(PriceBasis::Estimated)),
        (LISTED, 15)
    );
}

#[test]
fn each_kind_of_tokens_has_its_price() {
    let used = tokens(400, 200, 48_000, 12_000);
    let cost = shipped().cost(Some("claude-opus-4-8"), used).unwrap().cost;
    assert_eq!(
        (cost.input, cost.output, cost.cache_read, cost.cache_write),
        (usd(0.002), usd(0.005), usd(0.024), usd(0.075))
    );
    assert_eq!(cost.total(), usd(0.106));
}

#[test]
fn a_model_is_found_by_its_most_exact_name() {
    let prices = shipped();
    for (model, input) in [
        ("claude-opus-4-8", Some(5.0)),
        ("claude-opus-4-8[1m]", Some(5.0)),
        ("anthropic/claude-sonnet-4-5-20250929", Some(3.0)),
        ("Claude-Haiku-4-5", Some(1.0)),
        ("claude-opus-4-1-20250805", Some(15.0)),
        ("claude-opus-4-20250514", Some(15.0)),
        ("gpt-5", Some(1.25)),
        ("openai/gpt-5-mini", Some(0.25)),
        ("gemini-2.5-flash-lite", Some(0.1)),
        ("scripted-1", None),
        ("llama-4-opossum", None),
        ("", None),
    ] {
        let found = prices.of(model).map(|found| found.price.input.0);
        assert_eq!(found, input.map(usd), "{model}");
    }
    assert_eq!(prices.cost(None, tokens(1, 1, 1, 1)), None);
}

#[test]
fn the_default_models_of_claude_code_have_a_price_of_their_own() {
    // As its stream names them: with an API key, and with an account.
    for (model, input, output) in [
        ("claude-opus-4-8[1m]", 5.0, 25.0),
        ("claude-opus-4-8", 5.0, 25.0),
        ("claude-sonnet-5", 2.0, 10.0),
        ("claude-opus-5-5", 4.0, 20.0),
        ("sonnet", 2.0, 10.0),
        ("claude-haiku-4-5", 1.0, 5.0),
    ] {
        let FoundPrice { price, basis } = shipped().of(model).unwrap();
        assert_eq!(
            (price.input.0, price.output.0, basis),
            (usd(input), usd(output), PriceBasis::Listed),
            "{model}"
        );
    }
}

#[test]
fn a_model_that_is_not_listed_is_estimated_by_its_family() {
    for (model, input) in [
        ("claude-opus-7", 5.0),
        ("us.anthropic.claude-sonnet-9-20270101-v1:0", 3.0),
        ("openrouter/anthropic/claude-haiku-9", 1.0),
        ("gpt-5000", 5.0),
        ("gpt-7-mini", 0.75),
        ("google/gemini-9-flash-lite", 0.3),
    ] {
        let FoundPrice { price, basis } = shipped().of(model).unwrap();
        assert_eq!(
            (price.input.0, basis),
            (usd(input), PriceBasis::Estimated),
            "{model}"
        );
    }
    // A row of the user's is a price, however few letters it has.
    let own: PriceTable =
        serde_json::from_str(r#"{"claude-*": {"input": 2, "output": 4}}"#).unwrap();
    let found = Prices::with(&own).of("claude-opus-7").unwrap();
    assert_eq!(
        (found.price.input.0, found.basis),
        (usd(2.0), PriceBasis::Listed)
    );
}

#[test]
fn what_is_estimated_and_what_is_not_known_is_counted() {
    let calls = [
        call("claude-opus-4-8", Caller::Agent, tokens(100_000, 0, 0, 0)),
        call("claude-opus-7", Caller::Agent, tokens(10_000, 0, 0, 0)),
        call("scripted-1", Caller::Agent, tokens(7, 0, 0, 0)),
    ];
    let untold = Totals::sum(&account((1, "a"), &calls, None, &shipped()));
    assert_eq!((untold.spent, untold.estimated), (usd(0.55), usd(0.05)));
    assert_eq!(
        (untold.estimated_tokens, untold.unknown_tokens),
        (10_000, 7)
    );
    assert_eq!(untold.known_cost().to_string(), "~$0.55 + ?");
    // The agent knows what it cost: nothing of that is estimated.
    let told = Totals::sum(&account((1, "a"), &calls, Some(usd(0.5)), &shipped()));
    assert_eq!((told.spent, told.estimated), (usd(0.5), Dollars::NOTHING));
    assert_eq!((told.estimated_tokens, told.unknown_tokens), (10_000, 0));
    assert_eq!(told.known_cost().to_string(), "$0.50");
}

#[test]
fn a_row_of_the_user_goes_before_the_shipped_ones_and_a_cache_costs_as_input_does() {
    let own: PriceTable = serde_json::from_str(
        r#"{"claude-*": {"input": 2, "output": 4}, "gpt-5": {"input": 0, "output": 0}}"#,
    )
    .unwrap();
    let prices = Prices::with(&own);
    let used = tokens(1_000_000, 1_000_000, 500_000, 250_000);
    let cost = prices.cost(Some("claude-opus-4-8"), used).unwrap().cost;
    assert_eq!((cost.cache_read, cost.cache_write), (usd(1.0), usd(0.5)));
    assert_eq!(cost.total(), usd(7.5));
    let free = prices.cost(Some("gpt-5"), used).unwrap().cost;
    assert_eq!(free.total(), Dollars::NOTHING);
    let rows = prices.rows();
    let listed = rows.iter().filter(|row| row.basis == PriceBasis::Listed);
    assert_eq!(
        listed.count(),
        LISTED + 1,
        "the user's gpt-5 hides the shipped one"
    );
    assert!(rows[0].own && rows[0].model == "claude-*");
}

#[test]
fn a_star_stands_for_anything_anywhere() {
    let fits = |pattern: &str, model: &str| {
        let table = serde_json::json!({ pattern: {"input": 1, "output": 1} });
        Prices::with(&serde_json::from_value(table).unwrap())
            .of(model)
            .is_some()
    };
    assert!(fits("*", "anything"));
    assert!(fits("local/*", "local/llama"));
    assert!(fits("qwen*coder*", "qwen3-coder-30b"));
    assert!(fits("*-mini", "x-mini"));
    assert!(!fits("*-mini", "x-minister"));
    assert!(!fits("ab*ba", "aba"));
}

#[test]
fn what_a_stream_shows_only_as_a_sum_is_kept_as_the_rest() {
    let calls = vec![call("m", Caller::Agent, tokens(10, 1, 5, 0))];
    let calls = complete(calls, tokens(10, 20, 5, 0), Some("m"));
    assert_eq!(calls[1], call("m", Caller::Rest, tokens(0, 19, 0, 0)));
    assert_eq!(complete(calls.clone(), tokens(10, 20, 5, 0), None), calls);
}

#[test]
fn calls_beyond_the_cap_are_summed_by_model_and_caller() {
    let one = |i: usize| {
        let caller = if i.is_multiple_of(2) {
            Caller::Agent
        } else {
            Caller::Subagent
        };
        call("m", caller, tokens(1, 2, 0, 0))
    };
    let calls = complete((0..2_010).map(one).collect(), Tokens::default(), None);
    assert_eq!(calls.len(), 2_002);
    assert_eq!(calls[2_000].tokens, tokens(5, 10, 0, 0));
    assert_eq!(calls[2_001].caller, Caller::Subagent);
}

#[test]
fn calls_of_ever_new_models_are_bounded_too_and_no_token_is_lost() {
    let one = |i: usize| call(&format!("m{i}"), Caller::Agent, tokens(1, 2, 0, 0));
    let calls = complete((0..10_000).map(one).collect(), Tokens::default(), None);
    assert_eq!(calls.len(), 2_100);
    let sum = calls
        .iter()
        .fold(Tokens::default(), |s, c| s.plus(c.tokens));
    assert_eq!(sum, tokens(10_000, 20_000, 0, 0));
    assert_eq!(
        (calls[2_099].model.as_deref(), calls[2_099].caller),
        (None, Caller::Rest)
    );
}

#[test]
fn what_an_agent_says_of_its_run_is_shared_by_what_its_calls_cost() {
    let calls = [
        call("claude-opus-4-8", Caller::Agent, tokens(100_000, 0, 0, 0)),
        call(
            "claude-opus-4-8",
            Caller::Subagent,
            tokens(200_000, 0, 0, 0),
        ),
    ];
    let records = account((1, "claude"), &calls, Some(usd(1.0)), &shipped());
    assert_eq!(records[0].cost.unwrap().total(), usd(0.5));
    assert_eq!(records[0].told, Some(usd(0.333333)));
    assert_eq!(records[1].told, Some(usd(0.666667)));
    let totals = Totals::sum(&records);
    assert_eq!((totals.spent, totals.told), (usd(1.0), usd(1.0)));
    assert_eq!(totals.cost.total(), usd(1.5));
    assert!((totals.difference_usd() + 0.5).abs() < 1e-9);
}

#[test]
fn a_model_without_a_price_costs_what_its_agent_says_or_nothing_and_its_tokens_are_counted() {
    let calls = [call("scripted-1", Caller::Agent, tokens(10, 5, 0, 0))];
    let told = Totals::sum(&account((1, "a"), &calls, Some(usd(0.5)), &shipped()));
    assert_eq!((told.spent, told.unpriced_tokens), (usd(0.5), 15));
    let untold = Totals::sum(&account((1, "a"), &calls, None, &shipped()));
    assert_eq!(
        (untold.spent, untold.unpriced_tokens),
        (Dollars::NOTHING, 15)
    );
    let money = account((1, "a"), &[], Some(usd(0.5)), &shipped());
    assert_eq!(Totals::sum(&money).spent, usd(0.5), "money without tokens");
}

#[test]
fn nonsense_of_an_agent_stays_within_what_can_be_summed() {
    let mut odd = call("claude-opus-4-8", Caller::Agent, tokens(u64::MAX, 0, 0, 0));
    odd.told = Some(usd(f64::INFINITY));
    let records = account((1, "a"), &[odd], Some(usd(f64::INFINITY)), &shipped());
    assert_eq!(records[0].told, Some(usd(1_000_000.0)));
    assert_eq!(records[0].tokens.input, 1_000_000_000_000);
}

#[test]
fn efficiency_says_nothing_where_there_is_nothing_to_divide_by() {
    let mut totals = Totals {
        tokens: tokens(100, 50, 300, 0),
        ..Totals::default()
    };
    assert_eq!(totals.tokens_per_tool_call(), None);
    assert_eq!(Tokens::default().cache_hit_rate(), None);
    totals.tool_calls = 9;
    assert_eq!(totals.tokens_per_tool_call(), Some(50.0));
    assert_eq!(totals.tokens.cache_hit_rate(), Some(0.75));
}

#[test]
fn tokens_of_a_run_are_those_of_its_usage() {
    let usage = Usage {
        input_tokens: 1,
        output_tokens: 2,
        cache_read_tokens: 3,
        cache_write_tokens: 4,
        ..Usage::default()
    };
    assert_eq!(Tokens::from(usage), tokens(1, 2, 3, 4));
}

mod meter;

mod sums {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn any_call() -> impl Strategy<Value = ModelCall> {
        let model = prop::sample::select(vec![
            None,
            Some("claude-opus-4-8"),
            Some("gpt-5"),
            Some("unknown-1"),
        ]);
        let caller = prop::sample::select(Caller::ALL.to_vec());
        let count = || 0_u64..3_000_000;
        (
            model,
            caller,
            (count(), count(), count(), count()),
            any::<Option<u32>>(),
        )
            .prop_map(|(model, caller, (i, o, r, w), told)| ModelCall {
                model: model.map(str::to_owned),
                caller,
                tokens: tokens(i, o, r, w),
                told: told.map(|n| Dollars::from_millionths(u64::from(n))),
            })
    }

    proptest! {
        #[test]
        fn kinds_come_to_the_total_and_any_grouping_comes_to_the_same(
            calls in prop::collection::vec(any_call(), 0..30),
            told in any::<Option<u32>>(),
        ) {
            let told = told.map(|n| Dollars::from_millionths(u64::from(n)));
            let records = account((1, "a"), &calls, told, &shipped());
            let all = Totals::sum(&records);
            let kinds = all.cost.input.millionths()
                + all.cost.output.millionths()
                + all.cost.cache_read.millionths()
                + all.cost.cache_write.millionths();
            let by_record: u64 = records
                .iter()
                .filter_map(|r| r.cost)
                .map(|c| c.total().millionths())
                .sum();
            prop_assert_eq!(kinds, by_record);
            let mut groups: BTreeMap<(Option<&str>, Caller), Totals> = BTreeMap::new();
            for record in &records {
                let group = groups.entry((record.model.as_deref(), record.caller)).or_default();
                *group = group.plus(Totals::of(record));
            }
            let regrouped = groups.values().fold(Totals::default(), |sum, one| sum.plus(*one));
            prop_assert_eq!(regrouped, all);
        }

        #[test]
        fn what_is_told_of_a_run_is_what_its_calls_come_to(
            calls in prop::collection::vec(any_call(), 1..30),
            told in any::<u32>(),
        ) {
            let calls: Vec<ModelCall> = calls
                .into_iter()
                .map(|call| ModelCall { told: None, ..call })
                .collect();
            let told = Dollars::from_millionths(u64::from(told));
            let records = account((1, "a"), &calls, Some(told), &shipped());
            prop_assert_eq!(Totals::sum(&records).told, told);
        }
    }
}
