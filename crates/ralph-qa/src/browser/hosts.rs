//! The hosts that pages may reach: their server, and those that a flow lists.

/// An address's host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HostPort {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl std::fmt::Display for HostPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.host)?;
        match self.port {
            80 | 443 => Ok(()),
            port => write!(f, ":{port}"),
        }
    }
}

impl HostPort {
    /// Reads `http://host:port/…`; None for addresses without a host.
    pub(crate) fn of_url(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let port = match scheme.to_ascii_lowercase().as_str() {
            "http" | "ws" => 80,
            "https" | "wss" => 443,
            _ => return None,
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = &rest[..end];
        let authority = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        Self::of_authority(authority, port)
    }

    /// Reads `host`, `host:port` and `[::1]:port`.
    pub(crate) fn of_authority(authority: &str, default: u16) -> Option<Self> {
        let (host, port) = split_port(authority)?;
        (!host.is_empty()).then(|| Self {
            host: host.to_ascii_lowercase(),
            port: port.unwrap_or(default),
        })
    }

    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }
}

/// Splits a port off; None where what follows the colon is no port.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    if authority.ends_with(']') {
        return Some((authority, None));
    }
    match authority.rsplit_once(':') {
        None => Some((authority, None)),
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host == "[::1]"
        || host.ends_with(".localhost")
        || host
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// A host that may be reached, as a person writes it: `example.com`, `*.example.com`, `localhost:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HostPattern {
    host: String,
    port: Option<u16>,
}

impl HostPattern {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(at) = HostPort::of_url(text) {
            return Some(Self {
                host: at.host,
                port: Some(at.port),
            });
        }
        let (host, port) = split_port(text)?;
        (!host.is_empty()).then(|| Self {
            host: host.to_ascii_lowercase(),
            port,
        })
    }

    fn allows(&self, at: &HostPort) -> bool {
        if self.port.is_some_and(|port| port != at.port) {
            return false;
        }
        let is_same = match self.host.strip_prefix("*.") {
            Some(domain) => at
                .host
                .strip_suffix(domain)
                .is_some_and(|rest| rest.ends_with('.')),
            None => self.host == at.host,
        };
        // A server on this machine has several names.
        is_same || (is_loopback(&self.host) && at.is_loopback())
    }
}

/// All hosts that one page may reach.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowedHosts {
    patterns: Vec<HostPattern>,
}

impl AllowedHosts {
    pub(crate) fn new(base: Option<&str>, listed: &[String]) -> Self {
        let base = base.and_then(HostPort::of_url).map(|at| HostPattern {
            host: at.host,
            port: Some(at.port),
        });
        let listed = listed.iter().filter_map(|text| HostPattern::parse(text));
        Self {
            patterns: base.into_iter().chain(listed).collect(),
        }
    }

    pub(crate) fn allow(&self, at: &HostPort) -> bool {
        self.patterns.iter().any(|pattern| pattern.allows(at))
    }

    /// The rules by which a browser reaches servers of this machine without the gate; all else goes through it.
    pub(crate) fn bypass_list(&self) -> String {
        let mut rules = vec!["<-loopback>".to_owned()];
        for pattern in &self.patterns {
            if !is_loopback(&pattern.host) {
                continue;
            }
            let port = pattern
                .port
                .map_or(String::new(), |port| format!(":{port}"));
            for host in ["localhost", "*.localhost", "127.0.0.1", "[::1]"] {
                rules.push(format!("{host}{port}"));
            }
        }
        rules.join(";")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> HostPort {
        HostPort::of_url(text).unwrap()
    }

    #[test]
    fn the_host_of_an_address_is_read_with_its_port() {
        let shown = |url| HostPort::of_url(url).map(|at| (at.host, at.port));
        assert_eq!(
            shown("http://LocalHost:3000/a?b"),
            Some(("localhost".into(), 3000))
        );
        assert_eq!(
            shown("https://u:p@example.com?x"),
            Some(("example.com".into(), 443))
        );
        assert_eq!(shown("ws://[::1]:81/"), Some(("[::1]".into(), 81)));
        assert_eq!(shown("data:text/html,x"), None);
        assert_eq!(shown("about:blank"), None);
        assert_eq!(shown("http://host:port/"), None);
    }

    #[test]
    fn a_page_reaches_its_server_and_what_is_listed() {
        let listed = ["*.example.com", "cdn.test", "localhost:8080"].map(str::to_owned);
        let hosts = AllowedHosts::new(Some("http://localhost:3000"), &listed);
        for url in [
            "http://127.0.0.1:3000/",
            "http://localhost:8080/",
            "https://a.example.com/",
            "http://cdn.test:81/",
        ] {
            assert!(hosts.allow(&at(url)), "{url}");
        }
        for url in [
            "http://localhost:3001/",
            "https://example.com/",
            "https://badexample.com/",
            "https://a.cdn.test/",
        ] {
            assert!(!hosts.allow(&at(url)), "{url}");
        }
    }

    #[test]
    fn only_servers_of_this_machine_are_reached_without_the_gate() {
        let hosts = AllowedHosts::new(Some("http://127.0.0.1:3000"), &["cdn.test".to_owned()]);
        assert_eq!(
            hosts.bypass_list(),
            "<-loopback>;localhost:3000;*.localhost:3000;127.0.0.1:3000;[::1]:3000"
        );
        assert_eq!(AllowedHosts::default().bypass_list(), "<-loopback>");
    }
}
