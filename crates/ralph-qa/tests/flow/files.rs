//! How flow files are found, and what is refused.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use ralph_qa::flow::find_flows;
use tempfile::TempDir;

const FLOW: &str = "steps:\n  - navigate: /\n";

/// A project with these files; `{}` in a text stands for a flow without a name.
fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.replace("{}", FLOW)).unwrap();
    }
    folder
}

fn names(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// The flows that are found, as `name file`.
fn found(project: &TempDir, asked: &[&str]) -> Result<Vec<String>, String> {
    let root = project.path().canonicalize().unwrap();
    let flows = find_flows(&root, Path::new("flows"), &names(asked));
    let flows = flows.map_err(|error| error.to_string().replace(root.to_str().unwrap(), "ROOT"))?;
    Ok(flows
        .iter()
        .map(|flow| {
            let file = flow.file.strip_prefix(&root).unwrap();
            format!("{} {}", flow.name, file.display())
        })
        .collect())
}

fn shop() -> TempDir {
    project(&[
        ("flows/checkout.yaml", "name: pay\n{}"),
        ("flows/home.yml", "{}"),
        ("flows/admin/users.yaml", "{}"),
        ("flows/admin/home.yaml", "name: admin home\n{}"),
        ("flows/__baselines__/admin/x.yaml", "no flow"),
        ("flows/.hidden/x.yaml", "no flow"),
        ("flows/.x.yaml", "no flow"),
        ("flows/README.md", "no flow"),
        ("docs/tour.yaml", "{}"),
        ("docs/notes.txt", "no flow"),
        ("empty/notes.txt", "no flow"),
    ])
}

#[test]
fn all_flows_of_the_folder_are_found_by_path() {
    assert_eq!(
        found(&shop(), &[]).unwrap(),
        [
            "admin home flows/admin/home.yaml",
            "users flows/admin/users.yaml",
            "pay flows/checkout.yaml",
            "home flows/home.yml",
        ]
    );
}

#[test]
fn flows_are_found_by_name_stem_path_and_folder() {
    let table: [(&[&str], &[&str]); 12] = [
        (&["pay"], &["pay flows/checkout.yaml"]),
        (&["checkout"], &["pay flows/checkout.yaml"]),
        (&["checkout.yaml"], &["pay flows/checkout.yaml"]),
        (&["flows/checkout.yaml"], &["pay flows/checkout.yaml"]),
        (
            &["./flows/../flows/checkout.yaml"],
            &["pay flows/checkout.yaml"],
        ),
        (&["docs/tour.yaml"], &["tour docs/tour.yaml"]),
        (&["admin home"], &["admin home flows/admin/home.yaml"]),
        (&["admin/users.yaml"], &["users flows/admin/users.yaml"]),
        (
            &["admin"],
            &[
                "admin home flows/admin/home.yaml",
                "users flows/admin/users.yaml",
            ],
        ),
        (&["docs/"], &["tour docs/tour.yaml"]),
        // In the order in which they were named, each once.
        (
            &["pay", "docs/tour.yaml", "checkout"],
            &["pay flows/checkout.yaml", "tour docs/tour.yaml"],
        ),
        (
            &["home"],
            &["admin home flows/admin/home.yaml", "home flows/home.yml"],
        ),
    ];
    for (asked, flows) in table {
        assert_eq!(found(&shop(), asked).unwrap(), flows, "{asked:?}");
    }
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let table = [
        ("chekout", "no flow `chekout`; there is `checkout`"),
        (
            "flows/nope.yaml",
            "no flow `flows/nope.yaml`; there is `admin home`, `checkout`, `home`, `pay`, `users`",
        ),
        (
            "docs/notes.txt",
            "docs/notes.txt: a flow is a file that ends with `.yaml` or `.yml`",
        ),
        (
            "empty/",
            "empty: there is no flow in it; flows are files such as `empty/home.yaml`",
        ),
    ];
    for (asked, said) in table {
        assert_eq!(found(&shop(), &[asked]).unwrap_err(), said, "{asked}");
    }
    let none = project(&[("README.md", "")]);
    let said = "flows: there is no such folder; flows are files such as `flows/home.yaml`";
    assert_eq!(found(&none, &[]).unwrap_err(), said);
    assert_eq!(found(&none, &["home"]).unwrap_err(), "no flow `home`");
    std::fs::create_dir(none.path().join("flows")).unwrap();
    let said = "flows: there is no flow in it; flows are files such as `flows/home.yaml`";
    assert_eq!(found(&none, &[]).unwrap_err(), said);
}

#[test]
fn two_flows_of_one_name_are_refused() {
    let twins = project(&[
        ("flows/a.yaml", "name: Home\n{}"),
        ("flows/b.yaml", "name: home\n{}"),
    ]);
    assert_eq!(
        found(&twins, &[]).unwrap_err(),
        "flows/a.yaml and flows/b.yaml: both flows are named `home`; give one of them another `name:`"
    );
    // Each by itself is no mistake.
    assert_eq!(found(&twins, &["a"]).unwrap(), ["Home flows/a.yaml"]);
    let same = project(&[
        ("flows/a.yaml", "name: x\n{}"),
        ("flows/b.yaml", "name: x\n{}"),
    ]);
    assert_eq!(
        found(&same, &["x"]).unwrap_err(),
        "flows/a.yaml and flows/b.yaml: both flows are named `x`; give one of them another `name:`"
    );
    // Baselines lie in a folder with the name of the file, without its ending.
    let stems = project(&[
        ("flows/a.yaml", "name: x\n{}"),
        ("flows/a.yml", "name: y\n{}"),
    ]);
    assert_eq!(
        found(&stems, &[]).unwrap_err(),
        "flows/a.yaml and flows/a.yml: their pictures would have the same baselines; rename one of the files"
    );
}

#[test]
fn mistakes_of_all_files_are_said_at_once() {
    let wrong = project(&[
        ("flows/a.yaml", "steps:\n  - clik: x\n"),
        ("flows/b.yaml", "{}"),
        ("flows/c.yaml", ""),
    ]);
    assert_eq!(
        found(&wrong, &[]).unwrap_err(),
        "flows/a.yaml:2: unknown action `clik`; did you mean `click`?\nflows/c.yaml:1: expected a flow, found an empty file; it begins with `steps:`"
    );
    // One that is right can be run beside those that are wrong.
    assert_eq!(found(&wrong, &["b"]).unwrap(), ["b flows/b.yaml"]);
}

#[test]
fn what_leads_out_of_the_project_is_refused_by_name() {
    let outside = project(&[("secret.yaml", "{}"), ("flows/x.yaml", "{}")]);
    let real = outside.path().canonicalize().unwrap();
    let leads = |path: &str, to: PathBuf| {
        format!("{path}: it leads out of the project, to {}", to.display())
    };

    let inside = project(&[("flows/home.yaml", "{}")]);
    symlink(
        outside.path().join("secret.yaml"),
        inside.path().join("flows/link.yaml"),
    )
    .unwrap();
    let said = leads("flows/link.yaml", real.join("secret.yaml"));
    assert_eq!(found(&inside, &[]).unwrap_err(), said);
    assert_eq!(found(&inside, &["flows/link.yaml"]).unwrap_err(), said);
    assert_eq!(found(&inside, &["link"]).unwrap_err(), said);

    let folder = project(&[("flows/home.yaml", "{}")]);
    symlink(
        outside.path().join("flows"),
        folder.path().join("flows/more"),
    )
    .unwrap();
    let said = leads("flows/more", real.join("flows"));
    assert_eq!(found(&folder, &[]).unwrap_err(), said);

    let whole = project(&[("README.md", "")]);
    symlink(outside.path().join("flows"), whole.path().join("flows")).unwrap();
    let said = leads("flows", real.join("flows"));
    assert_eq!(found(&whole, &[]).unwrap_err(), said);

    let complete = real.join("secret.yaml");
    let complete = complete.to_str().unwrap();
    let said = leads(complete, real.join("secret.yaml"));
    assert_eq!(found(&folder, &[complete]).unwrap_err(), said);
}

#[test]
fn links_within_the_project_are_followed_once() {
    let linked = project(&[("flows/a/home.yaml", "{}"), ("common/tour.yaml", "{}")]);
    symlink("../common/tour.yaml", linked.path().join("flows/tour.yaml")).unwrap();
    symlink("..", linked.path().join("flows/a/up")).unwrap();
    assert_eq!(
        found(&linked, &[]).unwrap(),
        ["home flows/a/home.yaml", "tour flows/tour.yaml"]
    );
}

#[test]
fn what_is_no_plain_text_is_an_error_and_not_a_wait() {
    let odd = project(&[("flows/a.yaml", "{}")]);
    let folder = odd.path().join("flows");
    std::fs::write(folder.join("b.yaml"), b"steps:\n  - click: \xff\n").unwrap();
    assert_eq!(
        found(&odd, &["b"]).unwrap_err(),
        "flows/b.yaml:2: expected text in UTF-8, found another byte"
    );
    let pipe = folder.join("c.yaml");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
    assert_eq!(found(&odd, &["c"]).unwrap_err(), "can't read flows/c.yaml");
    std::fs::remove_file(pipe).unwrap();
    symlink("nothing", folder.join("d.yaml")).unwrap();
    assert_eq!(
        found(&odd, &["a", "d"]).unwrap_err(),
        "can't read flows/d.yaml"
    );
    std::fs::remove_file(folder.join("d.yaml")).unwrap();
    std::fs::write(folder.join("e.yaml"), "# x\n".repeat(200_000)).unwrap();
    assert_eq!(
        found(&odd, &["e"]).unwrap_err(),
        "flows/e.yaml:1: expected a flow of at most 256 KiB, found 257; make several flows of it"
    );
}
