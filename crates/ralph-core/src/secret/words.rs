//! Finds many words in a text in one pass: most places are passed by, eight at a time, after a look at three bytes.

/// Bits of the hash of three bytes: the marks of all hashes stay close to the processor.
const HASH_BITS: u32 = 14;
const HASHES: usize = 1 << HASH_BITS;

/// A word of two bytes or more.
#[derive(Debug, Clone)]
pub(super) struct SearchWord {
    pub(super) bytes: Vec<u8>,
    /// Also found in capital letters. Only for words of three bytes or more.
    pub(super) any_case: bool,
}

/// Words that are found wherever they stand, also within each other.
pub(super) struct Words {
    words: Vec<SearchWord>,
    /// For each hash that a word begins with, the bits of the fourth bytes that may follow.
    marks: Box<[u8; HASHES]>,
    /// For each hash, which of the lists has its words.
    lists: Box<[u16; HASHES]>,
    listed: Vec<Vec<u32>>,
}

impl Words {
    pub(super) fn new(words: Vec<SearchWord>) -> Self {
        let mut made = Self {
            words: Vec::new(),
            marks: Box::new([0; HASHES]),
            lists: Box::new([0; HASHES]),
            listed: Vec::new(),
        };
        for (number, word) in (0_u32..).zip(&words) {
            let fourth = word
                .bytes
                .get(3)
                .map_or(u8::MAX, |byte| BITS[usize::from(*byte)]);
            for beginning in word.beginnings() {
                made.list(number, hash(u64::from_le_bytes(beginning)), fourth);
            }
        }
        made.words = words;
        made
    }

    fn list(&mut self, word: u32, hash: usize, fourth: u8) {
        if self.marks[hash] == 0 {
            self.lists[hash] = u16::try_from(self.listed.len()).unwrap_or_default();
            self.listed.push(Vec::new());
        }
        self.marks[hash] |= fourth;
        let listed = &mut self.listed[usize::from(self.lists[hash])];
        if listed.last() != Some(&word) {
            listed.push(word);
        }
    }

    /// Calls `found` with the number and the beginning of every word in a text. The order is that of their
    /// beginnings.
    pub(super) fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        let mut at = 0;
        while let Some(bytes) = text[at..].first_chunk::<11>() {
            let [a, b, c, d, e, f, g, h, i, j, k] = *bytes;
            let first = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let last = u64::from_le_bytes([c, d, e, f, g, h, i, j]);
            let marked = [
                self.marks[hash(first)] & BITS[usize::from(d)],
                self.marks[hash(first >> 8)] & BITS[usize::from(e)],
                self.marks[hash(first >> 16)] & BITS[usize::from(f)],
                self.marks[hash(first >> 24)] & BITS[usize::from(g)],
                self.marks[hash(first >> 32)] & BITS[usize::from(h)],
                self.marks[hash(first >> 40)] & BITS[usize::from(i)],
                self.marks[hash(last >> 32)] & BITS[usize::from(j)],
                self.marks[hash(last >> 40)] & BITS[usize::from(k)],
            ];
            let any = marked.iter().fold(0, |any, mark| any | mark);
            if any != 0 {
                for place in (0..8).filter(|place| marked[*place] != 0) {
                    self.look(&text[at + place..], |word| found(word, at + place));
                }
            }
            at += 8;
        }
        for at in at..text.len() {
            self.look(&text[at..], |word| found(word, at));
        }
    }

    /// Calls `found` with the words that a text begins with.
    fn look(&self, text: &[u8], mut found: impl FnMut(usize)) {
        let Some([one, two, three]) = text.first_chunk() else {
            return;
        };
        let hash = hash(u64::from_le_bytes([*one, *two, *three, 0, 0, 0, 0, 0]));
        if self.marks[hash] == 0 {
            return;
        }
        for number in &self.listed[usize::from(self.lists[hash])] {
            let number = *number as usize;
            if self.words[number].begins(text) {
                found(number);
            }
        }
    }
}

impl SearchWord {
    fn begins(&self, text: &[u8]) -> bool {
        text.get(..self.bytes.len()).is_some_and(|here| {
            here == self.bytes || self.any_case && here.eq_ignore_ascii_case(&self.bytes)
        })
    }

    /// All that the first three bytes can be, in the first bytes of eight. Behind a word of two bytes something of
    /// a name must follow.
    fn beginnings(&self) -> Vec<[u8; 8]> {
        let of = |one: u8, two: u8, three: u8| [one, two, three, 0, 0, 0, 0, 0];
        match *self.bytes.as_slice() {
            [one, two, three, ..] if self.any_case => {
                let cases = |byte: u8| [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
                let of_one =
                    |one| cases(two).map(|two| cases(three).map(|three| of(one, two, three)));
                cases(one)
                    .map(of_one)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .collect()
            }
            [one, two, three, ..] => vec![of(one, two, three)],
            [one, two] => (0..=u8::MAX)
                .filter(|three| three.is_ascii_alphanumeric() || b"_-=".contains(three))
                .map(|three| of(one, two, three))
                .collect(),
            [] | [_] => Vec::new(),
        }
    }
}

/// One bit of eight for each byte, the same for small and capital letters.
static BITS: [u8; 256] = {
    let mut bits = [0; 256];
    let mut byte = 0;
    while byte < bits.len() {
        bits[byte] = 1 << (byte & 7);
        byte += 1;
    }
    bits
};

/// The hash of the lowest three bytes.
#[inline]
fn hash(bytes: u64) -> usize {
    let mixed = (bytes << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (u64::BITS - HASH_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::{SearchWord, Words};

    fn exact(word: &str) -> SearchWord {
        SearchWord {
            bytes: word.into(),
            any_case: false,
        }
    }

    fn found(words: &Words, text: &str) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        words.each(text.as_bytes(), |word, at| all.push((word, at)));
        all
    }

    #[test]
    fn words_are_found_at_every_place_and_within_each_other() {
        let words = Words::new(vec![exact("abc"), exact("abcd"), exact("bcd")]);
        for before in 0..40 {
            for after in 0..20 {
                let text = format!("{}abcd{}", "-".repeat(before), "-".repeat(after));
                let expected = vec![(0, before), (1, before), (2, before + 1)];
                assert_eq!(found(&words, &text), expected, "{text}");
            }
        }
    }

    #[test]
    fn capital_letters_are_other_letters_unless_any_case_is_meant() {
        let any = SearchWord {
            any_case: true,
            ..exact("token")
        };
        let words = Words::new(vec![exact("ghp_"), any]);
        assert_eq!(
            found(&words, "GHP_ ghp_ToKeN TOKEN tok"),
            [(0, 5), (1, 9), (1, 15)]
        );
    }

    #[test]
    fn a_word_of_two_bytes_has_something_of_a_name_behind_it() {
        let words = Words::new(vec![exact("SK")]);
        assert_eq!(found(&words, "SK SK0 SK/ SK"), [(0, 3)]);
    }

    #[test]
    fn short_texts_hold_no_words() {
        let words = Words::new(vec![exact("abc")]);
        for text in ["", "a", "ab"] {
            assert_eq!(found(&words, text), [], "{text}");
        }
        assert_eq!(found(&words, "abc"), [(0, 0)]);
    }
}
