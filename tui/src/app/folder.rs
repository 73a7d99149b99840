//! The folder that is worked in, as a person writes it.

use super::App;
use crate::text::{below_home, one_line};

impl App {
    /// The folder of the conversation that is shown, or the service's where that is not known.
    pub(crate) fn folder(&self) -> Option<String> {
        self.own_folder()
            .or_else(|| self.service.as_ref().map(|it| one_line(&it.folder)))
    }

    /// The folder of the conversation that is shown, if the service tells it.
    pub(crate) fn own_folder(&self) -> Option<String> {
        let folder = self.conversation.status().folder.as_deref();
        folder.map(|folder| self.path_shown(folder))
    }

    /// A path as it is shown.
    pub(crate) fn path_shown(&self, path: &str) -> String {
        one_line(&below_home(self.home.as_deref(), path))
    }
}
