//! Watches what a run writes into its layer, and ends it where that is more than it may.
//!
//! The free space of the disk is asked often, which is cheap; the layer is measured only where that has gone down,
//! or now and then.

use std::time::Duration;

use ralph_core::{
    agent::{Ending, RunMoment},
    figures::bytes,
};

use super::{Observation, Watcher, WatcherStep};

/// Between two looks at the disk.
const LOOK: Duration = Duration::from_millis(500);
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

/// Ends a run whose layer is full.
pub struct SpaceWatcher {
    layer: Box<dyn LayerSpace>,
    next: Duration,
    measure_at: Duration,
    /// The free space and what was used, when it was last measured.
    measured: (u64, u64),
}

impl SpaceWatcher {
    pub fn new(layer: Box<dyn LayerSpace>) -> Self {
        let free = layer.free_bytes().unwrap_or(u64::MAX);
        Self {
            layer,
            next: LOOK,
            measure_at: MEASURE,
            measured: (free, 0),
        }
    }

    fn is_due(&self, now: Duration) -> bool {
        let (free_then, used) = self.measured;
        let left = self.layer.max_bytes().saturating_sub(used);
        let free = self.layer.free_bytes().unwrap_or(0);
        now >= self.measure_at || free_then.saturating_sub(free) > left / 4
    }
}

impl Watcher for SpaceWatcher {
    fn observe(&mut self, _seen: &Observation, _now: RunMoment) -> Vec<WatcherStep> {
        Vec::new()
    }

    fn wakes_at(&self, _now: RunMoment) -> Option<Duration> {
        Some(self.next)
    }

    fn wake(&mut self, now: RunMoment) -> Vec<WatcherStep> {
        if now.elapsed < self.next {
            return Vec::new();
        }
        self.next = now.elapsed + LOOK;
        if !self.is_due(now.elapsed) {
            return Vec::new();
        }
        let used = self.layer.used_bytes().unwrap_or(0);
        self.measured = (self.layer.free_bytes().unwrap_or(0), used);
        self.measure_at = now.elapsed + MEASURE;
        let most = self.layer.max_bytes();
        if used <= most {
            return Vec::new();
        }
        let message = format!(
            "it wrote {} into its workspace, and `workspace.max_gb` allows {}",
            bytes(used),
            bytes(most)
        );
        vec![WatcherStep::Cut(Ending::Error { message })]
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc};

    use ralph_core::agent::ToolCalls;

    use super::*;

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
    fn a_layer_is_measured_when_the_disk_fills_and_ends_its_run_when_it_is_full() {
        let (free, used, measured) = (
            Rc::new(Cell::new(5000)),
            Rc::new(Cell::new(0)),
            Rc::new(Cell::new(0)),
        );
        let mut watcher = SpaceWatcher::new(Box::new(Disk {
            free: free.clone(),
            used: used.clone(),
            measured: measured.clone(),
        }));
        let mut wake = |seconds: u64| {
            let now = ToolCalls::default().moment(Duration::from_secs(seconds));
            watcher.wake(now)
        };
        assert_eq!(wake(1), []);
        assert_eq!(measured.get(), 0, "nothing was written");
        free.set(4200);
        used.set(800);
        assert_eq!(wake(2), []);
        assert_eq!(measured.get(), 1);
        assert_eq!(wake(3), []);
        assert_eq!(measured.get(), 1, "nothing more was written");
        used.set(1001);
        assert_eq!(wake(10), [], "others freed as much as it wrote");
        let steps = wake(40);
        let [WatcherStep::Cut(Ending::Error { message })] = steps.as_slice() else {
            panic!("{steps:?}");
        };
        assert!(message.contains("workspace.max_gb"), "{message}");
    }
}
