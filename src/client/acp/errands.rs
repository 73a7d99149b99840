//! The requests of a session to the service, which run beside its events.

use std::rc::Rc;
use std::time::Duration;

use harness_protocol::{AnswerOrder, CancelOrder, ChangeSettings, SettingsAnswer};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::client::acp::message::RpcError;
use crate::client::acp::options::SessionOptions;
use crate::client::acp::pending::PendingPrompt;
use crate::client::acp::service::{AcpService, OfferedCommand, PromptReceipt};
use crate::client::api::connection::RequestError;
use crate::client::api::error::ApiError;
use crate::client::api::routes;

/// The requests of a session that run.
pub(super) struct SessionErrands {
    service: Rc<AcpService>,
    conversation: String,
    running: JoinSet<ErrandEnd>,
}

/// The end of a request to the service.
pub(super) enum ErrandEnd {
    /// A prompt was sent, or not.
    Sent {
        /// The key of the prompt.
        key: String,
        /// The answer.
        sent: PromptReceipt,
    },
    /// Settings were changed for the editor, or not.
    Changed {
        /// The request of the editor.
        request: Value,
        /// True if its answer has the options.
        wants_options: bool,
        /// The options from now on.
        options: Result<SessionOptions, RpcError>,
    },
    /// The options that hold now.
    Options(SessionOptions),
    /// The commands that can be offered.
    Commands(Vec<OfferedCommand>),
    /// The answer to an approval did not arrive.
    NotAnswered(u64),
    /// Nothing follows.
    Done,
}

impl SessionErrands {
    /// No requests yet.
    pub(super) fn new(service: Rc<AcpService>, conversation: String) -> Self {
        Self {
            service,
            conversation,
            running: JoinSet::new(),
        }
    }

    /// The end of the next request; none if none runs. May be dropped and asked again: nothing is lost.
    pub(super) async fn next(&mut self) -> Option<ErrandEnd> {
        match self.running.join_next().await? {
            Ok(end) => Some(end),
            Err(error) => {
                log::error!("a request of the session failed: {error}");
                Some(ErrandEnd::Done)
            }
        }
    }

    /// Sends a prompt in a folder, after a while.
    pub(super) fn send(&mut self, prompt: &PendingPrompt, folder: &str, after: Duration) {
        let (key, folder) = (prompt.key.clone(), folder.to_owned());
        let prompt = prompt.prompt.clone();
        self.start(async move |service, conversation| {
            tokio::time::sleep(after).await;
            let sent = match service.order(&key, prompt, &folder).await {
                Ok(order) => service.send(&conversation, &order).await,
                Err(reason) => PromptReceipt::Refused(reason),
            };
            ErrandEnd::Sent { key, sent }
        });
    }

    /// Cancels a run. Its end tells whether it was still going.
    pub(super) fn cancel(&mut self, run: u64) {
        self.start(async move |service, conversation| {
            let order = CancelOrder {
                run_id: Some(run),
                by: service.by(),
                clear_queue: false,
            };
            let cancelled = service
                .ask_again(&routes::cancel(&conversation, &order))
                .await;
            logged("the run was not cancelled", cancelled)
        });
    }

    /// Answers an approval. Another client may have been faster, which is in its event.
    pub(super) fn answer(&mut self, approval: u64, mut order: AnswerOrder) {
        self.start(async move |service, conversation| {
            order.by = service.by();
            let route = routes::answer(&conversation, approval, &order);
            match service.ask_again(&route).await {
                Ok(_) => ErrandEnd::Done,
                Err(error @ ApiError::Request(RequestError::Refused { .. })) => {
                    logged::<()>("the approval was not answered", Err(error))
                }
                Err(error) => {
                    log::warn!("the approval was not answered: {error}");
                    ErrandEnd::NotAnswered(approval)
                }
            }
        });
    }

    /// Changes settings for a request of the editor, whose answer has the options if it wants them.
    pub(super) fn change(&mut self, request: Value, change: ChangeSettings, wants_options: bool) {
        self.start(async move |service, conversation| {
            let changed = service.ask(&routes::change(&conversation, &change)).await;
            let options = match changed {
                Ok(answer) => Ok(options(&service, answer).await),
                Err(error) => Err(error.into()),
            };
            ErrandEnd::Changed {
                request,
                wants_options,
                options,
            }
        });
    }

    /// Looks at the settings again, which another client may have changed.
    pub(super) fn find_options(&mut self) {
        self.start(async move |service, conversation| {
            match service.ask(&routes::settings(&conversation)).await {
                Ok(answer) => ErrandEnd::Options(options(&service, answer).await),
                Err(error) => logged::<()>("the settings are not known", Err(error)),
            }
        });
    }

    /// Finds the skills and templates of a folder.
    pub(super) fn find_commands(&mut self, folder: String) {
        self.start(
            async move |service, _| match service.commands(&folder).await {
                Ok(commands) => ErrandEnd::Commands(commands),
                Err(error) => logged::<()>("the commands are not known", Err(error)),
            },
        );
    }

    fn start<E>(&mut self, errand: E)
    where
        E: AsyncFnOnce(Rc<AcpService>, String) -> ErrandEnd + 'static,
    {
        let (service, conversation) = (Rc::clone(&self.service), self.conversation.clone());
        self.running.spawn_local(errand(service, conversation));
    }
}

async fn options(service: &AcpService, answer: SettingsAnswer) -> SessionOptions {
    SessionOptions::new(&answer.effective, &service.models().await)
}

fn logged<A>(failure: &str, result: Result<A, ApiError>) -> ErrandEnd {
    if let Err(error) = result {
        log::warn!("{failure}: {error}");
    }
    ErrandEnd::Done
}
