//! A server's properties and those of its model, besides the list of models.
//!
//! Source: `GET /props` of llama.cpp's server.

use std::sync::Arc;

use serde_json::Value;

use super::client::ApiClient;
use super::live_models::{Models, get, is_path_part};
use super::{ModelError, ModelInfo};

/// The window of the model that the server runs, and its support for images. Empty if the server does not report them,
/// which is not a failure.
pub(super) async fn properties(client: ApiClient, model: Arc<str>) -> Result<Models, ModelError> {
    if !is_path_part(&model) {
        return Ok(Models::default());
    }
    match get(&client, &format!("/props?model={model}")).await {
        Ok(properties) => Ok(read(&model, &properties)
            .map(Arc::new)
            .into_iter()
            .collect()),
        Err(error) => {
            log::debug!("the server tells no properties: {error}");
            Ok(Models::default())
        }
    }
}

fn read(model: &str, properties: &Value) -> Option<ModelInfo> {
    let settings = properties.get("default_generation_settings")?;
    let window = settings.get("n_ctx").and_then(Value::as_u64);
    let mut info = ModelInfo::nothing_of(model);
    info.max_input_tokens = window.filter(|window| *window > 0);
    let sees = properties
        .get("modalities")
        .and_then(|can| can.get("vision"));
    info.capabilities.image_input.supported = sees.and_then(Value::as_bool);
    Some(info)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Spec: [MODEL-59]
    #[test]
    fn properties_are_read_as_far_as_they_make_sense() {
        let read = |properties: Value| {
            let info = read("m", &properties)?;
            Some((
                info.max_input_tokens,
                info.capabilities.image_input.supported,
            ))
        };
        let settings = json!({"id": 0, "n_ctx": 6144, "params": {"n_predict": -1}});
        let whole = json!({
            "default_generation_settings": settings, "total_slots": 1,
            "modalities": {"vision": false, "audio": false},
        });
        assert_eq!(read(whole), Some((Some(6144), Some(false))));
        let old = json!({"default_generation_settings": settings});
        assert_eq!(read(old), Some((Some(6144), None)));
        for odd in [
            json!({"default_generation_settings": {"n_ctx": "many"}}),
            json!({"default_generation_settings": {"n_ctx": 0}, "modalities": 7}),
            json!({"default_generation_settings": null}),
        ] {
            assert_eq!(read(odd), Some((None, None)));
        }
        for none in [json!({"error": "no such path"}), json!([]), json!(null)] {
            assert_eq!(read(none), None);
        }
    }
}
