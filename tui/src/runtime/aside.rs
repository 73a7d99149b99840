//! What is done beside the loop, so that no key waits for it: its result comes back as a message.

use std::thread;

use super::Client;
use crate::app::Msg;
use crate::prompt_history::HistoryFile;
use crate::terminal;

impl Client {
    /// Adds a prompt to the file, off this thread: another client may have its lock.
    pub(super) fn remember(&mut self, entry: String) {
        let file = HistoryFile::in_folder(&self.home);
        let done = self.done.0.clone();
        self.pending += 1;
        let told = done.clone();
        let failed = |error| Msg::Failed(format!("the prompt is not in the history: {error}"));
        let work = move || {
            let message = file.add(&entry).map_or_else(failed, Msg::Remembered);
            // The client may have ended meanwhile.
            drop(told.send(message));
        };
        if let Err(error) = thread::Builder::new().spawn(work) {
            drop(done.send(failed(error)));
        }
    }

    /// Copies a text, by every way there is.
    pub(super) fn copy(&mut self, text: String) {
        let capabilities = self.capabilities.clone();
        let home = self.home.clone();
        let port = self.guard.port();
        let done = self.done.0.clone();
        self.pending += 1;
        tokio::task::spawn_local(async move {
            let copied = terminal::copy(&text, &capabilities, port, &home).await;
            drop(done.send(Msg::Copied(copied.to_string())));
        });
    }
}
