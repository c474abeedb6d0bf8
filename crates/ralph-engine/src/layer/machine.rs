//! The settings of this machine that decide whether a program may mount, and what to do about them.

use std::io;

/// Facts of the machine that keep programs from making namespaces or mounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    pub is_root: bool,
    /// As `uname -r` says it.
    pub kernel: String,
    /// `kernel.apparmor_restrict_unprivileged_userns` is on, as Ubuntu has it since 23.10.
    pub apparmor_restricts: bool,
    /// A seccomp filter is in force, as in a container.
    pub is_filtered: bool,
    /// A setting allows no user namespace at all.
    pub namespaces_off: Option<&'static str>,
}

impl MachineFacts {
    pub fn read() -> Self {
        let read = |path: &str| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.trim().to_owned()
        };
        let namespaces_off = [
            "user.max_user_namespaces",
            "kernel.unprivileged_userns_clone",
        ]
        .into_iter()
        .find(|key| read(&format!("/proc/sys/{}", key.replace('.', "/"))) == "0");
        Self {
            is_root: rustix::process::geteuid().is_root(),
            kernel: read("/proc/sys/kernel/osrelease"),
            apparmor_restricts: read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
                == "1",
            is_filtered: read("/proc/self/status")
                .lines()
                .any(|line| line.split_whitespace().eq(["Seccomp:", "2"])),
            namespaces_off,
        }
    }

    /// Says what to install or set so that a step that the kernel refused is allowed.
    pub fn hint(&self, error: &io::Error) -> Option<String> {
        let code = error.raw_os_error().unwrap_or(0);
        if self.is_wsl_1() {
            return Some(
                "WSL 1 has no namespaces: change to WSL 2 with `wsl --set-version DISTRIBUTION 2`"
                    .to_owned(),
            );
        }
        if code == libc::ENODEV {
            return Some("load the module: `sudo modprobe overlay`".to_owned());
        }
        if self.is_filtered {
            return Some(
                "a seccomp filter is in force, as in a container: start it with `--cap-add SYS_ADMIN \
                 --security-opt apparmor=unconfined`, or with `--security-opt seccomp=unconfined`"
                    .to_owned(),
            );
        }
        if self.is_root {
            return None;
        }
        if let Some(key) = self.namespaces_off {
            let value = if key.starts_with("user.") { 10_000 } else { 1 };
            return Some(format!(
                "allow user namespaces: `sudo sysctl {key}={value}`"
            ));
        }
        if self.apparmor_restricts {
            return Some(
                "AppArmor keeps programs from mounting in a user namespace: give ralph a profile with \
                 `userns,` in /etc/apparmor.d, or `sudo sysctl \
                 kernel.apparmor_restrict_unprivileged_userns=0`"
                    .to_owned(),
            );
        }
        if self.kernel_version().is_some_and(|found| found < (5, 11)) {
            return Some(format!(
                "an ordinary user can mount overlays since Linux 5.11, here is {}",
                self.kernel
            ));
        }
        None
    }

    fn is_wsl_1(&self) -> bool {
        // WSL 2 says `microsoft-standard-WSL2`.
        self.kernel.ends_with("-Microsoft")
    }

    fn kernel_version(&self) -> Option<(u32, u32)> {
        let mut numbers = self.kernel.split(|c: char| !c.is_ascii_digit());
        let major = numbers.next()?.parse().ok()?;
        Some((major, numbers.next()?.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(facts: &MachineFacts, code: i32) -> String {
        facts
            .hint(&io::Error::from_raw_os_error(code))
            .unwrap_or_default()
    }

    #[test]
    fn each_obstacle_has_its_hint() {
        let usual = MachineFacts {
            kernel: "6.8.0-45-generic".to_owned(),
            ..MachineFacts::default()
        };
        assert_eq!(hint(&usual, libc::EPERM), "");
        let ubuntu = MachineFacts {
            apparmor_restricts: true,
            ..usual.clone()
        };
        assert!(hint(&ubuntu, libc::EACCES).starts_with("AppArmor keeps programs from mounting"));
        let docker = MachineFacts {
            is_filtered: true,
            is_root: true,
            ..usual.clone()
        };
        assert!(hint(&docker, libc::EPERM).contains("--cap-add SYS_ADMIN"));
        let hardened = MachineFacts {
            namespaces_off: Some("user.max_user_namespaces"),
            ..usual.clone()
        };
        assert_eq!(
            hint(&hardened, libc::ENOSPC),
            "allow user namespaces: `sudo sysctl user.max_user_namespaces=10000`"
        );
        let old = MachineFacts {
            kernel: "5.4.0-150-generic".to_owned(),
            ..MachineFacts::default()
        };
        assert!(hint(&old, libc::EPERM).ends_with("since Linux 5.11, here is 5.4.0-150-generic"));
        let wsl = MachineFacts {
            kernel: "4.4.0-19041-Microsoft".to_owned(),
            ..MachineFacts::default()
        };
        assert!(hint(&wsl, libc::EINVAL).starts_with("WSL 1"));
        let wsl_2 = MachineFacts {
            kernel: "5.15.153.1-microsoft-standard-WSL2".to_owned(),
            ..MachineFacts::default()
        };
        assert_eq!(hint(&wsl_2, libc::EPERM), "");
        assert!(hint(&usual, libc::ENODEV).contains("modprobe overlay"));
    }
}
