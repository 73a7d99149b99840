//! Places that tools may not open: the folders and files that hold the operator's own secrets.

use std::path::PathBuf;

use super::error::ConfigError;
use super::layers::Layers;
use super::raw::Raw;

/// Where programs keep keys and passwords.
///
/// Source: the documentation of OpenSSH, GnuPG, the command lines of AWS, Azure, Google Cloud, Kubernetes,
/// Docker and GitHub, curl (`.netrc`), git, PyPI, npm, Cargo, pass and GNOME Keyring.
pub(super) const DEFAULT: &str = "~/.ssh,~/.gnupg,~/.aws,~/.azure,~/.config/gcloud,~/.kube,\
                                  ~/.docker/config.json,~/.config/gh,~/.netrc,~/.git-credentials,\
                                  ~/.pypirc,~/.npmrc,~/.cargo/credentials.toml,~/.password-store,\
                                  ~/.local/share/keyrings";

/// Paths with commas between; `~` is the home folder. Those below it are left out where there is none.
pub(super) fn closed(raw: &Raw, layers: &Layers) -> Result<Vec<PathBuf>, ConfigError> {
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
