//! What a page reaches, and what it does not.

use ralph_qa::{flow::Check, result::FailureKind};

use super::{
    act, browse, fails, navigate, open, sees, settings,
    site::{Reply, Site},
    verify,
};

#[tokio::test]
async fn a_page_reaches_its_server_and_nothing_else() {
    let other = Site::of(&[
        (
            "/image.svg",
            Reply::of(
                "image/svg+xml",
                "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>",
            ),
        ),
        ("/", Reply::page("<h1>Elsewhere</h1>")),
    ]);
    let (port, away) = (other.port(), other.url());
    let site = Site::of(&[
        (
            "/",
            Reply::page(&format!(
                "<h1>Here</h1><img src={away}/image.svg alt=Logo><p id=out></p><script>
                 const say = text => out.textContent += text + '. ';
                 fetch('http://127.0.0.1:{port}/').then(() => say('fetched'), () => say('no fetch'));
                 const socket = new WebSocket('ws://localhost:{port}/');
                 socket.onopen = () => say('socket'); socket.onerror = () => say('no socket');
                 const peer = new RTCPeerConnection({{iceServers: []}}); peer.createDataChannel('x');
                 let found = 0; peer.onicecandidate = e => {{
                   if (e.candidate) found++; else say(found + ' ways of peers') }};
                 peer.createOffer().then(offer => peer.setLocalDescription(offer));
                 </script>"
            )),
        ),
        ("/away", Reply::page("").status(302).header("Location", &away)),
    ]);
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        for text in ["no fetch.", "no socket.", "0 ways of peers."] {
            sees(&page, text).await;
        }
        assert_eq!(other.asked(), [""; 0]);
        let failure = fails(&page, verify(Check::NoFailedRequests { except: vec![] })).await;
        assert_eq!(failure.kind, FailureKind::Host, "{failure:?}");
        let line = format!("GET {away}/image.svg → localhost:{port} is not among the flow's hosts");
        assert!(failure.nearest.contains(&line), "{failure:?}");
        let failure = fails(&page, verify(Check::NoBrokenImages)).await;
        assert_eq!(failure.kind, FailureKind::Host, "{failure:?}");
        for address in [away.clone(), "https://example.com/".into(), "/away".into()] {
            let failure = fails(&page, navigate(&address)).await;
            assert_eq!(failure.kind, FailureKind::Host, "{address}: {failure:?}");
        }
        assert_eq!(other.asked(), [""; 0]);

        let mut listed = settings(&site);
        listed.hosts = vec![format!("localhost:{port}")];
        let page = browser.open(&listed).await.unwrap();
        act(&page, navigate("/")).await;
        act(&page, verify(Check::NoBrokenImages)).await;
        act(&page, navigate("/away")).await;
        sees(&page, "Elsewhere").await;
    })
    .await;
}

#[tokio::test]
async fn a_listed_host_is_reached_through_the_proxy_of_the_machine() {
    // A proxy is asked for the whole address.
    let proxy = Site::of(&[("http://cdn.test/a", Reply::page("<h1>From afar</h1>"))]);
    let site = Site::one("");
    let mut place = super::place();
    place.env.push(("HTTP_PROXY".into(), proxy.url().into()));
    let whole = async {
        let program = super::find_browser(None, &place).await.unwrap();
        let work = async |browser: &super::QaBrowser| {
            let mut listed = settings(&site);
            listed.hosts = vec!["cdn.test".into()];
            let page = browser.open(&listed).await.unwrap();
            act(&page, navigate("/")).await;
            act(&page, navigate("http://cdn.test/a")).await;
            sees(&page, "From afar").await;
        };
        super::with_browser(&program, &place, work).await.unwrap();
    };
    tokio::time::timeout(super::LIMIT, whole).await.unwrap();
    assert_eq!(proxy.asked(), ["GET http://cdn.test/a"]);
}
