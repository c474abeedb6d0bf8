//! A JSON value that borrows its texts from the line that it was read from.
//!
//! Events of agents come by the hundred thousand, and few of their fields are looked at: no text is
//! copied that has no escapes, no key is hashed, and what is under a key that the reader names is skipped.
//! Of a key that stands twice, the last counts. The readers are inlined into the parser, which is another
//! crate's: that makes it faster by a third.

use std::{borrow::Cow, fmt, ops::Index};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// The value of a field that is not there.
static MISSING: Json<'static> = Json::Null;

impl<'a> Json<'a> {
    /// Reads a text; the values of these keys are as if they were missing, wherever they stand.
    pub(super) fn parse(
        text: &'a [u8],
        skipped: &'static [&'static str],
    ) -> serde_json::Result<Self> {
        // At once, and not text by text.
        let text = std::str::from_utf8(text).map_err(serde::de::Error::custom)?;
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let value = JsonReader { skipped }.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(value)
    }

    pub(super) fn into_owned(self) -> Json<'static> {
        let owned = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(value),
            Self::Number(value) => Json::Number(value),
            Self::Text(text) => Json::Text(owned(text)),
            Self::List(all) => Json::List(all.into_iter().map(Json::into_owned).collect()),
            Self::Object(fields) => {
                let fields = fields.into_iter();
                Json::Object(
                    fields
                        .map(|(key, v)| (owned(key), v.into_owned()))
                        .collect(),
                )
            }
        }
    }

    #[inline]
    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// The elements of a list; none of anything else.
    #[inline]
    pub(super) fn elements(&self) -> &[Json<'a>] {
        match self {
            Self::List(all) => all,
            _ => &[],
        }
    }

    /// The fields of an object in their order; none of anything else.
    #[inline]
    pub(super) fn fields(&self) -> &[(Cow<'a, str>, Json<'a>)] {
        match self {
            Self::Object(fields) => fields,
            _ => &[],
        }
    }

    /// About how many bytes it takes when it is written.
    pub(super) fn written_bytes(&self) -> usize {
        match self {
            Self::Null => 4,
            Self::Bool(true) => 4,
            Self::Bool(false) => 5,
            Self::Number(value) => value.to_string().len(),
            Self::Text(text) => text.len() + 2,
            Self::List(all) => {
                let commas = all.len().saturating_sub(1);
                2 + commas + all.iter().map(Self::written_bytes).sum::<usize>()
            }
            Self::Object(fields) => {
                let commas = fields.len().saturating_sub(1);
                let of_field = |(key, v): &(Cow<'_, str>, Self)| key.len() + 3 + v.written_bytes();
                2 + commas + fields.iter().map(of_field).sum::<usize>()
            }
        }
    }
}

impl<'a> Index<&str> for Json<'a> {
    type Output = Json<'a>;

    /// Null where there is no such field.
    #[inline]
    fn index(&self, key: &str) -> &Json<'a> {
        let found = self.fields().iter().rev().find(|(name, _)| name == key);
        found.map_or(&MISSING, |(_, value)| value)
    }
}

impl PartialEq<str> for Json<'_> {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Json<'_> {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

impl PartialEq<bool> for Json<'_> {
    fn eq(&self, other: &bool) -> bool {
        self.as_bool() == Some(*other)
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonReader { skipped: &[] }.deserialize(deserializer)
    }
}

#[derive(Clone, Copy)]
struct JsonReader {
    skipped: &'static [&'static str],
}

impl<'de> DeserializeSeed<'de> for JsonReader {
    type Value = Json<'de>;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonReader {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    #[inline]
    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    #[inline]
    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    #[inline]
    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value as f64))
    }

    #[inline]
    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value as f64))
    }

    #[inline]
    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value))
    }

    #[inline]
    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    #[inline]
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json<'de>, A::Error> {
        let mut all = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            all.push(value);
        }
        Ok(Json::List(all))
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        /// Of most objects.
        const FIELDS: usize = 8;
        let mut fields = Vec::new();
        while let Some(key) = map.next_key_seed(KeyReader)? {
            if self.skipped.contains(&key.as_ref()) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if fields.is_empty() {
                fields.reserve_exact(FIELDS);
            }
            fields.push((key, map.next_value_seed(self)?));
        }
        Ok(Json::Object(fields))
    }
}

/// Reads a key, which serde would copy.
struct KeyReader;

impl<'de> DeserializeSeed<'de> for KeyReader {
    type Value = Cow<'de, str>;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeyReader {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    #[inline]
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    #[inline]
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] =
        br#"{"a":{"b":["x","y\n",-7,2.5,true,null]},"big":{"a":1},"a2":1,"a2":"last"}"#;

    #[test]
    fn every_kind_of_value_is_read_and_what_is_not_there_is_null() {
        let json = Json::parse(TEXT, &[]).unwrap();
        let list = json["a"]["b"].elements();
        assert_eq!(list[0], "x");
        assert_eq!(list[1], "y\n");
        assert_eq!(
            (list[2].as_f64(), list[3].as_f64()),
            (Some(-7.0), Some(2.5))
        );
        assert_eq!(list[4], true);
        assert_eq!(list[5], Json::Null);
        assert_eq!(json["a2"], "last", "of a key that stands twice, the last");
        assert_eq!(json["big"]["a"].as_f64(), Some(1.0));
        assert_eq!(json["no"]["such"]["field"], Json::Null);
        assert_eq!(json.clone().into_owned(), json);
    }

    #[test]
    fn a_text_without_escapes_is_not_copied() {
        let json = Json::parse(TEXT, &[]).unwrap();
        let list = json["a"]["b"].elements();
        assert!(matches!(list[0], Json::Text(Cow::Borrowed(_))));
        assert!(matches!(list[1], Json::Text(Cow::Owned(_))));
    }

    #[test]
    fn what_is_skipped_is_missing_and_must_be_right_all_the_same() {
        let json = Json::parse(TEXT, &["big"]).unwrap();
        assert_eq!(json["big"], Json::Null);
        assert_eq!(json["a2"], "last");
        assert!(Json::parse(br#"{"big":{"a":},"b":1}"#, &["big"]).is_err());
        for broken in ["", "{", "{\"a\":1}x", "[1,]", "nul"] {
            assert!(Json::parse(broken.as_bytes(), &[]).is_err(), "{broken}");
        }
    }
}
