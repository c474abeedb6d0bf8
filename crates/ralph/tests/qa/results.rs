//! Flows that pass and flows that fail: exit codes, what is said, and the files that are left.

use serde_json::Value;

use crate::support::{GREET, Site, files_in};

/// Asks for a text that is not there.
const WRONG: &str = "\
name: wrong
steps:
  - navigate: /
  - click: Greet
  - verify: {text: Goodbye}
";

#[test]
fn flows_that_pass_leave_their_results_where_git_does_not_see_them() {
    let site = Site::greeting();
    let ran = site.qa(&["run"]).expect(0).prints(&[
        "passed  greet (5 steps",
        "no baseline yet (`ralph qa approve`): greet/home",
        "1 flow passed, 5 steps",
        "report: .ralph/qa/report.html",
    ]);
    assert_eq!(ran.err, "");
    let files = files_in(&site.repo.path(".ralph/qa"));
    for name in ["report.json", "report.html", "junit.xml"] {
        assert!(files.contains(&name.to_owned()), "{files:?}");
    }
    let report = site.report();
    assert_eq!(report["passed"], true);
    assert_eq!(report["flows"][0]["flow"], "greet");
    assert_eq!(report["flows"][0]["steps"].as_array().unwrap().len(), 5);
    let picture = report["flows"][0]["pages"][0]["screenshot"]
        .as_str()
        .unwrap();
    assert!(site.results(picture).is_file(), "{picture}");
    assert_eq!(site.repo.status(), [""; 0]);
    site.assert_nothing_alive();
    site.assert_nothing_left();
}

#[test]
fn results_are_ignored_by_git_also_where_the_rules_of_the_project_are_older() {
    let site = Site::greeting();
    site.repo
        .file(".ralph/.gitignore", "/logs/\n")
        .commit("rules");
    site.qa(&["run"]).expect(0);
    assert_eq!(site.repo.status(), [""; 0]);
}

#[test]
fn a_flow_that_fails_says_where_and_what_was_there_instead() {
    let site = Site::with_flows(&[("greet", GREET), ("wrong", WRONG)]);
    let ran = site.qa(&["run"]).expect(4).prints(&[
        ".ralph/flows/wrong.yaml:5",
        "Goodbye",
        ".ralph/qa/wrong/",
        ".png",
        "1 of 2 flows failed",
    ]);
    let picture = ran.out.split_whitespace().find_map(|word| {
        let at = word.find(".ralph/qa/wrong/")?;
        let end = word.rfind(".png")?;
        Some(word[at..end + 4].to_owned())
    });
    let bytes = std::fs::read(site.repo.path(picture.unwrap())).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"));
    let junit = std::fs::read_to_string(site.results("junit.xml")).unwrap();
    assert!(junit.contains("failures=\"1\""), "{junit}");
}

#[test]
fn only_the_flows_that_are_named_run_by_their_name_or_their_file() {
    let site = Site::with_flows(&[("greet", GREET), ("wrong", WRONG)]);
    site.repo
        .file("e2e/other.yaml", GREET.replace("greet", "other"));
    for named in ["greet", "greet.yaml", ".ralph/flows/greet.yaml"] {
        site.qa(&["run", named])
            .expect(0)
            .prints(&["1 flow passed"]);
        assert_eq!(
            site.report()["flows"].as_array().unwrap().len(),
            1,
            "{named}"
        );
    }
    site.qa(&["run", "e2e/other.yaml"])
        .expect(0)
        .prints(&["passed  other"]);
}

#[test]
fn json_is_the_report_and_junit_goes_where_it_is_wanted() {
    let site = Site::greeting();
    let file = site.repo.outside().join("junit.xml");
    let ran = site.qa(&["run", "--json", "--junit", file.to_str().unwrap()]);
    let ran = ran.expect(0);
    let printed: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(printed, site.report());
    let junit = std::fs::read_to_string(file).unwrap();
    assert!(junit.contains("<testsuite"), "{junit}");
}

#[test]
fn a_new_run_takes_the_results_of_the_one_before_away() {
    let site = Site::with_flows(&[("greet", GREET), ("wrong", WRONG)]);
    site.qa(&["run"]).expect(4);
    site.qa(&["run", "greet"]).expect(0);
    assert!(!site.results("wrong").exists());
    assert_eq!(site.report()["flows"].as_array().unwrap().len(), 1);
}

#[test]
fn flows_run_against_what_answers_at_an_address() {
    let site = Site::greeting();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let body = crate::support::PAGE.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let body = body.clone();
            std::thread::spawn(move || answer(stream, &body));
        }
    });
    let url = format!("http://127.0.0.1:{port}");
    site.repo.file("site/index.html", "<p>not this one</p>");
    site.qa(&["run", "--url", &url])
        .expect(0)
        .prints(&["passed  greet"]);
}

fn answer(mut stream: std::net::TcpStream, body: &str) {
    use std::io::{Read as _, Write as _};
    let mut request = [0; 4096];
    let _ = stream.read(&mut request);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
    let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
}

#[test]
fn a_secret_that_is_typed_is_shown_nowhere() {
    let flow = "\
name: secret
steps:
  - navigate: /
  - type: {label: Name, secret: SITE_PASSWORD}
  - click: Greet
  - verify: {text: Goodbye}
";
    let site = Site::with_flows(&[("secret", flow)]);
    let secret = "s3cr3t-0f-mine-4711";
    site.qa_with(&["run"], &[("SITE_PASSWORD", secret)])
        .expect(2)
        .complains(&["SITE_PASSWORD", "safety.pass_env"]);
    let passed = [
        ("SITE_PASSWORD", secret),
        ("RALPH_SAFETY_PASS_ENV", "[SITE_PASSWORD]"),
    ];
    let ran = site.qa_with(&["run"], &passed).expect(4);
    assert!(!ran.out.contains(secret), "{}", ran.out);
    for name in files_in(&site.repo.path(".ralph/qa")) {
        let bytes = std::fs::read(site.results(&name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(secret), "{name}");
    }
}
