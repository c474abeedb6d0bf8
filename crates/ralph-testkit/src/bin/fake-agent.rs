//! A stand-in for Claude Code that does what a scenario says: see `ralph_testkit::fake_agent`.

fn main() -> std::process::ExitCode {
    ralph_testkit::fake_agent::main()
}
