//! The access to the service.

use std::net::{IpAddr, SocketAddr};

use harness_actors::Secret;
use subtle::ConstantTimeEq as _;

use super::token::{NotNow, ServiceToken, TokenLease};

/// The service's rules for who may use it.
#[derive(Debug)]
pub(crate) struct AccessRules {
    /// The hosts that a request may be meant for.
    pub(crate) hosts: AllowedHosts,
    /// The token that every client shows except the owner's own processes.
    pub(crate) token: ServiceToken,
    /// True if the owner's own processes must show it too.
    pub(crate) require_token: bool,
    /// The user who runs the service.
    pub(crate) owner: u32,
}

impl AccessRules {
    /// The right of a client by its `Authorization` header. `None` if that does not show the token.
    /// The time that the comparison takes does not tell how much of the token was right.
    ///
    /// # Errors
    /// If the token cannot be looked at now.
    pub(super) async fn lease_by(
        &self,
        authorization: &[u8],
    ) -> Result<Option<TokenLease>, NotNow> {
        let Some((scheme, shown)) = authorization.split_at_checked(7) else {
            return Ok(None);
        };
        let token = self.token.now().await?;
        let is_it = |secret: &Secret| bool::from(shown.ct_eq(secret.expose().as_bytes()));
        let is_shown =
            scheme.eq_ignore_ascii_case(b"bearer ") && token.secret.as_ref().is_some_and(is_it);
        Ok(is_shown.then(|| self.token.lease(&token)))
    }
}

/// The values of the `Host` header that are taken: the loopback names with our port, the address
/// that the client connected to, and what the operator allows. A web page whose name was pointed
/// at this machine is not among them.
#[derive(Debug, Clone)]
pub(crate) struct AllowedHosts {
    port: u16,
    more: Vec<String>,
}

impl AllowedHosts {
    /// The hosts for a service that listens on that port.
    pub(crate) fn new(port: u16, more: Vec<String>) -> Self {
        Self { port, more }
    }

    /// True if a request for `host` that arrived at `local` is meant for this service.
    pub(super) fn take(&self, host: &str, local: Option<SocketAddr>) -> bool {
        let is_ours = |name: &str| {
            let with_port = host
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix(':'));
            with_port == Some(&*self.port.to_string()) || (self.port == 80 && host == name)
        };
        ["127.0.0.1", "localhost", "[::1]"].into_iter().any(is_ours)
            || self
                .more
                .iter()
                .any(|allowed| host == allowed || is_ours(allowed))
            || local.is_some_and(|local| {
                let name = match local.ip().to_canonical() {
                    IpAddr::V4(ip) => ip.to_string(),
                    IpAddr::V6(ip) => format!("[{ip}]"),
                };
                is_ours(&name)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-02]
    #[test]
    fn only_our_own_names_are_taken() {
        let hosts = AllowedHosts::new(8421, vec!["box.lan".into()]);
        let local = Some("192.0.2.7:8421".parse().unwrap());
        for (host, taken) in [
            ("127.0.0.1:8421", true),
            ("localhost:8421", true),
            ("[::1]:8421", true),
            ("box.lan:8421", true),
            ("box.lan", true),
            ("192.0.2.7:8421", true),
            ("192.0.2.8:8421", false),
            ("127.0.0.1", false),
            ("127.0.0.1:8422", false),
            ("127.0.0.1:08421", false),
            ("127.0.0.1.evil.example:8421", false),
            ("evil.example:8421", false),
            ("localhost.:8421", false),
            ("LOCALHOST:8421", false),
            ("localhost:8421.", false),
            ("0.0.0.0:8421", false),
            ("2130706433:8421", false),
            ("", false),
        ] {
            assert_eq!(hosts.take(host, local), taken, "{host}");
        }
        assert!(AllowedHosts::new(80, vec![]).take("localhost", None));
    }

    /// Spec: [SEC-06]
    #[actix_web::test]
    async fn the_token_is_compared_exactly() {
        let access = AccessRules {
            hosts: AllowedHosts::new(1, vec![]),
            token: ServiceToken::fixed(Secret::from("0123456789abcdef")),
            require_token: true,
            owner: 0,
        };
        for (header, shown) in [
            ("Bearer 0123456789abcdef", true),
            ("bearer 0123456789abcdef", true),
            ("Bearer 0123456789abcde", false),
            ("Bearer 0123456789abcdef ", false),
            ("Bearer  0123456789abcdef", false),
            ("Bearer 0123456789ABCDEF", false),
            ("Bearer ", false),
            ("Basic 0123456789abcdef", false),
            ("0123456789abcdef", false),
            ("", false),
        ] {
            let lease = access.lease_by(header.as_bytes()).await;
            assert_eq!(lease.map(|lease| lease.is_some()), Ok(shown), "{header}");
        }
    }
}
