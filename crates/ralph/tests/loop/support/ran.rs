//! What a run of `ralph` said and did, once it is over.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use serde_json::Value;

pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Ran {
    /// The exit code; minus the signal where one ended it.
    pub(crate) fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| -self.status.signal().unwrap_or_default())
    }

    /// Fails with everything that was said if the exit code is another one.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "{}", self.all());
        self
    }

    /// All that was said, for a look at it and for searching in it.
    pub(crate) fn all(&self) -> String {
        format!(
            "stdout:\n{}\nstderr:\n{}",
            String::from_utf8_lossy(&self.stdout),
            String::from_utf8_lossy(&self.stderr)
        )
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Fails if the errors do not say this.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(
            self.stderr().contains(text),
            "expected {text:?} in:\n{}",
            self.all()
        );
        self
    }

    /// Every event; each line of stdout must be one.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = String::from_utf8(self.stdout.clone()).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }

    /// The events of one name.
    pub(crate) fn named(&self, name: &str) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|event| event["event"] == name);
        events
    }

    /// The only event of a name.
    #[track_caller]
    pub(crate) fn one(&self, name: &str) -> Value {
        let mut found = self.named(name);
        assert_eq!(found.len(), 1, "events {name}: {}", self.all());
        found.remove(0)
    }

    /// `task verdict` of every iteration, in their order.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        let ended = self.named("iteration_ended");
        let pairs = ended.iter().map(|event| {
            format!(
                "{} {}",
                event["task"].as_str().unwrap(),
                event["verdict"].as_str().unwrap()
            )
        });
        pairs.collect()
    }

    /// Flags of all inspections.
    pub(crate) fn flags(&self) -> Vec<String> {
        let inspected = self.named("inspected");
        let flags = inspected
            .iter()
            .flat_map(|e| e["flags"].as_array().unwrap());
        flags.map(|f| f.as_str().unwrap().to_owned()).collect()
    }

    /// Why the loop stopped.
    pub(crate) fn stop(&self) -> Value {
        self.one("loop_ended")["stop"].clone()
    }
}
