//! Checks of the platform that ralph was built for: what it lacks, by name.

use ralph_engine::process::{PlatformLack, platform_lacks};

use super::Check;

pub(super) fn checks() -> Vec<Check> {
    judge(platform_lacks())
}

fn judge(lacks: &[PlatformLack]) -> Vec<Check> {
    let platform = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    if lacks.is_empty() {
        let message = format!("{platform}, which has all that ralph uses");
        return vec![Check::ok("platform", message)];
    }
    let said = lacks.iter().map(|lack| {
        let PlatformLack {
            feature,
            consequence,
        } = lack;
        Check::warning(
            "platform",
            format!("{platform} lacks {feature}: {consequence}"),
        )
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn what_a_platform_lacks_is_said_by_name_with_what_it_means() {
        let lack = PlatformLack {
            feature: "moving parts",
            consequence: "nothing moves",
        };
        let checks = judge(&[lack, lack]);
        assert_eq!(checks.len(), 2);
        assert_eq!(checks[0].state, State::Warning);
        let expected = "lacks moving parts: nothing moves";
        assert!(
            checks[0].message.ends_with(expected),
            "{}",
            checks[0].message
        );
        assert_eq!(judge(&[])[0].state, State::Ok);
    }
}
