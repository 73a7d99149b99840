//! The service's own description: a part for every client that it answers, all of it for its owner.

use serde::{Deserialize, Serialize};

/// The versions of what crosses the wire that this program speaks.
pub const PROTOCOL: ProtocolRange = ProtocolRange { min: 1, max: 1 };

/// A range of versions of what crosses the wire, both ends included. Two programs understand each
/// other when their ranges overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolRange {
    /// The oldest.
    pub min: u32,
    /// The newest.
    pub max: u32,
}

impl ProtocolRange {
    /// True if programs with these two ranges have a version in common.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

/// The answer to `GET /healthz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Always `ok`: a service that cannot answer does not answer.
    pub status: String,
    /// Names this life of the service. Told only to those who may use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// The answer to the nonce of the query: HMAC-SHA256 with the key of the file `service.json`
    /// over [`challenge`], in lower-case hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// The text that a service authenticates to prove that it wrote the file `service.json`. The
/// address is the one in that file, so that a program in between has no use for the answer of a
/// service that listens elsewhere.
#[must_use]
pub fn challenge(nonce: &str, address: &str) -> String {
    format!("harness service proof 1\n{nonce}\n{address}\n")
}

/// The file `service.json` in the state folder, which lets programs find the running service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovery {
    /// The address that it listens on, for example `127.0.0.1:8421`.
    pub address: String,
    /// Its process.
    pub pid: u32,
    /// Names this life of the service.
    pub epoch: String,
    /// The key that it proves itself with, new at each start, in hexadecimal digits. A service older than 0.2 has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof_key: Option<String>,
    /// Its version. A service older than 0.2 does not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The answer to `GET /v1/service`: a description of the service. Programs ignore fields that they do not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceInfo {
    /// Its release, for example `0.2.0`.
    pub version: String,
    /// The versions of the protocol that it speaks.
    pub protocol: ProtocolRange,
    /// The names of optional abilities that a client may ask for.
    #[serde(default)]
    pub features: Vec<String>,
    /// Names this life of the service.
    pub epoch: String,
    /// Its process.
    pub pid: u32,
    /// The address that it listens on.
    pub address: String,
    /// The state folder, absolute.
    pub home: String,
    /// The folder that its tools work in, absolute.
    pub workspace: String,
    /// The server and model that answer.
    pub upstream: Upstream,
    /// The model of a conversation that sets none.
    pub model: String,
    /// The means that contains the commands of tools: `namespaces`, `landlock` or `none`.
    pub sandbox: String,
    /// The time of its start, in Unix seconds.
    pub started_at: u64,
    /// The file that it logs to. `None` if it logs to standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// True if a client started it in the background.
    #[serde(default)]
    pub detached: bool,
    /// Number of open event streams.
    pub clients: usize,
    /// Number of runs in progress.
    pub runs: usize,
    /// Number of commands that run in the background.
    #[serde(default)]
    pub jobs: usize,
    /// Its settings, in the order of `harness config`.
    #[serde(default)]
    pub settings: Vec<SettingValue>,
    /// The options of its start, so that another service can be started with the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartOptions>,
}

/// The flags and variables that a service was started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartOptions {
    /// The folder that it was started in, absolute: relative paths of its settings begin there.
    pub folder: String,
    /// The settings that came from flags, by name, with the text that was given.
    #[serde(default)]
    pub flags: Vec<GivenSetting>,
    /// The settings that came from the environment, by variable, with the text that was given. Secrets are never among
    /// them.
    #[serde(default)]
    pub environment: Vec<GivenSetting>,
}

/// A setting with the text that was given for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenSetting {
    /// The flag without its dashes, or the variable.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The server and model that answer the prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    /// The kind of upstream.
    pub kind: UpstreamKind,
    /// The host of the API, with its port if it has one. `None` for the demo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// True if requests carry a key; a private server may require none.
    #[serde(default)]
    pub has_key: bool,
}

/// The kinds of upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamKind {
    /// The rules that are built into the program.
    Demo,
    /// A server that speaks the Messages API.
    Api,
    /// One that this version does not know.
    #[serde(other)]
    Unknown,
}

/// A setting of the running service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingValue {
    /// Its name, as in `config.toml`.
    pub key: String,
    /// Its value as text. `None` if it is unset. A secret is `***`.
    pub value: Option<String>,
    /// The source of the value, in the words of `harness config`.
    pub source: String,
    /// For a secret that is in use: HMAC-SHA256 over it with the key of `service.json`, cut to 16
    /// hexadecimal digits, so that its owner can tell whether two are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-15]
    #[test]
    fn a_file_of_an_older_service_is_read_and_ranges_overlap_or_do_not() {
        let old = r#"{"address":"127.0.0.1:8421","pid":1,"epoch":"e1"}"#;
        let read: Discovery = serde_json::from_str(old).unwrap();
        assert_eq!((read.proof_key, read.version), (None, None));
        let range = |min, max| ProtocolRange { min, max };
        assert!(range(1, 2).overlaps(range(2, 5)));
        assert!(range(2, 5).overlaps(range(1, 2)));
        assert!(!range(1, 2).overlaps(range(3, 5)));
        assert!(!range(3, 5).overlaps(range(1, 2)));
    }

    /// Spec: [SEC-14]
    #[test]
    fn what_is_proved_names_the_nonce_and_the_address() {
        let text = challenge("ab", "127.0.0.1:8421");
        assert_eq!(text, "harness service proof 1\nab\n127.0.0.1:8421\n");
    }
}
