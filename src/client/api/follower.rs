//! Follows a conversation across breaks of the connection.

use std::sync::Arc;
use std::time::Duration;

use crate::client::api::connection::Connection;
use crate::client::api::connection::path;
use crate::client::api::discovery;
use crate::client::api::discovery::DiscoveryError;
use crate::client::api::stream::Arrival;
use crate::client::api::stream::EventStream;
use crate::client::commands::CommandError;
use crate::client::output::Output;
use crate::config::ClientConfig;

/// How long to wait for what, and how often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// How long a stream may be without a byte. The service sends a heartbeat every 30 s.
    pub(crate) silence: Duration,
    /// The wait before the first try to attach again; each further one is twice as long,
    pub(crate) first_wait: Duration,
    /// up to this.
    pub(crate) longest_wait: Duration,
    /// How many tries in a row may find no service before it is gone for good.
    pub(crate) tries_without_service: u32,
}

impl Default for Patience {
    /// Sees a restart of the service through, and little more: it is gone after 35 s.
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(75),
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(10),
            tries_without_service: 6,
        }
    }
}

impl Patience {
    /// The wait before a try; tries count from 0.
    pub(crate) fn wait(&self, tries: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(tries);
        self.first_wait
            .saturating_mul(doubled)
            .min(self.longest_wait)
    }
}

/// Where to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Start {
    /// With what happens from now on.
    Now,
    /// With what comes behind this record or position.
    After(String),
    /// With the last events.
    Tail(u64),
}

/// The events of a conversation, over as many connections as it takes.
pub(crate) struct Follower<'a> {
    config: &'a ClientConfig,
    patience: Patience,
    conversation: String,
    name: String,
    start: Start,
    stream: Option<EventStream>,
    /// Where the last stream was.
    position: Option<Arc<str>>,
    /// How many tries in a row led to no event.
    tries: u32,
    /// How many of them found no service.
    without_service: u32,
}

impl<'a> Follower<'a> {
    /// Attaches. `name` tells the other clients who does.
    ///
    /// # Errors
    /// If there is no service, or it refuses.
    pub(crate) async fn attach(
        config: &'a ClientConfig,
        patience: Patience,
        conversation: &str,
        name: &str,
        start: Start,
    ) -> Result<Self, CommandError> {
        let mut follower = Self {
            config,
            patience,
            conversation: conversation.to_owned(),
            name: name.to_owned(),
            start,
            stream: None,
            position: None,
            tries: 0,
            without_service: 0,
        };
        follower.connect().await?;
        Ok(follower)
    }

    /// The next event. A break is mended unless it cannot be, and told. May be dropped and asked
    /// again: nothing is lost.
    ///
    /// # Errors
    /// If the service is gone for good or refuses.
    pub(crate) async fn next(&mut self, output: &mut Output) -> Result<Arrival, CommandError> {
        loop {
            let broken = match self.next_unmended().await {
                Ok(arrival) => return Ok(arrival),
                Err(error) => error,
            };
            if !self.may_try_again(&broken) {
                return Err(broken);
            }
            let wait = self.patience.wait(self.tries);
            output.note(&format!("harness: {broken}; attaching again in {wait:?}"));
            self.tries += 1;
            tokio::time::sleep(wait).await;
        }
    }

    /// The next event; a break is an error.
    ///
    /// # Errors
    /// If the stream ends, there is no service, or it refuses.
    pub(crate) async fn next_unmended(&mut self) -> Result<Arrival, CommandError> {
        if self.stream.is_none() {
            self.connect().await?;
        }
        let Some(stream) = &mut self.stream else {
            return Err(CommandError::Broken(super::stream::Break::Ended));
        };
        let next = stream.next().await;
        if let Some(position) = stream.position() {
            self.position = Some(Arc::clone(position));
        }
        match next {
            Ok(arrival) => {
                self.tries = 0;
                self.without_service = 0;
                Ok(arrival)
            }
            Err(broken) => {
                self.stream = None;
                Err(CommandError::Broken(broken))
            }
        }
    }

    async fn connect(&mut self) -> Result<(), CommandError> {
        // Each time anew: a service that was restarted may have another port.
        let connection: Connection = discovery::find(self.config).await?;
        let mut query = vec![("name", self.name.clone())];
        if self.position.is_none() {
            match &self.start {
                Start::Now => {}
                Start::After(place) => query.push(("after", place.clone())),
                Start::Tail(count) => query.push(("tail", count.to_string())),
            }
        }
        let events = path(&self.conversation, "/events");
        let answer = connection
            .open(&events, &query, self.position.as_deref())
            .await?;
        let silence = self.patience.silence;
        self.stream = Some(EventStream::new(answer, self.position.clone(), silence));
        Ok(())
    }

    fn may_try_again(&mut self, broken: &CommandError) -> bool {
        match broken {
            CommandError::Discovery(DiscoveryError::None { .. }) => {
                self.without_service += 1;
                self.without_service < self.patience.tries_without_service
            }
            CommandError::Discovery(error) => error.is_passing(),
            CommandError::Broken(_) => true,
            CommandError::Request(error) => error.is_passing(),
            _ => false,
        }
    }
}

#[cfg(test)]
#[path = "follower_tests.rs"]
mod tests;
