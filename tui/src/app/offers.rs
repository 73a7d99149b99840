//! The service's entries to choose from: models, skills, templates.

use std::collections::HashMap;
use std::time::Duration;

use super::{App, Overlay};
use crate::link::{ClientOrder, Offer, OfferKind};

/// Time for which the service's last answer holds.
const FRESH: Duration = Duration::from_secs(30);

/// The service's entries, where the client has asked for them.
#[derive(Debug, Default)]
pub(super) struct Offers {
    known: HashMap<OfferKind, Vec<Offer>>,
    /// The time of the last question, for each kind.
    asked: HashMap<OfferKind, Duration>,
}

impl Offers {
    /// The entries of a kind; none before the service told.
    pub(super) fn get(&self, kind: OfferKind) -> Option<&[Offer]> {
        self.known.get(&kind).map(Vec::as_slice)
    }
}

impl App {
    /// Asks for what a command that is being written may be completed with.
    pub(super) fn want_offers(&mut self) {
        if let Some((kind, _)) = self.offered_argument() {
            self.ask_for_offers(kind);
        }
    }

    /// Asks for what there is of a kind, unless that was done just now.
    pub(super) fn ask_for_offers(&mut self, kind: OfferKind) {
        let asked = self.offers.asked.get(&kind);
        if self.is_down() || asked.is_some_and(|asked| self.now < *asked + FRESH) {
            return;
        }
        self.offers.asked.insert(kind, self.now);
        let folder = self.folder_of(kind).map(str::to_owned);
        self.order(ClientOrder::Offers { kind, folder });
    }

    /// The folder that the service is to look in for a kind.
    fn folder_of(&self, kind: OfferKind) -> Option<&str> {
        let folder = self.conversation.status().folder.as_deref();
        folder.filter(|_| kind != OfferKind::Models)
    }

    /// Forgets the offers of the previous working folder.
    pub(super) fn forget_offers(&mut self) {
        self.offers
            .known
            .retain(|kind, _| *kind == OfferKind::Models);
        self.offers
            .asked
            .retain(|kind, _| *kind == OfferKind::Models);
        if let Some(Overlay::Chooser(chooser)) = &self.overlay {
            self.ask_for_offers(chooser.kind);
        }
    }

    /// The service told what there is of a kind in a folder.
    pub(super) fn offered(
        &mut self,
        kind: OfferKind,
        folder: Option<&str>,
        offers: Vec<Offer>,
        problems: &[String],
    ) {
        if folder != self.folder_of(kind) {
            return; // It was on its way when a conversation of another folder was opened.
        }
        self.offers.known.insert(kind, offers.clone());
        if let Some(Overlay::Chooser(chooser)) = &mut self.overlay
            && chooser.kind == kind
        {
            chooser.offered(offers);
        }
        match problems {
            [] => {}
            [problem] => self.complain(problem.clone()),
            [problem, rest @ ..] => self.complain(format!("{problem}, and {} more", rest.len())),
        }
    }

    /// It is not known what there is of a kind.
    pub(super) fn not_offered(&mut self, kind: OfferKind, reason: &str) {
        let (_, name) = super::chooser::names(kind);
        if matches!(&self.overlay, Some(Overlay::Chooser(chooser)) if chooser.kind == kind) {
            self.overlay = None;
            self.offers.asked.remove(&kind);
        }
        self.complain(format!("the {name} cannot be had: {reason}"));
    }
}
