//! The name of a keeper among the processes of the machine.

use std::ffi::CStr;
use std::fmt;

/// The name that `ps` shows for the process that keeps a program's tree.
///
/// All that the program starts can read it, and nothing but the keeper itself can change it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeeperName([u8; Self::LONGEST + 1]);

impl KeeperName {
    /// The kernel cuts off what is longer.
    pub const LONGEST: usize = 15;

    /// A name of these bytes: up to the first zero, and no more than the kernel keeps.
    pub fn new(text: &str) -> Self {
        let mut name = [0; Self::LONGEST + 1];
        let bytes = text.bytes().take_while(|byte| *byte != 0);
        for (to, from) in name.iter_mut().zip(bytes.take(Self::LONGEST)) {
            *to = from;
        }
        Self(name)
    }

    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "only Linux has keepers")
    )]
    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or(c"ralph-keeper")
    }
}

impl KeeperName {
    pub(crate) fn as_str(&self) -> &str {
        let text = CStr::from_bytes_until_nul(&self.0).ok();
        text.and_then(|text| text.to_str().ok()).unwrap_or_default()
    }
}

impl Default for KeeperName {
    fn default() -> Self {
        Self::new("ralph-keeper")
    }
}

impl fmt::Debug for KeeperName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeeperName({:?})", self.as_c_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_to_what_the_kernel_keeps() {
        let shown = |text: &str| {
            KeeperName::new(text)
                .as_c_str()
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(shown("ralph"), "ralph");
        assert_eq!(shown("0123456789abcdefgh"), "0123456789abcde");
        assert_eq!(shown("a\0b"), "a");
        assert_eq!(KeeperName::default(), KeeperName::new("ralph-keeper"));
    }
}
