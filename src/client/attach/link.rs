//! Carries out the orders of the terminal client, and tells it the news.

use std::rc::Rc;

use harness_tui::{News, Order};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::client::api::error::ApiError;
use crate::client::attach::contact::Contact;
use crate::client::attach::followed::Followed;
use crate::client::attach::lanes::Lanes;
use crate::client::attach::workflows::Workflows;
use crate::client::attach::{changes, errands, offers, submission};

/// Carries out orders until all senders of orders, or all receivers of news, were dropped.
pub(super) async fn run(contact: Contact, mut orders: UnboundedReceiver<Order>) {
    let contact = Rc::new(contact);
    let (made, mut to_open) = unbounded_channel();
    let mut link = Link {
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
struct Made {
    conversation: String,
    /// Value of the counter of choices when the client asked for this conversation.
    choices: u64,
}

/// The kinds of errands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Lane {
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
    Make,
    Rename,
    Delete,
}

/// The conversation that is open.
struct Open {
    followed: Followed,
    /// The questions about its past. An answer that came later would be taken for one about the
    /// conversation that is open then.
    questions: Lanes<Lane>,
}

struct Link {
    contact: Rc<Contact>,
    open: Option<Open>,
    lanes: Lanes<Lane>,
    workflows: Workflows,
    /// Number of times that the client chose another conversation.
    choices: u64,
    made: UnboundedSender<Made>,
    /// Dropped to end the command that was ordered last.
    end_command: Option<oneshot::Sender<()>>,
}

impl Link {
    #[expect(
        clippy::too_many_lines,
        reason = "one arm an order, and all of them in one place"
    )]
    fn take(&mut self, order: Order) {
        let contact = Rc::clone(&self.contact);
        match order {
            Order::Open { conversation } => self.open(conversation),
            Order::Board(order) => self.workflows.take(order),
            Order::TryNow => {
                self.workflows.try_now();
                if let Some(open) = &self.open {
                    open.followed.try_now();
                }
            }
            Order::Older {
                conversation,
                before,
            } => {
                let errand = errands::older(contact, conversation, before);
                self.questions().add(Lane::Older, errand);
            }
            Order::Whole { conversation, seq } => {
                let errand = errands::fetch_whole(contact, conversation, seq);
                self.questions().add(Lane::Whole, errand);
            }
            Order::Submit {
                conversation,
                key,
                content,
                files,
            } => {
                let errand = submission::submit(contact, conversation, key, (content, files));
                self.lanes.add(Lane::Submit, errand);
            }
            Order::Cancel {
                conversation,
                run_id,
                clear_queue,
            } => {
                let errand = errands::cancel(contact, conversation, run_id, clear_queue);
                self.lanes.add(Lane::Cancel, errand);
            }
            Order::Queue {
                conversation,
                queue,
                key,
                content,
                files,
            } => {
                let said = (content, files);
                let errand = submission::queue(contact, conversation, queue, key, said);
                self.lanes.add(Lane::Submit, errand);
            }
            Order::Expand {
                conversation,
                recipe,
                name,
                text,
                key,
            } => {
                let errand = submission::expand(contact, conversation, recipe, key, (name, text));
                self.lanes.add(Lane::Submit, errand);
            }
            Order::Undo { conversation } => {
                let errand = changes::undo(contact, conversation);
                self.lanes.add(Lane::Submit, errand);
            }
            Order::Answer {
                conversation,
                approval,
                answer,
            } => {
                let errand = changes::answer(contact, conversation, approval, answer);
                self.lanes.add(Lane::Submit, errand);
            }
            Order::Withdraw { conversation, item } => {
                let errand = changes::withdraw(contact, conversation, item);
                self.lanes.add(Lane::Withdraw, errand);
            }
            // After the messages that were queued before it.
            Order::GoOn {
                conversation,
                is_retry,
            } => {
                let errand = changes::go_on(contact, conversation, is_retry);
                self.lanes.add(Lane::Submit, errand);
            }
            Order::Settings { conversation, view } => {
                let errand = changes::settings(contact, conversation, view);
                self.lanes.add(Lane::Settings, errand);
            }
            Order::Usage { conversation } => {
                let errand = changes::usage(contact, conversation);
                self.lanes.add(Lane::Settings, errand);
            }
            Order::Facts { conversation, kind } => {
                let errand = errands::facts(contact, conversation, kind);
                self.lanes.add(Lane::Settings, errand);
            }
            Order::Change {
                conversation,
                change,
            } => {
                let errand = changes::change(contact, conversation, change);
                self.lanes.add(Lane::Settings, errand);
            }
            Order::Compact {
                conversation,
                instructions,
            } => {
                let errand = changes::compact(contact, conversation, instructions);
                self.lanes.add(Lane::Compact, errand);
            }
            Order::Command {
                conversation,
                command,
                is_hidden,
            } => {
                let (end, ended) = oneshot::channel();
                self.end_command = Some(end);
                let errand = changes::command(contact, conversation, (command, is_hidden), ended);
                self.lanes.add(Lane::Command, errand);
            }
            // The request is given up, at which the service ends the command.
            Order::EndCommand => drop(self.end_command.take()),
            Order::Files {
                conversation,
                query,
            } => {
                let errand = offers::files(contact, conversation, query);
                self.lanes.add(Lane::Files, errand);
            }
            Order::Offers { kind, folder } => {
                let errand = offers::offers(contact, kind, folder);
                self.lanes.add(Lane::Offers, errand);
            }
            Order::List { folder } => {
                self.lanes.add(Lane::List, errands::list(contact, folder));
            }
            Order::Create { title, folder } => {
                self.make(async move |contact| errands::create(contact, title, folder).await);
            }
            Order::Fork { conversation, seq } => {
                self.make(async move |contact| errands::fork(contact, &conversation, seq).await);
            }
            Order::Rename {
                conversation,
                title,
            } => {
                let errand = errands::rename(contact, conversation, title);
                self.lanes.add(Lane::Rename, errand);
            }
            Order::Delete { conversation } => {
                let errand = errands::delete(contact, conversation);
                self.lanes.add(Lane::Delete, errand);
            }
        }
    }

    fn questions(&mut self) -> &mut Lanes<Lane> {
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
        self.open = Some(Open {
            followed: Followed::new(Rc::clone(&self.contact), conversation),
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
        self.lanes.add(Lane::Make, async move {
            match make(&contact).await {
                // The receiver may have been dropped when the client left.
                Ok(conversation) => drop(made.send(Made {
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

    fn open_made(&mut self, made: Made) {
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
