//! Facts about models that the API's list does not have, learned from its answers.
//!
//! Invariant: all of it is in memory only. What a server may change holds for an hour: a restarted server may have another
//! window, and one refusal teaches its limit then.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::extras::{ExtraSet, RequestExtra};
use super::left_out::LeftOut;
use super::version::ApiVersion;
use crate::ids::ConversationId;

/// Time for which a lesson holds.
const LIFETIME: Duration = Duration::from_secs(60 * 60);
/// Of how many models something is remembered before all is forgotten.
const MAX_MODELS: usize = 1024;

/// Number of files of one model that are remembered before all are forgotten.
const MAX_FILES: usize = 1024;

/// Number of conversations of one model that are remembered before all are forgotten.
const MAX_CONVERSATIONS: usize = 1024;

/// A model, and where the key comes from with which it was asked.
type AskedModel = (Option<Arc<str>>, Arc<str>);

/// Facts learned from answers. Clones share them.
#[derive(Clone, Default)]
pub(super) struct LearnedFacts {
    models: Rc<RefCell<HashMap<AskedModel, Lessons>>>,
}

/// Facts learned about one model.
#[derive(Default)]
struct Lessons {
    /// The smallest window that an error named.
    window: Option<Lesson<u64>>,
    /// The digests of files that it does not take.
    files: HashMap<String, Lesson<()>>,
    /// The maximum size of a reply that an error named.
    reply_maximum: Option<Lesson<u32>>,
    /// The version of the API that it takes, where it refused another.
    version: Option<Lesson<ApiVersion>>,
    /// It refused the tools that the API runs itself.
    no_server_tools: Option<Lesson<()>>,
    /// The extras that it refused.
    refused_extras: HashMap<RequestExtra, Lesson<()>>,
    /// Conversations whose thinking it did not take back.
    no_thinking: HashMap<ConversationId, Lesson<()>>,
    /// The day on which it was said last that the model is soon no longer served, since the Unix epoch.
    told_of_end: Option<i64>,
}

/// A fact, and the time at which it was learned.
#[derive(Clone, Copy)]
struct Lesson<T> {
    at: Instant,
    what: T,
}

impl<T> Lesson<T> {
    fn new(what: T) -> Self {
        let at = Instant::now();
        Self { at, what }
    }

    fn holds(&self) -> bool {
        self.at.elapsed() < LIFETIME
    }
}

impl LearnedFacts {
    /// Notes the window that an error named.
    pub(super) fn note_window(&self, key_source: Option<&Arc<str>>, model: &Arc<str>, window: u64) {
        self.teach(key_source, model, |lessons| {
            let known = lessons.window.filter(Lesson::holds);
            let window = known.map_or(window, |known| known.what.min(window));
            lessons.window = Some(Lesson::new(window));
        });
    }

    /// The smallest window that an error named, in tokens.
    pub(super) fn window(&self, key_source: Option<&Arc<str>>, model: &Arc<str>) -> Option<u64> {
        self.known(key_source, model, |lessons| lessons.window)
    }

    /// Notes the maximum size of a reply that an error named.
    pub(super) fn note_reply_maximum(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
        maximum: u32,
    ) {
        self.teach(key_source, model, |lessons| {
            lessons.reply_maximum = Some(Lesson::new(maximum));
        });
    }

    /// The maximum size of a reply that an error named, in tokens.
    pub(super) fn reply_maximum(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
    ) -> Option<u32> {
        self.known(key_source, model, |lessons| lessons.reply_maximum)
    }

    /// Notes the version of the API to ask a model with, since another was refused.
    pub(super) fn note_version(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
        version: ApiVersion,
    ) {
        self.teach(key_source, model, |lessons| {
            lessons.version = Some(Lesson::new(version));
        });
    }

    /// The version of the API to ask a model with, where another was refused.
    pub(super) fn version(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
    ) -> Option<ApiVersion> {
        self.known(key_source, model, |lessons| lessons.version)
    }

    /// Notes that a model is asked without the tools that the API runs itself.
    pub(super) fn note_no_server_tools(&self, key_source: Option<&Arc<str>>, model: &Arc<str>) {
        self.teach(key_source, model, |lessons| {
            lessons.no_server_tools = Some(Lesson::new(()));
        });
    }

    /// True if a model refused the tools that the API runs itself.
    pub(super) fn has_no_server_tools(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
    ) -> bool {
        let known = self.known(key_source, model, |lessons| lessons.no_server_tools);
        known.is_some()
    }

    /// Notes that a model is asked without these extras.
    pub(super) fn note_refused_extras(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
        extras: &ExtraSet,
    ) {
        self.teach(key_source, model, |lessons| {
            let refused = extras.iter().map(|extra| (*extra, Lesson::new(())));
            lessons.refused_extras.extend(refused);
        });
    }

    /// The extras that a model refused.
    pub(super) fn refused_extras(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
    ) -> ExtraSet {
        let refused = self.find(key_source, model, |lessons| {
            let refused = lessons
                .refused_extras
                .iter()
                .filter(|(_, lesson)| lesson.holds());
            refused.map(|(extra, _)| *extra).collect()
        });
        refused.unwrap_or_default()
    }

    /// Notes that a model did not take the thinking of a conversation back.
    pub(super) fn note_no_thinking(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
        conversation: &ConversationId,
    ) {
        self.teach(key_source, model, |lessons| {
            if lessons.no_thinking.len() >= MAX_CONVERSATIONS {
                lessons.no_thinking.clear();
            }
            let lesson = Lesson::new(());
            lessons.no_thinking.insert(conversation.clone(), lesson);
        });
    }

    /// True if a model did not take the thinking of a conversation back.
    pub(super) fn has_no_thinking(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
        conversation: &ConversationId,
    ) -> bool {
        let of_conversation = |lessons: &Lessons| lessons.no_thinking.get(conversation).copied();
        self.known(key_source, model, of_conversation).is_some()
    }

    /// Notes that it is said today that a model is soon no longer served; `false` if that was said today already.
    pub(super) fn note_told_of_end(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
        today: i64,
    ) -> bool {
        let mut is_first = false;
        self.teach(key_source, model, |lessons| {
            is_first = lessons.told_of_end.replace(today) != Some(today);
        });
        is_first
    }

    /// Notes what the API does not take.
    pub(super) fn note_left_out(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
        left_out: &LeftOut,
    ) {
        self.teach(key_source, model, |lessons| {
            if lessons.files.len() >= MAX_FILES {
                lessons.files.clear();
            }
            let files = left_out.files().cloned();
            lessons
                .files
                .extend(files.map(|file| (file, Lesson::new(()))));
        });
    }

    /// The parts of a request that the API does not take.
    pub(super) fn left_out(&self, key_source: Option<&Arc<str>>, model: &Arc<str>) -> LeftOut {
        let left_out = self.find(key_source, model, |lessons| {
            let files = lessons.files.iter().filter(|(_, lesson)| lesson.holds());
            LeftOut::of_files(files.map(|(file, _)| file.clone()))
        });
        left_out.unwrap_or_default()
    }

    fn teach(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
        lesson: impl FnOnce(&mut Lessons),
    ) {
        let mut models = self.models.borrow_mut();
        if models.len() >= MAX_MODELS {
            models.clear();
        }
        let asked = (key_source.cloned(), Arc::clone(model));
        lesson(models.entry(asked).or_default());
    }

    /// A fact, as long as it holds.
    fn known<T>(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
        read: impl FnOnce(&Lessons) -> Option<Lesson<T>>,
    ) -> Option<T> {
        let lesson = self.find(key_source, model, read).flatten();
        lesson.filter(Lesson::holds).map(|lesson| lesson.what)
    }

    fn find<T>(
        &self,
        key_source: Option<&Arc<str>>,
        model: &Arc<str>,
        read: impl FnOnce(&Lessons) -> T,
    ) -> Option<T> {
        let asked = (key_source.cloned(), Arc::clone(model));
        self.models.borrow().get(&asked).map(read)
    }
}
