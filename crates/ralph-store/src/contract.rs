//! The contract of a journal: what every store must do, as tests that only use [`Journal`].
//!
//! A store takes part by an implementation of [`TestStore`] and one line of `journal_contract!` in its own tests. What
//! is about one database alone (its schema, its locks, damaged rows) is tested beside that store.

use std::path::Path;

use super::*;

pub(super) mod checkpoints;
pub(super) mod commands;
pub(super) mod costs;
pub(super) mod iterations;
pub(super) mod loops;
pub(super) mod notes;
pub(super) mod repositories;
pub(super) mod rewrites;
pub(super) mod sessions;
pub(super) mod tasks;

/// A store that a test has for itself.
#[async_trait(?Send)]
pub(super) trait TestStore: Sync {
    /// Opens it, as another process would: the first time it is empty.
    async fn open(&self) -> Box<dyn Journal>;
}

/// Makes a test of each function of the contract, with a new store each.
macro_rules! journal_contract {
    ($store:expr) => {
        $crate::contract::contract_tests! {
            $store;
            repositories: a_moved_repository_keeps_its_id_and_a_copy_gets_its_own, the_chosen_task_source_is_kept_by_repository_until_it_is_forgotten;
            iterations: an_iteration_without_an_end_is_found_again_with_its_steps, a_file_that_a_landed_iteration_added_is_an_agents_until_a_loop_works_on_it, a_number_is_never_used_again, the_range_of_iterations_is_known_and_none_where_there_are_none, transactions_that_read_first_do_not_lose_what_another_wrote;
            loops: only_a_loop_without_an_end_is_interrupted, the_last_clean_check_of_a_loop_is_kept, loops_are_listed_newest_first_and_no_more_than_asked_for, a_loop_counts_its_iterations_as_they_end_and_those_taken_back_no_more;
            notes: only_the_newest_loop_of_a_working_tree_is_open_and_only_without_an_end, notes_are_kept_and_restarts_are_counted_by_working_tree_and_time, events_of_a_loop_are_kept_in_their_order_and_known_by_iteration;
            tasks: histories_of_tasks_are_kept_by_task_file, a_list_of_tasks_is_kept_and_histories_follow_new_ids;
            commands: commands_wait_in_their_order_over_a_restart_until_they_are_ended, a_command_that_is_ended_twice_has_its_effects_once, guidance_for_the_next_prompt_belongs_to_its_task_from_then_on, guidance_can_be_kept_without_a_command, a_question_and_its_answer_are_kept;
            checkpoints: each_loop_has_a_chain_of_its_own, those_of_one_iteration_are_found_newest_first, one_is_found_by_the_beginning_or_the_end_of_its_id, the_end_of_a_loop_and_its_checkpoint_are_one_write, a_phase_is_kept_where_it_is_another_one_only, many_who_write_at_once_make_one_chain;
            costs: each_call_comes_back_as_it_was_written, grouped_by_anything_the_sums_are_those_of_all_calls, rows_have_their_names_and_the_dearest_comes_first, spending_is_known_for_every_scope_and_time, the_past_is_known_for_reserves_and_forecasts, since_any_day_the_dearest_come_first_with_what_they_cost_from_then_on, work_outside_of_loops_counts_for_the_repository_and_for_all_and_keeps_its_calls;
            rewrites: a_rewrite_without_an_end_is_found_and_its_end_opens_its_tasks_again;
            sessions: a_loop_in_a_session_counts_each_iteration_once_and_adds_to_what_was_spent, a_loop_in_a_session_ends_once_and_sessions_are_listed_newest_first;
        }
    };
}

macro_rules! contract_tests {
    ($store:expr; $($group:ident: $($name:ident),*;)*) => {
        $(mod $group {
            $(#[tokio::test]
            async fn $name() {
                $crate::contract::$group::$name(&$store).await;
            })*
        })*
    };
}

pub(super) use {contract_tests, journal_contract};

pub(super) fn at() -> jiff::Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

/// An empty journal with one repository in it.
async fn fresh(store: &dyn TestStore) -> (Box<dyn Journal>, RepositoryId) {
    let mut journal = store.open().await;
    let place = Path::new("/repository/.git");
    let (id, moved) = journal.repository(place, None, at()).await.unwrap();
    assert_eq!(moved, RepositoryMove::Stayed);
    (journal, id)
}

pub(super) fn start(loop_id: &str, id: &str) -> IterationStart {
    IterationStart {
        id: id.into(),
        loop_id: loop_id.into(),
        task: ralph_core::task::TaskId::parse("T1").unwrap(),
        attempt: 1,
        base_commit: "b".into(),
        untracked: vec!["notes.txt".into()],
        diagnose: None,
        lands: ralph_core::iteration::Lands::Claimed,
        at: at(),
    }
}

pub(super) async fn begin_loop(journal: &mut dyn Journal, repository: &RepositoryId, id: &str) {
    begin_loop_in(journal, repository, id, "/w", at()).await;
}

async fn begin_loop_in(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    id: &str,
    worktree: &str,
    at: jiff::Timestamp,
) {
    let new = NewLoop {
        id: &id.into(),
        repository,
        worktree,
        source: "prd.json",
        goal: "X",
        branch: "ralph/x",
        base_commit: "b",
        agent: "script",
        config: "{\"a\":1}",
        at,
    };
    journal.begin_loop(&new).await.unwrap();
}

/// Begins an iteration of loop L1, and returns its number.
async fn begin_iteration(journal: &mut dyn Journal, repository: &RepositoryId, id: &str) -> u64 {
    let begun = start("L1", id);
    journal.begin_iteration(repository, &begun).await.unwrap()
}
