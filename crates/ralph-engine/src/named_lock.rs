//! Locks with names, which debug builds watch: one that is waited for too long ends the program, with who waits, who
//! holds it, and what else is held.
//!
//! Everything runs on one thread, so that a lock that is held across a wait can stop all of it, and without a word.
//! Release builds wait as any lock does.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    panic::Location,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    time::{Duration, Instant},
};

/// Nothing that holds one of these waits for anything; one that is waited for is a mistake.
const LONGEST: Duration = Duration::from_secs(10);
/// The state of the repository is held while git works, which may take its time.
const LONGEST_OF_GIT: Duration = Duration::from_secs(80);
/// Between two looks at a lock that another thread holds.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A lock that is held for moments only, never across a wait.
#[derive(Debug)]
pub(crate) struct NamedLock<T> {
    name: &'static str,
    value: Mutex<T>,
}

impl<T> NamedLock<T> {
    pub(crate) fn new(name: &'static str, value: T) -> Self {
        Self {
            name,
            value: Mutex::new(value),
        }
    }

    /// Takes the lock. A panic elsewhere does not become one here: what is held stays whole.
    #[track_caller]
    pub(crate) fn lock(&self) -> Held<MutexGuard<'_, T>> {
        self.lock_within(LONGEST)
    }

    #[track_caller]
    fn lock_within(&self, longest: Duration) -> Held<MutexGuard<'_, T>> {
        let caller = Location::caller();
        if !cfg!(debug_assertions) {
            let guard = self.value.lock().unwrap_or_else(PoisonError::into_inner);
            return Held::new(guard, self.name, caller);
        }
        let since = Instant::now();
        let guard = loop {
            match self.value.try_lock() {
                Ok(guard) => break guard,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if since.elapsed() < longest => {
                    std::thread::sleep(LOOK_AGAIN);
                }
                Err(TryLockError::WouldBlock) => report(self.name, caller, longest),
            }
        };
        Held::new(guard, self.name, caller)
    }
}

/// Takes a lock of the runtime's, under a name.
pub(crate) async fn lock_git<'a, T>(
    name: &'static str,
    lock: &'a tokio::sync::Mutex<T>,
    caller: &'static Location<'static>,
) -> Held<tokio::sync::MutexGuard<'a, T>> {
    if !cfg!(debug_assertions) {
        return Held::new(lock.lock().await, name, caller);
    }
    match tokio::time::timeout(LONGEST_OF_GIT, lock.lock()).await {
        Ok(guard) => Held::new(guard, name, caller),
        Err(_) => report(name, caller, LONGEST_OF_GIT),
    }
}

/// A lock that is held, and noted as such in debug builds.
#[derive(Debug)]
pub(crate) struct Held<G> {
    guard: G,
    _note: Option<HeldNote>,
}

impl<G> Held<G> {
    fn new(guard: G, name: &'static str, caller: &'static Location<'static>) -> Self {
        let note = cfg!(debug_assertions).then(|| HeldNote::make(name, caller));
        Self { guard, _note: note }
    }
}

impl<G: Deref> Deref for Held<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Held<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

/// Everything that is held now, of debug builds.
static HELD: Mutex<Vec<HeldEntry>> = Mutex::new(Vec::new());

#[derive(Debug, Clone, Copy)]
struct HeldEntry {
    id: u64,
    lock: &'static str,
    holder: &'static Location<'static>,
    since: Instant,
}

impl fmt::Display for HeldEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lock, holder) = (self.lock, self.holder);
        let seconds = self.since.elapsed().as_secs_f64();
        write!(f, "`{lock}` is held by {holder} for {seconds:.1} s")
    }
}

/// Takes its entry out of the list when it is dropped.
#[derive(Debug)]
struct HeldNote(u64);

impl HeldNote {
    fn make(lock: &'static str, holder: &'static Location<'static>) -> Self {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let id = held.last().map_or(0, |last| last.id) + 1;
        held.push(HeldEntry {
            id,
            lock,
            holder,
            since: Instant::now(),
        });
        Self(id)
    }
}

impl Drop for HeldNote {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|entry| entry.id != self.0);
    }
}

/// Ends the program with who waits for what, and who holds what: only debug builds, which would hang otherwise.
fn report(lock: &'static str, waiter: &Location<'_>, waited: Duration) -> ! {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let held: Vec<String> = held.iter().map(ToString::to_string).collect();
    panic!(
        "{waiter} has waited {:.1} s for `{lock}`; {}",
        waited.as_secs_f64(),
        held.join(", ")
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_wait_without_end_names_who_waits_and_who_holds_what() {
        let (heartbeat, router) = (NamedLock::new("heartbeat", 1), NamedLock::new("router", 2));
        let first = heartbeat.lock();
        let first_line = line!() - 1;
        let _second = router.lock();
        let waited = catch_unwind(AssertUnwindSafe(|| {
            drop(heartbeat.lock_within(Duration::from_millis(20)));
        }));
        let waiter_line = line!() - 2;
        let said = waited.unwrap_err().downcast::<String>().unwrap();
        let here = file!();
        for part in [
            format!("{here}:{waiter_line}:"),
            "has waited 0.0 s for `heartbeat`".to_owned(),
            format!("`heartbeat` is held by {here}:{first_line}:"),
            "`router` is held by ".to_owned(),
        ] {
            assert!(said.contains(&part), "{part:?} in {said}");
        }
        drop(first);
        assert_eq!(*heartbeat.lock_within(Duration::from_millis(20)), 1);
    }

    #[test]
    fn one_thread_waits_for_another() {
        let lock = NamedLock::new("count", 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 400);
    }

    #[tokio::test]
    async fn a_lock_of_the_runtime_is_noted_while_it_is_held() {
        let lock = tokio::sync::Mutex::new(());
        let noted = || {
            let held = HELD.lock().unwrap();
            held.iter().any(|entry| entry.lock == "git of this test")
        };
        let held = lock_git("git of this test", &lock, Location::caller()).await;
        assert!(noted());
        drop(held);
        assert!(!noted());
    }
}
