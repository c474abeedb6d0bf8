//! Scripts that make a page's clock and its random numbers known beforehand.
//!
//! They run in the page's own world before any script of the page.

use jiff::Timestamp;

/// The script for these settings; None where there is nothing to change. `now` is the time at which the page is opened:
/// the page's clock shows `time` then, and goes on from there, across documents.
pub(super) fn fixed_world(
    time: Option<Timestamp>,
    random: Option<u64>,
    now: Timestamp,
) -> Option<String> {
    let clock = time.map(|time| {
        let offset = time.as_millisecond() - now.as_millisecond();
        CLOCK.replace("OFFSET", &offset.to_string())
    });
    // Half of it is enough to tell seeds apart; a script's integers have no more bits for it.
    let dice = random.map(|seed| {
        let folded = (seed ^ (seed >> 32)) & 0xffff_ffff;
        DICE.replace("SEED", &folded.to_string())
    });
    if clock.is_none() && dice.is_none() {
        return None;
    }
    let parts = [clock, dice].into_iter().flatten();
    Some(parts.collect::<Vec<_>>().join("\n"))
}

/// Replaces `Date` by one that is shifted. Dates that are made of values are as they were.
const CLOCK: &str = "(() => {
  const Real = Date, offset = OFFSET;
  const Shifted = new Proxy(Real, {
    construct(target, values, made) {
      const given = values.length ? values : [Real.now() + offset];
      return Reflect.construct(target, given, made === Shifted ? target : made);
    },
    apply(target) { return new target(Real.now() + offset).toString(); },
    get(target, name, receiver) {
      return name === 'now' ? now : Reflect.get(target, name, receiver);
    },
  });
  const now = { now() { return Real.now() + offset; } }.now;
  Real.prototype.constructor = Shifted;
  Object.defineProperty(globalThis, 'Date', { value: Shifted, writable: true, configurable: true });
})();";

/// Replaces `Math.random` by a generator with a seed.
const DICE: &str = "(() => {
  let state = SEED >>> 0;
  Math.random = { random() {
    state = (state + 0x6D2B79F5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  } }.random;
})();";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_set_is_changed() {
        let now: Timestamp = "2026-06-01T00:00:10Z".parse().unwrap();
        assert_eq!(fixed_world(None, None, now), None);
        let script = fixed_world(Some("2026-06-01T00:00:00Z".parse().unwrap()), None, now).unwrap();
        assert!(script.contains("offset = -10000;"), "{script}");
        assert!(!script.contains("Math.random"));
        let script = fixed_world(None, Some(42), now).unwrap();
        assert!(script.contains("state = 42 >>> 0"), "{script}");
    }
}
