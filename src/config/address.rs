//! Checks of network addresses: where to listen, and which names clients may call it by.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use harness_actors::model::is_private;

use super::error::SettingError;
use super::raw::RawSetting;

/// The domains of names that have a meaning in a private network only; `host.docker.internal` is one.
///
/// Source: RFC 6762, RFC 8375, and ICANN's reservation of `internal`; `lan` is what home routers use.
const PRIVATE_DOMAINS: [&str; 4] = [".local", ".home.arpa", ".internal", ".lan"];

/// An IP address to listen on; `localhost` is taken as 127.0.0.1.
pub(super) fn bind(raw: &RawSetting) -> Result<IpAddr, SettingError> {
    match raw.text.trim() {
        "localhost" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        text => text.parse().map_err(|_| {
            raw.refuse("be an IP address such as 127.0.0.1, without a port, or localhost")
        }),
    }
}

/// Values of the `Host` header, in lower case. Empty if the setting was not given.
pub(super) fn allowed_hosts(raw: &RawSetting) -> Result<Vec<String>, SettingError> {
    if !raw.is_given() {
        return Ok(Vec::new());
    }
    let host = |text: &str| HostPort::parse(text.trim()).map(|_| text.trim().to_ascii_lowercase());
    let hosts: Option<Vec<String>> = raw.text.split(',').map(host).collect();
    hosts.ok_or_else(|| {
        raw.refuse("be host names such as harness.local or harness.local:8421, comma separated")
    })
}

/// A host with its port, as a URL and the `Host` header write them.
pub(super) struct HostPort<'a> {
    host: &'a str,
}

impl<'a> HostPort<'a> {
    /// Reads `host`, `host:port`, `[v6]` or `[v6]:port`.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                host.parse::<Ipv6Addr>().ok()?;
                (host, port)
            }
            None => {
                let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
                (!host.is_empty() && host.bytes().all(is_name)).then_some((host, port))?
            }
        };
        (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(Self { host })
    }

    /// True if requests to this host stay on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        self.host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|a| a.is_loopback())
    }

    /// True if it is an address of a private network, or a name that no public machine has. The address that the name
    /// resolves to is checked when the connection is made.
    pub(super) fn may_be_private(&self) -> bool {
        if let Ok(address) = self.host.parse::<IpAddr>() {
            return is_private(address);
        }
        let host = self.host.to_ascii_lowercase();
        !host.contains('.') || PRIVATE_DOMAINS.iter().any(|domain| host.ends_with(domain))
    }

    /// True if the host belongs to that domain.
    pub(super) fn is_of(&self, domain: &str) -> bool {
        let host = self.host.trim_end_matches('.').to_ascii_lowercase();
        let above = host.strip_suffix(domain);
        above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}
