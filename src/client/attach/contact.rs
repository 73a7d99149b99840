//! What every errand of the link needs: the way to the service, and to the client.

use std::cell::RefCell;
use std::time::Duration;

use harness_tui::News;
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;

use crate::client::api::connection::Connection;
use crate::client::api::connection::Query;
use crate::client::api::discovery;
use crate::client::attach::pace::Pace;
use crate::client::attach::service_news;
use crate::client::commands::CommandError;
use crate::client::remarks;
use crate::config::ClientConfig;

/// The way to the service, and to the client.
pub(super) struct Contact {
    pub(super) config: ClientConfig,
    /// How the other clients see this one.
    pub(super) name: String,
    pub(super) pace: Pace,
    pub(super) news: Sender<News>,
    /// The life of the service that the client was told of last.
    pub(super) told_epoch: RefCell<Option<String>>,
}

impl Contact {
    /// Tells the client, as soon as it takes more. One that has left need not know.
    pub(super) async fn tell(&self, news: News) {
        if self.news.send(news).await.is_err() {
            log::debug!("the client has left");
        }
    }

    /// Tells the client what it is attached to, once for each life of the service.
    pub(super) async fn tell_service(&self, connection: &Connection) {
        let Some(info) = connection.info() else {
            return;
        };
        let epoch = Some(info.epoch.clone());
        if self.told_epoch.replace(epoch.clone()) != epoch {
            let remarks = remarks::of_process(&self.config.home, connection);
            let service = service_news::service(info, remarks);
            self.tell(News::Service(Box::new(service))).await;
        }
    }

    /// The service, found anew each time: one that was restarted may have another port.
    ///
    /// # Errors
    /// If there is none.
    pub(super) async fn find(&self) -> Result<Connection, CommandError> {
        Ok(discovery::find(&self.config).await?)
    }

    /// Asks for something.
    ///
    /// # Errors
    /// If it cannot be had.
    pub(super) async fn get<A: DeserializeOwned>(
        &self,
        path: &str,
        query: &Query<'_>,
    ) -> Result<A, CommandError> {
        Ok(self.find().await?.get(path, query).await?)
    }

    /// Gives an order.
    ///
    /// # Errors
    /// If there is no answer of use; the order may have been carried out.
    pub(super) async fn order<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<A, CommandError> {
        Ok(self.find().await?.order(method, path, body).await?)
    }

    /// As [`Self::order`], of what takes longer than others; the answer is waited for that long.
    ///
    /// # Errors
    /// If there is no answer of use; the order may have been carried out.
    pub(super) async fn long_order<A: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<A, CommandError> {
        let connection = self.find().await?;
        Ok(connection.long_order(path, body, limit).await?)
    }
}
