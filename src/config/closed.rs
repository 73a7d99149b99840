//! Places that tools may not open: the folders and files that hold the operator's own secrets.

use std::path::PathBuf;

use super::error::SettingError;
use super::layers::Layers;
use super::raw::RawSetting;

/// The places where programs keep keys, passwords, cookies and what was typed.
///
/// Only secret files: of a folder that commands need, for example `~/.gradle`, only the file in it. A missing place
/// costs one look-up.
///
/// Source: the documentation of the programs.
pub(super) const DEFAULT: &str = concat!(
    // Keys and passwords.
    "~/.ssh,~/.gnupg,~/.pki,~/.netrc,~/.authinfo,~/.authinfo.gpg,~/.password-store,~/.vault-token,",
    "~/.vault_pass,~/.age,~/.config/age,~/.config/sops/age,~/.config/op,~/.config/Bitwarden CLI,",
    "~/.config/keybase,~/.config/Yubico,~/.local/share/keyrings,~/.local/share/kwalletd,",
    "~/.kde/share/apps/kwallet,~/.step/secrets,~/.tsh,~/.acme.sh/account.conf,~/.android/adbkey,",
    "~/.appstoreconnect,",
    // git, and where repositories are.
    "~/.git-credentials,~/.config/git/credentials,~/.config/gh,~/.config/hub,~/.config/glab-cli,",
    "~/.config/tea,",
    // Clouds.
    "~/.aws,~/.azure,~/.config/gcloud,~/.boto,~/.s3cfg,~/.oci,~/.config/doctl,~/.config/hcloud,",
    "~/.config/scw,~/.config/linode-cli,~/.config/rclone,~/.fly/config.yml,~/.databrickscfg,",
    "~/.snowflake/connections.toml,~/.snowsql/config,~/.terraform.d/credentials.tfrc.json,",
    "~/.pulumi/credentials.json,~/.config/netlify/config.json,~/.config/.wrangler/config,",
    "~/.wrangler/config,~/.cloudflared,~/.local/share/com.vercel.cli/auth.json,",
    "~/.config/vercel/auth.json,~/.config/railway,~/.railway/config.json,~/.supabase/access-token,",
    "~/.config/heroku,~/.config/stripe,~/.config/ngrok,~/.ngrok2,~/.config/configstore,",
    "~/.expo/state.json,~/.aliyun,~/.tccli,~/.bluemix/config.json,~/.mc/config.json,~/.databricks,",
    "~/.sentryclirc,~/.terraformrc,~/.config/cachix,~/.config/attic,",
    // Clusters and containers.
    "~/.kube,~/.docker/config.json,~/.config/containers/auth.json,",
    "~/.config/helm/registry/config.json,~/.config/argocd,~/.talos/config,",
    // Package managers.
    "~/.npmrc,~/.yarnrc.yml,~/.pypirc,~/.config/pypoetry/auth.toml,~/.local/share/uv/credentials,",
    "~/.cargo/credentials,~/.cargo/credentials.toml,~/.gem/credentials,",
    "~/.local/share/gem/credentials,~/.m2/settings.xml,~/.m2/settings-security.xml,",
    "~/.gradle/gradle.properties,~/.ivy2/.credentials,~/.sbt/.credentials,~/.composer/auth.json,",
    "~/.config/composer/auth.json,~/.hex/hex.config,~/.sbt/1.0/credentials.sbt,~/.subversion/auth,",
    // Databases.
    "~/.pgpass,~/.my.cnf,~/.mylogin.cnf,~/.dbt/profiles.yml,",
    // Wallets.
    "~/.electrum,~/.bitcoin,~/.ethereum/keystore,~/.config/solana/id.json,~/.near-credentials,",
    "~/.foundry/keystores,",
    // Models, data sets and agents.
    "~/.huggingface/token,~/.cache/huggingface/token,~/.cache/huggingface/stored_tokens,~/.kaggle,",
    "~/.claude/.credentials.json,~/.claude.json,~/.codex/auth.json,~/.gemini/oauth_creds.json,",
    "~/.qwen/oauth_creds.json,~/.config/github-copilot,~/.config/cursor/auth.json,",
    "~/.config/goose/secrets.yaml,~/.config/io.datasette.llm/keys.json,",
    "~/.local/share/opencode/auth.json,~/.local/share/amp/secrets.json,~/.pi/agent/auth.json,",
    "~/.openai,~/.config/openai,~/.anthropic,~/.config/anthropic,~/.codeium/config.json,",
    // Browsers, mail and messages.
    "~/.fetchmailrc,~/.msmtprc,~/.config/msmtp,~/.mbsyncrc,~/.offlineimaprc,~/.config/Signal,",
    "~/.config/Slack,~/.config/discord,~/.mozilla,~/.config/mozilla,~/.librewolf,~/.thunderbird,~/.config/google-chrome,",
    "~/.config/google-chrome-beta,~/.config/google-chrome-unstable,~/.config/chromium,",
    "~/.config/BraveSoftware,~/.config/microsoft-edge,~/.config/vivaldi,~/.config/opera,",
    "~/snap/firefox/common/.mozilla,~/snap/chromium/common/chromium,",
    "~/.var/app/org.mozilla.firefox,~/.var/app/com.google.Chrome,~/.var/app/org.chromium.Chromium,",
    "~/.var/app/com.brave.Browser,",
    // What was typed into shells and consoles.
    "~/.bash_history,~/.zsh_history,~/.zhistory,~/.histfile,~/.sh_history,",
    "~/.local/share/fish/fish_history,~/.local/share/atuin,~/.python_history,",
    "~/.node_repl_history,~/.psql_history,~/.mysql_history,~/.sqlite_history,~/.rediscli_history,",
    "~/.irb_history,~/.gdb_history,~/.history,~/.local/share/zsh/history,~/.local/share/pry,",
    "~/.local/state/bash/history,~/.config/nushell/history.txt,~/.lesshst,~/.viminfo",
);

/// Paths with commas between; `~` is the home folder. Those below it are left out where there is none.
pub(super) fn closed(raw: &RawSetting, layers: &Layers) -> Result<Vec<PathBuf>, SettingError> {
    let home = layers.variable("HOME");
    let mut paths = Vec::new();
    for text in raw.text.split(',').map(str::trim) {
        if text.is_empty() {
            continue;
        }
        let below_home = match text.strip_prefix('~') {
            None => {
                paths.push(layers.absolute(text));
                continue;
            }
            Some("") => "",
            Some(rest) => match rest.strip_prefix('/') {
                Some(below) => below,
                None => {
                    return Err(
                        raw.refuse("be paths with commas between; ~ is your own home folder only")
                    );
                }
            },
        };
        paths.extend(home.map(|home| layers.absolute(home).join(below_home)));
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::DEFAULT;

    /// Spec: [CONF-80]
    #[test]
    fn the_default_names_secrets_and_no_configuration_that_commands_need() {
        let places: Vec<&str> = DEFAULT.split(',').collect();
        let once: BTreeSet<&str> = places.iter().copied().collect();
        assert_eq!(once.len(), places.len(), "a place is there twice");
        let is_closed = |path: &str| {
            let is_it = |place: &&str| {
                let below = path.strip_prefix(*place);
                below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
            };
            places.iter().any(is_it)
        };
        for place in &places {
            let below = place.strip_prefix("~/").unwrap();
            assert!(!below.is_empty() && !below.ends_with('/'), "{place}");
        }
        for path in [
            "~/.config/git/credentials",
            "~/.vault-token",
            "~/.pgpass",
            "~/.my.cnf",
            "~/.claude/.credentials.json",
            "~/.codex/auth.json",
            "~/.config/google-chrome/Default/Cookies",
            "~/.mozilla/firefox/x.default/cookies.sqlite",
            "~/.bash_history",
            "~/.zsh_history",
            "~/.m2/settings.xml",
            "~/.gradle/gradle.properties",
            "~/.gem/credentials",
            "~/.config/sops/age/keys.txt",
            "~/.config/rclone/rclone.conf",
            "~/.terraform.d/credentials.tfrc.json",
            "~/.huggingface/token",
            "~/.oci/config",
            "~/.databrickscfg",
            "~/.local/share/atuin/key",
            "~/.config/ngrok/ngrok.yml",
            "~/.bitcoin/wallet.dat",
            "~/.cloudflared/cert.pem",
            "~/.config/Signal/config.json",
            "~/.viminfo",
        ] {
            assert!(is_closed(path), "{path}");
        }
        for path in [
            "~",
            "~/.config",
            "~/.config/git/config",
            "~/.gitconfig",
            "~/.cargo/config.toml",
            "~/.cargo/bin/cargo",
            "~/.m2/repository",
            "~/.gradle/caches",
            "~/.gem/ruby",
            "~/.terraform.d/plugins",
            "~/.cache/huggingface/hub",
            "~/.claude/settings.json",
            "~/.codex/config.toml",
            "~/.composer/vendor",
            "~/.bashrc",
            "~/.local/share/uv/python",
        ] {
            assert!(!is_closed(path), "{path}");
        }
    }
}
