//! The token that counts now: one that is replaced in its file counts from the next request on.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use derive_more::{Display, Error};
use harness_actors::{BlockingError, Secret, blocking};
use tokio::sync::watch;

use crate::state_dir::{StateFolder, TokenStamp};

/// The time between two looks at the file while streams depend on it.
const LOOKS: Duration = Duration::from_secs(2);

/// Is called with each token that takes the place of another.
type Learn = Box<dyn Fn(&Secret) + Send + Sync>;

/// The file of the token cannot be looked at now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, Error)]
#[display("the token cannot be looked at now; this passes, try again")]
pub(crate) struct NotNow;

/// The token, from a setting or from its file.
#[derive(Clone)]
pub(crate) struct ServiceToken(Arc<TokenKind>);

enum TokenKind {
    Fixed(Secret),
    File {
        folder: StateFolder,
        seen: Mutex<SeenToken>,
        learn: Learn,
        /// The number of times that the token was replaced.
        replaced: watch::Sender<u64>,
        /// True while a task looks at the file.
        is_watched: Mutex<bool>,
    },
}

struct SeenToken {
    /// The stamp of the file; nothing if there was none.
    stamp: Option<TokenStamp>,
    /// The token in it; nothing if it held none.
    token: Option<Secret>,
}

/// The token that counts now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CurrentToken {
    /// The token. `None` if its file holds none.
    pub(super) secret: Option<Secret>,
    /// The number of those that counted before it.
    number: u64,
}

/// The right that a client has by the token that it showed, for as long as that token counts.
#[derive(Debug, Clone)]
pub(in crate::http) struct TokenLease {
    token: ServiceToken,
    number: u64,
}

impl std::fmt::Debug for ServiceToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl ServiceToken {
    /// One that stays.
    pub(crate) fn fixed(token: Secret) -> Self {
        Self(Arc::new(TokenKind::Fixed(token)))
    }

    /// The token in the state folder, which is `token` now. `learn` receives each other one that is found there later,
    /// before it is accepted.
    pub(crate) fn in_file(
        folder: StateFolder,
        token: Secret,
        learn: impl Fn(&Secret) + Send + Sync + 'static,
    ) -> Self {
        let seen = Mutex::new(SeenToken {
            stamp: folder.token_stamp(),
            token: Some(token),
        });
        let learn: Learn = Box::new(learn);
        Self(Arc::new(TokenKind::File {
            folder,
            seen,
            learn,
            replaced: watch::Sender::new(0),
            is_watched: Mutex::new(false),
        }))
    }

    /// The token in force. The file is read on a separate thread, since its disk may be slow.
    ///
    /// # Errors
    /// If it cannot be looked at now: the system lacks a thread or an open file, or the state folder
    /// is away.
    pub(super) async fn now(&self) -> Result<CurrentToken, NotNow> {
        if let TokenKind::Fixed(token) = &*self.0 {
            return Ok(CurrentToken::first(token));
        }
        let kind = Arc::clone(&self.0);
        match blocking(move || kind.look()).await {
            Ok(looked) => looked,
            Err(BlockingError::NoThread | BlockingError::Panicked) => Err(NotNow),
        }
    }

    /// The right of a client that has shown the current token.
    pub(super) fn lease(&self, shown: &CurrentToken) -> TokenLease {
        TokenLease {
            token: self.clone(),
            number: shown.number,
        }
    }

    /// Looks at the file until no client depends on it.
    async fn watch(&self) {
        let TokenKind::File {
            replaced,
            is_watched,
            ..
        } = &*self.0
        else {
            return;
        };
        loop {
            tokio::time::sleep(LOOKS).await;
            // A file that cannot be looked at now is looked at again.
            drop(self.now().await);
            let mut is_watched = lock(is_watched);
            if replaced.receiver_count() == 0 {
                *is_watched = false;
                return;
            }
        }
    }
}

impl CurrentToken {
    /// One that took the place of no other.
    fn first(token: &Secret) -> Self {
        Self {
            secret: Some(token.clone()),
            number: 0,
        }
    }
}

impl TokenLease {
    /// Waits until the token counts no longer; one from a setting always does. One task looks at the file for all
    /// that wait.
    pub(in crate::http) async fn ended(self) {
        let TokenKind::File {
            replaced,
            is_watched,
            ..
        } = &*self.token.0
        else {
            return pending().await;
        };
        let (mut numbers, was_watched) = {
            let mut is_watched = lock(is_watched);
            let was_watched = std::mem::replace(&mut *is_watched, true);
            (replaced.subscribe(), was_watched)
        };
        if !was_watched {
            let token = self.token.clone();
            actix_web::rt::spawn(async move { token.watch().await });
        }
        // The sender is part of the token, so that it cannot be dropped first.
        drop(numbers.wait_for(|number| *number != self.number).await);
    }
}

impl TokenKind {
    fn look(&self) -> Result<CurrentToken, NotNow> {
        match self {
            Self::Fixed(token) => Ok(CurrentToken::first(token)),
            Self::File {
                folder,
                seen,
                learn,
                replaced,
                is_watched: _,
            } => {
                if !folder.is_there() {
                    return Err(NotNow);
                }
                let stamp = folder.token_stamp();
                let mut seen = lock(seen);
                if seen.stamp != stamp {
                    let found = match folder.read_token() {
                        Err(error) if error.is_passing() => return Err(NotNow),
                        Err(error) => {
                            log::warn!("no token is taken: {error}");
                            None
                        }
                        Ok(token) => token,
                    };
                    let is_another = seen.token != found;
                    seen.token = found;
                    seen.stamp = stamp;
                    if let Some(token) = &seen.token {
                        log::info!("the token was replaced; the one before counts no more");
                        learn(token);
                    }
                    if is_another {
                        replaced.send_modify(|number| *number += 1);
                    }
                }
                Ok(CurrentToken {
                    secret: seen.token.clone(),
                    number: *replaced.borrow(),
                })
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    async fn secret(token: &ServiceToken) -> Result<Option<Secret>, NotNow> {
        token.now().await.map(|now| now.secret)
    }

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
        let token = ServiceToken::in_file(folder, first.clone(), learn);
        assert_eq!(secret(&token).await, Ok(Some(first)));
        std::fs::write(&file, "abcdefghijklmnopqrst\n").unwrap();
        assert_eq!(
            secret(&token).await,
            Ok(Some("abcdefghijklmnopqrst".into()))
        );
        std::fs::write(&file, "short").unwrap();
        assert_eq!(secret(&token).await, Ok(None));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(secret(&token).await, Ok(None));
        std::fs::write(&file, "uvwxyz0123456789").unwrap();
        assert_eq!(secret(&token).await, Ok(Some("uvwxyz0123456789".into())));
        assert_eq!(
            *learned.lock().unwrap(),
            ["abcdefghijklmnopqrst", "uvwxyz0123456789"]
        );
        let folder = home.path().join("state");
        let away = home.path().join("away");
        std::fs::rename(&folder, &away).unwrap();
        assert_eq!(secret(&token).await, Err(NotNow));
        // Another state folder, with a token of its own.
        StateFolder::open(&folder).unwrap().token().unwrap();
        assert_eq!(secret(&token).await, Err(NotNow));
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::rename(&away, &folder).unwrap();
        assert_eq!(secret(&token).await, Ok(Some("uvwxyz0123456789".into())));
        let fixed = ServiceToken::fixed("0123456789abcdef".into());
        assert_eq!(secret(&fixed).await, Ok(Some("0123456789abcdef".into())));
    }

    /// Spec: [SEC-513]
    #[actix_web::test]
    async fn a_lease_ends_when_another_token_counts() {
        tokio::time::pause();
        let home = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(&home.path().join("state")).unwrap();
        let first = folder.token().unwrap();
        let file = folder.path.join("token");
        let token = ServiceToken::in_file(folder, first.clone(), |_| {});
        let shown = token.now().await.unwrap();
        let mut ended = pin!(token.lease(&shown).ended());
        assert_eq!(ended.as_mut().now_or_never(), None);
        // The same token, written again, is no other.
        std::fs::write(&file, format!("{}\n\n", first.expose())).unwrap();
        assert_eq!(secret(&token).await, Ok(Some(first)));
        assert_eq!(ended.as_mut().now_or_never(), None);
        // No request comes: the file is looked at all the same.
        std::fs::write(&file, "abcdefghijklmnopqrst\n").unwrap();
        ended.await;
        // A token that was replaced between the request and its stream ends that at once.
        assert_eq!(token.lease(&shown).ended().now_or_never(), Some(()));
        let shown = token.now().await.unwrap();
        assert_eq!(token.lease(&shown).ended().now_or_never(), None);
        // Without a stream no task looks any longer.
        let TokenKind::File { is_watched, .. } = &*token.0 else {
            panic!("it is in a file");
        };
        while *lock(is_watched) {
            tokio::time::sleep(LOOKS).await;
        }
        let fixed = ServiceToken::fixed("0123456789abcdef".into());
        let shown = fixed.now().await.unwrap();
        assert_eq!(fixed.lease(&shown).ended().now_or_never(), None);
    }
}
