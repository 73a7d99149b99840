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

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use harness_actors::guidance::{Guidance, GuidanceShelf};
use harness_actors::{Clock, Redaction, blocking};

use loader::Loader;

/// From how many folders on those are forgotten that no open conversation works in.
const MAX_FOLDERS: usize = 64;
/// How long a request waits for the disk before it uses what was loaded before.
const PATIENCE: Duration = Duration::from_secs(3);

/// The guidance of each folder that conversations work in, kept up to date. Clones share it.
#[derive(Clone)]
pub(crate) struct GuidanceSources {
    home: Arc<Path>,
    redaction: Redaction,
    clock: Clock,
    folders: Arc<Mutex<HashMap<PathBuf, GuidanceSource>>>,
}

/// The guidance of one folder.
#[derive(Clone)]
struct GuidanceSource {
    shelf: GuidanceShelf,
    loader: Arc<tokio::sync::Mutex<Loader>>,
}

impl GuidanceSources {
    /// The guidance of the state folder and of the service's own folder, loaded, without secrets. A
    /// secret that is learned later is taken out by the next [`Self::refresh`].
    pub(crate) fn load(home: &Path, workspace: &Path, redaction: Redaction, clock: Clock) -> Self {
        let sources = Self {
            home: home.into(),
            redaction,
            clock,
            folders: Arc::default(),
        };
        let shelf = GuidanceShelf::default();
        let mut loader = sources.loader(workspace, shelf.clone());
        loader.refresh();
        let loader = Arc::new(tokio::sync::Mutex::new(loader));
        let own = GuidanceSource { shelf, loader };
        sources.lock().insert(workspace.to_owned(), own);
        sources
    }

    fn loader(&self, folder: &Path, shelf: GuidanceShelf) -> Loader {
        let (redaction, clock) = (self.redaction.clone(), self.clock);
        Loader::new(&self.home, folder, redaction, clock, shelf)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, GuidanceSource>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The guidance of a folder. It is empty until the first [`Self::refresh`].
    fn source(&self, folder: &Path) -> GuidanceSource {
        let mut folders = self.lock();
        if let Some(source) = folders.get(folder) {
            return source.clone();
        }
        if folders.len() >= MAX_FOLDERS {
            folders.retain(|_, source| source.is_in_use());
        }
        let shelf = GuidanceShelf::default();
        let loader = self.loader(folder, shelf.clone());
        let loader = Arc::new(tokio::sync::Mutex::new(loader));
        let source = GuidanceSource { shelf, loader };
        folders.insert(folder.to_owned(), source.clone());
        source
    }

    /// Where the conversations of a folder find its guidance.
    pub(crate) fn shelf(&self, folder: &Path) -> GuidanceShelf {
        self.source(folder).shelf
    }

    /// The guidance that was loaded last of a folder.
    pub(crate) fn get(&self, folder: &Path) -> Arc<Guidance> {
        self.source(folder).shelf.get()
    }

    /// Loads what has changed for a folder. Waits for the disk on another thread, and not for ever:
    /// a file system that hangs then keeps one thread and no request.
    pub(crate) async fn refresh(&self, folder: &Path) {
        let loader = self.source(folder).loader;
        let refreshing = async {
            let mut loader = loader.lock_owned().await;
            blocking(move || loader.refresh()).await
        };
        match tokio::time::timeout(PATIENCE, refreshing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => log::warn!("failed to load skills and templates: {error}"),
            Err(_) => log::warn!("skills and templates are not loaded again: the disk hangs"),
        }
    }
}

impl GuidanceSource {
    /// Whether a conversation has it, or it is being loaded.
    fn is_in_use(&self) -> bool {
        // The loader puts what it loads on the shelf, too.
        self.shelf.holders() > 2 || Arc::strong_count(&self.loader) > 1
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
        let source = GuidanceSources::load(folder.path(), folder.path(), redaction, clock);
        std::fs::write(folder.path().join("AGENTS.md"), "text").unwrap();
        let is_loaded = |source: &GuidanceSources| {
            let guidance = source.get(folder.path());
            guidance
                .context_files
                .iter()
                .any(|file| file.text == "text")
        };
        let hanging = source.source(folder.path()).loader.lock_owned().await;
        let before = tokio::time::Instant::now();
        source.refresh(folder.path()).await;
        assert_eq!(before.elapsed(), PATIENCE);
        assert!(!is_loaded(&source));
        drop(hanging);
        tokio::time::resume();
        source.refresh(folder.path()).await;
        assert!(is_loaded(&source));
    }

    /// Spec: [GUIDE-68]
    #[tokio::test]
    async fn each_folder_has_its_own_and_those_in_use_are_kept() {
        let top = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = top.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("AGENTS.md"), name).unwrap();
            folder
        };
        let (own, used) = (folder("own"), folder("used"));
        let home = top.path().join("state");
        let sources = GuidanceSources::load(&home, &own, Redaction::default(), Clock::system());
        let texts = |guidance: &Guidance| -> Vec<String> {
            let files = guidance.context_files.iter();
            files.map(|file| file.text.clone()).collect()
        };
        let shelf = sources.shelf(&used);
        assert_eq!(texts(&shelf.get()), [""; 0]);
        for number in 0..MAX_FOLDERS * 2 {
            let folder = folder(&number.to_string());
            sources.refresh(&folder).await;
            assert_eq!(texts(&sources.get(&folder)), [number.to_string()]);
            assert!(sources.lock().len() <= MAX_FOLDERS);
        }
        sources.refresh(&used).await;
        assert_eq!(texts(&shelf.get()), ["used"], "it is the same shelf still");
        sources.refresh(&own).await;
        assert_eq!(texts(&sources.get(&own)), ["own"]);
    }
}
