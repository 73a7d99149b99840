//! The models that there are to choose from.

use actix_web::{HttpResponse, web};
use harness_actors::model::ModelInfo;
use harness_actors::model::messages::ListModels;
use harness_protocol::{ModelEntry, ModelList, ThinkingLevel};

use super::problem::{HandlerResult, Kind};
use super::shared::{HANDLER_TIMEOUT, HttpShared};

/// The models that the API lists.
pub(super) async fn list(shared: web::Data<HttpShared>) -> HandlerResult {
    let asked = tokio::time::timeout(HANDLER_TIMEOUT, shared.models.send(ListModels)).await;
    let refuse = |reason: &dyn ToString| Kind::NoModels.refuse(reason.to_string());
    let asked = asked.map_err(|_| refuse(&"the API did not answer in time"))?;
    let listed = asked.map_err(|error| Kind::Overloaded.refuse(error.to_string()))?;
    let listed = listed.map_err(|error| refuse(&error))?;
    Ok(HttpResponse::Ok().json(ModelList {
        models: listed.iter().map(|info| entry(info)).collect(),
    }))
}

fn entry(info: &ModelInfo) -> ModelEntry {
    ModelEntry {
        id: info.id.clone(),
        display_name: info.display_name.clone(),
        lifecycle: info.lifecycle.clone(),
        retires_at: info.retires_at.clone(),
        max_input_tokens: info.max_input_tokens,
        max_tokens: info.max_tokens,
        thinking: levels(info),
    }
}

/// The levels of thinking that the API reports of a model.
fn levels(info: &ModelInfo) -> Vec<ThinkingLevel> {
    use ThinkingLevel::{High, Low, Max, Medium, Minimal, Off, XHigh};

    let thinking = &info.capabilities.thinking;
    if thinking.supported == Some(false) {
        return Vec::new();
    }
    let effort = &info.capabilities.effort;
    let efforts = [
        (Low, effort.low),
        (Medium, effort.medium),
        (High, effort.high),
        (XHigh, effort.xhigh),
        (Max, effort.max),
    ];
    let known = efforts
        .into_iter()
        .filter(|(_, effort)| effort.supported == Some(true));
    let known: Vec<ThinkingLevel> = known.map(|(level, _)| level).collect();
    let is_told_tokens = thinking.types.enabled.supported == Some(true);
    if known.is_empty() && is_told_tokens {
        return vec![Off, Minimal, Low, Medium, High];
    }
    known
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shown(capabilities: &Value) -> Value {
        let info = json!({"id": "m", "display_name": "M", "created_at": "2026-01-01T00:00:00Z",
            "max_input_tokens": 1000, "capabilities": capabilities});
        let info: ModelInfo = serde_json::from_value(info).unwrap();
        serde_json::to_value(entry(&info)).unwrap()
    }

    /// Spec: [HTTP-72] [HTTP-106]
    #[test]
    fn a_model_is_shown_with_what_the_api_reports_of_it() {
        let yes = json!({"supported": true});
        let known = json!({"id": "m", "display_name": "M", "max_input_tokens": 1000});
        assert_eq!(shown(&json!({})), known);
        let efforts = json!({"effort": {"supported": true, "low": yes, "xhigh": yes,
            "max": {"supported": false}}});
        assert_eq!(shown(&efforts)["thinking"], json!(["low", "xhigh"]));
        let budget = json!({"thinking": {"supported": true, "types": {"enabled": yes}}});
        let levels = json!(["off", "minimal", "low", "medium", "high"]);
        assert_eq!(shown(&budget)["thinking"], levels);
        let retired = json!({"id": "m", "lifecycle": "retired"});
        let info: ModelInfo = serde_json::from_value(retired.clone()).unwrap();
        assert_eq!(serde_json::to_value(entry(&info)).unwrap(), retired);
        let never = json!({"thinking": {"supported": false}, "effort": {"low": yes}});
        assert_eq!(shown(&never), known);
    }
}
