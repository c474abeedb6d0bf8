//! The processes above this one, up to the first of its namespace.

use super::platform;

/// A process above this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    pub pid: u32,
    /// Empty where the platform does not tell.
    pub name: String,
}

/// The processes above this one, nearest first. `None` where the system does not tell, or shows other
/// processes than those of this one's namespace.
pub fn ancestors() -> Option<Vec<Ancestor>> {
    platform::ancestors()
}

/// The namespace that this process's number is of; `None` where there are no such namespaces.
pub fn pid_namespace() -> Option<String> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    link.into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::portable;

    #[test]
    fn the_parent_is_the_nearest_of_them() {
        let parent = std::os::unix::process::parent_id();
        let first = |all: Vec<Ancestor>| all.first().map(|one| one.pid);
        assert_eq!(ancestors().and_then(first), Some(parent));
        assert_eq!(portable::ancestors().and_then(first), Some(parent));
    }
}
