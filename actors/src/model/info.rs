//! The abilities of a model, as the API lists them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The abilities of a model, from `GET /v1/models`. A missing field is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The model.
    pub id: String,
    /// The name to show to people.
    #[serde(default, deserialize_with = "lenient")]
    pub display_name: String,
    /// Time of release, as RFC 3339, so that the order of the texts is that of the times.
    #[serde(default, deserialize_with = "lenient")]
    pub created_at: String,
    /// Stage of its life, in the API's word: `active`, `deprecated` or `retired`.
    #[serde(default, deserialize_with = "lenient")]
    pub lifecycle: Option<String>,
    /// The time at which the API ends to serve it, as RFC 3339.
    #[serde(default, deserialize_with = "lenient")]
    pub retires_at: Option<String>,
    /// Maximum size of a request, in tokens.
    #[serde(default, deserialize_with = "lenient")]
    pub max_input_tokens: Option<u64>,
    /// Maximum size of a reply, in tokens.
    #[serde(default, deserialize_with = "lenient")]
    pub max_tokens: Option<u64>,
    /// The models that the API may ask where this one declines. `None` if it does not say.
    #[serde(default, deserialize_with = "lenient")]
    pub allowed_fallback_models: Option<Vec<String>>,
    /// Further abilities.
    #[serde(default, deserialize_with = "lenient")]
    pub capabilities: ModelCapabilities,
}

/// The abilities of a model besides reading and writing text.
///
/// Source: `ModelCapabilities` of the official SDKs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelCapabilities {
    /// Support for a request with the effort that a reply is worth.
    #[serde(default, deserialize_with = "lenient")]
    pub effort: EffortSupport,
    /// Support for thinking.
    #[serde(default, deserialize_with = "lenient")]
    pub thinking: ThinkingSupport,
    /// Support for images.
    #[serde(default, deserialize_with = "lenient")]
    pub image_input: Support,
    /// Support for PDF files.
    #[serde(default, deserialize_with = "lenient")]
    pub pdf_input: Support,
}

/// Support of a model for a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Support {
    /// True if the model supports it. `None` if the API does not say.
    #[serde(default, deserialize_with = "lenient")]
    pub supported: Option<bool>,
}

/// Support for levels of effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EffortSupport {
    /// True if the model knows any level. `None` if the API does not say.
    #[serde(default, deserialize_with = "lenient")]
    pub supported: Option<bool>,
    /// `low`
    #[serde(default, deserialize_with = "lenient")]
    pub low: Support,
    /// `medium`
    #[serde(default, deserialize_with = "lenient")]
    pub medium: Support,
    /// `high`
    #[serde(default, deserialize_with = "lenient")]
    pub high: Support,
    /// `xhigh`
    #[serde(default, deserialize_with = "lenient")]
    pub xhigh: Support,
    /// `max`
    #[serde(default, deserialize_with = "lenient")]
    pub max: Support,
}

/// Support for thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThinkingSupport {
    /// True if the model thinks. `None` if the API does not say.
    #[serde(default, deserialize_with = "lenient")]
    pub supported: Option<bool>,
    /// In which ways.
    #[serde(default, deserialize_with = "lenient")]
    pub types: ThinkingTypes,
}

/// The ways of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThinkingTypes {
    /// As much as the model finds right.
    #[serde(default, deserialize_with = "lenient")]
    pub adaptive: Support,
    /// Thinking with a number of tokens that the request sets.
    #[serde(default, deserialize_with = "lenient")]
    pub enabled: Support,
}

impl ModelInfo {
    /// True if the API lists it and no longer serves it.
    #[must_use]
    pub fn is_retired(&self) -> bool {
        self.lifecycle.as_deref() == Some("retired")
    }

    /// Number of days until the API ends to serve it, counted from a day since the Unix epoch. `None` if it does not say.
    pub(super) fn days_left(&self, today: i64) -> Option<i64> {
        let last = day_of(self.retires_at.as_deref()?)?;
        last.checked_sub(today)
    }

    /// A model without any description.
    pub(super) fn nothing_of(model: &str) -> Self {
        Self {
            id: model.to_owned(),
            ..Self::default()
        }
    }

    /// The same, completed by the server's properties where the list has none.
    pub(super) fn completed(&self, server: &Self) -> Self {
        let mut info = self.clone();
        info.max_input_tokens = info.max_input_tokens.or(server.max_input_tokens);
        let images = &mut info.capabilities.image_input.supported;
        *images = images.or(server.capabilities.image_input.supported);
        info
    }

    /// The same, with a window that is not larger than this.
    pub(super) fn within(&self, window: u64) -> Self {
        let known = self.max_input_tokens;
        Self {
            max_input_tokens: Some(known.map_or(window, |known| known.min(window))),
            ..self.clone()
        }
    }
}

/// The day of a time in RFC 3339, since the Unix epoch. The years are counted from March, so that the day that some have
/// more is their last (Howard Hinnant's algorithm).
fn day_of(time: &str) -> Option<i64> {
    let mut numbers = time.get(..10)?.split('-').map(str::parse::<i64>);
    let mut next = || numbers.next()?.ok();
    let (year, month, day) = (next()?, next()?, next()?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some(era * 146_097 + days - 719_468)
}

/// Reads a value, and takes an unexpected one for missing: the rest of a model's description must not be lost for one
/// field.
fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Spec: [MODEL-775]
    #[test]
    fn the_days_until_a_model_is_no_longer_served_are_counted() {
        for (time, left) in [
            // date -u -d DATE +%s, by 86400
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T23:59:59Z", Some(11_016)),
            ("2000-03-01", Some(11_017)),
            ("2026-11-30T12:00:00+02:00", Some(20_787)),
            ("2100-03-01T00:00:00Z", Some(47_541)),
            ("2026-13-01T00:00:00Z", None),
            ("2026-11-00T00:00:00Z", None),
            ("soon", None),
            ("", None),
        ] {
            let info = ModelInfo {
                retires_at: Some(time.to_owned()),
                ..ModelInfo::default()
            };
            assert_eq!(info.days_left(0), left, "{time}");
            assert_eq!(info.days_left(100), left.map(|left| left - 100), "{time}");
        }
        assert_eq!(ModelInfo::default().days_left(0), None);
    }

    /// Spec: [MODEL-35]
    #[test]
    fn what_the_api_says_is_read_as_far_as_it_makes_sense() {
        let whole = json!({
            "type": "model", "id": "m", "display_name": "M", "created_at": "2026-10-07T00:00:00Z",
            "lifecycle": "deprecated", "retires_at": "2026-11-30T00:00:00Z", "max_input_tokens": 1_000_000, "max_tokens": 128_000,
            "allowed_fallback_models": ["n"],
            "capabilities": {
                "batch": {"supported": true},
                "effort": {
                    "supported": true, "low": {"supported": true}, "medium": {"supported": true},
                    "high": {"supported": true}, "xhigh": null, "max": {"supported": false},
                },
                "thinking": {
                    "supported": true,
                    "types": {"adaptive": {"supported": true}, "enabled": {"supported": false}},
                },
                "image_input": {"supported": true}, "pdf_input": {"supported": false},
                "context_management": null,
            },
        });
        let info: ModelInfo = serde_json::from_value(whole).unwrap();
        let yes = Support {
            supported: Some(true),
        };
        let no = Support {
            supported: Some(false),
        };
        assert_eq!(
            info,
            ModelInfo {
                id: "m".to_owned(),
                display_name: "M".to_owned(),
                created_at: "2026-10-07T00:00:00Z".to_owned(),
                lifecycle: Some("deprecated".to_owned()),
                retires_at: Some("2026-11-30T00:00:00Z".to_owned()),
                max_input_tokens: Some(1_000_000),
                max_tokens: Some(128_000),
                allowed_fallback_models: Some(vec!["n".to_owned()]),
                capabilities: ModelCapabilities {
                    effort: EffortSupport {
                        supported: Some(true),
                        low: yes,
                        medium: yes,
                        high: yes,
                        xhigh: Support::default(),
                        max: no,
                    },
                    thinking: ThinkingSupport {
                        supported: Some(true),
                        types: ThinkingTypes {
                            adaptive: yes,
                            enabled: no
                        },
                    },
                    image_input: yes,
                    pdf_input: no,
                },
            }
        );

        let odd = json!({
            "id": "m", "display_name": null, "created_at": 7, "lifecycle": 1, "max_tokens": -1,
            "max_input_tokens": 200_000, "capabilities": {"thinking": [], "pdf_input": {}},
        });
        let info: ModelInfo = serde_json::from_value(odd).unwrap();
        let bare = ModelInfo {
            id: "m".to_owned(),
            ..ModelInfo::default()
        };
        assert_eq!(
            info,
            ModelInfo {
                max_input_tokens: Some(200_000),
                ..bare.clone()
            }
        );
        for odd in [json!({"id": "m"}), json!({"id": "m", "capabilities": null})] {
            assert_eq!(serde_json::from_value::<ModelInfo>(odd).unwrap(), bare);
        }
        assert!(serde_json::from_value::<ModelInfo>(json!({"id": 1})).is_err());
    }
}
