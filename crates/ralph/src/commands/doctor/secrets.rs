//! Checks the variables that are secret by their names: values that ralph can't tell from honest text are named.

use super::Check;
use crate::project::Project;

pub(super) fn checks(project: &Project) -> Option<Check> {
    let environment = project.environment(project.root());
    let names = environment.unhidden().join(", ");
    (!names.is_empty()).then(|| {
        let text = format!("not hidden in output and changes, too short or a plain word: {names}");
        Check::note("secrets", text).hint("use values of at least 8 characters that are no words")
    })
}
