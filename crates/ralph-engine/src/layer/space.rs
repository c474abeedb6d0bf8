//! The space that a layer takes, and what is free where it lives.
//!
//! No kernel limits a folder to a size on every file system, so it is watched: the free space of the disk is asked
//! often, which is cheap; the layer is measured only where that has gone down, or now and then.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::figures::bytes;

use super::upper::UpperFolder;
use crate::process::{MountPlan, MountStep, OverlayXattrs};

/// Between two measurements where the disk says nothing.
const MEASURE: Duration = Duration::from_secs(30);

/// A layer whose size is limited.
pub trait LayerSpace {
    /// The most that it may hold.
    fn max_bytes(&self) -> u64;

    /// The bytes that are free on its disk.
    fn free_bytes(&self) -> Option<u64>;

    /// The bytes that it holds.
    fn used_bytes(&self) -> Option<u64>;
}

/// The uppers of a layer, as one space.
#[derive(Debug)]
pub struct UpperSpace {
    pub uppers: Vec<PathBuf>,
    pub xattrs: OverlayXattrs,
    pub max_bytes: u64,
}

impl UpperSpace {
    /// Finds the space that a plan has programs write to; `None` where that is not limited.
    pub fn of(plan: &MountPlan) -> Option<Self> {
        let overlays = plan.steps.iter().filter_map(|step| match step {
            MountStep::Overlay(overlay) => Some(overlay),
            MountStep::Bind { .. } | MountStep::Cover { .. } | MountStep::Scratch { .. } => None,
        });
        let xattrs = overlays.clone().next()?.options.xattrs;
        Some(Self {
            uppers: overlays.map(|overlay| overlay.upper.clone()).collect(),
            xattrs,
            max_bytes: plan.max_written?,
        })
    }
}

impl LayerSpace for UpperSpace {
    fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    fn free_bytes(&self) -> Option<u64> {
        free_bytes(self.uppers.first()?)
    }

    fn used_bytes(&self) -> Option<u64> {
        let usage = |upper: &PathBuf| {
            let opened = UpperFolder::open(upper, self.xattrs).ok()?;
            Some(opened.usage().ok()?.bytes)
        };
        // One that is not there holds nothing.
        Some(self.uppers.iter().filter_map(usage).sum())
    }
}

pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let room = rustix::fs::statvfs(folder).ok()?;
    Some(room.f_bavail.saturating_mul(room.f_frsize))
}

/// Tells when a layer holds more than it may.
pub struct SpaceMeter {
    layer: Box<dyn LayerSpace>,
    /// The bytes that do not count.
    before: u64,
    measure_at: Duration,
    /// The free space and what was used, when it was last measured.
    measured: (u64, u64),
}

impl SpaceMeter {
    /// Between two looks.
    pub const LOOK: Duration = Duration::from_millis(500);

    /// Counts all that a layer holds.
    pub fn new(layer: Box<dyn LayerSpace>) -> Self {
        let free = layer.free_bytes().unwrap_or(u64::MAX);
        Self {
            layer,
            before: 0,
            measure_at: MEASURE,
            measured: (free, 0),
        }
    }

    /// Counts what is written into a layer from now on.
    pub fn from_now(layer: Box<dyn LayerSpace>) -> Self {
        let before = layer.used_bytes().unwrap_or(0);
        Self {
            before,
            ..Self::new(layer)
        }
    }

    /// Looks at the disk, and at the layer if there is a reason to. Returns a sentence if too much was written.
    pub fn look(&mut self, now: Duration) -> Option<String> {
        let (free_then, used) = self.measured;
        let most = self.layer.max_bytes();
        let free = self.layer.free_bytes().unwrap_or(0);
        let left = most.saturating_sub(used);
        if now < self.measure_at && free_then.saturating_sub(free) <= left / 4 {
            return None;
        }
        let used = self.layer.used_bytes().unwrap_or(0);
        let used = used.saturating_sub(self.before);
        self.measured = (self.layer.free_bytes().unwrap_or(0), used);
        self.measure_at = now + MEASURE;
        (used > most).then(|| {
            format!(
                "it wrote {} into its workspace, and `workspace.max_gb` allows {}",
                bytes(used),
                bytes(most)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc};

    use super::*;

    #[derive(Clone, Default)]
    struct Disk {
        free: Rc<Cell<u64>>,
        used: Rc<Cell<u64>>,
        measured: Rc<Cell<u32>>,
    }

    impl LayerSpace for Disk {
        fn max_bytes(&self) -> u64 {
            1000
        }

        fn free_bytes(&self) -> Option<u64> {
            Some(self.free.get())
        }

        fn used_bytes(&self) -> Option<u64> {
            self.measured.set(self.measured.get() + 1);
            Some(self.used.get())
        }
    }

    #[test]
    fn a_layer_is_measured_when_the_disk_fills_and_is_told_when_it_is_full() {
        let disk = Disk::default();
        disk.free.set(5000);
        let mut meter = SpaceMeter::new(Box::new(disk.clone()));
        let mut look = |seconds: u64| meter.look(Duration::from_secs(seconds));
        assert_eq!(look(1), None);
        assert_eq!(disk.measured.get(), 0, "nothing was written");
        disk.free.set(4200);
        disk.used.set(800);
        assert_eq!(look(2), None);
        assert_eq!(disk.measured.get(), 1);
        assert_eq!(look(3), None);
        assert_eq!(disk.measured.get(), 1, "nothing more was written");
        disk.used.set(1001);
        assert_eq!(look(10), None, "others freed as much as it wrote");
        let message = look(40).unwrap();
        assert!(message.contains("workspace.max_gb"), "{message}");
    }

    #[test]
    fn what_was_there_before_a_command_is_not_its_doing() {
        let disk = Disk::default();
        disk.used.set(900);
        let mut meter = SpaceMeter::from_now(Box::new(disk.clone()));
        disk.used.set(1900);
        assert_eq!(meter.look(MEASURE), None);
        disk.used.set(1901);
        assert!(meter.look(2 * MEASURE).is_some());
    }
}
