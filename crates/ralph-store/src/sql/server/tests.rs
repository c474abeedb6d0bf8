//! Tests of journals on a real PostgreSQL server; what they do as journals is in the contract.

use std::sync::mpsc;

use async_trait::async_trait;
use ralph_testkit::{
    postgres::{Cluster, Database, Pgbouncer},
    proxy::{Endpoint, Proxy, Way},
};

use ralph_core::{
    breaker::BreakerState,
    command::{Answer, Command, CommandReport},
    escalation::{AnswerKind, Answered, AskedBy},
    event::{Event, KeptEvent},
    health::HealthState,
    id::LoopId,
    termination::Stop,
};

use super::*;
use crate::{
    contract::{self, TestStore, at, begin_loop, journal_contract, start},
    postgres::{UrlSource, admin},
    *,
};

/// A database with the schema, and a tenant in it.
struct Tenancy {
    database: Database,
    role: String,
    url: StoreUrl,
}

const TENANT: &str = "acme";
const PASSWORD: &str = "secret";

impl Tenancy {
    async fn new() -> Self {
        Self::in_cluster(Cluster::shared()).await
    }

    async fn in_cluster(cluster: &Cluster) -> Self {
        let database = cluster.database();
        let root = parse(&database.url());
        admin::init(&root).await.unwrap();
        admin::add_tenant(&root, TENANT).await.unwrap();
        let role = format!("app_{}", Uuid::now_v7().simple());
        let new = admin::NewRole {
            name: &role,
            tenant: None,
            password: Some(PASSWORD),
        };
        admin::add_role(&root, new).await.unwrap();
        let url = parse(&database.url_of(&role, PASSWORD));
        Self {
            database,
            role,
            url,
        }
    }

    /// A proxy in front of the server, and the URL that leads through it.
    fn proxy(&self) -> (Proxy, StoreUrl) {
        let proxy = Proxy::unix(Endpoint::Unix(Cluster::shared().socket()));
        let folder = proxy.socket_folder();
        let url = self.database.url_at(folder, 5432, &self.role, PASSWORD);
        (proxy, parse(&url))
    }
}

fn parse(url: &str) -> StoreUrl {
    StoreUrl::parse(url, &UrlSource::Environment).unwrap()
}

fn server(url: &StoreUrl) -> JournalServer {
    JournalServer::new(url.clone(), TENANT.into(), Arc::new(|_: &str| {}))
}

async fn open(url: &StoreUrl) -> Box<dyn Journal> {
    server(url).open().await.unwrap()
}

/// A repository with loop L1 in it.
async fn with_loop(journal: &mut dyn Journal) -> RepositoryId {
    let place = Path::new("/repository/.git");
    let (id, _) = journal.repository(place, None, at()).await.unwrap();
    begin_loop(journal, &id, "L1").await;
    id
}

#[async_trait(?Send)]
impl TestStore for Tenancy {
    async fn open(&self) -> Box<dyn Journal> {
        open(&self.url).await
    }
}

mod contract_of_journals {
    super::journal_contract!(super::super::Tenancy::new().await);
}

/// Reaches the database through pgbouncer, which gives each transaction another connection.
struct Pooled {
    tenancy: Tenancy,
    pooler: Pgbouncer,
}

impl Pooled {
    async fn new() -> Self {
        let tenancy = Tenancy::new().await;
        let pooler = Pgbouncer::start(Cluster::shared(), &[(&tenancy.role, PASSWORD)], 2);
        Self { tenancy, pooler }
    }
}

#[async_trait(?Send)]
impl TestStore for Pooled {
    async fn open(&self) -> Box<dyn Journal> {
        let Tenancy { database, role, .. } = &self.tenancy;
        open(&parse(&self.pooler.url_of(database, role, PASSWORD))).await
    }
}

#[tokio::test]
async fn a_pooler_that_gives_each_transaction_another_connection_makes_no_difference() {
    contract::iterations::transactions_that_read_first_do_not_lose_what_another_wrote(
        &Pooled::new().await,
    )
    .await;
    contract::commands::a_question_and_its_answer_are_kept(&Pooled::new().await).await;
    contract::costs::each_call_comes_back_as_it_was_written(&Pooled::new().await).await;
}

#[tokio::test]
async fn what_was_committed_without_an_answer_is_written_once() {
    let tenancy = Tenancy::new().await;
    let (proxy, url) = tenancy.proxy();
    let mut journal = open(&url).await;
    let repository = with_loop(&mut *journal).await;
    // The server says COMMIT once it has done so.
    proxy.cut_before(Way::Down, "COMMIT");
    let begun = start("L1", "I1");
    let n = journal.begin_iteration(&repository, &begun).await.unwrap();
    assert_eq!(proxy.cuts(), 1);
    assert_eq!(n, 1);
    let begun = start("L1", "I2");
    let next = journal.begin_iteration(&repository, &begun);
    assert_eq!(next.await.unwrap(), 2);
}

#[tokio::test]
async fn what_the_server_was_never_asked_to_commit_is_written_again() {
    let tenancy = Tenancy::new().await;
    let (proxy, url) = tenancy.proxy();
    let mut journal = open(&url).await;
    let repository = with_loop(&mut *journal).await;
    for (n, text) in ["COMMIT", "INSERT INTO iteration", "INSERT INTO step"]
        .into_iter()
        .enumerate()
    {
        proxy.cut_within(Way::Up, text);
        let begun = start("L1", &format!("I{n}"));
        let number = journal.begin_iteration(&repository, &begun).await.unwrap();
        assert_eq!(number, n as u64 + 1, "{text}");
        assert_eq!(proxy.cuts(), n as u64 + 1, "{text}");
    }
    let rows = "SELECT count(*), max(n) FROM ralph.iteration";
    assert_eq!(tenancy.database.sql(rows).trim(), "3|3");
}

#[tokio::test]
async fn a_server_that_is_gone_is_waited_for_and_a_person_is_told_once() {
    let tenancy = Tenancy::new().await;
    let (proxy, url) = tenancy.proxy();
    let (told, notices) = mpsc::channel();
    let notice = Arc::new(move |text: &str| told.send(text.to_owned()).unwrap());
    let server = JournalServer::new(url, TENANT.into(), notice);
    let mut journal = server.open().await.unwrap();
    let repository = with_loop(&mut *journal).await;
    proxy.refuse(true);
    proxy.cut();
    let back = std::thread::spawn(move || {
        // It is back as soon as the journal waits for it.
        let said = notices.recv().unwrap();
        proxy.refuse(false);
        (said, proxy, notices)
    });
    let begun = start("L1", "I1");
    let n = journal.begin_iteration(&repository, &begun).await.unwrap();
    assert_eq!(n, 1);
    let (said, _proxy, notices) = back.join().unwrap();
    assert!(
        said.contains("can't be reached: waiting for it, 10 minutes at most"),
        "{said}"
    );
    assert_eq!(notices.try_recv(), Err(mpsc::TryRecvError::Empty));
}

#[tokio::test]
async fn a_server_that_stays_away_is_named_and_nothing_is_half_done() {
    let tenancy = Tenancy::new().await;
    let (proxy, url) = tenancy.proxy();
    let server = server(&url).with_patience(Duration::from_millis(100));
    let mut journal = server.open().await.unwrap();
    let repository = with_loop(&mut *journal).await;
    proxy.refuse(true);
    proxy.cut_before(Way::Up, "INSERT INTO step");
    let begun = start("L1", "I1");
    let begun = journal.begin_iteration(&repository, &begun);
    let error = begun.await.unwrap_err();
    assert!(matches!(error, JournalError::Lost { .. }), "{error:?}");
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.starts_with("nothing is lost"))
    );
    let rows = "SELECT count(*) FROM ralph.iteration";
    assert_eq!(tenancy.database.sql(rows).trim(), "0");
}

#[tokio::test]
async fn sixty_four_loops_write_at_once_and_no_number_is_given_twice() {
    let tenancy = Tenancy::new().await;
    let mut journal = open(&tenancy.url).await;
    let repository = with_loop(&mut *journal).await;
    let mut tasks = tokio::task::JoinSet::new();
    for at_work in 0..64 {
        let (url, repository) = (tenancy.url.clone(), repository.clone());
        tasks.spawn(async move {
            let mut journal = open(&url).await;
            let mut numbers = Vec::new();
            for n in 0..2 {
                let begun = start("L1", &format!("I-{at_work}-{n}"));
                numbers.push(journal.begin_iteration(&repository, &begun).await.unwrap());
            }
            numbers
        });
    }
    let mut numbers: Vec<u64> = tasks.join_all().await.into_iter().flatten().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=128).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_transaction_that_the_server_gave_up_is_run_again() {
    let tenancy = Tenancy::new().await;
    let mut journal = open(&tenancy.url).await;
    let repository = with_loop(&mut *journal).await;
    // The first three of the iterations are given up as those in a deadlock are.
    tenancy.database.sql(
        "CREATE SEQUENCE public.tries; GRANT USAGE ON SEQUENCE public.tries TO ralph_app;
         CREATE FUNCTION public.give_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           IF nextval('public.tries') <= 3 THEN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END IF;
           RETURN NEW; END $$;
         CREATE TRIGGER give_up BEFORE INSERT ON ralph.iteration FOR EACH ROW EXECUTE FUNCTION public.give_up()",
    );
    let begun = start("L1", "I1");
    let begun = journal.begin_iteration(&repository, &begun);
    assert_eq!(begun.await.unwrap(), 1);
    assert_eq!(
        tenancy
            .database
            .sql("SELECT last_value FROM public.tries")
            .trim(),
        "4"
    );
}

#[tokio::test]
async fn a_text_with_a_nul_is_kept_without_it() {
    let tenancy = Tenancy::new().await;
    let mut journal = open(&tenancy.url).await;
    let repository = with_loop(&mut *journal).await;
    let guidance = NewGuidance {
        task: None,
        text: "be\0fore".into(),
        who: "ada".into(),
        at: at(),
        iteration: None,
    };
    journal
        .add_guidance(&repository, "prd.json", &guidance)
        .await
        .unwrap();
    let task = ralph_core::task::TaskId::parse("T1").unwrap();
    let kept = journal
        .guidance(&repository, "prd.json", &task)
        .await
        .unwrap();
    assert_eq!(kept[0].text, "be\u{fffd}fore");
}

#[tokio::test]
async fn what_is_done_is_in_the_audit_trail_in_the_same_transaction() {
    let tenancy = Tenancy::new().await;
    let mut journal = open(&tenancy.url).await;
    with_loop(&mut *journal).await;
    let rows = "SELECT n, actor_kind, action, loop_id, machine <> '' FROM ralph.audit ORDER BY n";
    assert_eq!(
        tenancy.database.sql(rows).trim(),
        "1|ralph|loop_started|L1|t"
    );
    let seals = "SELECT count(*), max(last_n) FROM ralph.audit_seal";
    assert_eq!(tenancy.database.sql(seals).trim(), "1|1");
}

/// Everything that people, agents and ralph itself do to a loop, a task or a question, with where it was done.
#[tokio::test]
async fn questions_answers_health_and_interventions_are_in_the_audit_trail() {
    let tenancy = Tenancy::new().await;
    let mut journal = open(&tenancy.url).await;
    let repository = with_loop(&mut *journal).await;
    let id = LoopId::from("L1");
    let task = ralph_core::task::TaskId::parse("T1").unwrap();
    let new = NewQuestion {
        task: task.clone(),
        iteration: 4,
        asked_by: AskedBy::Agent,
        question: "how?".into(),
        escalation: None,
        at: at(),
    };
    let mut state = TaskHistory::default();
    let asked = journal.ask_question(&repository, "prd.json", &new, &mut state);
    let question = asked.await.unwrap();
    let answer = Command::Answer {
        of: None,
        answer: Answer::Guidance { text: "so".into() },
        amend: None,
    };
    let sent = journal.submit_command(&repository, "/w", &answer, "ada@laptop", at());
    let sent = sent.await.unwrap();
    let report = CommandReport::done("it is answered");
    let end = CommandEnd {
        id: sent,
        report: &report,
        at: at(),
    };
    let answered = Answered {
        how: AnswerKind::Guidance,
        by: "ada@laptop".into(),
        at: at(),
        told: Some("so".into()),
        amended: None,
    };
    let effects = CommandEffects {
        answered: Some((question, answered)),
        ..CommandEffects::default()
    };
    let ended = journal.finish_command(&repository, "prd.json", end, &effects);
    ended.await.unwrap();
    let events = [
        Event::Health {
            iteration: 4,
            task: "T1".into(),
            before: HealthState::Healthy,
            state: HealthState::Stuck,
            sentence: "no progress".into(),
        },
        Event::Breaker {
            state: BreakerState::Open,
            sentence: "five failed".into(),
        },
    ];
    let events = events.map(|event| KeptEvent::of(&event, at()).unwrap());
    journal.keep_events(&id, &events).await.unwrap();
    let row = journal.any_loop(&id).await.unwrap().unwrap();
    let noted = journal.add_note(&row, NoteKind::Restarted, "it was restarted", at());
    noted.await.unwrap();
    journal
        .end_loop(&repository, &id, &Stop::AllComplete, at(), None)
        .await
        .unwrap();
    let rows = "SELECT actor_kind, actor, action, coalesce(loop_id, '-'), coalesce(task_id, '-'),
                       coalesce(subject, '-'), machine <> ''
                FROM ralph.audit ORDER BY n";
    let expected = [
        "ralph|ralph|loop_started|L1|-|prd.json|t",
        "agent|iteration 4|question_asked|-|T1|question 1|t",
        "person|ada@laptop|answer|L1|T1|question 1|t",
        "ralph|ralph|health|L1|T1|iteration 4|t",
        "ralph|ralph|breaker|L1|-|-|t",
        "ralph|ralph|restarted|L1|-|ralph monitor|t",
        "ralph|ralph|loop_ended|L1|-|-|t",
    ];
    let found = tenancy.database.sql(rows);
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}
