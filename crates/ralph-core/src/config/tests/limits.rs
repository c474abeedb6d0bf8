//! The section `limits`: what it takes, and what it refuses.

use insta::assert_snapshot;

use super::{mistakes, project};
use crate::{
    config::{AgentChoice, Config, OnUsageLimit},
    economics::{Budget, BudgetPolicy, Prices},
};

#[test]
fn a_usage_limit_is_waited_for_six_hours_unless_said_otherwise() {
    let limits = Config::default().limits;
    assert_eq!(limits.on_usage_limit, OnUsageLimit::Wait);
    assert_eq!(limits.max_wait_minutes.duration().as_secs(), 6 * 3600);
    assert_eq!(limits.unknown_wait_minutes.duration().as_secs(), 30 * 60);
    assert_eq!(
        (limits.overload_retries, limits.overload_wait_seconds),
        (6, 10)
    );
}

#[test]
fn a_fallback_without_an_agent_to_go_on_with_is_refused_where_it_is_asked_for() {
    assert_snapshot!(mistakes("limits:\n  on_usage_limit: fallback\n"), @"ralph.yaml:2:1: `limits.on_usage_limit`: there is no agent to go on with: set `limits.fallback_agent` or `limits.fallback_model`");
    assert_snapshot!(mistakes("limits:\n  on_usage_limit: wiat\n"), @"ralph.yaml:2:19: `limits.on_usage_limit`: expected one of `wait`, `stop`, `fallback`, found the text `wiat`; did you mean `wait`?");
    assert_snapshot!(mistakes("limits:\n  fallback_agent: 5\n"), @"ralph.yaml:2:19: `limits.fallback_agent`: expected a text that is not empty or a map with `name` or nothing, found 5; put it in quotes");
    assert_snapshot!(mistakes("limits:\n  fallback_agent: {name: x, dialect: pi}\n"), @"ralph.yaml:2:19: `limits.fallback_agent`: the key `command` is missing");
}

#[test]
fn the_fallback_is_a_word_a_map_or_nothing() {
    let fallback = |value: &str| {
        let text = format!("limits:\n  fallback_agent: {value}\n");
        project(&text).unwrap().config.limits.fallback_agent
    };
    assert_eq!(fallback("pi"), Some(AgentChoice::Named("pi".into())));
    assert_eq!(fallback("null"), None);
    let custom = fallback("{name: mine, command: [mine], dialect: text}");
    assert_eq!(custom.unwrap().to_string(), "mine");
}

#[test]
fn another_model_goes_to_the_agent_that_takes_one() {
    let config = project("claude:\n  models:\n    ui: opus\n")
        .unwrap()
        .config;
    let named = |name: &str| AgentChoice::Named(name.to_owned());
    let other = config.with_model(&named("claude"), "haiku").unwrap();
    assert_eq!(other.claude.model.as_deref(), Some("haiku"));
    assert!(other.claude.models.is_empty(), "no label goes before it");
    let other = config.with_model(&named("pi"), "x/y").unwrap();
    assert_eq!(other.pi.model.as_deref(), Some("x/y"));
    assert_eq!(other.claude.model.as_deref(), Some("sonnet"));
    assert!(config.with_model(&named("missing"), "x").is_none());
    let script = AgentChoice::Script("a.yaml".into());
    assert!(config.with_model(&script, "x").is_none());
}

#[test]
fn a_label_does_not_bring_the_used_up_model_back_for_a_program_of_the_users() {
    let text = "agent: {name: mine, command: [mine], dialect: claude, model: opus}
claude: {models: {ui: opus}, max_turns: 7}
pi: {models: {ui: x/y}}
";
    let config = project(text).unwrap().config;
    let other = config.with_model(&config.agent, "haiku").unwrap();
    let AgentChoice::Custom(custom) = &other.agent else {
        panic!("{:?}", other.agent);
    };
    assert_eq!(
        (custom.name.as_str(), custom.model.as_deref()),
        ("mine", Some("haiku"))
    );
    assert!(other.claude.models.is_empty(), "no label goes before it");
    assert_eq!(other.claude.max_turns, config.claude.max_turns);
    assert_eq!(other.pi.models.len(), 1, "another agent's");
}

#[test]
fn budgets_are_a_list_and_their_mistakes_are_named() {
    let text = "budgets:\n  - {scope: project, per: day, usd: 5}\n  - {scope: task, per: total, usd: 0.5, action: throttle}\n";
    let config = project(text).unwrap().config;
    let said: Vec<String> = config.budgets.iter().map(Budget::describe).collect();
    assert_eq!(
        said,
        [
            "the project's budget of $5.00 a day",
            "the task's budget of $0.50 in total"
        ]
    );
    assert_eq!(config.budgets[0].action, BudgetPolicy::Deny);
    assert_eq!(config.budgets[1].action, BudgetPolicy::Throttle);
    assert_eq!(
        mistakes("budgets:\n  - {scope: projekt, per: day, usd: 5}\n"),
        "ralph.yaml:2:13: `budgets[0].scope`: expected one of `organisation`, `project`, `task`, `loop`, found the text `projekt`; did you mean `project`?"
    );
    assert_eq!(
        mistakes("budgets:\n  - {scope: project, per: day}\n"),
        "ralph.yaml:2:5: `budgets[0]`: the key `usd` is missing"
    );
}

#[test]
fn prices_of_the_user_have_names_with_dots_and_stars() {
    let text = "economics:\n  prices:\n    gpt-4.1*: {input: 1.5, output: 6, cache_read: 0}\n";
    let config = project(text).unwrap().config;
    let prices = Prices::with(&config.economics.prices);
    let price = prices.of("openai/gpt-4.1-mini").unwrap().price;
    assert_eq!(price.input.0.to_string(), "$1.50");
    assert_eq!(price.cache_read.unwrap().0.to_string(), "$0.00");
    assert_eq!(
        mistakes("economics: {prices: {m: {input: -1, output: 2}}}\n"),
        "ralph.yaml:1:33: `economics.prices.m.input`: expected a number of at least 0 and at most 1000000, found -1"
    );
}
