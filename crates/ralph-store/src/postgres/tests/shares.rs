//! Tests of shares of a team's budgets.

use ralph_core::{dollars::Dollars, economics::Per};

use super::*;
use crate::postgres::{
    StoreConnection,
    admin::{BudgetChange, BudgetTerm, set_budget},
    shares::{TeamBudget, reserve_share, return_share, team_budgets},
};

fn usd(n: u32) -> Dollars {
    Dollars::whole(n)
}

async fn budget_of(store: &Store, tenant: &str, n: u32) {
    let change = BudgetChange {
        tenant,
        term: BudgetTerm::Day,
        usd: usd(n),
        by: "ada",
        machine: "here",
        at: at(),
    };
    set_budget(&store.admin, change).await.unwrap();
}

/// A machine of tenant `a`.
struct Machine {
    connection: StoreConnection,
    tenant: uuid::Uuid,
    origin: String,
}

impl Machine {
    async fn new(url: &StoreUrl, tenant: &str, origin: &str) -> Self {
        let mut connection = StoreConnection::open(url).await.unwrap();
        let tenant = connection.tenant(tenant).await.unwrap();
        Self {
            connection,
            tenant,
            origin: origin.to_owned(),
        }
    }

    async fn budgets(&mut self) -> Vec<TeamBudget> {
        let asked = team_budgets(&mut self.connection, self.tenant, &self.origin, at());
        asked.await.unwrap()
    }

    async fn reserve(&mut self, of: &TeamBudget, more: Dollars) -> bool {
        let asked = reserve_share(&mut self.connection, self.tenant, &self.origin, of, more);
        asked.await.unwrap()
    }
}

#[tokio::test]
async fn ten_machines_at_once_never_get_more_than_there_is() {
    let store = Store::new().await;
    budget_of(&store, "a", 100).await;
    let url = store.url_of("app", None).await;
    let mut machines = tokio::task::JoinSet::new();
    for n in 0..10 {
        let url = url.clone();
        machines.spawn(async move {
            let mut machine = Machine::new(&url, "a", &format!("machine-{n}")).await;
            let mut granted = 0;
            for _ in 0..5 {
                let of = machine.budgets().await.remove(0);
                // 50 times 3 dollars are more than there are.
                granted += u64::from(machine.reserve(&of, usd(3)).await);
            }
            granted
        });
    }
    let granted: u64 = machines.join_all().await.into_iter().sum();
    assert_eq!(granted, 33, "the 34th does not fit into 100 dollars");
    let sums = store.database.sql(
        "SELECT sum(granted), (SELECT sum(taken) FROM ralph.budget_period) FROM ralph.budget_share",
    );
    assert_eq!(sums.trim(), "99000000|99000000");
}

#[tokio::test]
async fn a_share_is_of_its_period_and_what_is_given_back_another_machine_can_have() {
    let store = Store::new().await;
    budget_of(&store, "a", 10).await;
    let url = store.url_of("app", None).await;
    let mut first = Machine::new(&url, "a", "first").await;
    let mut second = Machine::new(&url, "a", "second").await;
    let of = first.budgets().await.remove(0);
    assert_eq!((of.per, of.period.as_str()), (Per::Day, "2026-01-02"));
    assert_eq!((of.cap, of.granted, of.rest()), (usd(10), usd(0), usd(10)));
    assert!(first.reserve(&of, usd(8)).await);
    assert!(!second.reserve(&of, usd(3)).await);
    let (connection, tenant) = (&mut first.connection, first.tenant);
    return_share(connection, tenant, "first", &of, usd(2))
        .await
        .unwrap();
    // A second time there is nothing to give.
    return_share(connection, tenant, "first", &of, usd(2))
        .await
        .unwrap();
    let seen = second.budgets().await.remove(0);
    assert_eq!(
        (seen.granted, seen.taken, seen.rest()),
        (usd(0), usd(2), usd(8))
    );
    assert!(second.reserve(&of, usd(8)).await);
}

#[tokio::test]
async fn another_tenant_has_budgets_of_its_own() {
    let store = Store::new().await;
    budget_of(&store, "a", 10).await;
    budget_of(&store, "b", 5).await;
    let url = store.url_of("app", None).await;
    let mut of_a = Machine::new(&url, "a", "m").await;
    let mut of_b = Machine::new(&url, "b", "m").await;
    let a = of_a.budgets().await.remove(0);
    assert!(of_a.reserve(&a, usd(10)).await);
    let b = of_b.budgets().await.remove(0);
    assert_eq!((b.cap, b.taken), (usd(5), usd(0)));
    assert!(
        !of_b.reserve(&b, usd(6)).await,
        "the cap is that of its own"
    );
    assert!(of_b.reserve(&b, usd(5)).await);
}
