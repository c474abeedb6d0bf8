//! Limits that the kernel keeps for programs in a sandbox.

use std::num::NonZeroU32;

use super::ground::Machine;
use crate::layer::tests::support::{as_root_and_as_user, plain};
use crate::process::SandboxMeans;

/// Prints how many processors it may use, tries to use all, and prints it again.
const COUNTS: &str = "/usr/bin/python3 - <<'END'
import os
count = lambda: print(len(os.sched_getaffinity(0)))
count()
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
except OSError as error:
    print(error.strerror)
count()
END";

as_root_and_as_user! {
    programs_stay_on_as_many_processors_as_they_may_use: plain => |ground| {
        let all = std::thread::available_parallelism().unwrap().get();
        assert!(all > 1, "this needs two processors");
        for means in [SandboxMeans::Namespaces, SandboxMeans::Landlock] {
            if ground.is_root && means == SandboxMeans::Landlock {
                continue;
            }
            let limited = Machine::with(ground, means, |safety| {
                safety.max_cpus = NonZeroU32::new(1);
            });
            let (said, _) = limited.run(COUNTS);
            assert_eq!(said, "1\nOperation not permitted\n1\n", "{means}");
        }
        let free = Machine::new(ground, SandboxMeans::Namespaces);
        let (said, _) = free.run(COUNTS);
        assert_eq!(said, format!("{all}\n{all}\n"));
    };
}
