//! Another way to the model than the HTTP client.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::{Credential, ModelError, ModelInfo};

/// One request, as a [`Transport`] is given it.
#[derive(Debug, Clone)]
pub struct TransportRequest {
    /// The model that is asked; the body names it too.
    pub model: Arc<str>,
    /// The key or token of this call.
    pub credential: Credential,
    /// The JSON document that `POST /v1/messages` takes.
    pub body: Bytes,
}

/// The server-sent events of a reply, in chunks of any size.
pub type TransportStream = BoxStream<'static, Result<Bytes, ModelError>>;

/// Takes requests to the model in place of the HTTP client: to another service, through another library, or to a script
/// in a test. The decoding of replies and the rules for further attempts stay the same.
///
/// ```
/// # use actix::prelude::*;
/// use bytes::Bytes;
/// use futures_util::future::BoxFuture;
/// use futures_util::{FutureExt, StreamExt, future, stream};
/// use harness_actors::model::{
///     ModelActor, ModelError, ModelExtensions, Transport, TransportRequest, TransportStream,
/// };
/// # use harness_actors::model::messages::{ModelEvent, StartModelCall};
/// # use harness_actors::model::{
/// #     Credential, HeadSettings, ModelChoice, ModelSettings, RequestPiece, RequestHead,
/// # };
/// # use harness_actors::{CallId, Clock, ConversationId};
///
/// /// Replies to everything with the same word.
/// struct Scripted;
///
/// impl Transport for Scripted {
///     fn send(
///         &self,
///         _: TransportRequest,
///     ) -> BoxFuture<'static, Result<TransportStream, ModelError>> {
///         let events = [
///             r#"{"type":"message_start","message":{"model":"scripted","usage":{}}}"#,
///             r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
///             r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#,
///             r#"{"type":"content_block_stop","index":0}"#,
///             r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}"#,
///             r#"{"type":"message_stop"}"#,
///         ];
///         let chunks = events.map(|event| Ok(Bytes::from(format!("data: {event}\n\n"))));
///         future::ready(Ok(stream::iter(chunks).boxed())).boxed()
///     }
/// }
///
/// # struct Listener(tokio::sync::mpsc::UnboundedSender<ModelEvent>);
/// # impl Actor for Listener {
/// #     type Context = Context<Self>;
/// # }
/// # impl Handler<ModelEvent> for Listener {
/// #     type Result = ();
/// #     fn handle(&mut self, event: ModelEvent, _: &mut Context<Self>) {
/// #         self.0.send(event).unwrap();
/// #     }
/// # }
/// # System::new().block_on(async {
/// # let settings = ModelSettings::new(Credential::ApiKey("key".into()));
/// # let model = ModelChoice { id: "scripted".into(), chosen: true };
/// # let message = r#"{"role":"user","content":"Hello"}"#;
/// # let request = RequestHead::new(HeadSettings::plain(model, 9))
/// #     .request(vec![RequestPiece::Json(message.into())], false);
/// # let call_id = CallId { conversation: ConversationId::new("c"), number: 1 };
/// # let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
/// # let reply_to = Listener(sender).start().recipient();
/// let extensions = ModelExtensions::default().with_transport(Scripted);
/// let model = ModelActor::with_extensions(settings, Clock::system(), extensions).start();
/// model.send(StartModelCall { call_id, request, reply_to, spending: None }).await.unwrap();
/// let Some(ModelEvent::Delta { text, .. }) = events.recv().await else {
///     panic!("the reply begins with its text");
/// };
/// assert_eq!(text, "Hi");
/// # });
/// ```
pub trait Transport: Send + Sync + 'static {
    /// Sends a request. The result comes when the reply begins; dropping the future or the stream
    /// gives the request up.
    ///
    /// # Errors
    /// When the request gets no reply. [`ModelError::Connection`] and [`ModelError::Api`] with statuses like 429 and
    /// 529 are tried again.
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'static, Result<TransportStream, ModelError>>;

    /// The models that can be asked here, as `GET /v1/models` would list them. By default nothing
    /// is known of any model.
    ///
    /// # Errors
    /// When the list cannot be had.
    fn models(&self) -> BoxFuture<'static, Result<Vec<ModelInfo>, ModelError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
