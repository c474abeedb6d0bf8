//! Names and addresses that a program in a sandbox may reach.
//!
//! Names are compared after they were brought to one form, so that no other spelling of a name, and no number that
//! stands for an address, gets past the list.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host that may be reached: `api.example.com`, `*.example.com`, `127.0.0.1:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    /// In lower case, without a dot at its end.
    pub(super) name: String,
    /// Any name below it, and not itself.
    pub(super) is_below: bool,
    /// `None` for the ports of HTTP and HTTPS.
    pub(super) port: Option<u16>,
}

/// The ports of a host that is named without one.
pub(super) const USUAL_PORTS: [u16; 2] = [443, 80];

impl AllowedHost {
    /// Reads an entry of the configuration; the reason where it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (is_below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (name, port) = split_port(rest).ok_or_else(|| format!("`{text}` is no host"))?;
        let name = normal_name(name).ok_or_else(|| format!("`{text}` is no host"))?;
        if is_below && (name.parse::<IpAddr>().is_ok() || !name.contains('.')) {
            return Err(format!("`{text}` is no part of a domain"));
        }
        Ok(Self {
            name,
            is_below,
            port,
        })
    }

    /// The host of a URL, as `https://api.example.com/v1`; `None` where it is none.
    pub fn of_url(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let usual = match scheme.to_ascii_lowercase().as_str() {
            "https" | "wss" => 443,
            "http" | "ws" => 80,
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let authority = authority.rsplit('@').next()?;
        let (name, port) = split_port(authority)?;
        Some(Self {
            name: normal_name(name)?,
            is_below: false,
            port: Some(port.unwrap_or(usual)),
        })
    }

    /// Tells whether a connection to a name in its normal form is meant.
    pub(super) fn covers(&self, name: &str, port: u16) -> bool {
        let is_name = if self.is_below {
            name.strip_suffix(&self.name)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            name == self.name
        };
        let is_port = match self.port {
            Some(own) => own == port,
            None => USUAL_PORTS.contains(&port),
        };
        is_name && is_port
    }

    /// The address that it names itself, if it is one and no name.
    pub(super) fn literal(&self) -> Option<IpAddr> {
        self.name.parse().ok()
    }
}

/// Splits `host:port` and `[address]:port`.
pub(super) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((address, Some(port.parse().ok()?))),
            None if rest.is_empty() => Some((address, None)),
            None => None,
        };
    }
    match text.split_once(':') {
        // An address of version 6 without brackets has no port.
        Some((_, rest)) if rest.contains(':') => Some((text, None)),
        Some((name, port)) => Some((name, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}

/// The one form of a name; `None` for what is none.
pub(super) fn normal_name(name: &str) -> Option<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if let Ok(address) = name.parse::<IpAddr>() {
        return Some(plain_address(address).to_string());
    }
    let is_part = |part: &str| {
        !part.is_empty()
            && part.len() <= 63
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let is_name = name.len() <= 253 && name.split('.').all(is_part);
    // A last part of figures is a number that stands for an address: `127.1`, `2130706433`, `0x7f.1`.
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().next().is_some_and(|b| b.is_ascii_digit());
    (is_name && !is_number).then(|| name.to_ascii_lowercase())
}

/// An address of version 4 that is written as one of version 6 is that of version 4.
fn plain_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// Tells whether a name may lead to an address: not to services of this machine, and not to those by which
/// a cloud tells a machine its secrets.
pub(super) fn may_lead_to(address: IpAddr) -> bool {
    const METADATA: [Ipv4Addr; 3] = [
        Ipv4Addr::new(169, 254, 169, 254),
        Ipv4Addr::new(100, 100, 100, 200),
        Ipv4Addr::new(168, 63, 129, 16),
    ];
    const METADATA_6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    match plain_address(address) {
        IpAddr::V4(four) => {
            !(four.is_loopback()
                || four.is_unspecified()
                || four.is_link_local()
                || four.is_multicast()
                || four.is_broadcast()
                || four.octets()[0] == 0
                || METADATA.contains(&four))
        }
        IpAddr::V6(six) => {
            let embedded = embedded_address(six);
            !(six.is_loopback()
                || six.is_unspecified()
                || six.is_multicast()
                || six.is_unicast_link_local()
                || six == METADATA_6
                || embedded.is_some_and(|four| !may_lead_to(IpAddr::V4(four))))
        }
    }
}

/// An address of version 4 within one of version 6 that is translated on its way (NAT64, 6to4, compatible).
fn embedded_address(six: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = six.segments();
    let from = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        [0x64, 0xff9b, ..] | [0, 0, 0, 0, 0, 0, ..] => Some(from(parts[6], parts[7])),
        [0x2002, high, low, ..] => Some(from(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(entry: &str, name: &str, port: u16) -> bool {
        let entry = AllowedHost::parse(entry).unwrap();
        normal_name(name).is_some_and(|name| entry.covers(&name, port))
    }

    #[test]
    fn names_are_compared_in_one_form() {
        assert!(covers("api.example.com", "API.Example.COM.", 443));
        assert!(covers("api.example.com", "api.example.com", 80));
        assert!(covers("api.example.com:8443", "api.example.com", 8443));
        assert!(covers("*.example.com", "a.b.example.com", 443));
        assert!(covers("127.0.0.1:9000", "127.0.0.1", 9000));
        assert!(covers("127.0.0.1:9000", "::ffff:127.0.0.1", 9000));
        assert!(covers("[::1]:9000", "::1", 9000));
        for (entry, name, port) in [
            ("api.example.com", "api.example.com", 22),
            ("api.example.com", "example.com", 443),
            ("api.example.com", "xapi.example.com", 443),
            ("api.example.com", "api.example.com.evil.test", 443),
            ("*.example.com", "example.com", 443),
            ("*.example.com", "badexample.com", 443),
            ("*.example.com", ".example.com", 443),
            ("api.example.com:8443", "api.example.com", 443),
            ("127.0.0.1:9000", "127.0.0.1", 9001),
        ] {
            assert!(!covers(entry, name, port), "{entry} {name}:{port}");
        }
    }

    #[test]
    fn numbers_and_odd_spellings_are_no_names() {
        for name in [
            "2130706433",
            "0x7f000001",
            "127.1",
            "0177.0.0.1",
            "0x7f.1",
            "127.0.0.1.",
            "",
            ".",
            "a..b",
            "exa mple.com",
            "api.example.com%2eevil",
            "api@evil.test",
            "ex\u{e4}mple.com",
            "api.example.com\0.evil",
        ] {
            let normal = normal_name(name);
            let is_refused = normal.is_none() || normal.as_deref() == Some("127.0.0.1");
            assert!(is_refused, "{name}: {normal:?}");
        }
        assert_eq!(normal_name("127.0.0.1.").as_deref(), Some("127.0.0.1"));
        for entry in [
            "",
            "*.com",
            "*.1.2.3.4",
            "http://x",
            "a:b",
            "[::1",
            "a:99999",
        ] {
            assert!(AllowedHost::parse(entry).is_err(), "{entry}");
        }
    }

    #[test]
    fn the_host_of_a_url_has_the_port_of_its_scheme() {
        let host = |url: &str| AllowedHost::of_url(url).map(|h| (h.name, h.port));
        let named = |name: &str, port| Some((name.to_owned(), Some(port)));
        assert_eq!(
            host("https://api.example.com/v1"),
            named("api.example.com", 443)
        );
        assert_eq!(host("http://127.0.0.1:8123"), named("127.0.0.1", 8123));
        assert_eq!(host("HTTP://u:p@Example.com?x"), named("example.com", 80));
        assert_eq!(host("http://[::1]:70/x"), named("::1", 70));
        assert_eq!(host("unix:///run/x.sock"), None);
        assert_eq!(host("api.example.com"), None);
    }

    #[test]
    fn names_do_not_lead_to_this_machine_or_to_a_clouds_secrets() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.1.1",
            "100.100.100.200",
            "168.63.129.16",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "fe80::1",
            "fd00:ec2::254",
            "ff02::1",
        ] {
            assert!(!may_lead_to(address.parse().unwrap()), "{address}");
        }
        for address in [
            "93.184.216.34",
            "10.1.2.3",
            "192.168.1.1",
            "2606:2800::1",
            "fd12::1",
        ] {
            assert!(may_lead_to(address.parse().unwrap()), "{address}");
        }
    }
}
