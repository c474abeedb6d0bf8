//! Interrupts a round at any place, within the process of a test: it ends there, as a process that is killed does, or
//! something happens there and it goes on. Real kills are in `killed`; these are cheap enough for thousands.

use std::{cell::Cell, future::Future, pin::Pin, rc::Rc};

type Event<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

#[derive(Clone)]
struct Countdown {
    left: Rc<Cell<i64>>,
    /// Told back when what was to happen has.
    happened: Rc<Cell<bool>>,
}

tokio::task_local! {
    static COUNTDOWN: Countdown;
}

/// Goes on, unless this is the place.
pub(in super::super) async fn pass(_place: &'static str) {
    let Ok(countdown) = COUNTDOWN.try_with(Clone::clone) else {
        return;
    };
    countdown.left.set(countdown.left.get() - 1);
    if countdown.left.get() == 0 {
        std::future::poll_fn(|_| {
            if countdown.happened.get() {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
    }
}

/// Runs some work up to the n-th place that it passes, and drops it there; returns what it came to if it did not get
/// there.
pub(super) async fn until<T>(nth: i64, work: impl Future<Output = T>) -> Option<T> {
    interrupted(nth, None, work).await
}

/// Runs some work; at the n-th place that it passes something else happens first.
pub(super) async fn with_event_at<T>(
    nth: i64,
    event: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Option<T> {
    interrupted(nth, Some(Box::pin(event)), work).await
}

async fn interrupted<T>(
    nth: i64,
    mut event: Option<Event<'_>>,
    work: impl Future<Output = T>,
) -> Option<T> {
    use std::task::Poll;
    let countdown = Countdown {
        left: Rc::new(Cell::new(nth)),
        happened: Rc::new(Cell::new(false)),
    };
    let work = COUNTDOWN.scope(countdown.clone(), work);
    tokio::pin!(work);
    std::future::poll_fn(|context| {
        loop {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            let is_there = countdown.left.get() == 0 && !countdown.happened.get();
            match &mut event {
                None if is_there => return Poll::Ready(None),
                Some(event) if is_there => {
                    if event.as_mut().poll(context).is_pending() {
                        return Poll::Pending;
                    }
                    countdown.happened.set(true);
                }
                None | Some(_) => return Poll::Pending,
            }
        }
    })
    .await
}
