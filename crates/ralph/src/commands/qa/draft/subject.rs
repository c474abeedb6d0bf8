//! The subject of a draft: a page of the application, as it is now, or a task.

use ralph_core::{
    config::{Config, PageUrl},
    draft::{DraftPage, DraftPrompt, DraftTask, render_draft_prompt},
    plan::{AnswerBy, Repair},
    prompt::TemplateError,
    sanitize::one_line,
};
use ralph_qa::session::{OpenRequest, PageLook, SessionAnswers as _, SessionRequest};

use super::super::session::{SessionOwner, ShownReply, origin_of, shown_reply};
use crate::{cli::Global, error::CommandError, output, project::Project};

/// Characters of a name that is made.
const MOST_NAME: usize = 60;

pub(super) enum DraftSubject {
    Page { address: String },
    Task { id: String, task: DraftTask },
}

/// The same, once the application was looked at.
pub(super) struct SubjectFound {
    task: Option<DraftTask>,
    page: Option<DraftPage>,
}

impl DraftSubject {
    pub(super) fn find(project: &Project, named: &str) -> Result<Self, CommandError> {
        let starts = ["/", "http://", "https://"];
        if starts.iter().any(|start| named.starts_with(start)) {
            return Ok(Self::Page {
                address: named.to_owned(),
            });
        }
        let (_, graph, _) = project.source(None, "ralph tasks show ID")?;
        let found = graph.tasks().iter().find(|task| task.id.as_str() == named);
        let Some(task) = found else {
            let shown = one_line(named, MOST_NAME);
            let message = format!("there is no task {shown}");
            return Err(CommandError::user(message).hint(
                "name a page by its path (`ralph qa draft /cart`), or a task of `ralph tasks list`",
            ));
        };
        Ok(Self::Task {
            id: task.id.to_string(),
            task: DraftTask {
                title: task.text.title.clone(),
                description: task.text.description.clone(),
                acceptance: task.text.acceptance.clone(),
            },
        })
    }

    /// A name that is made of the path or the id.
    pub(super) fn flow_name(&self) -> String {
        match self {
            Self::Page { address } => {
                let path = path_of(address);
                let name = name_of(path.split(['?', '#']).next().unwrap_or_default());
                if name.is_empty() {
                    "home".to_owned()
                } else {
                    name
                }
            }
            Self::Task { id, .. } => name_of(id),
        }
    }

    /// The configuration that the flow is run with: an address stands above the application.
    pub(super) fn config(&self, config: &Config) -> Result<Config, CommandError> {
        let mut config = config.clone();
        if let Self::Page { address } = self
            && let Some(origin) = origin_of(address)
        {
            config.qa.url = Some(PageUrl::try_from(origin).map_err(CommandError::user)?);
            config.qa.server.command = None;
        }
        Ok(config)
    }

    /// Opens the page. A task is asked for with the first page of the application, if there is one.
    pub(super) async fn look(
        self,
        project: &Project,
        global: &Global,
    ) -> Result<SubjectFound, CommandError> {
        let (address, task) = match self {
            Self::Page { address } => (address, None),
            Self::Task { task, .. } => ("/".to_owned(), Some(task)),
        };
        let mut owner = SessionOwner::new(global, false);
        let wanted = OpenRequest {
            address: Some(address),
            ..OpenRequest::default()
        };
        output::print_to_stderr("looking at the page …\n");
        let reply = owner.answer(SessionRequest::Open(wanted)).await;
        owner.close().await;
        let page = match shown_reply(reply, project.root(), None) {
            Ok(ShownReply::Looked(look)) => Some(page_of(look)),
            // What a task asks for may not be there yet.
            Ok(_) | Err(_) if task.is_some() => None,
            Ok(other) => {
                let text = other.text();
                let message = format!("the page can't be opened\n{}", text.trim_end());
                return Err(CommandError::user(message));
            }
            Err(error) => return Err(error),
        };
        Ok(SubjectFound { task, page })
    }
}

impl SubjectFound {
    pub(super) fn prompt(
        &self,
        name: &str,
        answer_by: AnswerBy,
        repair: Option<&Repair>,
    ) -> Result<String, TemplateError> {
        render_draft_prompt(&DraftPrompt {
            name,
            task: self.task.clone(),
            page: self.page.clone(),
            answer_by,
            repair,
        })
    }
}

fn page_of(look: PageLook) -> DraftPage {
    DraftPage {
        path: path_of(&look.url).to_owned(),
        title: look.title,
        lines: look.lines,
    }
}

/// The part of an address behind the host.
fn path_of(address: &str) -> &str {
    let Some((_, rest)) = address.split_once("://") else {
        return address;
    };
    rest.find('/').map_or("/", |at| &rest[at..])
}

fn name_of(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.get(..MOST_NAME).unwrap_or(&name);
    name.trim_matches('-').to_owned()
}

/// Fails for a name that could be no file of a flow.
pub(super) fn checked_name(name: &str) -> Result<&str, CommandError> {
    if !name.is_empty() && name_of(name) == name {
        return Ok(name);
    }
    let shown = one_line(name, MOST_NAME);
    let message = format!("`{shown}` is no name for a drafted flow");
    Err(CommandError::user(message).hint("use lower case letters, digits and `-`: `sign-in`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_the_path_or_the_id() {
        let page = |address: &str| DraftSubject::Page {
            address: address.to_owned(),
        };
        let table = [
            (page("/"), "home"),
            (page("/cart/Check out?step=2"), "cart-check-out"),
            (page("http://localhost:3000"), "home"),
            (page("http://localhost:3000/a/b#c"), "a-b"),
            (
                DraftSubject::Task {
                    id: "US-3.1".to_owned(),
                    task: DraftTask::default(),
                },
                "us-3-1",
            ),
        ];
        for (subject, name) in table {
            assert_eq!(subject.flow_name(), name);
        }
        assert!(checked_name("sign-in").is_ok());
        for name in ["", "../x", "Sign in", "-a"] {
            assert!(checked_name(name).is_err(), "{name}");
        }
    }
}
