//! A list of what the service has of a kind, to choose from.

use super::{App, Field, Overlay};
use crate::keys::KeyAction;
use crate::link::{Offer, OfferKind, SettingChange};

/// Number of rows of a page of the list.
const PAGE: isize = 10;

/// The entries of a kind.
#[derive(Debug)]
pub(crate) struct Chooser {
    /// The kind.
    pub(crate) kind: OfferKind,
    /// True if it is shown at the first start, since no model is set.
    pub(crate) is_first: bool,
    /// Only those whose name or description has this in it.
    pub(crate) filter: Field,
    /// All of them; none until the service has told.
    offers: Option<Vec<Offer>>,
    /// The name of the chosen one.
    chosen: Option<String>,
}

impl Chooser {
    /// The list, with what is known of it.
    pub(super) fn new(kind: OfferKind, offers: Option<&[Offer]>) -> Self {
        Self {
            kind,
            is_first: false,
            filter: Field::default(),
            offers: offers.map(<[Offer]>::to_vec),
            chosen: None,
        }
    }

    /// The service's answer.
    pub(super) fn offered(&mut self, offers: Vec<Offer>) {
        self.offers = Some(offers);
    }

    /// True until the service has answered.
    pub(crate) fn is_loading(&self) -> bool {
        self.offers.is_none()
    }

    /// Number of all entries, whatever the filter.
    pub(crate) fn count(&self) -> usize {
        self.offers.as_ref().map_or(0, Vec::len)
    }

    /// Those that the filter lets through.
    pub(crate) fn matches(&self) -> Vec<&Offer> {
        let wanted = self.filter.text().to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let fits = |offer: &&Offer| has(&offer.name) || has(&offer.description);
        self.offers.iter().flatten().filter(fits).collect()
    }

    /// Index of the chosen entry among those shown: the first, unless another was chosen.
    pub(crate) fn chosen(&self) -> Option<usize> {
        let shown = self.matches();
        let is_chosen = |offer: &&Offer| Some(&offer.name) == self.chosen.as_ref();
        let found = shown.iter().position(is_chosen);
        found.or((!shown.is_empty()).then_some(0))
    }

    /// Moves in the list.
    pub(super) fn step(&mut self, by: isize) {
        let Some(chosen) = self.chosen() else { return };
        let shown = self.matches();
        let next = chosen.saturating_add_signed(by).min(shown.len() - 1);
        self.chosen = Some(shown[next].name.clone());
    }
}

/// The names of one of a kind and of several.
pub(crate) const fn names(kind: OfferKind) -> (&'static str, &'static str) {
    match kind {
        OfferKind::Models => ("model", "models"),
        OfferKind::Skills => ("skill", "skills"),
        OfferKind::Templates => ("template", "templates"),
    }
}

impl App {
    /// Shows what there is of a kind.
    pub(super) fn open_chooser(&mut self, kind: OfferKind) {
        let known = self.offers.get(kind);
        self.overlay = Some(Overlay::Chooser(Chooser::new(kind, known)));
        self.ask_for_offers(kind);
    }

    /// Shows the models at the first start with a key, unless something was typed already.
    pub(super) fn offer_models(&mut self) {
        let offers = std::mem::take(&mut self.offers_models);
        if !offers || self.overlay.is_some() || !self.composer.is_empty() {
            return;
        }
        self.open_chooser(OfferKind::Models);
        if let Some(Overlay::Chooser(chooser)) = &mut self.overlay {
            chooser.is_first = true;
        }
    }

    pub(super) fn act_on_chooser(&mut self, action: KeyAction) {
        let Some(Overlay::Chooser(chooser)) = &mut self.overlay else {
            return;
        };
        match action {
            KeyAction::Close => self.overlay = None,
            KeyAction::Previous => chooser.step(-1),
            KeyAction::Next => chooser.step(1),
            KeyAction::PageUp => chooser.step(-PAGE),
            KeyAction::PageDown => chooser.step(PAGE),
            KeyAction::Backspace => {
                chooser.filter.backspace();
            }
            KeyAction::Clear => chooser.filter.clear(),
            KeyAction::Accept => {
                let chosen = chooser
                    .chosen()
                    .map(|at| chooser.matches()[at].name.clone());
                let (kind, is_first) = (chooser.kind, chooser.is_first);
                if let Some(name) = chosen {
                    self.overlay = None;
                    let for_all =
                        format!("model = {name:?} in config.toml is for all conversations");
                    if self.choose(kind, name) && is_first {
                        self.after_change = Some(for_all);
                    }
                }
            }
            _ => {}
        }
    }

    /// A model is set; a skill or a template waits for the text that is written after it. `true` if something is about to
    /// change.
    fn choose(&mut self, kind: OfferKind, name: String) -> bool {
        match kind {
            OfferKind::Models => self.change(SettingChange::Model(Some(name))),
            OfferKind::Skills | OfferKind::Templates => {
                let (command, _) = names(kind);
                if self.composer.is_empty() {
                    self.composer.write_anew(&format!("/{command} {name} "));
                } else {
                    self.say(format!(
                        "the draft is kept; /{command} {name} is what was chosen"
                    ));
                }
                false
            }
        }
    }
}
