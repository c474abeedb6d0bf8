//! stub
use jiff::Timestamp;
use ralph_core::event::Event;
pub trait Reporter: Send {
    fn report(&mut self, event: &Event, at: Timestamp);
    fn tick(&mut self, _now: Timestamp) {}
    fn wants_ticks(&self) -> bool {
        false
    }
    fn finish(&mut self);
}
