//! The loop's decisions, on a world that is only data.

use std::time::Duration;

use jiff::Timestamp;

use super::*;
use crate::{
    breaker::BreakerPolicy,
    config::{OnGutter, OnUsageLimit},
    economics::{Budget, BudgetPolicy, Per, Scope},
    gutter::GutterLimits,
    termination::{Diagnose, GutterPolicy, LimitPolicy, Span},
};

/// The world around a loop.
struct World {
    now: Timestamp,
    signal: Option<i32>,
    work: RemainingWork,
    attempts: ChargedAttempts,
    next: Option<TaskId>,
    exhausted: Option<(TaskId, ChargedAttempts)>,
    back_at: Option<Timestamp>,
    pause: PauseState,
    person: PersonAtTerminal,
}

impl LoopView for World {
    fn now(&self) -> Timestamp {
        self.now
    }
    fn elapsed(&self) -> Duration {
        Duration::from_secs(1)
    }
    fn signal(&self) -> Option<i32> {
        self.signal
    }
    fn work(&self, _last: Option<&TaskId>) -> RemainingWork {
        self.work
    }
    fn attempts(&self, _task: &TaskId) -> ChargedAttempts {
        self.attempts
    }
    fn next_task(&self) -> Option<TaskId> {
        self.next.clone()
    }
    fn exhausted_task(&self) -> Option<(TaskId, ChargedAttempts)> {
        self.exhausted.clone()
    }
    fn main_back_at(&self) -> Option<Timestamp> {
        self.back_at
    }
    fn pause_state(&self) -> PauseState {
        self.pause
    }
    fn person(&self) -> PersonAtTerminal {
        self.person
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn task(id: &str) -> TaskId {
    TaskId::parse(id).unwrap()
}

/// One task is ready, and another besides it.
fn world() -> World {
    World {
        now: at(0),
        signal: None,
        work: RemainingWork {
            all_complete: false,
            other_ready: true,
            same_ready: true,
            questions: 0,
        },
        attempts: ChargedAttempts {
            made: 0,
            max: 3,
            idle_in_a_row: 0,
        },
        next: Some(task("A")),
        exhausted: None,
        back_at: None,
        pause: PauseState::Running,
        person: PersonAtTerminal::Away,
    }
}

fn limits() -> Limits {
    Limits {
        max_iterations: 10,
        max_time: None,
        max_cost: None,
        on_max_attempts: OnMaxAttempts::Block,
        gutter: GutterPolicy {
            limits: GutterLimits {
                same_failure: None,
                churn: None,
                oscillations: None,
            },
            diagnose: Diagnose::No,
            then: OnGutter::Ask,
        },
        max_errors: 3,
        max_recoveries: 1,
        max_no_progress: 3,
        usage: LimitPolicy {
            on_limit: OnUsageLimit::Wait,
            max_wait: Duration::from_secs(3_600),
            unknown_wait: Duration::from_secs(60),
        },
        span: Span::All,
    }
}

fn breaker() -> Breaker {
    Breaker::new(BreakerPolicy {
        failures: 2,
        window: 3,
        cooldown: Duration::from_secs(600),
    })
}

fn new_loop() -> Loop {
    Loop::new(limits(), breaker(), OnOpen::Wait)
}

fn ended(verdict: Verdict) -> LoopStep {
    LoopStep::IterationEnded(Box::new(IterationSummary {
        task: task("A"),
        number: 7,
        verdict,
        worker: Worker::Main,
        health: HealthState::Healthy,
        moved: WorkMoved::Yes,
        usage: Usage::default(),
        spent: Dollars::told(0.5),
        gutter_findings: GutterFindings::default(),
    }))
}

/// Performs actions as an engine would that never meets anything, up to the first one that is not
/// expected to come each time.
fn run_until_interesting(machine: &mut Loop, world: &World) -> LoopAction {
    for _ in 0..20 {
        let done = match machine.next(world) {
            LoopAction::ObeyCommands => LoopStep::CommandsObeyed,
            LoopAction::Settle {
                task_decision: TaskDecision::Keep,
            } => LoopStep::Settled,
            LoopAction::MeasureBaseline => LoopStep::BaselineMeasured,
            LoopAction::ChooseAgent => LoopStep::AgentChosen,
            LoopAction::ReloadTasks => LoopStep::TasksReloaded,
            LoopAction::CheckBudget { .. } => LoopStep::BudgetAllows,
            LoopAction::CheckTree { .. } => LoopStep::TreeIsOurs,
            other => return other,
        };
        machine.apply(done, world);
    }
    panic!("the loop goes on for ever");
}

#[test]
fn an_iteration_comes_after_commands_baseline_agent_tasks_budget_and_tree() {
    let (mut machine, world) = (new_loop(), world());
    let mut seen = Vec::new();
    loop {
        let action = machine.next(&world);
        let (name, done) = match &action {
            LoopAction::ObeyCommands => ("commands", LoopStep::CommandsObeyed),
            LoopAction::Settle { .. } => ("settle", LoopStep::Settled),
            LoopAction::MeasureBaseline => ("baseline", LoopStep::BaselineMeasured),
            LoopAction::ChooseAgent => ("agent", LoopStep::AgentChosen),
            LoopAction::ReloadTasks => ("tasks", LoopStep::TasksReloaded),
            LoopAction::CheckBudget { .. } => ("budget", LoopStep::BudgetAllows),
            LoopAction::CheckTree { .. } => ("tree", LoopStep::TreeIsOurs),
            LoopAction::Iterate { task } => {
                assert_eq!(task.as_str(), "A");
                break;
            }
            other => panic!("{other:?}"),
        };
        seen.push(name);
        machine.apply(done, &world);
    }
    assert_eq!(
        seen,
        [
            "commands", "settle", "baseline", "commands", "settle", "agent", "tasks", "budget",
            "tree"
        ]
    );
}

#[test]
fn a_signal_ends_the_loop_before_anything_else_is_started() {
    let mut machine = new_loop();
    let world = World {
        signal: Some(15),
        person: PersonAtTerminal::There,
        pause: PauseState::Paused,
        ..world()
    };
    let action = run_until_interesting(&mut machine, &world);
    assert_eq!(action, LoopAction::End(Stop::Interrupted { signal: 15 }));
}

/// A world in which nothing is left but a question.
fn only_a_question() -> World {
    World {
        work: RemainingWork {
            all_complete: false,
            other_ready: false,
            same_ready: false,
            questions: 1,
        },
        ..world()
    }
}

#[test]
fn a_question_waits_while_another_task_is_ready_and_is_asked_when_the_loop_is_idle() {
    let busy = World {
        person: PersonAtTerminal::There,
        work: RemainingWork {
            questions: 1,
            ..world().work
        },
        ..world()
    };
    assert_eq!(
        run_until_interesting(&mut new_loop(), &busy),
        LoopAction::Iterate { task: task("A") }
    );
    let table = [
        World {
            person: PersonAtTerminal::There,
            ..only_a_question()
        },
        World {
            pause: PauseState::Paused,
            ..busy
        },
        World {
            person: PersonAtTerminal::Needed,
            ..world()
        },
    ];
    for idle in table {
        assert_eq!(
            run_until_interesting(&mut new_loop(), &idle),
            LoopAction::AskPerson
        );
    }
}

#[test]
fn an_answer_after_iterations_without_a_commit_lets_the_loop_go_on() {
    let mut machine = new_loop();
    let lonely = World {
        work: RemainingWork {
            other_ready: false,
            ..world().work
        },
        ..world()
    };
    for _ in 0..3 {
        machine.apply(ended(Verdict::Unclaimed), &lonely);
    }
    machine.tally_mut().forget_fruitless();
    assert_eq!(
        run_until_interesting(&mut machine, &lonely),
        LoopAction::Iterate { task: task("A") }
    );
}

#[test]
fn a_person_at_the_terminal_is_asked_and_then_all_is_decided_again() {
    let mut machine = new_loop();
    let there = World {
        person: PersonAtTerminal::There,
        ..only_a_question()
    };
    assert_eq!(
        run_until_interesting(&mut machine, &there),
        LoopAction::AskPerson
    );
    machine.apply(LoopStep::PersonAnswered, &there);
    assert_eq!(machine.next(&there), LoopAction::ObeyCommands);
    assert_eq!(
        run_until_interesting(&mut machine, &there),
        LoopAction::AskPerson
    );
    machine.apply(LoopStep::NothingAsked, &there);
    assert_eq!(machine.next(&there), LoopAction::End(Stop::Question));
}

#[test]
fn a_paused_loop_waits_for_its_person_also_where_only_questions_are_left() {
    for questions in [0, 1] {
        let mut machine = new_loop();
        let mut paused = World {
            pause: PauseState::Paused,
            ..world()
        };
        if questions > 0 {
            paused.work = RemainingWork {
                all_complete: false,
                other_ready: false,
                same_ready: false,
                questions,
            };
        }
        assert_eq!(
            run_until_interesting(&mut machine, &paused),
            LoopAction::Pause
        );
        machine.apply(LoopStep::Resumed, &paused);
        assert_eq!(machine.next(&paused), LoopAction::ObeyCommands);
    }
}

#[test]
fn a_pause_does_not_hold_up_an_end_for_another_reason() {
    let mut machine = new_loop();
    let mut paused = World {
        pause: PauseState::Paused,
        ..world()
    };
    paused.work.all_complete = true;
    let action = run_until_interesting(&mut machine, &paused);
    assert_eq!(action, LoopAction::End(Stop::AllComplete));
}

#[test]
fn an_answer_can_end_the_loop() {
    let (mut machine, world) = (new_loop(), world());
    machine.abort();
    let action = run_until_interesting(&mut machine, &world);
    assert_eq!(action, LoopAction::End(Stop::Aborted));
}

#[test]
fn a_usage_limit_is_waited_for_and_charges_nothing() {
    let (mut machine, mut world) = (new_loop(), world());
    let resets_at = Some(at(300));
    machine.apply(ended(Verdict::LimitHit { resets_at }), &world);
    assert_eq!(machine.tally().iterations, 0);
    assert_eq!(machine.tally().number, 7);
    assert_eq!(
        run_until_interesting(&mut machine, &world),
        LoopAction::WaitForLimit { until: at(300) }
    );
    world.now = at(301);
    machine.apply(LoopStep::LimitWaited, &world);
    let action = run_until_interesting(&mut machine, &world);
    assert_eq!(action, LoopAction::Iterate { task: task("A") });
}

#[test]
fn a_fallback_takes_over_at_a_usage_limit_without_a_wait() {
    let mut limits = limits();
    limits.usage.on_limit = OnUsageLimit::Fallback;
    let mut machine = Loop::new(limits, breaker(), OnOpen::Wait);
    let mut world = world();
    let resets_at = Some(at(300));
    machine.apply(ended(Verdict::LimitHit { resets_at }), &world);
    assert_eq!(
        run_until_interesting(&mut machine, &world),
        LoopAction::UseFallback { until: at(300) }
    );
    world.back_at = Some(at(300));
    machine.apply(LoopStep::FallbackChosen, &world);
    let action = run_until_interesting(&mut machine, &world);
    assert_eq!(action, LoopAction::Iterate { task: task("A") });
}

fn fails(machine: &mut Loop, world: &World, times: u32) {
    for _ in 0..times {
        let message = "it crashed".to_owned();
        machine.apply(ended(Verdict::AgentError { message }), world);
    }
}

#[test]
fn an_open_breaker_is_waited_for_and_lets_one_iteration_through() {
    let (mut machine, mut world) = (new_loop(), world());
    fails(&mut machine, &world, 2);
    assert_eq!(machine.breaker().state(), BreakerState::Open);
    assert_eq!(
        run_until_interesting(&mut machine, &world),
        LoopAction::WaitForBreaker { until: at(600) }
    );
    world.now = at(600);
    machine.apply(LoopStep::BreakerWaited, &world);
    assert_eq!(machine.breaker().state(), BreakerState::HalfOpen);
    let action = run_until_interesting(&mut machine, &world);
    assert_eq!(action, LoopAction::Iterate { task: task("A") });
    machine.apply(ended(Verdict::Verified), &world);
    assert_eq!(machine.breaker().state(), BreakerState::Closed);
}

#[test]
fn an_open_breaker_ends_the_loop_where_that_is_configured() {
    let mut machine = Loop::new(limits(), breaker(), OnOpen::Stop);
    let world = world();
    fails(&mut machine, &world, 2);
    assert_eq!(
        run_until_interesting(&mut machine, &world),
        LoopAction::End(Stop::CircuitBreakerOpen {
            failures: 2,
            of: 2,
            until: Some(at(600)),
        })
    );
}

#[test]
fn a_breaker_from_the_journal_lets_one_iteration_through() {
    let (mut machine, world) = (new_loop(), world());
    let mut open = breaker();
    open.note(Sample::Failure, at(0));
    open.note(Sample::Failure, at(0));
    assert_eq!(open.state(), BreakerState::Open);
    machine.recall_breaker(open, at(1));
    assert_eq!(machine.breaker().state(), BreakerState::HalfOpen);
    let action = run_until_interesting(&mut machine, &world);
    assert_eq!(action, LoopAction::Iterate { task: task("A") });
}

fn alert(scope: Scope) -> Alert {
    Alert {
        budget: Budget {
            scope,
            per: Per::Day,
            usd: Dollars::told(1.0),
            action: BudgetPolicy::Deny,
        },
        spent_usd: Dollars::told(1.0),
        reserve_usd: None,
        share_of_usd: None,
    }
}

#[test]
fn a_budget_that_denies_ends_the_loop_and_one_that_asks_again_does_not() {
    let (mut machine, world) = (new_loop(), world());
    let reach_budget = |machine: &mut Loop| {
        while !matches!(machine.next(&world), LoopAction::CheckBudget { .. }) {
            let done = match machine.next(&world) {
                LoopAction::ObeyCommands => LoopStep::CommandsObeyed,
                LoopAction::Settle { .. } => LoopStep::Settled,
                LoopAction::MeasureBaseline => LoopStep::BaselineMeasured,
                LoopAction::ChooseAgent => LoopStep::AgentChosen,
                LoopAction::ReloadTasks => LoopStep::TasksReloaded,
                other => panic!("{other:?}"),
            };
            machine.apply(done, &world);
        }
    };
    reach_budget(&mut machine);
    machine.apply(LoopStep::BudgetAsksAgain, &world);
    assert_eq!(machine.next(&world), LoopAction::ObeyCommands);
    reach_budget(&mut machine);
    machine.apply(LoopStep::BudgetDenies(alert(Scope::Loop)), &world);
    assert_eq!(
        machine.next(&world),
        LoopAction::End(Stop::BudgetDenied(alert(Scope::Loop)))
    );
}

#[test]
fn nothing_ready_for_want_of_money_is_said_as_such() {
    let mut world = world();
    world.next = None;
    world.work.other_ready = false;
    world.work.same_ready = false;
    let mut machine = new_loop();
    assert_eq!(
        run_until_interesting(&mut machine, &world),
        LoopAction::End(Stop::NothingReady)
    );
    let mut machine = new_loop();
    machine.tally_mut().unfunded = Some(alert(Scope::Task));
    assert_eq!(
        run_until_interesting(&mut machine, &world),
        LoopAction::End(Stop::BudgetDenied(alert(Scope::Task)))
    );
}

#[test]
fn a_task_file_that_a_person_emptied_meanwhile_ends_the_loop() {
    for (all_complete, questions, expected) in [
        (true, 0, Stop::AllComplete),
        (false, 0, Stop::NothingReady),
        (false, 2, Stop::Question),
    ] {
        let mut world = world();
        world.next = None;
        // As it was before the file was read again.
        let mut machine = new_loop();
        machine.apply(LoopStep::TasksReloaded, &world);
        world.work = RemainingWork {
            all_complete,
            other_ready: false,
            same_ready: false,
            questions,
        };
        assert_eq!(machine.next(&world), LoopAction::End(expected));
    }
}

#[test]
fn a_task_out_of_attempts_ends_an_execution_before_it_is_worked_on_once_more() {
    let exhausted = Some((
        task("B"),
        ChargedAttempts {
            made: 3,
            max: 3,
            idle_in_a_row: 0,
        },
    ));
    let world = World {
        exhausted,
        ..world()
    };
    let halting = Limits {
        on_max_attempts: OnMaxAttempts::Halt,
        ..limits()
    };
    let mut machine = Loop::new(halting, breaker(), OnOpen::Wait);
    assert_eq!(
        run_until_interesting(&mut machine, &world),
        LoopAction::End(Stop::Attempts {
            task: "B".to_owned(),
            attempts: 3,
            max: 3,
        })
    );
    // A task that only blocks itself does not end the loop.
    let mut machine = new_loop();
    assert_eq!(
        run_until_interesting(&mut machine, &world),
        LoopAction::Iterate { task: task("A") }
    );
}

#[test]
fn the_last_attempt_halts_a_loop_also_after_its_task_was_settled() {
    let halting = Limits {
        on_max_attempts: OnMaxAttempts::Halt,
        ..limits()
    };
    let mut machine = Loop::new(halting, breaker(), OnOpen::Wait);
    let mut world = world();
    world.attempts = ChargedAttempts {
        made: 3,
        max: 3,
        idle_in_a_row: 0,
    };
    let failed = Verdict::Failed {
        command: "make".to_owned(),
        signature: "x".to_owned(),
    };
    machine.apply(ended(failed), &world);
    machine.apply(LoopStep::CommandsObeyed, &world);
    let LoopAction::Settle {
        task_decision: TaskDecision::Block { .. },
    } = machine.next(&world)
    else {
        panic!("{:?}", machine.next(&world));
    };
    machine.apply(LoopStep::Settled, &world);
    assert_eq!(
        machine.next(&world),
        LoopAction::End(Stop::Attempts {
            task: "A".to_owned(),
            attempts: 3,
            max: 3,
        })
    );
}

#[test]
fn a_task_is_settled_once() {
    let (mut machine, world) = (new_loop(), world());
    machine.apply(ended(Verdict::Escalated), &world);
    machine.apply(LoopStep::CommandsObeyed, &world);
    let LoopAction::Settle {
        task_decision: TaskDecision::SetAside { .. },
    } = machine.next(&world)
    else {
        panic!("{:?}", machine.next(&world));
    };
    machine.apply(LoopStep::Settled, &world);
    machine.apply(LoopStep::PersonAnswered, &world);
    machine.apply(LoopStep::CommandsObeyed, &world);
    assert_eq!(
        machine.next(&world),
        LoopAction::Settle {
            task_decision: TaskDecision::Keep
        }
    );
}

#[test]
fn foreign_work_in_the_tree_halts_the_loop() {
    let (mut machine, world) = (new_loop(), world());
    let reason = "someone else changed a.txt".to_owned();
    machine.apply(
        LoopStep::TreeIsForeign {
            reason: reason.clone(),
        },
        &world,
    );
    assert_eq!(
        machine.next(&world),
        LoopAction::End(Stop::Halted { reason })
    );
}

#[test]
fn iterations_count_for_their_limit_and_interruptions_and_diagnoses_do_not() {
    let (mut machine, world) = (new_loop(), world());
    for verdict in [Verdict::Verified, Verdict::Interrupted, Verdict::Diagnosed] {
        machine.apply(ended(verdict), &world);
    }
    let tally = machine.tally();
    assert_eq!((tally.iterations, tally.counted()), (2, 1));
    assert_eq!(tally.spent, Dollars::told(1.5));
}

#[test]
fn iterations_without_a_commit_end_the_loop_and_handoffs_that_move_do_not_count() {
    let (mut machine, world) = (new_loop(), world());
    let trigger = crate::handoff::HandoffTrigger::ContextThreshold;
    for _ in 0..5 {
        machine.apply(ended(Verdict::Handoff { trigger }), &world);
    }
    assert_eq!(machine.tally().fruitless, 0);
    let mut lonely = world;
    lonely.work.other_ready = false;
    for _ in 0..3 {
        machine.apply(ended(Verdict::Unclaimed), &lonely);
    }
    assert_eq!(
        run_until_interesting(&mut machine, &lonely),
        LoopAction::End(Stop::NoProgress { iterations: 3 })
    );
}
