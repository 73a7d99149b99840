//! Finds files of folders by what is known of their names, for those who write a prompt.

mod listing;
mod rank;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use harness_actors::{BlockingError, blocking};
use harness_protocol::FoundFiles;
use tokio::sync::Mutex;
use tokio::time::Instant;

use listing::PathListing;

/// For how long a folder is taken to have the files that it had.
const FRESH: Duration = Duration::from_secs(5);
/// How long the files of a folder are kept in memory behind the last question.
const KEPT: Duration = Duration::from_secs(60);
/// Of how many folders the files are kept.
const MAX_FOLDERS: usize = 4;

/// Finds files. A clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct FileSearch {
    /// The state folder, which is left out.
    home: Arc<Path>,
    /// Held while one folder is looked through, so that the service looks through one at a time.
    known: Arc<Mutex<Vec<KnownFiles>>>,
}

/// The files of a folder.
#[derive(Debug)]
struct KnownFiles {
    folder: PathBuf,
    listing: Arc<PathListing>,
    listed_at: Instant,
    asked_at: Instant,
}

impl FileSearch {
    /// Finds files that are not in the state folder.
    pub(crate) fn without(home: &Path) -> Self {
        Self {
            home: home.into(),
            known: Arc::default(),
        }
    }

    /// The files below a folder that fit best, at most so many.
    ///
    /// # Errors
    /// If the service is too busy.
    pub(crate) async fn find(
        &self,
        folder: PathBuf,
        query: String,
        limit: usize,
    ) -> Result<FoundFiles, BlockingError> {
        let listing = self.listing(&folder).await?;
        let home = Arc::clone(&self.home);
        blocking(move || rank::best(&listing, &folder, &home, &query, limit)).await
    }

    /// The files of a folder, which is looked through again if that is long ago.
    async fn listing(&self, folder: &Path) -> Result<Arc<PathListing>, BlockingError> {
        let mut known = self.known.lock().await;
        let now = Instant::now();
        known.retain(|one| now < one.asked_at + KEPT);
        if let Some(one) = known.iter_mut().find(|one| one.folder == folder)
            && now < one.listed_at + FRESH
        {
            one.asked_at = now;
            return Ok(Arc::clone(&one.listing));
        }
        let (walked, home) = (folder.to_owned(), Arc::clone(&self.home));
        let listing = Arc::new(blocking(move || PathListing::read(&walked, &home)).await?);
        known.retain(|one| one.folder != folder);
        known.sort_by_key(|one| one.asked_at);
        let too_many = (known.len() + 1).saturating_sub(MAX_FOLDERS);
        known.drain(..too_many);
        let now = Instant::now();
        if known.is_empty() {
            self.forget_later();
        }
        known.push(KnownFiles {
            folder: folder.to_owned(),
            listing: Arc::clone(&listing),
            listed_at: now,
            asked_at: now,
        });
        self.forget_later();
        Ok(listing)
    }

    /// Gives the memory back when no client asked for a while.
    fn forget_later(&self) {
        let known = Arc::downgrade(&self.known);
        drop(tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(KEPT).await;
                let Some(known) = known.upgrade() else { return };
                let mut known = known.lock().await;
                let now = Instant::now();
                known.retain(|one| now < one.asked_at + KEPT);
                if known.is_empty() {
                    return;
                }
            }
        }));
    }
}

#[cfg(test)]
mod tests;
