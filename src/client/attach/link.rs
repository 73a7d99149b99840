//! Carries out the orders of the terminal client, and tells it the news.

use std::rc::Rc;

use harness_tui::{ClientOrder, News};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::client::api::error::ApiError;
use crate::client::attach::contact::Contact;
use crate::client::attach::followed::FollowedConversation;
use crate::client::attach::lanes::Lanes;
use crate::client::attach::workflows::Workflows;
use crate::client::attach::{changes, errands, offers, submission};

/// Carries out orders until all senders of orders, or all receivers of news, were dropped.
pub(super) async fn run(contact: Contact, mut orders: UnboundedReceiver<ClientOrder>) {
    let contact = Rc::new(contact);
    let (made, mut to_open) = unbounded_channel();
    let mut link = AttachLink {
        contact: Rc::clone(&contact),
        open: None,
        lanes: Lanes::default(),
        workflows: Workflows::new(Rc::clone(&contact)),
        choices: 0,
        made,
        end_command: None,
    };
    loop {
        tokio::select! {
            // What was ordered last is carried out, even if the client has left.
            biased;
            order = orders.recv() => match order {
                Some(order) => link.take(order),
                None => break,
            },
            Some(made) = to_open.recv() => link.open_made(made),
            () = contact.news.closed() => break,
        }
    }
    // The stream ends first: the service is not to count who has left.
    drop(link.open);
    let lanes = link.lanes.finish(contact.pace.farewell);
    tokio::join!(lanes, link.workflows.finish());
}

/// A conversation that was made to be opened.
struct CreatedConversation {
    conversation: String,
    /// Value of the counter of choices when the client asked for this conversation.
    choices: u64,
}

/// The kinds of errands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ErrandLane {
    Older,
    Whole,
    Submit,
    Cancel,
    Withdraw,
    Settings,
    Compact,
    Offers,
    Files,
    Command,
    List,
    Preview,
    Make,
    Rename,
    Delete,
}

/// The conversation that is open.
struct AttachedConversation {
    followed: FollowedConversation,
    /// The questions about its past. An answer that came later would be taken for one about the
    /// conversation that is open then.
    questions: Lanes<ErrandLane>,
}

struct AttachLink {
    contact: Rc<Contact>,
    open: Option<AttachedConversation>,
    lanes: Lanes<ErrandLane>,
    workflows: Workflows,
    /// Number of times that the client chose another conversation.
    choices: u64,
    made: UnboundedSender<CreatedConversation>,
    /// Dropped to end the command that was ordered last.
    end_command: Option<oneshot::Sender<()>>,
}

impl AttachLink {
    #[expect(
        clippy::too_many_lines,
        reason = "one arm an order, and all of them in one place"
    )]
    fn take(&mut self, order: ClientOrder) {
        let contact = Rc::clone(&self.contact);
        match order {
            ClientOrder::Open { conversation } => self.open(conversation),
            ClientOrder::Board(order) => self.workflows.take(order),
            ClientOrder::TryNow => {
                self.workflows.try_now();
                if let Some(open) = &self.open {
                    open.followed.try_now();
                }
            }
            ClientOrder::Older {
                conversation,
                before,
            } => {
                let errand = errands::older(contact, conversation, before);
                self.questions().add(ErrandLane::Older, errand);
            }
            ClientOrder::Whole { conversation, seq } => {
                let errand = errands::fetch_whole(contact, conversation, seq);
                self.questions().add(ErrandLane::Whole, errand);
            }
            ClientOrder::Submit {
                conversation,
                key,
                content,
                files,
            } => {
                let errand = submission::submit(contact, conversation, key, (content, files));
                self.lanes.add(ErrandLane::Submit, errand);
            }
            ClientOrder::Cancel {
                conversation,
                run_id,
                clear_queue,
            } => {
                let errand = errands::cancel(contact, conversation, run_id, clear_queue);
                self.lanes.add(ErrandLane::Cancel, errand);
            }
            ClientOrder::Queue {
                conversation,
                queue,
                key,
                content,
                files,
            } => {
                let said = (content, files);
                let errand = submission::queue(contact, conversation, queue, key, said);
                self.lanes.add(ErrandLane::Submit, errand);
            }
            ClientOrder::Expand {
                conversation,
                recipe,
                name,
                text,
                key,
            } => {
                let errand = submission::expand(contact, conversation, recipe, key, (name, text));
                self.lanes.add(ErrandLane::Submit, errand);
            }
            ClientOrder::Undo { conversation } => {
                let errand = changes::undo(contact, conversation);
                self.lanes.add(ErrandLane::Submit, errand);
            }
            ClientOrder::Answer {
                conversation,
                approval,
                answer,
            } => {
                let errand = changes::answer(contact, conversation, approval, answer);
                self.lanes.add(ErrandLane::Submit, errand);
            }
            ClientOrder::Withdraw { conversation, item } => {
                let errand = changes::withdraw(contact, conversation, item);
                self.lanes.add(ErrandLane::Withdraw, errand);
            }
            // After the messages that were queued before it.
            ClientOrder::GoOn {
                conversation,
                is_retry,
            } => {
                let errand = changes::go_on(contact, conversation, is_retry);
                self.lanes.add(ErrandLane::Submit, errand);
            }
            ClientOrder::Settings { conversation, view } => {
                let errand = changes::settings(contact, conversation, view);
                self.lanes.add(ErrandLane::Settings, errand);
            }
            ClientOrder::Usage { conversation } => {
                let errand = changes::usage(contact, conversation);
                self.lanes.add(ErrandLane::Settings, errand);
            }
            ClientOrder::Facts { conversation, kind } => {
                let errand = errands::facts(contact, conversation, kind);
                self.lanes.add(ErrandLane::Settings, errand);
            }
            ClientOrder::Change {
                conversation,
                change,
            } => {
                let errand = changes::change(contact, conversation, change);
                self.lanes.add(ErrandLane::Settings, errand);
            }
            ClientOrder::Compact {
                conversation,
                instructions,
            } => {
                let errand = changes::compact(contact, conversation, instructions);
                self.lanes.add(ErrandLane::Compact, errand);
            }
            ClientOrder::Command {
                conversation,
                command,
                is_hidden,
            } => {
                let (end, ended) = oneshot::channel();
                self.end_command = Some(end);
                let errand = changes::command(contact, conversation, (command, is_hidden), ended);
                self.lanes.add(ErrandLane::Command, errand);
            }
            // The request is given up, at which the service ends the command.
            ClientOrder::EndCommand => drop(self.end_command.take()),
            ClientOrder::Files {
                conversation,
                query,
            } => {
                let errand = offers::files(contact, conversation, query);
                self.lanes.add(ErrandLane::Files, errand);
            }
            ClientOrder::Offers { kind, folder } => {
                let errand = offers::offers(contact, kind, folder);
                self.lanes.add(ErrandLane::Offers, errand);
            }
            ClientOrder::List { folder } => {
                self.lanes
                    .add(ErrandLane::List, errands::list(contact, folder));
            }
            ClientOrder::Preview {
                conversation,
                records,
            } => {
                let errand = errands::preview(contact, conversation, records);
                self.lanes.add(ErrandLane::Preview, errand);
            }
            ClientOrder::Create { title, folder } => {
                self.make(async move |contact| errands::create(contact, title, folder).await);
            }
            ClientOrder::Fork { conversation, seq } => {
                self.make(async move |contact| errands::fork(contact, &conversation, seq).await);
            }
            ClientOrder::Rename {
                conversation,
                title,
            } => {
                let errand = errands::rename(contact, conversation, title);
                self.lanes.add(ErrandLane::Rename, errand);
            }
            ClientOrder::Delete { conversation } => {
                let errand = errands::delete(contact, conversation);
                self.lanes.add(ErrandLane::Delete, errand);
            }
        }
    }

    fn questions(&mut self) -> &mut Lanes<ErrandLane> {
        match &mut self.open {
            Some(open) => &mut open.questions,
            None => &mut self.lanes,
        }
    }

    fn open(&mut self, conversation: String) {
        let open = self.open.take();
        if open.is_none_or(|open| open.followed.conversation != conversation) {
            self.choices += 1;
        }
        self.open = Some(AttachedConversation {
            followed: FollowedConversation::new(Rc::clone(&self.contact), conversation),
            questions: Lanes::default(),
        });
    }

    /// Makes a conversation and opens it, unless the client has chosen another by then.
    fn make<M>(&mut self, make: M)
    where
        M: AsyncFnOnce(&Contact) -> Result<String, ApiError> + 'static,
    {
        let contact = Rc::clone(&self.contact);
        let made = self.made.clone();
        let choices = self.choices;
        self.lanes.add(ErrandLane::Make, async move {
            match make(&contact).await {
                // The receiver may have been dropped when the client left.
                Ok(conversation) => drop(made.send(CreatedConversation {
                    conversation,
                    choices,
                })),
                Err(error) => {
                    let reason = error.to_string();
                    contact.tell(News::Failed { reason }).await;
                }
            }
        });
    }

    fn open_made(&mut self, made: CreatedConversation) {
        if made.choices == self.choices {
            self.open(made.conversation);
        }
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "input_tests.rs"]
mod input_tests;

#[cfg(test)]
#[path = "order_tests.rs"]
mod order_tests;
