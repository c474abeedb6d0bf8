//! A bar of blocks, for a small plot beside figures.

/// Eighths of a block.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// As long as the share of `width` columns; what is not nothing is seen.
pub(crate) fn bar(share: f64, width: usize) -> String {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let mut eighths = (share * (width * 8) as f64).round() as usize;
    if share > 0.0 {
        eighths = eighths.max(1);
    }
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_a_trace_is_seen() {
        for (share, shown) in [
            (0.0, ""),
            (0.001, "▏"),
            (0.5, "██"),
            (0.6, "██▍"),
            (1.0, "████"),
            (7.0, "████"),
            (f64::NAN, ""),
        ] {
            assert_eq!(bar(share, 4), shown);
        }
    }
}
