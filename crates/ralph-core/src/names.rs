//! Enums whose variants are words: each word stands once, beside its variant.

/// Declares an enum with a word for each variant: the one that is written to files, shown to people
/// and read back.
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
