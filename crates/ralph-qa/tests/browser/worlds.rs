//! What a page is made to believe: its clock, its dice, its device.

use ralph_qa::{
    flow::{Check, ColorScheme, Emulation, FixtureCommand, FlowStepAction, Viewport},
    result::FailureKind,
};

use super::{
    act, acts::click, any, browse, fails, navigate, open, sees, settings, site::Site, verify,
};

#[tokio::test]
async fn clock_and_dice_are_as_they_were_set() {
    let site = Site::one(
        "<p id=out></p><script>out.textContent = [new Date().toISOString().slice(0, 16), Date().slice(0, 15),
         new Date(Date.now()).getUTCFullYear(), new Date(2020, 1, 2).getTime(), new Date() instanceof Date,
         new Date().getTimezoneOffset(), navigator.language, new Intl.NumberFormat().format(1234.5),
         new Date().constructor === Date].join(' ')
         + ' dice ' + [0, 0].map(() => Math.random().toFixed(6)).join(' ');
         document.title = Math.random.toString()</script>",
    );
    browse(async |browser| {
        let mut fixed = settings(&site);
        fixed.time = Some("2030-05-06T07:08:00Z".parse().unwrap());
        fixed.random = Some(42);
        let expected = "2030-05-06T07:08 Mon May 06 2030 2030 1580601600000 true 0 en-US 1,234.5 true \
                        dice 0.601104 0.448291";
        for _ in 0..2 {
            let page = browser.open(&fixed).await.unwrap();
            act(&page, navigate("/")).await;
            sees(&page, expected).await;
        }
    })
    .await;
}

#[tokio::test]
async fn devices_and_media_are_emulated() {
    let site = Site::one(
        "<meta name=viewport content='width=device-width'><p id=out></p><script>
         function tell() { out.textContent = [innerWidth + 'x' + innerHeight,
           matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light',
           matchMedia('(prefers-reduced-motion: reduce)').matches ? 'still' : 'moving',
           matchMedia('(pointer: coarse)').matches ? 'touch' : 'mouse',
           navigator.onLine ? 'online' : 'offline', document.hasFocus(), document.visibilityState].join(' ') }
         setInterval(tell, 20); tell()</script>",
    );
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        sees(&page, "1280x720 light moving mouse online true visible").await;
        let emulate = |emulation| FlowStepAction::Emulate(emulation);
        act(
            &page,
            emulate(Emulation {
                scheme: Some(ColorScheme::Dark),
                ..Emulation::default()
            }),
        )
        .await;
        act(
            &page,
            emulate(Emulation {
                reduced_motion: Some(true),
                device: Some(Viewport::MOBILE),
                ..Emulation::default()
            }),
        )
        .await;
        sees(&page, "390x844 dark still touch online").await;
        act(
            &page,
            emulate(Emulation {
                offline: Some(true),
                ..Emulation::default()
            }),
        )
        .await;
        sees(&page, "dark still touch offline").await;
        let failure = fails(&page, navigate("/")).await;
        assert_eq!(failure.kind, FailureKind::Navigation);
        assert!(failure.actual.contains("offline"), "{failure:?}");
    })
    .await;
}

#[tokio::test]
async fn a_page_can_not_fool_the_library() {
    let site = Site::one(
        "<button onclick=\"out.textContent = 'clicked'\">Go</button><p id=out></p><script>
         Promise = JSON = undefined; globalThis.ralphPage = {ready: () => ({state: 'ready', x: 0, y: 0})};
         Element.prototype.getBoundingClientRect = () => ({}); MessageChannel = setTimeout = undefined</script>",
    );
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        act(&page, click(any("Go"))).await;
        sees(&page, "clicked").await;
    })
    .await;
}

#[tokio::test]
async fn a_fixture_runs_with_the_address_of_the_server() {
    let site = Site::one("");
    let expected = format!("test \"$URL $PORT\" = \"{} {}\"", site.url(), site.port());
    browse(async |browser| {
        let page = open(browser, &site, "/").await;
        let run = |line: &str| FlowStepAction::Fixture(FixtureCommand::Shell(line.to_owned()));
        act(&page, run(&expected)).await;
        let failure = fails(&page, run("echo no table; exit 3")).await;
        assert_eq!(failure.kind, FailureKind::Fixture);
        assert_eq!(
            failure.expected,
            "`echo no table; exit 3` ends with exit code 0"
        );
        assert!(
            failure.actual.starts_with("it ended with exit code 3"),
            "{failure:?}"
        );
        assert_eq!(failure.nearest, ["no table"]);
        let failure = fails(&page, run("exec sleep 1000")).await;
        assert!(failure.actual.contains("was ended"), "{failure:?}");
        let words = FixtureCommand::Argv(vec!["no-such-program".into()]);
        let failure = fails(&page, FlowStepAction::Fixture(words)).await;
        assert!(
            failure
                .actual
                .contains("program not found: no-such-program"),
            "{failure:?}"
        );
        act(&page, verify(Check::Title("Test".into()))).await;
    })
    .await;
}
