//! What a page asked of its server, and the links that it has.

use ralph_qa::{
    flow::{Check, RequestPattern},
    result::FailureKind,
};

use super::{
    act,
    acts::click,
    any, browse, fails, open,
    site::{Reply, Site},
    verify,
};

#[tokio::test]
async fn requests_are_held_against_what_was_expected() {
    let site = Site::of(&[
        (
            "/",
            Reply::page(
                "<button onclick=\"fetch('/api/items?x=1', {method: 'POST', body: 'a'})\">Save</button>
                 <button onclick=\"fetch('/api/broken')\">Break</button>",
            ),
        ),
        ("/api/items", Reply::of("application/json", "{}").status(201)),
        ("/api/broken", Reply::of("text/plain", "x").status(500)),
    ]);
    let asks = |url: &str, method: Option<&str>, status, count| {
        verify(Check::Network(RequestPattern {
            url: url.to_owned(),
            method: method.map(str::to_owned),
            status,
            count,
        }))
    };
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        act(&page, verify(Check::NoFailedRequests { except: vec![] })).await;
        act(&page, click(any("Save"))).await;
        act(&page, asks("/api/items", Some("POST"), Some(201), Some(1))).await;
        act(&page, asks("/api/items?x=1", None, None, None)).await;
        let failure = fails(&page, asks("/api/items", Some("PUT"), None, None)).await;
        assert_eq!(failure.kind, FailureKind::Expectation);
        assert_eq!(failure.actual, "the requests to it were others");
        assert_eq!(
            failure.nearest,
            [format!("POST {}/api/items?x=1 → 201", site.url())]
        );
        act(&page, click(any("Break"))).await;
        act(&page, asks("/api/broken", None, Some(500), None)).await;
        let failure = fails(&page, verify(Check::NoFailedRequests { except: vec![] })).await;
        assert_eq!(failure.kind, FailureKind::Expectation);
        assert_eq!(
            failure.nearest,
            [format!("GET {}/api/broken → 500", site.url())]
        );
        act(
            &page,
            verify(Check::NoFailedRequests {
                except: vec!["/api/broken".into()],
            }),
        )
        .await;
    })
    .await;
}

#[tokio::test]
async fn dead_links_are_found_and_no_session_is_used_for_it() {
    let site = Site::of(&[
        (
            "/",
            Reply::page(
                "<a href=/fine>Fine</a><a href=/dead>Dead</a><a href=/broken>Broken</a><a href=/login>Login</a>
                 <a href=https://example.com/>Elsewhere</a><a href=mailto:a@b.test>Mail</a>",
            )
            .header("Set-Cookie", "session=1"),
        ),
        ("/fine", Reply::page("x")),
        ("/broken", Reply::page("x").status(500)),
        ("/login", Reply::page("x").status(401)),
    ]);
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        let failure = fails(&page, verify(Check::NoBrokenLinks)).await;
        assert_eq!(failure.kind, FailureKind::Expectation);
        let url = site.url();
        assert_eq!(
            failure.nearest,
            [
                format!("link \"Dead\" leads to {url}/dead: it answers 404"),
                format!("link \"Broken\" leads to {url}/broken: it answers 500"),
            ]
        );
        let asked = site.asked();
        assert_eq!(asked.len(), 5, "{asked:?}");
    })
    .await;
}
