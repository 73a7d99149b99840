//! Checks where the Messages API is, so that the key goes nowhere by mistake.

use super::address::HostPort;
use super::error::ConfigError;
use super::raw::Raw;

/// The URL that paths such as `/v1/messages` are added to, without a slash at its end.
pub(super) fn base_url(raw: &Raw) -> Result<String, ConfigError> {
    let text = raw.text.trim();
    if text.contains(['@', '?', '#']) {
        // These parts often carry a password or a key, so the value is not repeated.
        return Err(raw.refuse_unseen("have no user, query or fragment"));
    }
    let malformed =
        || raw.refuse("be http(s)://host[:port][/path], such as https://api.anthropic.com");
    let (scheme, rest) = text.split_once("://").ok_or_else(malformed)?;
    let scheme = scheme.to_ascii_lowercase();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = HostPort::parse(authority).ok_or_else(malformed)?;
    match scheme.as_str() {
        "https" => {}
        "http" if host.is_loopback() => {}
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
    let path = path.trim_end_matches('/');
    let path = path
        .strip_suffix("/v1")
        .unwrap_or(path)
        .trim_end_matches('/');
    Ok(format!(
        "{scheme}://{}{path}",
        authority.to_ascii_lowercase()
    ))
}

/// Whether RFC 3986 allows the byte in a path.
fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::raw::Source;
    use crate::config::setting::Key;

    fn check(text: &str) -> Result<String, ConfigError> {
        let source = Source::Flag("base-url");
        base_url(&Raw {
            key: Key::BaseUrl,
            text: text.to_owned(),
            source,
        })
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
        for wrong in ["https://me:pw@a", "https://a?key=1", "https://a#b"] {
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
            "http://10.0.0.1",
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
}
