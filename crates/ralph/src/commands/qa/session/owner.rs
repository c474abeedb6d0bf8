//! Has the process of a session's browser, and starts another one where other pages are asked for.
//!
//! By hand that process is in the sandbox that `ralph qa run` is in; inside a run it is where the agent is.

use ralph_core::config::{Config, PageUrl, QaConfig, VerifyNetwork};
use ralph_engine::{
    environment::Environment,
    process::CommandSpec,
    sandbox::{Enclosure, SandboxUser},
    verifier::{RUN_QA, RUN_QA_WALLS},
};
use ralph_qa::session::{OpenRequest, SessionAnswers, SessionLink, SessionReply, SessionRequest};

use super::{
    super::{inside, settings},
    OPEN_FIRST,
};
use crate::{
    cli::Global, commands::run::detection, error::CommandError, project::Project,
    sandboxed::sandboxed_by,
};

/// The browser of a session, while there is one.
pub(crate) struct SessionOwner {
    global: Global,
    /// True inside a run of an agent, whose walls are around it already.
    is_inside: bool,
    live: Option<LiveSession>,
    /// True once the browser could not be started, or has died.
    has_failed: bool,
}

struct LiveSession {
    link: SessionLink,
    pages: PagesOf,
    _walls: Option<SessionWalls>,
}

/// The sandbox of a session and its home are there as long as this is.
struct SessionWalls {
    _enclosure: Enclosure,
    _environment: Environment,
}

/// The pages that a session is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PagesOf {
    /// Those of the application under test: started for them, or at `qa.url`. Its origin is known once one is open.
    Application { origin: Option<String> },
    /// Those of another server on this machine, or of a host that is listed.
    Elsewhere { origin: String },
}

impl SessionOwner {
    pub(crate) fn new(global: &Global, is_inside: bool) -> Self {
        Self {
            global: global.clone(),
            is_inside,
            live: None,
            has_failed: false,
        }
    }

    /// Ends browser and application.
    pub(crate) async fn close(&mut self) {
        if let Some(live) = self.live.take() {
            live.link.close().await;
        }
    }

    /// Sees to it that there is a browser for the pages that are wanted.
    async fn prepare(&mut self, wanted: &OpenRequest) -> Result<(), CommandError> {
        let project = Project::open_again(&self.global).await?;
        let handed = settings::of_run()?;
        let qa = handed.unwrap_or_else(|| project.config().qa.clone());
        let pages = self.pages(wanted.address.as_deref(), &qa)?;
        if self.live.as_ref().is_some_and(|live| live.pages == pages) {
            return Ok(());
        }
        self.close().await;
        self.live = Some(self.start(&project, qa, pages).await?);
        self.has_failed = false;
        Ok(())
    }

    fn pages(&self, address: Option<&str>, qa: &QaConfig) -> Result<PagesOf, CommandError> {
        let now = self.live.as_ref().map(|live| &live.pages);
        let Some(origin) = address.and_then(origin_of) else {
            if qa.server.command.is_none() && qa.url.is_none() {
                // A path is one of the server whose pages are open.
                if let Some(pages @ PagesOf::Elsewhere { .. }) = now {
                    return Ok(pages.clone());
                }
                let message = "there is no application to open a page of";
                return Err(CommandError::user(message).hint(
                    "name an address, such as `ralph qa open http://localhost:3000`, or set `qa.server` or `qa.url` \
                     in ralph.yaml",
                ));
            }
            let is_open = matches!(now, Some(PagesOf::Application { .. }));
            let open = now.filter(|_| is_open).cloned();
            return Ok(open.unwrap_or(PagesOf::Application { origin: None }));
        };
        if let Some(PagesOf::Application { origin: Some(own) }) = now
            && *own == origin
        {
            return Ok(PagesOf::Application {
                origin: Some(origin),
            });
        }
        let configured = qa.url.as_ref().and_then(|url| origin_of(url.as_str()));
        if qa.server.command.is_none() && configured.as_ref() == Some(&origin) {
            let open = now.filter(|pages| matches!(pages, PagesOf::Application { .. }));
            return Ok(open
                .cloned()
                .unwrap_or(PagesOf::Application { origin: None }));
        }
        if !may_be_reached(&origin, qa) {
            let message = format!("{origin} is another machine's, and `qa.hosts` does not list it");
            return Err(CommandError::user(message)
                .hint("a person can list hosts that pages may reach: `qa.hosts` in ralph.yaml"));
        }
        Ok(PagesOf::Elsewhere { origin })
    }

    async fn start(
        &self,
        project: &Project,
        mut qa: QaConfig,
        pages: PagesOf,
    ) -> Result<LiveSession, CommandError> {
        if let PagesOf::Elsewhere { origin } = &pages {
            qa.url = Some(PageUrl::try_from(origin.clone()).map_err(CommandError::user)?);
            qa.server.command = None;
        }
        let args = ["qa", "__session-browser"];
        let mut spec = CommandSpec::new(std::env::current_exe()?, project.root()).args(args);
        let handed = serde_json::to_string(&qa)?;
        let walls = if self.is_inside {
            spec.env = std::env::vars_os().collect();
            if inside::has_filter() {
                spec.env.push((RUN_QA_WALLS.into(), "1".into()));
            }
            spec.env.push((RUN_QA.into(), handed.into()));
            None
        } else {
            let config = with_network_for(project.config(), &qa);
            let environment = project.environment(project.root());
            let environment =
                sandboxed_by(project, &config, environment, "the application").await?;
            spec.env.clone_from(&environment.vars);
            spec.env.push((RUN_QA.into(), handed.into()));
            if environment.sandbox().is_some() {
                spec.env.push((RUN_QA_WALLS.into(), "1".into()));
            }
            let sandbox = environment.sandbox();
            let enclosed = sandbox.map(|sandbox| sandbox.enclose(&mut spec, SandboxUser::Command));
            enclosed.transpose()?.map(|enclosure| SessionWalls {
                _enclosure: enclosure,
                _environment: environment,
            })
        };
        let containment = detection(project)?.containment;
        let link = SessionLink::start(spec, containment).map_err(CommandError::internal)?;
        Ok(LiveSession {
            link,
            pages,
            _walls: walls,
        })
    }
}

impl SessionAnswers for SessionOwner {
    async fn answer(&mut self, request: SessionRequest) -> SessionReply {
        match &request {
            SessionRequest::Close => {
                self.close().await;
                return SessionReply::Closed;
            }
            SessionRequest::Open(wanted) => {
                if let Err(error) = self.prepare(wanted).await {
                    self.has_failed = self.live.is_none();
                    let message = error.sentences().join(": ");
                    return SessionReply::refused(message, error.hint_text());
                }
            }
            SessionRequest::Step { .. } | SessionRequest::Look | SessionRequest::Shot(_) => {}
        }
        let Some(live) = &mut self.live else {
            return SessionReply::refused("no page is open", Some(OPEN_FIRST));
        };
        match live.link.ask(&request).await {
            Ok(reply) => {
                if let (SessionReply::Looked(look), PagesOf::Application { origin }) =
                    (&reply, &mut live.pages)
                    && origin.is_none()
                {
                    *origin = origin_of(&look.url);
                }
                reply
            }
            Err(gone) => {
                self.live = None;
                self.has_failed = true;
                SessionReply::refused(gone.to_string(), Some(OPEN_FIRST))
            }
        }
    }

    async fn ended(&mut self) {
        match &mut self.live {
            Some(live) => live.link.ended().await,
            None if self.has_failed => {}
            None => std::future::pending().await,
        }
    }
}

/// A server of their own is all that pages of the application need, unless hosts are listed.
fn with_network_for(config: &Config, qa: &QaConfig) -> Config {
    let mut walls = config.clone();
    let needs_more = !qa.hosts.is_empty() || qa.server.command.is_none();
    if walls.verification.network == VerifyNetwork::Auto && needs_more {
        walls.verification.network = VerifyNetwork::Open;
    }
    walls
}

/// `http://localhost:3000` of an address; `None` of a path.
pub(crate) fn origin_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let is_web = ["http", "https"]
        .iter()
        .any(|web| scheme.eq_ignore_ascii_case(web));
    let host = rest.split(['/', '?', '#']).next()?;
    // Names and passwords are no part of it.
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    (is_web && !host.is_empty()).then(|| format!("{scheme}://{host}").to_ascii_lowercase())
}

/// Tells whether an address is one of this machine's, or of a host that is listed.
fn may_be_reached(origin: &str, qa: &QaConfig) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_loopback = name == "localhost"
        || name.ends_with(".localhost")
        || name == "[::1]"
        || name
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback());
    let is_listed = |listed: &str| match listed.strip_prefix("*.") {
        Some(domain) => name
            .strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with('.')),
        None => listed.eq_ignore_ascii_case(name) || listed.eq_ignore_ascii_case(host),
    };
    let configured = qa.url.as_ref().and_then(|url| origin_of(url.as_str()));
    is_loopback
        || configured.as_deref() == Some(origin)
        || qa.hosts.iter().any(|listed| is_listed(listed.as_str()))
}

#[cfg(test)]
mod tests {
    use ralph_core::config::HostName;

    use super::*;

    #[test]
    fn an_origin_is_the_part_before_the_path() {
        let table = [
            ("http://localhost:3000/a?b", Some("http://localhost:3000")),
            ("https://user:word@Example.com", Some("https://example.com")),
            ("/path", None),
            ("about:blank", None),
            ("file:///etc/passwd", None),
            ("http://", None),
        ];
        for (address, origin) in table {
            assert_eq!(origin_of(address).as_deref(), origin, "{address}");
        }
    }

    #[test]
    fn only_this_machine_and_listed_hosts_are_reached() {
        let hosts = ["cdn.example.com", "*.example.org", "other.net:8080"];
        let qa = QaConfig {
            hosts: hosts
                .map(|host| HostName::try_from(host.to_owned()).unwrap())
                .into(),
            ..QaConfig::default()
        };
        let table = [
            ("http://localhost:3000", true),
            ("http://app.localhost", true),
            ("http://127.0.0.1:80", true),
            ("http://[::1]:80", true),
            ("https://cdn.example.com", true),
            ("https://a.example.org", true),
            ("https://example.org", false),
            ("https://notexample.org", false),
            ("http://other.net:8080", true),
            ("http://other.net", false),
            ("http://192.168.0.1", false),
            ("http://localhost.example.com", false),
        ];
        for (origin, is_reached) in table {
            assert_eq!(may_be_reached(origin, &qa), is_reached, "{origin}");
        }
    }
}
