//! Pages that crash, hang, ask back, or open others.

use std::time::{Duration, Instant};

use ralph_qa::{
    flow::Check,
    result::{ConsoleLevel, FailureKind},
};

use super::{
    LIMIT, STEP, act,
    acts::click,
    any, browse, fails, navigate, open, sees,
    site::{Reply, Site},
    verify,
};

#[tokio::test]
async fn a_page_whose_process_dies_is_told_at_once() {
    let site = Site::one("<h1>Here</h1>");
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        let started = Instant::now();
        let failure = page
            .perform(&navigate("chrome://crash"), STEP)
            .await
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::Crashed, "{failure:?}");
        assert!(started.elapsed() < Duration::from_secs(10));
        let failure = page.perform(&click(any("Here")), STEP).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Crashed, "{failure:?}");
        assert!(page.has_crashed());
        page.close().await;
        let page = open(browser, &site, "/").await;
        sees(&page, "Here").await;
    })
    .await;
}

#[tokio::test]
async fn a_page_that_hangs_ends_with_its_flow() {
    let site = Site::of(&[
        (
            "/",
            Reply::page("<button onclick='while (true);'>Hang</button>"),
        ),
        ("/fine", Reply::page("<h1>Fine</h1>")),
    ]);
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        let beside = open(browser, &site, "/fine").await;
        let started = Instant::now();
        let failure = fails(&page, click(any("Hang"))).await;
        assert_eq!(failure.kind, FailureKind::NotActionable, "{failure:?}");
        assert!(failure.actual.contains("without an end"), "{failure:?}");
        let failure = fails(&page, verify(Check::Text("x".into()))).await;
        assert_eq!(failure.kind, FailureKind::NotActionable, "{failure:?}");
        page.close().await;
        assert!(started.elapsed() < Duration::from_secs(20));
        sees(&beside, "Fine").await;
        let again = open(browser, &site, "/fine").await;
        sees(&again, "Fine").await;
    })
    .await;
}

#[tokio::test]
async fn dialogs_are_accepted_and_told() {
    let site = Site::of(&[
        (
            "/",
            Reply::page(
                "<button onclick=\"alert('Hi')\">Alert</button>
                 <button onclick=\"out.textContent = confirm('Sure?')\">Confirm</button>
                 <button onclick=\"out.textContent = prompt('Name', 'Ada')\">Prompt</button><p id=out></p>
                 <script>onbeforeunload = e => { e.preventDefault(); return 'x' }</script>",
            ),
        ),
        ("/next", Reply::page("<h1>Next</h1>")),
    ]);
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        assert_eq!(
            act(&page, click(any("Alert"))).await,
            ["accepted the alert \"Hi\""]
        );
        assert_eq!(
            act(&page, click(any("Confirm"))).await,
            ["accepted the confirm \"Sure?\""]
        );
        sees(&page, "true").await;
        assert_eq!(
            act(&page, click(any("Prompt"))).await,
            ["accepted the prompt \"Name\""]
        );
        sees(&page, "Ada").await;
        let notes = act(&page, navigate("/next")).await;
        assert_eq!(notes, ["accepted leaving the page, which asked for it"]);
        sees(&page, "Next").await;
    })
    .await;
}

#[tokio::test]
async fn new_tabs_and_downloads_are_told() {
    let site = Site::of(&[
        (
            "/",
            Reply::page("<a href=/next target=_blank>Open</a><a href=/file download>Load</a>"),
        ),
        ("/next", Reply::page("<h1>Next</h1>")),
        (
            "/file",
            Reply::of("application/zip", "x").header("Content-Disposition", "attachment"),
        ),
    ]);
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        let notes = act(&page, click(any("Open"))).await;
        assert_eq!(
            notes,
            [format!("a new tab was opened: {}/next", site.url())]
        );
        let mut notes = act(&page, click(any("Load"))).await;
        // The browser tells of it when it has read the answer's head.
        let until = Instant::now() + LIMIT;
        while notes.is_empty() {
            assert!(Instant::now() < until, "nothing was told");
            notes.extend(act(&page, verify(Check::Title("Test".into()))).await);
        }
        assert_eq!(
            notes,
            [format!("refused the download of {}/file", site.url())]
        );
    })
    .await;
}

#[tokio::test]
async fn errors_of_scripts_are_collected() {
    let site = Site::one(
        "<button onclick='undefined_thing()'>Break</button>
         <script>console.warn('careful'); Promise.reject(new Error('late'))</script>",
    );
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        act(&page, click(any("Break"))).await;
        let failure = fails(&page, verify(Check::NoConsoleErrors { except: vec![] })).await;
        assert_eq!(failure.kind, FailureKind::Expectation);
        assert!(
            failure
                .actual
                .starts_with("2 errors, the first: uncaught: Error: late"),
            "{failure:?}"
        );
        assert!(
            failure.nearest[1].contains("undefined_thing is not defined"),
            "{failure:?}"
        );
        let excepted = Check::NoConsoleErrors {
            except: vec!["late".into(), "undefined_thing".into()],
        };
        act(&page, verify(excepted)).await;
        let console = page.console();
        let levels: Vec<ConsoleLevel> = console.iter().map(|message| message.level).collect();
        assert_eq!(
            levels,
            [
                ConsoleLevel::Warning,
                ConsoleLevel::Uncaught,
                ConsoleLevel::Uncaught
            ]
        );
        assert_eq!(
            console[0].from.as_deref(),
            Some(format!("{}/:3", site.url()).as_str())
        );
    })
    .await;
}
