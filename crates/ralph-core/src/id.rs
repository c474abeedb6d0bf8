//! Ids of what the journal keeps, a type each, so that one can't be passed for another.
//!
//! Minted by the engine, never here. JSON holds the bare text or number. What a person types may be a part of
//! an id: that stays text until the journal has found the whole one.

use serde::{Deserialize, Serialize};

/// Defines an id that is a text.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

/// Defines an id that the journal counts up and never uses again.
macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            pub fn new(number: u64) -> Self {
                Self(number)
            }

            pub fn get(self) -> u64 {
                self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text_id! {
    /// The id of a loop.
    LoopId
}
text_id! {
    /// The id of an iteration. People see its number instead, which counts up in its repository.
    IterationId
}
text_id! {
    /// The id of a checkpoint. Ids of later checkpoints sort behind those of earlier ones.
    CheckpointId
}
number_id! {
    /// The number of a question to a person.
    QuestionId
}
number_id! {
    /// The number of a person's command in the queue.
    CommandId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_the_bare_text_or_number() {
        let ids = (LoopId::new("0190-a"), QuestionId::new(7));
        let json = serde_json::to_string(&ids).unwrap();
        assert_eq!(json, r#"["0190-a",7]"#);
        let read: (LoopId, QuestionId) = serde_json::from_str(&json).unwrap();
        assert_eq!(read, ids);
    }

    #[test]
    fn an_id_is_shown_as_it_is_and_keeps_to_a_width() {
        assert_eq!(
            format!("{}|{:>5}", LoopId::new("a"), CheckpointId::new("b")),
            "a|    b"
        );
        assert_eq!(
            format!("{}|{:>3}", QuestionId::new(4), CommandId::new(5)),
            "4|  5"
        );
    }
}
