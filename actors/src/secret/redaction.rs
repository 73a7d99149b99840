//! Takes secrets out of text that comes from elsewhere: a file that a tool read, a gateway that
//! quotes the key it was sent.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use super::Secret;
use super::matcher::Matcher;
use crate::ids::ConversationId;

/// The text in place of a secret.
const MASK: &str = "***";
/// Minimum length of a secret of the service, in bytes. A shorter one can be guessed, and masking it would garble other
/// text.
const MIN_BYTES: usize = 8;
/// Minimum length of a key that a conversation brought, in bytes.
const MIN_LEARNED_BYTES: usize = 16;
/// Maximum number of keys that are kept for one conversation: keys that change often do not accumulate.
const MAX_LEARNED: usize = 16;
/// Maximum number of conversations whose keys are kept.
const MAX_CONVERSATIONS: usize = 1024;

/// Takes secrets out of texts. Clones share what is added later.
///
/// There are secrets of the service, which count everywhere and for as long as it runs, and keys
/// that a conversation brought, which count for that conversation only: no client can have a word masked in the texts
/// of other conversations.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    known: Arc<RwLock<KnownSecrets>>,
    learned: Arc<RwLock<LearnedKeys>>,
    /// The conversation whose keys are masked, too.
    conversation: Option<ConversationId>,
    /// Secrets of this value only.
    own: Option<Arc<Matcher>>,
}

/// The secrets of the service.
#[derive(Debug, Default)]
struct KnownSecrets {
    secrets: Vec<Secret>,
    matcher: Arc<Matcher>,
}

/// The keys of conversations.
#[derive(Debug, Default)]
struct LearnedKeys {
    keys: HashMap<ConversationId, Keys>,
    /// The conversations in the order in which they learned a key, the latest at the end.
    order: VecDeque<ConversationId>,
}

/// The keys of one conversation, the one that was used last at the end.
#[derive(Debug, Default)]
struct Keys {
    keys: VecDeque<Secret>,
    matcher: Arc<Matcher>,
}

impl Redaction {
    /// Masks these secrets, except those under 8 bytes.
    #[must_use]
    pub fn new(secrets: Vec<Secret>) -> Self {
        let redaction = Self::default();
        redaction.add_all(secrets);
        redaction
    }

    /// From now on, takes this secret of the service out too, here and in all clones.
    pub fn add(&self, secret: Secret) {
        self.add_all([secret]);
    }

    /// Like [`Self::add`], for several.
    pub fn add_all(&self, secrets: impl IntoIterator<Item = Secret>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = known.secrets.len();
        for secret in secrets {
            if secret.expose().len() >= MIN_BYTES && !known.secrets.contains(&secret) {
                known.secrets.push(secret);
            }
        }
        if known.secrets.len() > before {
            let matcher = Matcher::new(known.secrets.iter().map(Secret::expose));
            known.matcher = Arc::new(matcher);
        }
    }

    /// From now on, masks this key in the texts of that conversation. Short keys, words and paths are not masked: a
    /// text that names them must keep them.
    pub fn learn(&self, conversation: &ConversationId, key: Secret) {
        if key.expose().len() < MIN_LEARNED_BYTES || key.is_plain() {
            return;
        }
        {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            if known.secrets.contains(&key) {
                return;
            }
            let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
            let keys = learned.keys.get(conversation);
            if keys.is_some_and(|keys| keys.keys.back() == Some(&key)) {
                return;
            }
        }
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        let learned = &mut *learned;
        let keys = learned.keys.entry(conversation.clone()).or_default();
        keys.keys.retain(|known| *known != key);
        keys.keys.push_back(key);
        if keys.keys.len() > MAX_LEARNED {
            keys.keys.pop_front();
        }
        keys.matcher = Arc::new(Matcher::new(keys.keys.iter().map(Secret::expose)));
        learned.order.retain(|known| known != conversation);
        learned.order.push_back(conversation.clone());
        if learned.order.len() > MAX_CONVERSATIONS
            && let Some(oldest) = learned.order.pop_front()
        {
            learned.keys.remove(&oldest);
        }
    }

    /// The same, with the keys that this conversation brings.
    #[must_use]
    pub fn for_conversation(&self, conversation: &ConversationId) -> Self {
        Self {
            conversation: Some(conversation.clone()),
            ..self.clone()
        }
    }

    /// The same with the key of one call, which counts here and in what is cloned from here, unless
    /// it is a word or a path.
    #[must_use]
    pub fn with(&self, secret: &Secret) -> Self {
        let counts = secret.expose().len() >= MIN_BYTES && !secret.is_plain();
        let matcher = counts.then(|| Arc::new(Matcher::new([secret.expose()])));
        Self {
            own: matcher.or_else(|| self.own.clone()),
            ..self.clone()
        }
    }

    /// The text, with `***` in place of each secret.
    #[must_use]
    pub fn apply(&self, text: String) -> String {
        let places = self.places(&self.matchers(), &text);
        if places.is_empty() {
            return text;
        }
        without(&text, &places, text.len())
    }

    /// At most the first `end` bytes of a text, with `***` in place of each secret. A secret across the end is masked
    /// as a whole. So is, at the end of the text, what may be the start of a secret, because the text may have been cut
    /// there.
    ///
    /// ```
    /// let redaction = harness_actors::Redaction::new(vec!["sk-0123456789".into()]);
    /// assert_eq!(redaction.apply_to_start("the key is sk-01234", 100), "the key is ");
    /// assert_eq!(redaction.apply_to_start("it is sk-0123456789", 10), "it is ***");
    /// ```
    #[must_use]
    pub fn apply_to_start(&self, text: &str, end: usize) -> String {
        let matchers = self.matchers();
        let places = self.places(&matchers, text);
        let unfinished = matchers
            .iter()
            .filter_map(|matcher| matcher.unfinished(text));
        let end = unfinished.fold(text.floor_char_boundary(end), usize::min);
        without(text, &places, end)
    }

    /// The text from a place on, with `***` in place of each secret. The rest of a secret that begins before that place
    /// is skipped.
    pub(crate) fn apply_from(&self, text: &str, from: usize) -> String {
        let places = self.places(&self.matchers(), text);
        let mut start = text.ceil_char_boundary(from);
        let across = places
            .iter()
            .find(|place| place.start < start && start < place.end);
        start = across.map_or(start, |place| place.end);
        let rest = places.iter().filter(|place| place.start >= start);
        let rest: Vec<Range<usize>> = rest
            .map(|place| place.start - start..place.end - start)
            .collect();
        without(&text[start..], &rest, text.len() - start)
    }

    /// The part of a growing text that may be shown, from `from` on and up to about `end`, with `***` in place of each
    /// secret, and its end in the text. It ends before any bytes that may become a secret with those that follow, and
    /// never inside of one. The rest of a secret that begins before `from` is skipped, and counts as shown.
    pub(crate) fn apply_to_growing(&self, text: &str, from: usize, end: usize) -> (String, usize) {
        let matchers = self.matchers();
        let places = self.places(&matchers, text);
        let unfinished = matchers
            .iter()
            .filter_map(|matcher| matcher.unfinished(text));
        // Whatever follows, the secrets that begin before this are those that are known.
        let settled = unfinished.fold(text.len(), usize::min);
        let across = |at: usize| {
            let mut places = places.iter();
            places.find(move |place| place.start < at && at < place.end)
        };
        let mut end = text.floor_char_boundary(end).min(settled);
        if let Some(place) = across(end) {
            let is_whole = place.end <= settled;
            end = if is_whole { place.end } else { place.start };
        }
        let start = across(from).map_or(from, |place| place.end);
        if end < start {
            return (String::new(), from);
        }
        let shown = places
            .iter()
            .filter(|place| start <= place.start && place.end <= end)
            .map(|place| place.start - start..place.end - start);
        let shown: Vec<Range<usize>> = shown.collect();
        (without(&text[start..end], &shown, end - start), end)
    }

    /// Number of bytes after a place that must be known to find all secrets up to that place.
    #[must_use]
    pub fn reach(&self) -> usize {
        let matchers = self.matchers();
        let longest = matchers.iter().map(|matcher| matcher.longest());
        longest.max().unwrap_or_default()
    }

    fn matchers(&self) -> Vec<Arc<Matcher>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut matchers = vec![Arc::clone(&known.matcher)];
        if let Some(conversation) = &self.conversation {
            let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
            let keys = learned.keys.get(conversation);
            matchers.extend(keys.map(|keys| Arc::clone(&keys.matcher)));
        }
        matchers.extend(self.own.clone());
        matchers
    }

    /// The ranges of the secrets, from left to right and without overlaps.
    fn places(&self, matchers: &[Arc<Matcher>], text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for matcher in matchers {
            matcher.find(text, &mut found);
        }
        found.sort_by_key(|place| (place.start, place.end));
        let mut places: Vec<Range<usize>> = Vec::new();
        for place in found {
            match places.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                Some(_) | None => places.push(place),
            }
        }
        places
    }
}

/// The text up to its end, with a mask in place of these ranges. A secret keeps its number of lines, so that those
/// after it keep their numbers.
fn without(text: &str, places: &[Range<usize>], end: usize) -> String {
    let mut kept = String::with_capacity(end);
    let mut at = 0;
    for place in places.iter().filter(|place| place.start < end) {
        kept.push_str(&text[at..place.start]);
        kept.push_str(MASK);
        for _ in text[place.clone()].matches('\n') {
            kept.push('\n');
            kept.push_str(MASK);
        }
        at = place.end;
    }
    if at < end {
        kept.push_str(&text[at..end]);
    }
    kept
}

#[cfg(test)]
#[path = "redaction_tests.rs"]
mod tests;
