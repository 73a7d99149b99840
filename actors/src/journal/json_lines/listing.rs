//! The list of all journals, looked up once for all pages that a client reads of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::super::ListedJournal;
use super::folder::{JournalFolder, failed};
use super::pool::lock;
use crate::storage::StorageError;

/// The time during which the pages after the first one come from the same look.
const KEPT: Duration = Duration::from_secs(2);

/// The result of the last look at the folder.
#[derive(Default)]
pub(super) struct JournalListing(Mutex<Option<ListingLook>>);

#[derive(Clone)]
struct ListingLook {
    at: Instant,
    /// In the order of the list.
    all: Arc<[ListedJournal]>,
}

impl JournalListing {
    /// A page of the list. The first page reads the folder; later pages continue the same list, unless a journal was
    /// made or removed since.
    pub(super) fn page(
        &self,
        folder: &JournalFolder,
        after: Option<&ListedJournal>,
        limit: usize,
    ) -> Result<Vec<ListedJournal>, StorageError> {
        let known = lock(&self.0).clone();
        let known = known.filter(|look| after.is_some() && look.at.elapsed() < KEPT);
        let look = match known {
            Some(look) => look,
            None => self.look(folder)?,
        };
        Ok(ListedJournal::page(&look.all, after, limit))
    }

    fn look(&self, folder: &JournalFolder) -> Result<ListingLook, StorageError> {
        let at = Instant::now();
        let journals = folder.journals();
        let journals = journals.map_err(|error| failed("list", &folder.path, &error))?;
        let listed = journals
            .into_iter()
            .map(|(id, changed_at)| ListedJournal { changed_at, id });
        let all = ListedJournal::sorted(listed.collect()).into();
        let look = ListingLook { at, all };
        *lock(&self.0) = Some(look.clone());
        Ok(look)
    }

    /// There are other journals now.
    pub(super) fn forget(&self) {
        *lock(&self.0) = None;
    }
}
