//! Issues of beads: whatever is in them, what is promised of every file holds.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    ralph_fuzz::check("issues.jsonl", bytes);
});
