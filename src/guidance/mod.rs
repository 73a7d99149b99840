//! Skills, prompt templates and context files: where they are on disk, and how they are kept up
//! to date while the service runs.

mod above;
mod context_file;
mod file;
mod front_matter;
mod grounds;
mod loader;
mod named;
mod places;
mod redacted;
mod survey;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use harness_actors::guidance::GuidanceShelf;
use harness_actors::{Clock, Redaction};
use tokio::sync::Mutex;

use loader::Loader;

/// How long a request waits for the disk before it goes on with what was loaded before.
const PATIENCE: Duration = Duration::from_secs(3);

/// The guidance of the service and whoever keeps it up to date.
#[derive(Clone)]
pub(crate) struct GuidanceSource {
    shelf: GuidanceShelf,
    loader: Arc<Mutex<Loader>>,
}

impl GuidanceSource {
    /// Loads what there is in the state folder and for the working folder, without what is secret
    /// in it. A secret that is learned later is taken out by the next [`Self::refresh`].
    pub(crate) fn load(home: &Path, workspace: &Path, redaction: Redaction, clock: Clock) -> Self {
        let shelf = GuidanceShelf::default();
        let mut loader = Loader::new(home, workspace, redaction, clock, shelf.clone());
        loader.refresh();
        Self {
            shelf,
            loader: Arc::new(Mutex::new(loader)),
        }
    }

    /// What was loaded last.
    pub(crate) fn shelf(&self) -> &GuidanceShelf {
        &self.shelf
    }

    /// Loads what has changed. Waits for the disk on another thread, and not for ever: a file
    /// system that hangs then keeps one thread and no request.
    pub(crate) async fn refresh(&self) {
        let refreshing = async {
            let mut loader = Arc::clone(&self.loader).lock_owned().await;
            tokio::task::spawn_blocking(move || loader.refresh()).await
        };
        match tokio::time::timeout(PATIENCE, refreshing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => log::error!("failed to load skills and templates: {error}"),
            Err(_) => log::warn!("skills and templates are not loaded anew: the disk hangs"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [GUIDE-28]
    #[tokio::test(start_paused = true)]
    async fn a_disk_that_hangs_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let (redaction, clock) = (Redaction::default(), Clock::system());
        let source = GuidanceSource::load(folder.path(), folder.path(), redaction, clock);
        std::fs::write(folder.path().join("AGENTS.md"), "text").unwrap();
        let is_loaded = |source: &GuidanceSource| {
            let guidance = source.shelf().get();
            guidance
                .context_files
                .iter()
                .any(|file| file.text == "text")
        };
        let hanging = Arc::clone(&source.loader).lock_owned().await;
        let before = tokio::time::Instant::now();
        source.refresh().await;
        assert_eq!(before.elapsed(), PATIENCE);
        assert!(!is_loaded(&source));
        drop(hanging);
        source.refresh().await;
        assert!(is_loaded(&source));
    }
}
