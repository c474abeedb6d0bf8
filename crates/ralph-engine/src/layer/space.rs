//! The space that a layer takes, and what is free where it lives.
//!
//! No kernel limits a folder to a size on every file system and without privileges, so it is watched: the free space
//! of the disk is asked often, which is cheap; the layer is measured only where that has gone down, or now and then.
//! One that is full is to be written no more: programs get an error, as on a full disk, and can go on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::figures::bytes;

use super::upper::UpperFolder;
use crate::process::{FileWrites, MountPlan, MountStep, OverlayXattrs};

/// Between two measurements where the disk says nothing, as others may free what is written: no less and no more,
/// and so many times what the last one took.
const MEASURES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
const MEASURES_COST: u32 = 40;
/// The bytes that programs write in a millisecond, at most.
const PACE: u64 = 4 * 1024 * 1024;
/// The bytes beyond the limit that may come while writing is being refused: no less.
const LEAST_SLACK: u64 = 512 * 1024 * 1024;

/// A layer whose size is limited.
pub trait LayerSpace {
    /// The most that it may hold.
    fn max_bytes(&self) -> u64;

    /// The most that one file may hold, if there is such a limit.
    fn max_file(&self) -> Option<u64> {
        None
    }

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
    pub max_file: Option<u64>,
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
            max_file: plan.max_file,
        })
    }
}

impl LayerSpace for UpperSpace {
    fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    fn max_file(&self) -> Option<u64> {
        self.max_file
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

/// A change in a layer that is to be acted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpaceChange {
    /// It holds what it may, with a sentence about it. Nothing more is to be written.
    Full(String),
    /// It is full still, and may be written though it must not.
    StillFull,
    /// There is room again.
    Freed,
    /// It was written on although it was full, with a sentence about it.
    Exceeded(String),
}

/// Tells when a layer holds all that it may, and more.
pub struct SpaceMeter {
    layer: Box<dyn LayerSpace>,
    /// The bytes that do not count.
    before: u64,
    measure_at: Duration,
    /// The free space and what was used, when it was last measured.
    measured: (u64, u64),
    /// The bytes that it held when it was found full.
    full_at: Option<u64>,
    interval: Duration,
}

impl SpaceMeter {
    /// Between two looks, if there is much room.
    const LOOK: Duration = Duration::from_millis(500);
    /// Between two looks where there is little, and after one at which the layer was measured.
    const QUICK: Duration = Duration::from_millis(10);
    const AFTER_MEASURE: Duration = Duration::from_millis(50);

    /// Counts all that a layer holds.
    pub fn new(layer: Box<dyn LayerSpace>) -> Self {
        let free = layer.free_bytes().unwrap_or(u64::MAX);
        let interval = until_full(layer.max_bytes());
        Self {
            layer,
            before: 0,
            measure_at: MEASURES.0,
            measured: (free, 0),
            full_at: None,
            interval,
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

    /// The writing that programs may do once there is room.
    pub fn allowed_writes(&self) -> FileWrites {
        FileWrites::UpTo(self.layer.max_file())
    }

    /// The time until the next look: shorter, the less room there is.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Looks at the disk, and at the layer if there is a reason to.
    pub fn look(&mut self, now: Duration) -> Option<SpaceChange> {
        let (free_then, used) = self.measured;
        let most = self.layer.max_bytes();
        let free = self.layer.free_bytes().unwrap_or(0);
        let left = most.saturating_sub(used);
        let gone = free_then.saturating_sub(free);
        if self.full_at.is_none() && now < self.measure_at && gone <= left / 4 {
            self.interval = until_full(left - gone);
            return None;
        }
        let began = Instant::now();
        let used = self.layer.used_bytes().unwrap_or(0);
        let used = used.saturating_sub(self.before);
        let pause = (began.elapsed() * MEASURES_COST).clamp(MEASURES.0, MEASURES.1);
        self.measured = (self.layer.free_bytes().unwrap_or(0), used);
        self.measure_at = now + pause;
        self.interval = until_full(most.saturating_sub(used)).max(Self::AFTER_MEASURE);
        self.judge(used, most)
    }

    /// Looks once more when the programs have ended, and returns a sentence if the layer is full.
    pub fn filled_at_last(mut self) -> Option<String> {
        // A file that reached the limit of its size may have done so since the last look.
        let is_measured = self.layer.max_file().is_some();
        let now = if is_measured {
            self.measure_at
        } else {
            Duration::ZERO
        };
        match self.look(now)? {
            SpaceChange::Full(sentence) | SpaceChange::Exceeded(sentence) => Some(sentence),
            SpaceChange::StillFull | SpaceChange::Freed => None,
        }
    }

    fn judge(&mut self, used: u64, most: u64) -> Option<SpaceChange> {
        let sentence = || {
            format!(
                "it wrote {} into its workspace, and `workspace.max_gb` allows {}",
                bytes(used),
                bytes(most)
            )
        };
        // A little room is not enough: a program that tries again and again would fill it at once.
        let least = match self.full_at {
            Some(_) => most - most / 16,
            None => most,
        };
        match self.full_at {
            None if used < least => None,
            None => {
                self.full_at = Some(used);
                Some(SpaceChange::Full(sentence()))
            }
            Some(_) if used < least => {
                self.full_at = None;
                Some(SpaceChange::Freed)
            }
            Some(at) if used > at.saturating_add(LEAST_SLACK.max(most / 8)) => {
                Some(SpaceChange::Exceeded(sentence()))
            }
            Some(_) => {
                self.interval = Self::LOOK;
                Some(SpaceChange::StillFull)
            }
        }
    }
}

/// The time in which programs could write so many bytes.
fn until_full(left: u64) -> Duration {
    Duration::from_millis(left / PACE).clamp(SpaceMeter::QUICK, SpaceMeter::LOOK)
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
        let mut look = |milliseconds: u64| meter.look(Duration::from_millis(milliseconds));
        assert_eq!(look(10), None);
        assert_eq!(disk.measured.get(), 0, "nothing was written");
        disk.free.set(4200);
        disk.used.set(800);
        assert_eq!(look(20), None);
        assert_eq!(disk.measured.get(), 1);
        assert_eq!(look(30), None);
        assert_eq!(disk.measured.get(), 1, "nothing more was written");
        disk.used.set(1000);
        assert_eq!(look(100), None, "others freed as much as it wrote");
        let Some(SpaceChange::Full(message)) = look(300) else {
            panic!("it is full");
        };
        assert!(message.contains("workspace.max_gb"), "{message}");
    }

    #[test]
    fn a_layer_that_was_full_has_room_again_or_is_written_on() {
        let disk = Disk::default();
        let mut meter = SpaceMeter::new(Box::new(disk.clone()));
        let mut minutes = 0;
        let mut used = |bytes: u64| {
            disk.used.set(bytes);
            minutes += 1;
            meter.look(Duration::from_mins(minutes))
        };
        // However much it is, programs were not kept from it before.
        let much = 3 * LEAST_SLACK;
        assert!(matches!(used(much), Some(SpaceChange::Full(_))));
        assert_eq!(used(much + LEAST_SLACK), Some(SpaceChange::StillFull));
        assert_eq!(used(960), Some(SpaceChange::StillFull), "room for nothing");
        assert_eq!(used(900), Some(SpaceChange::Freed));
        assert_eq!(used(901), None);
        assert!(matches!(used(1000), Some(SpaceChange::Full(_))));
        assert_eq!(used(1000 + LEAST_SLACK), Some(SpaceChange::StillFull));
        let exceeded = used(1001 + LEAST_SLACK);
        assert!(matches!(exceeded, Some(SpaceChange::Exceeded(_))));
    }

    #[test]
    fn the_less_room_there_is_the_sooner_the_next_look() {
        let gigabytes = |count: u64| until_full(count * 1_000_000_000).as_millis();
        assert_eq!([gigabytes(100), gigabytes(1), gigabytes(0)], [500, 238, 10]);
    }

    #[test]
    fn what_was_there_before_a_command_is_not_its_doing() {
        let disk = Disk::default();
        disk.used.set(900);
        let mut meter = SpaceMeter::from_now(Box::new(disk.clone()));
        disk.used.set(1899);
        assert_eq!(meter.look(MEASURES.1), None);
        disk.used.set(1900);
        assert!(meter.look(2 * MEASURES.1).is_some());
    }
}
