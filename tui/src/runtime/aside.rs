//! Work done beside the loop, so that no key waits for it: its result comes back as a message.

use std::thread;

use super::Client;
use crate::app::{Missing, Msg};
use crate::client_settings::SettingsFile;
use crate::highlight::{self, Request};
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

    /// Keeps a setting, off this thread: another client may have the lock of the file.
    pub(super) fn keep(&mut self, name: &'static str, value: &'static str) {
        let file = SettingsFile::in_folder(&self.home);
        let done = self.done.0.clone();
        self.pending += 1;
        let told = done.clone();
        let said = move |kept: std::io::Result<()>| match kept {
            Ok(()) => Msg::Tick,
            Err(error) => Msg::Failed(format!("{name} is not kept: {error}")),
        };
        let work = move || {
            // The client may have ended meanwhile.
            drop(told.send(said(file.keep(name, value))));
        };
        if let Err(error) = thread::Builder::new().spawn(work) {
            drop(done.send(said(Err(error))));
        }
    }

    /// Looks for files: a disk may let one wait.
    pub(super) fn look(&mut self, lists: Vec<Vec<String>>, missing: Missing) {
        let done = self.done.0.clone();
        self.pending += 1;
        let told = done.clone();
        let message = |files, missing| Msg::Looked { files, missing };
        let otherwise = missing.clone();
        let work = move || {
            let is_file = |path: &String| std::fs::metadata(path).is_ok_and(|it| it.is_file());
            let found = lists.into_iter().find(|list| list.iter().all(is_file));
            // The client may have ended meanwhile.
            drop(told.send(message(found, missing)));
        };
        if thread::Builder::new().spawn(work).is_err() {
            drop(done.send(message(None, otherwise)));
        }
    }

    /// Lets the thread that reads code read some; it is started when it is first needed.
    pub(super) fn colour(&mut self, request: Request) {
        if self.colourist.is_none() {
            let told = self.coloured.0.clone();
            match highlight::start(move |answer| told.send(answer).is_ok()) {
                Ok(colourist) => self.colourist = Some(colourist),
                Err(error) => log::warn!("code stays without colours: {error}"),
            }
        }
        if let Some(colourist) = &self.colourist
            && colourist.send(request).is_err()
        {
            log::warn!("code stays without colours: the thread that reads it has ended");
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

    /// Takes the picture that is on the clipboard.
    pub(super) fn take_picture(&mut self) {
        let capabilities = self.capabilities.clone();
        let path = self.pictures.next();
        let done = self.done.0.clone();
        self.pending += 1;
        tokio::task::spawn_local(async move {
            let taken = terminal::take_picture(&capabilities, path).await;
            let path = taken.map(|path| path.to_string_lossy().into_owned());
            drop(done.send(Msg::Picture(path)));
        });
    }
}
