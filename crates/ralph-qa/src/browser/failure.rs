//! Failures of steps, put together from what the page library and the browser say.

use serde_json::Value;

use super::{gone, wire::WireError};
use crate::result::{FailureKind, StepFailure};

/// The most lines of a failure.
const MOST_NEAREST: usize = 20;

pub(crate) fn failure(
    kind: FailureKind,
    expected: impl Into<String>,
    actual: impl Into<String>,
) -> StepFailure {
    StepFailure {
        kind,
        expected: expected.into(),
        actual: actual.into(),
        nearest: Vec::new(),
    }
}

pub(super) fn browser_failure(
    expected: impl Into<String>,
    actual: impl Into<String>,
) -> StepFailure {
    failure(FailureKind::Browser, expected, actual)
}

impl From<WireError> for StepFailure {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Gone => gone(),
            WireError::Refused { .. } => {
                browser_failure("the browser does as it is asked", error.to_string())
            }
        }
    }
}

/// The texts of a list.
pub(super) fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten();
    let texts = texts.filter_map(Value::as_str);
    texts.take(MOST_NEAREST).map(str::to_owned).collect()
}

pub(super) fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
