//! Keys whose sources an operator named.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;

use super::{KeyOrigin, KeyResolver};
use crate::secret::Secret;

/// The answer to a client for every failure: the reason would reveal which files and variables
/// there are.
const SEE_LOG: &str = "the service's log says why";
/// The answer for a source that a client cannot name by itself.
const NOT_A_NAME: &str = "an operator names key sources in config.toml, such as \
                          [key_sources] team = \"env:TEAM_KEY\"; set key_source to such a name";

/// Reads keys from the sources that an operator named, afresh each time. Conversations know their
/// names only.
#[derive(Debug, Clone, Default)]
pub struct NamedKeys {
    sources: BTreeMap<String, KeyOrigin>,
    /// Credentials that are never sent as a key.
    never: Vec<KeyOrigin>,
    never_these: Vec<Secret>,
    /// Source of the service's own key.
    own: Option<String>,
}

impl NamedKeys {
    /// Keys from these sources. `never` is where secrets are that are no keys of the API, and
    /// `never_these` are such secrets: the service's own token must not leave it by a mistake in
    /// its configuration.
    #[must_use]
    pub fn new(
        sources: BTreeMap<String, KeyOrigin>,
        never: Vec<KeyOrigin>,
        never_these: Vec<Secret>,
    ) -> Self {
        Self {
            sources,
            never,
            never_these,
            own: None,
        }
    }

    /// The same, which tell where the service's own key is from where the API refuses it.
    #[must_use]
    pub fn with_own_from(self, origin: Option<String>) -> Self {
        Self {
            own: origin,
            ..self
        }
    }

    /// The keys that there are now.
    pub fn present(&self) -> impl Iterator<Item = Secret> {
        self.sources
            .values()
            .filter_map(|origin| origin.read().ok())
    }

    async fn read(self, name: &str) -> Result<Secret, String> {
        let Some(origin) = self.sources.get(name).cloned() else {
            return Err("config.toml names no key source like that".to_owned());
        };
        let key = origin.read_aside().await?;
        let mut is_own = self.never_these.contains(&key);
        for origin in self.never {
            is_own |= origin.read_aside().await.as_ref() == Ok(&key);
        }
        if is_own {
            return Err("it is the service's own token, which is sent nowhere".to_owned());
        }
        Ok(key)
    }
}

impl KeyResolver for NamedKeys {
    fn origin(&self, source: Option<&str>) -> Option<String> {
        match source {
            None => self.own.clone(),
            Some(source) => Some(format!("the key source {source:?}")),
        }
    }

    fn resolve(&self, source: Option<&str>) -> BoxFuture<'static, Result<Option<Secret>, String>> {
        let Some(name) = source.map(ToOwned::to_owned) else {
            return Box::pin(async { Ok(None) });
        };
        // Conversations of older versions may have one of these; nothing is read for them.
        if name.parse::<KeyOrigin>().is_ok() {
            return Box::pin(async { Err(NOT_A_NAME.to_owned()) });
        }
        let keys = self.clone();
        Box::pin(async move {
            keys.read(&name).await.map(Some).map_err(|reason| {
                log::warn!("the key source {name:?} gives no key: {reason}");
                SEE_LOG.to_owned()
            })
        })
    }
}

#[cfg(test)]
#[path = "named_keys_tests.rs"]
mod tests;
