//! The token that counts now: one that is replaced in its file counts from the next request on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use derive_more::{Display, Error};
use harness_actors::{BlockingError, Secret, blocking};

use crate::state::{StateFolder, TokenStamp};

/// Is called with each token that takes the place of another.
type Learn = Box<dyn Fn(&Secret) + Send + Sync>;

/// The file of the token cannot be looked at now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, Error)]
#[display("the token cannot be looked at now; this passes, try again")]
pub(crate) struct NotNow;

/// The token, from a setting or from its file.
#[derive(Clone)]
pub(crate) struct Token(Arc<Kind>);

enum Kind {
    Fixed(Secret),
    File {
        folder: StateFolder,
        seen: Mutex<Seen>,
        learn: Learn,
    },
}

struct Seen {
    /// The stamp of the file; nothing if there was none.
    stamp: Option<TokenStamp>,
    /// The token in it; nothing if it held none.
    token: Option<Secret>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl Token {
    /// One that stays.
    pub(crate) fn fixed(token: Secret) -> Self {
        Self(Arc::new(Kind::Fixed(token)))
    }

    /// The one in the state folder, which is `token` now. `learn` is told of each other one that
    /// is found there later, before it counts.
    pub(crate) fn in_file(
        folder: StateFolder,
        token: Secret,
        learn: impl Fn(&Secret) + Send + Sync + 'static,
    ) -> Self {
        let seen = Mutex::new(Seen {
            stamp: folder.token_stamp(),
            token: Some(token),
        });
        let learn: Learn = Box::new(learn);
        Self(Arc::new(Kind::File {
            folder,
            seen,
            learn,
        }))
    }

    /// The token that counts now; nothing if its file holds none. The file is looked at on a
    /// thread of its own, since its disk may be slow.
    ///
    /// # Errors
    /// If it cannot be looked at now: the system lacks a thread or an open file, or the state folder
    /// is away.
    pub(super) async fn now(&self) -> Result<Option<Secret>, NotNow> {
        if let Kind::Fixed(token) = &*self.0 {
            return Ok(Some(token.clone()));
        }
        let kind = Arc::clone(&self.0);
        match blocking(move || kind.look()).await {
            Ok(looked) => looked,
            Err(BlockingError::NoThread | BlockingError::Panicked) => Err(NotNow),
        }
    }
}

impl Kind {
    fn look(&self) -> Result<Option<Secret>, NotNow> {
        match self {
            Self::Fixed(token) => Ok(Some(token.clone())),
            Self::File {
                folder,
                seen,
                learn,
            } => {
                if !folder.is_there() {
                    return Err(NotNow);
                }
                let stamp = folder.token_stamp();
                let mut seen = lock(seen);
                if seen.stamp != stamp {
                    seen.token = match folder.read_token() {
                        Err(error) if error.is_passing() => return Err(NotNow),
                        Err(error) => {
                            log::warn!("no token is taken: {error}");
                            None
                        }
                        Ok(token) => token,
                    };
                    seen.stamp = stamp;
                    if let Some(token) = &seen.token {
                        log::info!("the token was replaced; the one before counts no more");
                        learn(token);
                    }
                }
                Ok(seen.token.clone())
            }
        }
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-50] [HTTP-101]
    #[tokio::test]
    async fn a_token_that_is_replaced_counts_at_once_and_the_one_before_no_more() {
        let home = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(&home.path().join("state")).unwrap();
        let first = folder.token().unwrap();
        let file = folder.path.join("token");
        let learned = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&learned);
        let learn = move |token: &Secret| kept.lock().unwrap().push(token.expose().to_owned());
        let token = Token::in_file(folder, first.clone(), learn);
        assert_eq!(token.now().await, Ok(Some(first)));
        std::fs::write(&file, "abcdefghijklmnopqrst\n").unwrap();
        assert_eq!(token.now().await, Ok(Some("abcdefghijklmnopqrst".into())));
        std::fs::write(&file, "short").unwrap();
        assert_eq!(token.now().await, Ok(None));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(token.now().await, Ok(None));
        std::fs::write(&file, "uvwxyz0123456789").unwrap();
        assert_eq!(token.now().await, Ok(Some("uvwxyz0123456789".into())));
        assert_eq!(
            *learned.lock().unwrap(),
            ["abcdefghijklmnopqrst", "uvwxyz0123456789"]
        );
        let folder = home.path().join("state");
        let away = home.path().join("away");
        std::fs::rename(&folder, &away).unwrap();
        assert_eq!(token.now().await, Err(NotNow));
        // Another state folder, with a token of its own.
        StateFolder::open(&folder).unwrap().token().unwrap();
        assert_eq!(token.now().await, Err(NotNow));
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::rename(&away, &folder).unwrap();
        assert_eq!(token.now().await, Ok(Some("uvwxyz0123456789".into())));
        let fixed = Token::fixed("0123456789abcdef".into());
        assert_eq!(fixed.now().await, Ok(Some("0123456789abcdef".into())));
    }
}
