//! The acts of a user, each seen from the page.

use ralph_qa::{
    flow::{Check, FlowStepAction, MouseButton, Screenshot, Target, TypedText},
    result::FailureKind,
};

use super::{STEP, any, browse, css, label, open, site::Site};

pub(crate) fn click(target: Target) -> FlowStepAction {
    FlowStepAction::Click {
        target,
        button: MouseButton::Left,
        double: false,
    }
}

pub(crate) fn type_into(target: Target, text: &str) -> FlowStepAction {
    FlowStepAction::Type {
        target,
        text: TypedText::Plain(text.to_owned()),
        append: false,
        press: None,
    }
}

pub(crate) fn text(text: &str) -> FlowStepAction {
    FlowStepAction::Verify(vec![Check::Text(text.to_owned())])
}

#[tokio::test]
async fn a_form_is_filled_in_and_its_page_pictured() {
    let site = Site::one(
        "<label>Name <input id=name></label>
         <button onclick=\"out.textContent = 'Hello ' + document.getElementById('name').value\">Greet</button>
         <p id=out></p>",
    );
    browse(async |browser| {
        let started = std::time::Instant::now();
        let page = open(browser, &site, "/").await;
        println!("open {:?}", started.elapsed());
        let picture = FlowStepAction::Screenshot(Screenshot {
            name: "home".into(),
            of: None,
            full: false,
            mask: vec![css("#out")],
            threshold: None,
        });
        let mut taken = None;
        for action in [
            type_into(label("Name"), "Ada Lovelace ü"),
            click(any("Greet")),
            text("Hello Ada Lovelace ü"),
            picture,
        ] {
            let at = std::time::Instant::now();
            let done = page.perform(&action, STEP).await.unwrap();
            println!("{:?} {action:?}", at.elapsed());
            taken = done.picture.or(taken);
        }
        let taken = taken.unwrap();
        let size = image::load_from_memory(&taken.png).unwrap();
        assert_eq!((size.width(), size.height()), (1280, 720));
        assert_eq!(taken.masks.len(), 1);
        assert_eq!(taken.title, "Test");
        let failure = page
            .perform(
                &click(any("Greeting")),
                std::time::Duration::from_millis(300),
            )
            .await;
        let failure = failure.unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotFound);
        assert_eq!(failure.nearest[0], "button \"Greet\"");
        page.close().await;
    })
    .await;
}
