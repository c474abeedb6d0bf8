//! Describes what happens when an agent's usage limit is reached, or its API is overloaded.
//!
//! Only what is wanted; whether a limit was reached is found out from the agent's stream.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{AgentChoice, CustomAgent, value::Minutes};

/// What happens when an agent's usage limit is reached, or its API is overloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UsageLimitsConfig {
    /// What to do at a usage limit: `wait` until it resets, `stop`, or go on with a `fallback` until
    /// it resets.
    pub on_usage_limit: OnUsageLimit,
    /// Minutes to wait for a reset at most. One that is further away stops the loop.
    pub max_wait_minutes: Minutes,
    /// Minutes to wait before the agent is tried again where it does not say when its limit resets.
    pub unknown_wait_minutes: Minutes,
    /// The agent that goes on at a usage limit, written like `agent`.
    #[schemars(schema_with = "agent_or_null")]
    pub fallback_agent: Option<AgentChoice>,
    /// The model that goes on at a usage limit: of `limits.fallback_agent`, or of the same agent.
    #[schemars(length(min = 1))]
    pub fallback_model: Option<String>,
    /// The number of times a run is tried again within an iteration when the API is overloaded, failing or out
    /// of reach; 0 for never.
    pub overload_retries: u32,
    /// Seconds before the first of these; each wait is twice the last one and a random part more, at
    /// most 5 minutes.
    pub overload_wait_seconds: u32,
}

impl Default for UsageLimitsConfig {
    fn default() -> Self {
        Self {
            on_usage_limit: OnUsageLimit::Wait,
            max_wait_minutes: Minutes::whole(360),
            unknown_wait_minutes: Minutes::whole(30),
            fallback_agent: None,
            fallback_model: None,
            overload_retries: 6,
            overload_wait_seconds: 10,
        }
    }
}

impl UsageLimitsConfig {
    /// Why these settings can't be followed, if they can't.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        let no_fallback = self.fallback_agent.is_none() && self.fallback_model.is_none();
        (self.on_usage_limit == OnUsageLimit::Fallback && no_fallback).then_some(
            "there is no agent to go on with: set `limits.fallback_agent` or `limits.fallback_model`",
        )
    }
}

/// What to do at a usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnUsageLimit {
    Wait,
    Stop,
    Fallback,
}

/// One list of branches, as the checks of the configuration read it.
fn agent_or_null(generator: &mut SchemaGenerator) -> Schema {
    let custom = CustomAgent::json_schema(generator);
    json_schema!({ "anyOf": [{ "type": "string", "minLength": 1 }, custom, { "type": "null" }] })
}
