//! Values of variables that are secret by their names, in the forms that they may take in a text.

/// The shortest value that is looked for: a shorter one stands in honest texts.
const SHORTEST: usize = 8;

/// Letters alone are a word up to this length.
const LONGEST_WORD: usize = 15;

/// A piece of this length stands whole on a line, where a program wraps what it encodes.
const WRAPPED: usize = 76;

/// The variable, or another place, that a value comes from, and the value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedValue {
    pub name: String,
    pub value: String,
}

impl std::fmt::Debug for NamedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedValue")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A reason not to look for a value: it would be found in honest texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakValue {
    Short,
    Word,
    Path,
}

impl NamedValue {
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }

    /// Returns why the value is not looked for, where that is so; an empty one is none.
    pub fn weakness(&self) -> Option<WeakValue> {
        let value = self.value.trim();
        if value.chars().count() < SHORTEST {
            Some(WeakValue::Short)
        } else if value.len() <= LONGEST_WORD && value.bytes().all(|b| b.is_ascii_alphabetic()) {
            Some(WeakValue::Word)
        } else if is_path(value) {
            Some(WeakValue::Path)
        } else {
            None
        }
    }

    /// The forms of the value: as it is, in JSON, in a URL and in base64.
    pub(super) fn forms(&self) -> Vec<Vec<u8>> {
        let value = self.value.trim();
        let mut forms = vec![value.as_bytes().to_vec()];
        if value.contains('\n') {
            // Each line of a key in a variable is one, wherever it is wrapped.
            let lines = value.lines().map(str::trim);
            forms.extend(
                lines
                    .filter(|line| line.len() >= 2 * SHORTEST && !line.starts_with("-----"))
                    .map(|line| line.as_bytes().to_vec()),
            );
        }
        let json = serde_json::to_string(value).unwrap_or_default();
        forms.push(json.trim_matches('"').as_bytes().to_vec());
        forms.push(url_encoded(value.as_bytes(), b"0123456789ABCDEF"));
        forms.push(url_encoded(value.as_bytes(), b"0123456789abcdef"));
        for alphabet in [STANDARD, URL_SAFE] {
            for shift in 0..3 {
                let encoded = base64_inside(value.as_bytes(), shift, alphabet);
                forms.extend(encoded.chunks(WRAPPED).map(<[u8]>::to_vec));
            }
        }
        forms.retain(|form| form.len() >= SHORTEST);
        forms.sort();
        forms.dedup();
        forms
    }
}

/// A path has a root, and no part that looks made by chance.
fn is_path(value: &str) -> bool {
    let rooted = ["/", "./", "../", "~/"]
        .iter()
        .any(|r| value.starts_with(r));
    let is_random = |part: &str| {
        part.len() >= 16
            && part.bytes().any(|b| b.is_ascii_digit())
            && part.bytes().any(|b| b.is_ascii_uppercase())
            && part.bytes().any(|b| b.is_ascii_lowercase())
    };
    rooted && !value.split('/').any(is_random)
}

fn url_encoded(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    for byte in value {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) {
            text.push(*byte);
        } else {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            text.extend([b'%', digits[high], digits[low]]);
        }
    }
    text
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The characters of a base64 text that the value alone decides, where `shift` bytes stand before it in its first
/// group of three.
fn base64_inside(value: &[u8], shift: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let first = shift * 8;
    let end = first + value.len() * 8;
    let bit = |at: usize| {
        let at = at - first;
        (value[at / 8] >> (7 - at % 8)) & 1
    };
    let characters = first.div_ceil(6)..end / 6;
    characters
        .map(|n| {
            let six = (n * 6..n * 6 + 6).fold(0, |six, at| six << 1 | bit(at));
            alphabet[usize::from(six)]
        })
        .collect()
}
