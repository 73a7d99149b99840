//! The abilities of a model, for a conversation that asks.

use std::sync::Arc;
use std::time::Duration;

use super::call::{Successors, model_to_ask, still_served};
use super::catalog::Catalog;
use super::client::ApiClient;
use super::live_models::successor;
use super::messages::{DescribeModel, ModelEvent};
use super::{ModelError, ModelInfo};
use crate::limit::within;

/// Time limit for an answer that a conversation waits for.
const LIMIT: Duration = Duration::from_secs(5);

/// The answer to an order. That nothing is known is an answer too.
pub(super) async fn described(
    order: DescribeModel,
    client: ApiClient,
    catalog: Catalog,
    successors: Successors,
) -> ModelEvent {
    let found = look_up(&order, client, catalog, successors);
    let info = match within(LIMIT, found).await {
        Some(Ok(info)) => info,
        Some(Err(error)) => {
            log::warn!("nothing is known of the model {}: {error}", order.model.id);
            None
        }
        None => {
            log::warn!("nothing of the model {} within {LIMIT:?}", order.model.id);
            None
        }
    };
    ModelEvent::Described {
        call_id: order.call_id,
        info,
    }
}

async fn look_up(
    order: &DescribeModel,
    client: ApiClient,
    catalog: Catalog,
    successors: Successors,
) -> Result<Option<Arc<ModelInfo>>, ModelError> {
    let source = order.key_source.as_ref();
    let client = client.for_call(source.map(|source| &**source)).await?;
    let model = model_to_ask(&order.model, &successors);
    let found = catalog.model(&client, source, &model).await?;
    let is_served = |info: &Arc<ModelInfo>| !info.is_retired();
    if order.model.chosen || found.as_ref().is_some_and(is_served) {
        return Ok(found);
    }
    // The first call will find that this default is retired, and ask this one instead.
    let listed = catalog.list(&client, source).await?;
    let served = still_served(&listed, &successors);
    Ok(successor(&model, served).cloned())
}
