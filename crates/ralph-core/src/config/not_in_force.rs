//! Keys that are accepted although the part behind them is not built.
//!
//! The one table of them: anyone who builds a part takes its line away.

use serde_json::Value;

use super::key::KeyPath;

/// A key that someone set and that has no effect; to be said loudly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotInForce {
    pub key: KeyPath,
    pub value: Value,
    pub message: String,
}

struct Unbuilt {
    key: &'static str,
    message: &'static str,
    /// True if a value asks for something that ralph does not do.
    asks: fn(&Value) -> bool,
}

const UNBUILT: [Unbuilt; 3] = [
    Unbuilt {
        key: "safety.sandbox",
        message: "ralph has no sandbox yet: the agent runs with your own rights",
        asks: |value| value == &Value::Bool(true),
    },
    Unbuilt {
        key: "safety.allowed_commands",
        message: "ralph does not restrict commands yet: the agent may start any program",
        asks: |value| value.as_array().is_some_and(|list| !list.is_empty()),
    },
    Unbuilt {
        key: "git.sign_off",
        message: "ralph does not sign commits off yet",
        asks: |value| value == &Value::Bool(true),
    },
];

/// Returns what to say of a key that was set to a value, if nothing will come of it.
pub(super) fn not_in_force(key: &KeyPath, value: &Value) -> Option<NotInForce> {
    let name = key.to_string();
    let unbuilt = UNBUILT.iter().find(|unbuilt| unbuilt.key == name)?;
    (unbuilt.asks)(value).then(|| NotInForce {
        key: key.clone(),
        value: value.clone(),
        message: unbuilt.message.to_owned(),
    })
}

impl std::fmt::Display for NotInForce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}: {}` is not in force: {}",
            self.key, self.value, self.message
        )
    }
}
