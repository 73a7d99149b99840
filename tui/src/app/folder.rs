//! The folder that is worked in, as a person writes it.

use super::App;
use crate::text::{one_line, shown_path};

impl App {
    /// The folder of the conversation that is shown, or the service's where that is not known.
    pub(crate) fn folder(&self) -> Option<String> {
        self.own_folder()
            .or_else(|| self.service.as_ref().map(|it| one_line(&it.folder)))
    }

    /// The folder of the conversation that is shown, if the service tells it.
    pub(crate) fn own_folder(&self) -> Option<String> {
        let folder = self.conversation.status().folder.as_deref();
        folder.map(|folder| shown_path(self.home.as_deref(), folder))
    }
}
