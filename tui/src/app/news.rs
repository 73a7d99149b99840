//! News from the link to the service.

use harness_protocol::{ConversationSnapshot, Event};
use ratatui::layout::Rect;

use super::prompts::SentPrompt;
use super::{App, AppEffect, DEFAULT_CONVERSATION, LinkState, OLDER_WAIT, Overlay, Regions};
use crate::conversation::{ConversationStore, EventApplied};
use crate::link::{ClientOrder, News};
use crate::service::Service;
use crate::text::one_line;
use crate::viewport::Viewport;

/// The columns beside a remark.
const REMARK_MARGIN: usize = 4;

impl App {
    #[expect(
        clippy::too_many_lines,
        reason = "one arm a piece of news, and all of them in one place"
    )]
    pub(super) fn news(&mut self, news: News) {
        match news {
            News::Service(service) => self.attached_to(*service),
            News::Snapshot { snapshot, reset } => {
                self.snapshot(&snapshot, reset);
                self.offer_models();
            }
            News::Event { event, position } => self.event(&event, position.as_deref()),
            News::Invalid { reason } => {
                self.invalid += 1;
                log::warn!(reason = reason.as_str(); "dropped what is no event");
            }
            News::Down {
                reason,
                tries,
                wait,
            } => {
                // A remark about the previous service does not apply to the next one.
                if let Some(toast) = &mut self.toast {
                    toast.is_of_service = false;
                }
                let next_at = self.now + wait;
                self.link = LinkState::Down {
                    reason,
                    tries,
                    next_at,
                };
            }
            News::Up => {
                // What went wrong is of more weight than that it is over, and so is another service.
                let toast = self.toast.as_ref();
                let is_told = toast.is_some_and(|toast| toast.is_error || toast.is_of_service);
                if self.is_down() && !is_told {
                    self.say("connected again");
                }
                self.link = LinkState::Up;
            }
            News::Older {
                conversation,
                before,
                page,
            } => {
                self.is_loading_older = false;
                // A page from before a newer snapshot no longer fits.
                let fits = conversation == self.open_id()
                    && self.conversation.oldest_seq() == Some(before);
                match page.filter(|_| fits) {
                    Some(page) => {
                        self.conversation.prepend(&page);
                        self.travel_on();
                        self.search_in_older();
                    }
                    None if !fits => {}
                    None => {
                        self.journey = None;
                        self.older_again_at = self.now + OLDER_WAIT;
                        self.search_without_older();
                        self.complain("the older part of the conversation cannot be had");
                    }
                }
            }
            News::Whole {
                conversation,
                seq,
                event,
            } => {
                if conversation == self.open_id() {
                    self.conversation.replace_cut(seq, &event);
                }
            }
            News::Accepted { key, run_id } => self.accepted(&key, run_id),
            News::NotAccepted { key, reason } => self.not_accepted(&key, &reason),
            News::CancelAnswered { cancelled } => {
                if !cancelled {
                    self.cancelling = None;
                }
            }
            News::Answered { .. } => {}
            News::Undone { files, notes, .. } => self.undone(&files, &notes),
            News::NotAnswered {
                conversation,
                approval,
                reason,
            } => {
                if conversation == self.open_id() {
                    self.not_answered(approval, &reason);
                }
            }
            News::Listed(summaries) => {
                if let Some(Overlay::Picker(picker)) = &mut self.overlay {
                    picker.listed(summaries);
                }
            }
            News::Time { unix_s } => self.started_at = unix_s.checked_sub(self.now.as_secs()),
            News::Previewed {
                conversation,
                events,
            } => self.previewed(&conversation, events),
            News::Deleted {
                conversation,
                trash,
            } => self.deleted(&conversation, &trash),
            News::NotCancelled { reason } => {
                self.cancelling = None;
                self.complain(format!("not cancelled: {reason}"));
            }
            News::Remark { text } => self.complain(text),
            News::Failed { reason } => {
                self.is_making = false;
                self.awaits_summary = false;
                self.going_back = None;
                self.ordered_mode = None;
                self.complain(reason);
            }
            News::Refused {
                conversation,
                reason,
            } => self.refused(&conversation, &reason),
            News::Queued { key, item } => self.queued(&key, item),
            News::Withdrawn {
                conversation,
                item,
                withdrawn,
            } => self.withdrawn(&conversation, item, &withdrawn),
            News::NotWithdrawn {
                conversation,
                item,
                reason,
            } => self.not_withdrawn(&conversation, item, &reason),
            News::GoesOn { .. } => {}
            News::Settings {
                conversation,
                view,
                answer,
            } => self.settings(&conversation, view, &answer),
            News::Usage {
                conversation,
                answer,
            } => self.usage(&conversation, &answer),
            News::Facts {
                conversation,
                lines,
            } => self.facts(&conversation, lines),
            News::SettingsChanged { .. } => {
                self.ordered_mode = None;
                let words = self.after_change.take();
                let words = words.as_deref();
                self.say(words.unwrap_or("for all clients, from the next run on"));
            }
            News::Compacted {
                conversation,
                answer,
            } => self.compacted(&conversation, &answer),
            News::Offered {
                kind,
                folder,
                offers,
                problems,
            } => self.offered(kind, folder.as_deref(), offers, &problems),
            News::CommandEnded { reason } => self.command_ended(reason),
            News::Files {
                conversation,
                found,
            } => self.files_found(&conversation, found),
            News::Board(news) => self.board_news(news),
            News::NotOffered { kind, reason } => self.not_offered(kind, &reason),
        }
    }

    /// Takes note of the service, and remarks on differences from the previous one and from the shell's settings.
    fn attached_to(&mut self, service: Service) {
        let before = self.service.replace(service);
        let (Some(service), before) = (&self.service, before.as_ref()) else {
            return;
        };
        let changes = before.and_then(|before| service.changes(before));
        let columns = usize::from(self.size.0).saturating_sub(REMARK_MARGIN);
        let remark = changes.or_else(|| service.remark(before, columns));
        if let Some(remark) = remark {
            self.say(remark);
            if let Some(toast) = &mut self.toast {
                toast.is_of_service = true;
            }
        }
    }

    fn snapshot(&mut self, snapshot: &ConversationSnapshot, reset: Option<String>) {
        let is_other = snapshot.summary.id != self.open_id();
        let is_moved = snapshot.summary.workspace != self.conversation.status().folder;
        if self.is_switching() && !is_other {
            return; // It was on its way when another conversation was asked for.
        }
        if is_other {
            self.conversation = ConversationStore::new(self.client_key.clone());
            let folds = self.viewport.folds.of_all();
            self.viewport = Viewport::new();
            self.journey = None;
            self.viewport.folds = folds;
            self.picked = None;
            let Rect { width, height, .. } = Regions::of_screen(self).talk;
            self.viewport.resize(width, height);
            self.cancelling = None;
            if matches!(self.overlay, Some(Overlay::Search(_))) {
                self.overlay = None;
            }
            self.show_sent(&snapshot.summary.id);
        }
        // Parts may have other ids than before.
        self.colours.clear();
        self.selection = None;
        self.opening = None;
        self.is_making = false;
        self.is_gone = false;
        self.is_loading_older = false;
        self.older_again_at = self.now;
        self.wanted_results.clear();
        let was_compacting = self.is_compacting();
        self.conversation.restore(snapshot, self.now);
        if is_moved {
            self.forget_offers();
        }
        if let Some(reason) = reset
            && !std::mem::take(&mut self.awaits_summary)
        {
            self.say(if was_compacting && !is_other {
                "the past was replaced by a summary".to_owned()
            } else {
                format!("the conversation was loaded again: {reason}")
            });
        }
        self.settle_sent();
        if is_other {
            self.went_back();
        }
    }

    fn event(&mut self, event: &Event, position: Option<&str>) {
        if self.opening.is_some() {
            // The snapshot that is on its way has it.
            return;
        }
        let is_end = matches!(event, Event::RunEnded { .. });
        let is_echo = matches!(event, Event::User { .. } | Event::Queued { .. });
        self.notice_withdrawal(event);
        self.notice_answer(event);
        match self.conversation.apply(event, position, self.now) {
            EventApplied::Missed => {
                self.missed += 1;
                self.open(self.open_id().to_owned());
            }
            EventApplied::Changed if is_end => {
                self.cancelling = None;
                self.tell_end(event);
            }
            EventApplied::Changed if is_echo => {
                self.settle_sent();
                self.settle_queue(event);
            }
            EventApplied::Changed => {
                self.settle_queue(event);
                self.tell_namesake();
            }
            EventApplied::Duplicate => self.duplicates += 1,
            EventApplied::Unchanged => {}
        }
    }

    /// Remarks another client that goes by the name of this one, as it comes.
    fn tell_namesake(&mut self) {
        let names = self.conversation.status().names.iter();
        let has_namesake = names.filter(|name| **name == self.name).count() > 1;
        if has_namesake && !self.has_namesake {
            let name = one_line(&self.name);
            self.say(format!(
                "another client is named {name}, too; --name tells them apart"
            ));
        }
        self.has_namesake = has_namesake;
    }

    /// Prompts that went to a conversation before another was opened are still on their way.
    fn show_sent(&mut self, conversation: &str) {
        let of_it = |(_, sent): &(&String, &SentPrompt)| sent.conversation == conversation;
        let mut sent: Vec<_> = self.sent.iter().filter(of_it).collect();
        sent.sort_by_key(|(_, sent)| sent.number);
        for (key, sent) in sent {
            self.conversation
                .submit(key.clone(), sent.content.clone(), sent.files.clone());
        }
    }

    /// A prompt whose echo came was accepted, whatever became of the answer to its request.
    fn settle_sent(&mut self) {
        let conversation = &self.conversation;
        self.sent.retain(|key, sent| {
            sent.conversation != conversation.status().conversation || conversation.is_pending(key)
        });
    }

    /// Opens a conversation, or this one again.
    pub(super) fn open(&mut self, conversation: String) {
        self.opening = Some(conversation.clone());
        self.is_making = false;
        self.ordered_mode = None;
        self.order(ClientOrder::Open { conversation });
    }

    fn deleted(&mut self, conversation: &str, trash: &str) {
        self.say(format!("moved to {trash}"));
        if conversation == self.open_id() {
            self.is_gone = true;
            self.open(DEFAULT_CONVERSATION.to_owned());
        }
        self.list();
    }

    fn refused(&mut self, conversation: &str, reason: &str) {
        let open = self.open_id().to_owned();
        if conversation == DEFAULT_CONVERSATION && self.is_gone {
            // There is nothing to go back to.
            self.effects.push(AppEffect::Fail(reason.to_owned()));
        } else if open == conversation && open != DEFAULT_CONVERSATION {
            // It was deleted elsewhere.
            self.is_gone = true;
            self.complain(format!("{reason}; this is `{DEFAULT_CONVERSATION}` now"));
            self.open(DEFAULT_CONVERSATION.to_owned());
        } else if open == conversation || open.is_empty() {
            self.effects.push(AppEffect::Fail(reason.to_owned()));
        } else {
            self.complain(reason);
            self.open(open);
        }
    }
}
