//! Where an axis ends.

/// The next round figure: 1, 2, 4, 5 or 8 and noughts, so that its quarters are round as well.
pub(crate) fn ceiling(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 4.0, 5.0, 8.0, 10.0];
    // What was computed may be a trace above the figure that it is.
    let step = steps
        .into_iter()
        .find(|step| step * power * (1.0 + 1e-9) >= value);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_the_next_round_figure() {
        let cases = [
            (0.75, 0.8),
            (1.0, 1.0),
            (1.2, 2.0),
            (37.0, 40.0),
            (810.0, 1000.0),
            (0.1 + 0.2 + 0.1, 0.4),
        ];
        for (value, top) in cases {
            assert!((ceiling(value) - top).abs() < 1e-9, "{value}");
        }
    }
}
