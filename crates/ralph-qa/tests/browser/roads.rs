//! Ways from one document to the next.

use std::time::Duration;

use ralph_qa::{
    flow::{Check, FlowStepAction, LoadState, Wait},
    result::FailureKind,
};

use super::{
    act,
    acts::click,
    any, browse, fails, navigate, open, sees, settings,
    site::{Reply, Site},
    verify,
};

fn until(url: &str, until: LoadState) -> FlowStepAction {
    FlowStepAction::Navigate {
        url: url.to_owned(),
        until,
    }
}

#[tokio::test]
async fn a_page_is_there_when_it_is_as_far_as_was_asked() {
    let site = Site::of(&[
        ("/", Reply::page("<h1>Home</h1>")),
        ("/slow", Reply::page("<h1>Slow</h1><img src=/never>")),
        ("/never", Reply::hanging()),
        ("/moved", Reply::page("").status(302).header("Location", "/there")),
        ("/hops", Reply::page("<script>location.replace('/there')</script>")),
        ("/there", Reply::page("<h1>There</h1>")),
        (
            "/busy",
            Reply::page(
                "<p id=out></p><script>let n = 0; const again = async () => { await fetch('/data');
                 if (++n < 3) setTimeout(again, 100); else out.textContent = 'quiet' }; again()</script>",
            ),
        ),
        ("/data", Reply::of("text/plain", "x")),
    ]);
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        sees(&page, "Home").await;
        act(&page, until("/slow", LoadState::Dom)).await;
        sees(&page, "Slow").await;
        let failure = fails(&page, navigate("/slow")).await;
        assert_eq!(failure.kind, FailureKind::Navigation);
        assert!(
            failure
                .actual
                .contains("not answered yet: GET http://localhost"),
            "{failure:?}"
        );
        // What was not over is no hindrance for what comes next.
        act(&page, navigate("/moved")).await;
        sees(&page, "There").await;
        act(&page, verify(Check::Url("/there".into()))).await;
        act(&page, navigate("/hops")).await;
        act(&page, verify(Check::Url("/there".into()))).await;
        act(&page, navigate("/there#place")).await;
        act(&page, verify(Check::Url("/there#place".into()))).await;
        act(&page, until("/busy", LoadState::Idle)).await;
        let quiet = FlowStepAction::Verify(vec![Check::Text("quiet".into())]);
        page.perform(&quiet, Duration::ZERO).await.unwrap();
        let notes = act(&page, navigate("/no-such-page")).await;
        assert_eq!(notes, [format!("{}/no-such-page answered 404", site.url())]);
        let failure = fails(&page, navigate("/never")).await;
        assert_eq!(failure.kind, FailureKind::Navigation);
        assert_eq!(failure.actual, "no answer came in time");
        act(&page, navigate("/")).await;
        sees(&page, "Home").await;
    })
    .await;
}

#[tokio::test]
async fn an_act_that_leads_to_another_document_is_followed_before_the_next_one() {
    let gone = gone();
    let next = "<h1>Next</h1><button onclick=\"history.pushState(0, '', '/app/2')\">Push</button>";
    let site = Site::of(&[
        (
            "/",
            Reply::page(
                "<h1>First</h1><a href=/next>Link</a><form action=/next><button>Send</button></form>
                 <button onclick=\"setTimeout(() => location.assign('/next'))\">Script</button>
                 <a href='#here'>Here</a><a href=/nothing>Nothing</a><a href=mailto:a@b.test>Mail</a>
                 <a href='http://localhost:GONE/x'>Gone</a>"
                    .replace("GONE", &gone.to_string())
                    .as_str(),
            ),
        ),
        ("/next", Reply::page(next)),
        ("/nothing", Reply::page("").status(204)),
    ]);
    browse(async |browser| {
        let mut settings = settings(&site);
        settings.hosts = vec![format!("localhost:{gone}")];
        let page = browser.open(&settings).await.unwrap();
        // At once: the first document has a text that the second has not.
        let gone = FlowStepAction::Verify(vec![Check::NoText("First".into())]);
        for way in ["Link", "Send"] {
            act(&page, navigate("/")).await;
            act(&page, click(any(way))).await;
            let there = page.perform(&gone, Duration::ZERO).await;
            assert!(there.is_ok(), "{way}: {there:?}");
            sees(&page, "Next").await;
        }
        act(&page, navigate("/")).await;
        act(&page, click(any("Script"))).await;
        sees(&page, "Next").await;
        act(&page, click(any("Push"))).await;
        act(&page, verify(Check::Url("/app/2".into()))).await;
        act(&page, navigate("/")).await;
        for way in ["Here", "Nothing", "Mail"] {
            act(&page, click(any(way))).await;
            sees(&page, "First").await;
        }
        let failure = fails(&page, verify(Check::Url("/other".into()))).await;
        assert_eq!(failure.actual, format!("it is {}/#here", site.url()));
        act(&page, click(any("Gone"))).await;
        let failure = fails(&page, click(any("Next"))).await;
        assert_eq!(failure.kind, FailureKind::Navigation, "{failure:?}");
        assert_eq!(
            failure.actual,
            "nothing listens there (net::ERR_CONNECTION_REFUSED)"
        );
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_gone_is_a_failure_of_the_navigation() {
    let site = Site::one("");
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    browse(async |browser| {
        let mut settings = settings(&site);
        settings.base = Some(format!("http://127.0.0.1:{gone}"));
        let page = browser.open(&settings).await.unwrap();
        let failure = fails(&page, navigate("/")).await;
        assert_eq!(failure.kind, FailureKind::Navigation);
        assert_eq!(
            failure.actual,
            "nothing listens there (net::ERR_CONNECTION_REFUSED)"
        );
        let at_home = FlowStepAction::Wait(Wait::Until(vec![Check::Url("/".into())]));
        let failure = fails(&page, at_home).await;
        assert_eq!(failure.kind, FailureKind::Navigation);
    })
    .await;
}

/// A port at which nothing listens.
fn gone() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
