//! The sandbox of flows that are run by hand.

use std::{os::unix::process::CommandExt as _, process::Command};

use crate::support::{GREET, Site, Started};

/// The server says what it sees of the machine before it serves.
fn looking() -> Site {
    let site = Site::with_flows(&[("greet", GREET)]);
    let key = site.repo.home().join(".ssh");
    std::fs::create_dir_all(&key).unwrap();
    std::fs::write(key.join("key"), "x").unwrap();
    site
}

fn serve(site: &Site, before: &str) {
    let line = format!(
        "{{ {before}; }} > seen.txt 2>&1; exec python3 -m http.server $PORT --bind 127.0.0.1 --directory site"
    );
    let config = serde_json::json!({"qa": {"server": {"command": line}}});
    site.repo.file("ralph.yaml", config.to_string());
}

/// What tests are usually shown besides is not shown, so that the walls are as a person has them.
const SANDBOX: [(&str, &str); 2] = [
    ("RALPH_SAFETY_SANDBOX", "auto"),
    ("RALPH_SAFETY_ALLOW_WRITE", "[]"),
];

#[test]
fn the_application_sees_the_project_and_not_the_home() {
    let site = looking();
    serve(&site, "cat ~/.ssh/key && echo seen");
    site.qa_with(&["run"], &SANDBOX).expect(0);
    assert!(!site.repo.read("seen.txt").contains("seen"));
    let outside = [("RALPH_SAFETY_SANDBOX", "off")];
    site.qa_with(&["run"], &outside).expect(0);
    assert!(site.repo.read("seen.txt").contains("seen"));
}

#[test]
fn server_and_browser_have_a_network_of_their_own_unless_flows_list_hosts() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let site = looking();
    serve(
        &site,
        &format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo reached"),
    );
    site.qa(&["run"]).expect(0);
    assert!(!site.repo.read("seen.txt").contains("reached"));
    let lists = GREET.replace("name: greet", "name: greet\nhosts: [cdn.example.com]");
    site.flow("greet", &lists);
    site.qa(&["run"]).expect(0);
    assert!(site.repo.read("seen.txt").contains("reached"));
}

#[test]
fn an_ordinary_user_runs_flows_too() {
    assert!(
        rustix::process::geteuid().is_root(),
        "run the tests as root: this one starts ralph as another user"
    );
    let site = Site::greeting();
    let outside = site.repo.outside();
    let own = outside.join("ralph");
    std::fs::copy(env!("CARGO_BIN_EXE_ralph"), &own).unwrap();
    let chown = Command::new("chown")
        .args(["-hR", "1234:1234"])
        .arg(outside)
        .status();
    assert!(chown.unwrap().success());
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(outside, open).unwrap();
    let made = site.command(&["run"]);
    let mut command = Command::new(own);
    command
        .args(made.get_args())
        .env_clear()
        .envs(
            made.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(site.repo.root())
        .uid(1234)
        .gid(1234);
    Started::new(command)
        .wait()
        .expect(0)
        .prints(&["passed  greet"]);
    site.assert_nothing_alive();
    site.assert_nothing_left();
}
