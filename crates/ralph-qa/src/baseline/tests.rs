//! Approving pictures: where they go, and what is refused.

use std::{fs, os::unix::fs::symlink};

use image::{Rgb, RgbImage};

use super::*;
use crate::{
    flow::{FlowSettings, FlowStep, Screenshot},
    result::{FlowVerificationResult, PixelArea, VERSION, VisualCompareResult},
};

fn png(grey: u8) -> Vec<u8> {
    let mut bytes = io::Cursor::new(Vec::new());
    RgbImage::from_pixel(8, 8, Rgb([grey; 3]))
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

fn compared(verdict: VisualVerdict) -> VisualCompareResult {
    VisualCompareResult {
        matches: !matches!(verdict, VisualVerdict::Layout),
        verdict,
        different: 0.1,
        threshold: 0.0,
        similarity: 0.9,
        regions: vec![PixelArea {
            x: 1,
            y: 2,
            width: 3,
            height: 4,
        }],
        summary: "the area at 1,2 (3x4) moved by 8 px down".to_owned(),
        picture: Some("greet/2-home-difference.png".to_owned()),
        baseline: Some("greet/2-home-baseline.png".to_owned()),
    }
}

fn page(name: &str, compared: Option<VisualCompareResult>) -> PageVerificationResult {
    PageVerificationResult {
        name: name.to_owned(),
        url: "http://localhost:3000/".to_owned(),
        title: "Home".to_owned(),
        viewport: Viewport::DESKTOP,
        passed: true,
        screenshot: format!("greet/2-{name}.png"),
        baseline: format!(".ralph/flows/__baselines__/greet/{name}-linux-1280x720.png"),
        compared,
    }
}

fn report(pages: Vec<PageVerificationResult>) -> QaReport {
    QaReport {
        version: VERSION,
        passed: true,
        browser: None,
        flows: vec![FlowVerificationResult {
            flow: "greet".to_owned(),
            description: None,
            file: ".ralph/flows/greet.yaml".to_owned(),
            viewport: Viewport::DESKTOP,
            passed: true,
            seconds: 1.0,
            steps: Vec::new(),
            pages,
            console: Vec::new(),
            network: Vec::new(),
        }],
        seconds: 1.0,
        server_log: Vec::new(),
    }
}

/// A project with results, and the approval of the one picture in them.
struct ApprovedProject {
    folder: tempfile::TempDir,
    approval: PictureApproval,
}

impl ApprovedProject {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".ralph/qa/greet")).unwrap();
        fs::write(folder.path().join(".ralph/qa/greet/2-home.png"), png(7)).unwrap();
        fs::create_dir_all(folder.path().join(".ralph/flows")).unwrap();
        fs::write(folder.path().join(".ralph/flows/greet.yaml"), "steps: []").unwrap();
        let approval = approvals(&report(vec![page("home", None)])).remove(0);
        Self { folder, approval }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn approve(&self) -> Result<PathBuf, ApprovalError> {
        approve(self.folder.path(), &self.path(".ralph/qa"), &self.approval)
    }

    /// The message without the folder of the test.
    fn refusal(&self) -> String {
        let message = self.approve().unwrap_err().to_string();
        message.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

#[test]
fn a_baseline_is_named_by_flow_platform_viewport_and_scheme() {
    let named = |file: &str, name: &str, scheme| {
        let path = path_of(Path::new(file), name, Viewport::DESKTOP, scheme);
        path.to_str().unwrap().replace(std::env::consts::OS, "OS")
    };
    let light = Some(ColorScheme::Light);
    assert_eq!(
        named(".ralph/flows/greet.yaml", "home", None),
        ".ralph/flows/__baselines__/greet/home-OS-1280x720.png"
    );
    assert_eq!(
        named("/p/shop/check out.yml", "cart", light),
        "/p/shop/__baselines__/check out/cart-OS-1280x720.png"
    );
    assert_eq!(
        named("greet.yaml", "home", Some(ColorScheme::Dark)),
        "__baselines__/greet/home-OS-1280x720-dark.png"
    );
}

#[test]
fn no_name_leads_out_of_the_folder_and_no_two_names_are_one_file() {
    assert_eq!(file_name("Übersicht 2.1_a-b"), "Übersicht 2.1_a-b");
    assert_eq!(file_name("../x"), "%2E.%2Fx");
    assert_eq!(file_name(".hidden"), "%2Ehidden");
    assert_eq!(file_name("a/b\\c\0"), "a%2Fb%5Cc%00");
    assert_eq!(file_name("a%2Fb"), "a%252Fb");
}

#[test]
fn what_differs_or_is_new_is_to_be_approved_and_the_rest_is_not() {
    let pages = vec![
        page("same", Some(compared(VisualVerdict::Same))),
        page("noise", Some(compared(VisualVerdict::Noise))),
        page("within", Some(compared(VisualVerdict::Within))),
        page("moved", Some(compared(VisualVerdict::Layout))),
        page("new", None),
        page("new", None),
    ];
    let listed = approvals(&report(pages));
    let shown: Vec<_> = listed
        .iter()
        .map(|one| (one.picture.as_str(), one.reason, one.summary.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            (
                "moved",
                ApprovalReason::Differs,
                "the area at 1,2 (3x4) moved by 8 px down"
            ),
            ("new", ApprovalReason::New, "there is no baseline yet"),
        ]
    );
    assert_eq!(
        listed[0].difference.as_deref(),
        Some("greet/2-home-difference.png")
    );
    let meant = |word: &str| {
        listed
            .iter()
            .filter(|one| one.is_meant_by(word))
            .map(|one| one.picture.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(meant("greet"), ["moved", "new"]);
    assert_eq!(meant("greet/new"), ["new"]);
    assert!(meant("gree").is_empty() && meant("greet/ne").is_empty() && meant("greet/").is_empty());
}

#[test]
fn an_approved_picture_is_the_baseline() {
    let project = ApprovedProject::new();
    let baseline = project.path(".ralph/flows/__baselines__/greet/home-linux-1280x720.png");
    assert_eq!(project.approve().unwrap(), baseline);
    assert_eq!(fs::read(&baseline).unwrap(), png(7));
    // And again, over the one that is there; nothing else is left beside it.
    fs::write(project.path(".ralph/qa/greet/2-home.png"), png(9)).unwrap();
    project.approve().unwrap();
    assert_eq!(fs::read(&baseline).unwrap(), png(9));
    assert_eq!(fs::read_dir(baseline.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_path_of_a_report_that_leads_elsewhere_is_refused() {
    let mut project = ApprovedProject::new();
    for path in [
        "../__baselines__/greet/home.png",
        "/etc/__baselines__/greet/home.png",
        ".ralph/flows/__baselines__/../greet/home.png",
        ".ralph/flows/__baselines__/greet/home.yaml",
        ".ralph/flows/greet/home.png",
        "src/main.rs",
        "home.png",
        "",
    ] {
        project.approval.baseline = path.to_owned();
        let refusal = format!("{path} is no path of a baseline beside a flow of this project");
        assert_eq!(project.refusal(), refusal);
    }
    let mut project = ApprovedProject::new();
    for path in ["../../secret.png", "/etc/passwd", ""] {
        project.approval.screenshot = path.to_owned();
        let refusal = format!("{path} is no path of a picture in the results");
        assert_eq!(project.refusal(), refusal);
    }
    assert!(!project.path(".ralph/flows/__baselines__").exists());
}

#[test]
fn a_picture_of_a_flow_that_is_not_there_is_not_approved() {
    let mut project = ApprovedProject::new();
    for path in [
        ".ralph/flows/__baselines__/other/home.png",
        "src/__baselines__/greet/home.png",
        "__baselines__/greet/home.png",
    ] {
        project.approval.baseline = path.to_owned();
        let stem = path.rsplit('/').nth(1).unwrap();
        let refusal =
            format!("{path} belongs to no flow: there is no {stem}.yaml beside its folder");
        assert_eq!(project.refusal(), refusal);
    }
    assert!(!project.path("src").exists() && !project.path("__baselines__").exists());
}

#[test]
fn a_link_in_the_way_is_refused_and_what_it_leads_to_stays() {
    let project = ApprovedProject::new();
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("home-linux-1280x720.png");
    fs::write(&precious, "mine").unwrap();

    // A folder above.
    fs::rename(project.path(".ralph/flows"), project.path("elsewhere")).unwrap();
    symlink(project.path("elsewhere"), project.path(".ralph/flows")).unwrap();
    assert_eq!(
        project.refusal(),
        ".ralph/flows is a symbolic link, which is not followed"
    );
    fs::remove_file(project.path(".ralph/flows")).unwrap();
    fs::rename(project.path("elsewhere"), project.path(".ralph/flows")).unwrap();

    fs::create_dir_all(project.path(".ralph/flows/__baselines__")).unwrap();
    let of_flow = project.path(".ralph/flows/__baselines__/greet");
    symlink(outside.path(), &of_flow).unwrap();
    assert_eq!(
        project.refusal(),
        ".ralph/flows/__baselines__/greet is a symbolic link, which is not followed"
    );
    fs::remove_file(&of_flow).unwrap();
    fs::create_dir(&of_flow).unwrap();
    symlink(&precious, of_flow.join("home-linux-1280x720.png")).unwrap();
    assert_eq!(
        project.refusal(),
        ".ralph/flows/__baselines__/greet/home-linux-1280x720.png is a symbolic link, which is not followed"
    );
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");

    let taken = project.path(".ralph/qa/greet/2-home.png");
    fs::remove_file(&taken).unwrap();
    symlink(&precious, &taken).unwrap();
    assert_eq!(
        project.refusal(),
        ".ralph/qa/greet/2-home.png is a symbolic link, which is not followed"
    );
}

#[test]
fn a_folder_in_the_way_stays_with_all_that_is_in_it() {
    let project = ApprovedProject::new();
    let in_the_way = ".ralph/flows/__baselines__/greet/home-linux-1280x720.png";
    fs::create_dir_all(project.path(in_the_way)).unwrap();
    fs::write(project.path(in_the_way).join("precious"), "mine").unwrap();
    assert_eq!(
        project.refusal(),
        format!("{in_the_way} is in the way: it is no file")
    );
    assert!(project.path(in_the_way).join("precious").exists());
}

#[test]
fn what_is_no_picture_is_not_approved() {
    let project = ApprovedProject::new();
    let taken = project.path(".ralph/qa/greet/2-home.png");
    fs::write(&taken, "no picture").unwrap();
    let refusal = project.refusal();
    assert!(
        refusal.starts_with(
            ".ralph/qa/greet/2-home.png can't be approved: the new picture is not a PNG"
        ),
        "{refusal}"
    );
    fs::remove_file(&taken).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &taken, mode).unwrap();
    assert_eq!(
        project.refusal(),
        "can't read .ralph/qa/greet/2-home.png: it is not a regular file"
    );
    assert!(!project.path(".ralph/flows/__baselines__").exists());
}

#[test]
fn baselines_that_no_flow_uses_are_named() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("flows");
    let put = |path: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    };
    put("__baselines__/greet/home-linux-1280x720.png");
    put("__baselines__/greet/home-macos-390x844-dark.png");
    put("__baselines__/greet/two-words-linux-1280x720.png");
    put("__baselines__/greet/gone-linux-1280x720.png");
    put("__baselines__/greet/home.png");
    put("__baselines__/left/home-linux-1280x720.png");
    put("shop/__baselines__/cart/a%2Fb-linux-1280x720.png");
    put("greet.png");
    symlink(top.path(), folder.join("__baselines__/link")).unwrap();
    let flow = |file: &str, names: &[&str]| Flow {
        name: "any".to_owned(),
        description: None,
        file: folder.join(file),
        settings: FlowSettings::default(),
        steps: names
            .iter()
            .map(|name| FlowStep {
                line: 1,
                shown: String::new(),
                note: None,
                timeout: None,
                action: FlowStepAction::Screenshot(Screenshot {
                    name: (*name).to_owned(),
                    of: None,
                    full: false,
                    mask: Vec::new(),
                    threshold: None,
                }),
            })
            .collect(),
    };
    let flows = [
        flow("greet.yaml", &["home", "two-words"]),
        flow("shop/cart.yaml", &["a/b"]),
    ];
    let stale = stale(&folder, &flows).unwrap();
    let names: Vec<_> = stale
        .iter()
        .map(|path| path.strip_prefix(&folder).unwrap().to_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "__baselines__/greet/gone-linux-1280x720.png",
            "__baselines__/greet/home.png",
            "__baselines__/left/home-linux-1280x720.png",
        ]
    );
    assert!(
        super::stale(&top.path().join("none"), &flows)
            .unwrap()
            .is_empty()
    );
}
