//! The way of the attached client's orders to the service, and of the answers back.

use std::cell::RefCell;

use harness_tui::News;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;

use crate::client::api::connection::ServiceConnection;
use crate::client::api::discovery;
use crate::client::api::error::ApiError;
use crate::client::api::route::Route;
use crate::client::attach::pace::LinkTimeouts;
use crate::client::attach::service_news;
use crate::client::remarks;
use crate::config::ClientConfig;

/// The way to the service, and to the client.
pub(super) struct Contact {
    pub(super) config: ClientConfig,
    /// The name of this client for the other clients.
    pub(super) name: String,
    pub(super) pace: LinkTimeouts,
    pub(super) news: Sender<News>,
    /// The epoch of the service that the client was notified of last.
    pub(super) told_epoch: RefCell<Option<String>>,
}

impl Contact {
    /// The name, as orders have it.
    pub(super) fn by(&self) -> Option<String> {
        Some(self.name.clone())
    }

    /// Sends news to the client, as soon as it takes more. A client that has left needs none.
    pub(super) async fn tell(&self, news: News) {
        if self.news.send(news).await.is_err() {
            log::debug!("the client has left");
        }
    }

    /// Tells the client what it is attached to, once for each life of the service.
    pub(super) async fn tell_service(&self, connection: &ServiceConnection) {
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

    /// Sends a request to the service, which is found again each time: a restarted one may have another port.
    ///
    /// # Errors
    /// If there is no usable answer; an order may have been carried out.
    pub(super) async fn ask<A: DeserializeOwned>(&self, route: &Route<A>) -> Result<A, ApiError> {
        let connection = discovery::find(&self.config).await?;
        Ok(connection.ask(route).await?)
    }

    /// Asks the service for a text, as [`Self::ask`] does.
    ///
    /// # Errors
    /// If there is no usable answer.
    pub(super) async fn text(&self, route: &Route<String>) -> Result<String, ApiError> {
        let connection = discovery::find(&self.config).await?;
        Ok(connection.text(route).await?)
    }
}
