//! Checks where the Messages API is, so that the key goes nowhere by mistake.

use super::address::HostPort;
use super::error::SettingError;
use super::raw::RawSetting;

/// The URL that paths, for example `/v1/messages`, are added to, without a slash at its end.
pub(super) fn base_url(raw: &RawSetting, allow_private_http: bool) -> Result<String, SettingError> {
    let text = raw.text.trim();
    // These parts often carry a password or a key, so the value is not repeated.
    let unseen = || raw.refuse_unseen("have no user, query or fragment");
    if text.contains(['?', '#']) {
        return Err(unseen());
    }
    let malformed = || {
        if text.contains('@') {
            return unseen();
        }
        raw.refuse("be http(s)://host[:port][/path], such as https://api.anthropic.com")
    };
    let (scheme, rest) = text.split_once("://").ok_or_else(malformed)?;
    let scheme = scheme.to_ascii_lowercase();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = HostPort::parse(authority).ok_or_else(malformed)?;
    match scheme.as_str() {
        "https" => {}
        "http" if host.is_loopback() || (allow_private_http && host.may_be_private()) => {}
        "http" if host.may_be_private() => {
            return Err(raw.refuse(
                "begin with https:// unless the host is this machine, because the key and all that \
                 is said would cross the network in clear; allow_private_http allows that",
            ));
        }
        "http" => {
            return Err(raw.refuse(
                "begin with https:// unless the host is this machine, \
                 because the key would cross the network in clear",
            ));
        }
        _ => return Err(malformed()),
    }
    if !path.bytes().all(is_path_byte) {
        return Err(malformed());
    }
    // People give the address of the route, of the version, or of the server.
    let path = path.trim_end_matches('/');
    let path = ["/v1/messages", "/v1"]
        .iter()
        .find_map(|end| path.strip_suffix(end))
        .unwrap_or(path)
        .trim_end_matches('/');
    Ok(format!(
        "{scheme}://{}{path}",
        authority.to_ascii_lowercase()
    ))
}

/// True if RFC 3986 allows the byte in a path.
fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:%@".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::raw::SettingSource;
    use crate::config::setting::Key;

    fn check(text: &str) -> Result<String, SettingError> {
        check_with(text, false)
    }

    fn check_with(text: &str, allow_private_http: bool) -> Result<String, SettingError> {
        let raw = RawSetting {
            key: Key::BaseUrl,
            text: text.to_owned(),
            source: SettingSource::Flag("base-url"),
        };
        base_url(&raw, allow_private_http)
    }

    /// Spec: [CONF-14]
    #[test]
    fn a_base_url_loses_its_last_slash_and_its_version() {
        for (given, kept) in [
            ("https://Example.com/", "https://example.com"),
            ("https://example.com:8443/v1/", "https://example.com:8443"),
            ("HTTPS://example.com/proxy/v1", "https://example.com/proxy"),
            ("https://example.com/Dev1", "https://example.com/Dev1"),
            ("https://[2001:db8::1]:1/a//", "https://[2001:db8::1]:1/a"),
            ("http://localhost:9000", "http://localhost:9000"),
            ("http://127.8.0.1", "http://127.8.0.1"),
            ("http://[::1]:9000/", "http://[::1]:9000"),
            ("https://a/v1/messages", "https://a"),
            ("https://a/api/v1/messages/", "https://a/api"),
            ("https://a/messages", "https://a/messages"),
            ("https://a/v1/v1/messages", "https://a/v1"),
            ("http://127.0.0.1:8000/a@b", "http://127.0.0.1:8000/a@b"),
            (
                "https://a/v1/accounts/me@x/v1",
                "https://a/v1/accounts/me@x",
            ),
        ] {
            assert_eq!(check(given).unwrap(), kept);
        }
    }

    /// Spec: [CONF-15]
    #[test]
    fn a_base_url_must_be_a_plain_http_url() {
        for wrong in [
            "example.com",
            "ftp://example.com",
            "https://",
            "https:///v1",
            "https://a b",
            "https://a:",
            "https://a:0",
            "https://a:65536",
            "https://[::1",
            "https://[example.com]",
            "https://a/ü",
            "https://a\\b",
        ] {
            assert_eq!(
                check(wrong).unwrap_err().to_string(),
                format!(
                    "base_url must be http(s)://host[:port][/path], \
                     such as https://api.anthropic.com, got {wrong:?} (from --base-url)"
                )
            );
        }
        for wrong in [
            "https://me:pw@a",
            "https://me:pw@a/b@c",
            "me:pw@a",
            "https:/me:pw@a",
            "https:///me:pw@a",
            "https://me:p/w@a",
            "ftp://me:pw@a",
            "https://a?key=1",
            "https://a#b",
        ] {
            assert_eq!(
                check(wrong).unwrap_err().to_string(),
                "base_url must have no user, query or fragment (from --base-url)"
            );
        }
    }

    /// Spec: [CONF-16]
    #[test]
    fn plain_http_stays_on_this_machine() {
        for wrong in [
            "http://example.com",
            "http://localhost.example.com",
            "http://172.32.0.1",
            "http://8.8.8.8",
            "http://[2001:db8::1]",
            "http://gpu.example",
            "http://10.0.0.1.example.com",
            "http://127.1",
        ] {
            assert_eq!(
                check(wrong).unwrap_err().to_string(),
                format!(
                    "base_url must begin with https:// unless the host is this machine, because \
                     the key would cross the network in clear, got {wrong:?} (from --base-url)"
                )
            );
        }
    }

    /// Spec: [CONF-76]
    #[test]
    fn plain_http_leaves_this_machine_only_where_that_is_allowed_and_the_network_is_private() {
        for private in [
            "http://10.0.0.1:8080",
            "http://172.16.9.1",
            "http://192.168.1.7:11434",
            "http://169.254.1.1",
            "http://[fd00::1]:8080",
            "http://[fe80::1]",
            "http://[::ffff:192.168.1.7]",
            "http://gpu.local:8080",
            "http://gpu.lan",
            "http://ollama:11434",
            "http://host.docker.internal:8080",
        ] {
            let refused = check(private).unwrap_err().to_string();
            assert!(refused.contains("allow_private_http"), "{refused}");
            assert_eq!(check_with(private, true).unwrap(), private);
        }
        for public in [
            "http://example.com",
            "http://8.8.8.8",
            "http://[2001:db8::1]",
        ] {
            let refused = check_with(public, true).unwrap_err().to_string();
            assert!(refused.contains("begin with https://"), "{refused}");
        }
    }
}
