//! Every secret that the layers hold, in use or not: what no tool may show.
//!
//! A credential in config.toml is as good when the environment has another, and the environment is
//! that of a person, with the tokens of other programs in it.

use std::collections::BTreeSet;

use harness_actors::{Secret, is_secret_name, may_be_secret, url_passwords};

use super::layers::Layers;
use super::setting::SETTINGS;

impl Layers {
    /// The secrets of all layers. `in_file` are the values of config.toml, by the names of the
    /// settings.
    pub(super) fn secrets(&self, in_file: &[(&'static str, String)]) -> Vec<Secret> {
        let mut found = BTreeSet::new();
        let is_secret = |name: &str| {
            let mut secrets = SETTINGS.iter().filter(|setting| setting.secret);
            secrets.any(|setting| setting.name == name || setting.env == name)
        };
        for (name, value) in in_file {
            if is_secret(name) {
                found.insert(value.trim().to_owned());
            }
            found.extend(url_passwords(value));
        }
        for (name, value) in &self.environment {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            let value = value.trim();
            if is_secret(&name) || (is_secret_name(&name) && may_be_secret(value)) {
                found.insert(value.to_owned());
            }
            found.extend(url_passwords(value));
        }
        found.into_iter().map(Secret::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(environment: &[(&str, &str)], in_file: &[(&'static str, &str)]) -> Vec<String> {
        let layers = Layers {
            environment: environment
                .iter()
                .map(|(k, v)| (k.into(), v.into()))
                .collect(),
            ..Layers::default()
        };
        let in_file: Vec<_> = in_file.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
        let found = layers.secrets(&in_file);
        found
            .iter()
            .map(|secret| secret.expose().to_owned())
            .collect()
    }

    /// Spec: [SEC-20]
    #[test]
    fn credentials_of_every_layer_are_secrets() {
        let environment = [
            ("ANTHROPIC_API_KEY", "sk-environment"),
            ("ANTHROPIC_AUTH_TOKEN", " bearer-environment\n"),
            ("HARNESS_TOKEN", "token-environment"),
            ("HARNESS_MODEL", "claude-environment"),
        ];
        let in_file = [
            ("api_key", "sk-file"),
            ("auth_token", "bearer-file"),
            ("token", "token-file"),
            ("model", "claude-file"),
        ];
        assert_eq!(
            secrets(&environment, &in_file),
            [
                "bearer-environment",
                "bearer-file",
                "sk-environment",
                "sk-file",
                "token-environment",
                "token-file",
            ]
        );
    }

    /// Spec: [SEC-23]
    #[test]
    fn variables_that_are_named_like_secrets_are_some() {
        for (name, value) in [
            ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG"),
            ("GITHUB_TOKEN", "ghp_0123456789"),
            ("PGPASSWORD", "hunter2hunter2"),
            ("db_passwd", "s3cret-1"),
            ("MY_CREDENTIALS", "{\"user\": \"me\"}"),
            ("SESSION_COOKIE", "a=0123456789"),
        ] {
            assert_eq!(secrets(&[(name, value)], &[]), [value], "{name}");
        }
        for (name, value) in [
            ("KEYMAP", "us"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("GIT_AUTHOR_NAME", "Christopher Robinson"),
            ("SECRETS", "a few words"),
            ("PASSWORD_STORE_DIR", "/tmp/some/long/store"),
            ("SSH_AUTH_SOCK", "/tmp/ssh-XXXX/agent.1"),
            ("TOKEN_URL", "https://example.com/oauth/token"),
            ("HOME", "/home/somebody-with-a-name"),
            ("PATH", "/usr/bin:/bin"),
            ("EDITOR", "an-editor-0123456789"),
        ] {
            assert_eq!(secrets(&[(name, value)], &[]), [""; 0], "{name}");
        }
    }

    /// Spec: [SEC-23]
    #[test]
    fn passwords_of_urls_are_secrets() {
        let proxy = ("HTTPS_PROXY", "http://me:s3cret%21pw@proxy:3128/");
        assert_eq!(
            secrets(&[proxy], &[]),
            ["me:s3cret%21pw@", "s3cret!pw", "s3cret%21pw"]
        );
        // A word is one only beside its user.
        let database = ("DATABASE_URL", "postgres://app:postgres@db/app");
        assert_eq!(secrets(&[database], &[]), ["app:postgres@"]);
        let in_file = [("base_url", "https://0123456789abcdef@host/v1")];
        assert_eq!(secrets(&[], &in_file), ["0123456789abcdef@"]);
        assert_eq!(secrets(&[("NO_PROXY", "http://host/a@b")], &[]), [""; 0]);
    }
}
