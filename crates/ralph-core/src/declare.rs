//! Declarations that would else be written out for each type.

/// Declares an enum with a word for each variant: the one that is written to files, shown to people
/// and read back.
#[macro_export]
macro_rules! named {
    (
        $(#[$attr:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$attr])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        $vis enum $name {
            $($(#[$of_variant])* #[serde(rename = $word)] $variant,)+
        }

        #[allow(dead_code)]
        impl $name {
            $vis const WORDS: &[&str] = &[$($word),+];
            $vis const ALL: [Self; Self::WORDS.len()] = [$(Self::$variant),+];

            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            $vis fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// Says what an editor is told of a type that checks itself when it is read.
macro_rules! schema_of {
    ($name:ident, $schema:tt) => {
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

/// Declares a text that checks itself when it is read: its `TryFrom<String>` is what is allowed.
macro_rules! checked_text {
    ($(#[$attr:meta])* pub struct $name:ident; $schema:tt) => {
        $(#[$attr])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        schema_of!($name, $schema);
    };
}
