//! Tests of what is asked for of a team's budgets, with a real journal and a server that keeps figures in memory.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use ralph_core::economics::{BudgetAction, Caller, PriceBasis, TokenRecord, Tokens, check_budget};

use super::*;
use crate::store::DataDir;

/// The server: what is granted, of how much, and if it can be reached.
#[derive(Debug, Clone, Copy)]
struct Held {
    cap: u64,
    granted: u64,
    taken: u64,
    is_away: bool,
}

#[derive(Clone)]
struct FakeServer(Arc<Mutex<Held>>);

#[async_trait(?Send)]
impl BudgetServer for FakeServer {
    async fn budgets(&mut self, _: &str, now: Timestamp) -> Option<Vec<TeamShare>> {
        let held = *self.0.lock().unwrap();
        (!held.is_away).then(|| {
            vec![TeamShare {
                kept: KeptShare {
                    per: Per::Day,
                    period: period_of(Per::Day, now),
                    granted: cents(held.granted),
                    cap: cents(held.cap),
                },
                rest: cents(held.cap).without(cents(held.taken)),
            }]
        })
    }

    async fn reserve(&mut self, _: &str, _: &TeamShare, more: Dollars) -> bool {
        let mut held = self.0.lock().unwrap();
        let more = more.millionths() / 10_000;
        let fits = held.taken + more <= held.cap;
        if fits {
            held.taken += more;
            held.granted += more;
        }
        fits
    }

    async fn give_back(&mut self, _: &str, _: &TeamShare, keep: Dollars) {
        let mut held = self.0.lock().unwrap();
        let keep = keep.millionths() / 10_000;
        held.taken -= held.granted - keep;
        held.granted = keep;
    }
}

fn cents(n: u64) -> Dollars {
    Dollars::from_millionths(n * 10_000)
}

fn now() -> Timestamp {
    "2026-11-18T12:00:00Z".parse().unwrap()
}

/// A journal that is part of a team, in which this many cents were spent today.
async fn journal(folder: &Path, spent: u64) -> (Box<dyn Journal>, RepositoryId) {
    let data_dir = DataDir::from(folder.to_owned());
    let mut journal = data_dir.open_journal().await.unwrap();
    let place = Path::new("/repository/.git");
    let (id, _) = journal.repository(place, None, now()).await.unwrap();
    journal.close().await.unwrap();
    enable(folder);
    let mut journal = data_dir.open_journal().await.unwrap();
    let run = crate::store::SideRun {
        work: crate::store::SideWork::Plan,
        at: now(),
        accounts: crate::store::TokenUsage {
            records: vec![TokenRecord {
                run: 1,
                agent: "claude".into(),
                model: None,
                caller: Caller::Agent,
                tokens: Tokens::default(),
                cost: None,
                basis: PriceBasis::default(),
                told: Some(cents(spent)),
            }],
            tool_calls: 0,
        },
    };
    if spent > 0 {
        journal.record_side_run(&id, &run).await.unwrap();
    }
    (journal, id)
}

/// Writes down what the first sync does.
fn enable(folder: &Path) {
    let done = std::process::Command::new("sqlite3")
        .arg(folder.join("ralph.db"))
        .arg("UPDATE sync_state SET enabled = 1, origin = 'O'")
        .status();
    assert!(done.unwrap().success());
}

struct Scene {
    _folder: tempfile::TempDir,
    journal: Box<dyn Journal>,
    repository: RepositoryId,
    server: FakeServer,
    team: TeamBudgets,
}

async fn scene(cap: u64, taken: u64, spent: u64) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let (journal, repository) = journal(folder.path(), spent).await;
    let server = FakeServer(Arc::new(Mutex::new(Held {
        cap,
        granted: 0,
        taken,
        is_away: false,
    })));
    Scene {
        _folder: folder,
        journal,
        repository,
        team: TeamBudgets::new(Box::new(server.clone())),
        server,
    }
}

impl Scene {
    async fn ask(&mut self, need: u64) -> TeamSpendings {
        let need = (need > 0).then(|| Reserve(cents(need)));
        let asked = self
            .team
            .ask(&mut *self.journal, &self.repository, need, now());
        asked.await.unwrap()
    }

    fn held(&self) -> Held {
        *self.server.0.lock().unwrap()
    }
}

fn is_denied(spendings: &TeamSpendings, need: u64) -> Option<String> {
    let reserve = (need > 0).then(|| Reserve(cents(need)));
    match check_budget(&spendings.own, reserve, std::time::Duration::ZERO) {
        BudgetAction::Deny { alert } => Some(alert.sentence()),
        _ => None,
    }
}

#[tokio::test]
async fn half_of_the_rest_is_asked_for_at_first_and_given_back_once_costs_are_known() {
    let mut scene = scene(1_000, 0, 0).await;
    let first = scene.ask(0).await;
    assert_eq!(is_denied(&first, 0), None);
    assert_eq!(scene.held().granted, 500);
    let second = scene.ask(20).await;
    assert_eq!(is_denied(&second, 20), None);
    // A tenth is more than three iterations.
    assert_eq!((scene.held().granted, scene.held().taken), (100, 100));
    let third = scene.ask(20).await;
    assert_eq!(scene.held().granted, 100, "20 of the 100 are enough");
    // What was granted stops an agent, and not what the team has left.
    assert_eq!(third.own[0].left(), cents(100));
    assert_eq!(third.told[0].spent, cents(0));
}

#[tokio::test]
async fn what_was_spent_before_the_budget_was_set_counts() {
    let mut scene = scene(1_000, 0, 250).await;
    let asked = scene.ask(40).await;
    // Three iterations ahead are more than a tenth.
    assert_eq!(scene.held().granted, 250 + 120);
    assert_eq!(asked.own[0].left(), cents(120));
    assert_eq!(asked.told[0].spent, cents(250));
}

#[tokio::test]
async fn where_others_hold_nearly_all_what_is_left_is_asked_for_and_then_denied() {
    let mut scene = scene(1_000, 990, 0).await;
    let asked = scene.ask(20).await;
    assert_eq!(scene.held().granted, 10);
    assert_eq!(
        is_denied(&asked, 20).unwrap(),
        "the organisation's budget of $10.00 a day can't fund another iteration: $0.10 are left, and one may cost $0.20"
    );
}

#[tokio::test]
async fn without_the_server_a_machine_spends_its_share_and_no_more() {
    let mut scene = scene(1_000, 0, 95).await;
    scene.ask(20).await;
    assert_eq!(scene.held().granted, 195);
    scene.server.0.lock().unwrap().is_away = true;
    let asked = scene.ask(50).await;
    assert_eq!(is_denied(&asked, 50), None);
    assert_eq!(
        is_denied(&asked, 150).unwrap(),
        "this machine's share, $1.95, of the organisation's budget of $10.00 a day can't fund another \
         iteration: $1.00 are left, and one may cost $1.50, and the server can't be reached for more"
    );
}

#[tokio::test]
async fn at_the_end_all_but_a_part_to_go_on_with_is_given_back() {
    let mut scene = scene(1_000, 0, 0).await;
    scene.ask(200).await;
    assert_eq!(scene.held().granted, 600);
    let (journal, repository) = (&mut *scene.journal, &scene.repository);
    scene
        .team
        .give_back(journal, repository, now())
        .await
        .unwrap();
    assert_eq!((scene.held().granted, scene.held().taken), (100, 100));
}

#[tokio::test]
async fn a_journal_without_a_team_asks_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = crate::store::open(folder.path()).await.unwrap();
    let place = Path::new("/repository/.git");
    let (id, _) = journal.repository(place, None, now()).await.unwrap();
    let server = FakeServer(Arc::new(Mutex::new(Held {
        cap: 1,
        granted: 0,
        taken: 1,
        is_away: false,
    })));
    let mut team = TeamBudgets::new(Box::new(server));
    let asked = team.ask(&mut *journal, &id, None, now()).await.unwrap();
    assert!(asked.own.is_empty());
}
