//! The changes that a changed file makes in a workflow, for the person who applies it.

use std::collections::BTreeMap;

use derive_more::Display;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::manifest::{Check, Feature, Manifest};

/// One thing that would change.
#[derive(Debug, Clone, PartialEq, Eq, Display, Serialize, Deserialize)]
#[display("{line}")]
pub struct ProposedChange {
    /// The subject.
    pub about: Changed,
    /// It, on one line.
    pub line: String,
}

/// The subject of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Changed {
    /// A feature that there was not.
    FeatureAdded {
        /// Its name.
        feature: String,
    },
    /// A feature that the new file lacks; applied only when that is allowed.
    FeatureRemoved {
        /// Its name.
        feature: String,
    },
    /// A changed feature.
    FeatureChanged {
        /// Its name.
        feature: String,
        /// True if its checks changed: then it fails until they accept it again.
        fails_again: bool,
    },
    /// Any other part of the file.
    SectionChanged {
        /// Its name in the file.
        section: String,
    },
}

impl ProposedChange {
    /// The feature that has to be accepted again, if the change is of one.
    #[must_use]
    pub fn fails_again(&self) -> Option<&str> {
        match &self.about {
            Changed::FeatureChanged {
                feature,
                fails_again: true,
            } => Some(feature),
            Changed::FeatureChanged {
                fails_again: false, ..
            }
            | Changed::FeatureAdded { .. }
            | Changed::FeatureRemoved { .. }
            | Changed::SectionChanged { .. } => None,
        }
    }

    /// True if it removes a feature.
    #[must_use]
    pub fn removes(&self) -> bool {
        matches!(self.about, Changed::FeatureRemoved { .. })
    }
}

/// The changes from one manifest to the other: the features first, then the rest of the file.
#[must_use]
pub fn manifest_diff(old: &Manifest, new: &Manifest) -> Vec<ProposedChange> {
    let mut changes = features(&old.features, &new.features);
    let order = |features: &[Feature], others: &[Feature]| -> Vec<String> {
        let in_both = features
            .iter()
            .filter(|one| named(others, &one.id).is_some());
        in_both.map(|feature| feature.id.clone()).collect()
    };
    let orders = [
        order(&old.features, &new.features),
        order(&new.features, &old.features),
    ];
    if orders[0] != orders[1] {
        changes.push(section(
            "feature",
            &format!("the order is {}", orders[1].join(", ")),
        ));
    }
    for (name, old, new) in [
        ("health", &old.health, &new.health),
        ("check", &old.checks, &new.checks),
    ] {
        changes.extend(checks(old, new).iter().map(|said| section(name, said)));
    }
    for ((name, old), (_, new)) in tables(old).into_iter().zip(tables(new)) {
        changes.extend(
            differences(&old, &new)
                .iter()
                .map(|said| section(name, said)),
        );
    }
    changes
}

fn section(name: &str, said: &str) -> ProposedChange {
    ProposedChange {
        line: format!("{name}: {said}"),
        about: Changed::SectionChanged {
            section: name.to_owned(),
        },
    }
}

fn named<'a>(features: &'a [Feature], id: &str) -> Option<&'a Feature> {
    features.iter().find(|feature| feature.id == id)
}

fn features(old: &[Feature], new: &[Feature]) -> Vec<ProposedChange> {
    let mut changes = Vec::new();
    for feature in new {
        let name = feature.id.clone();
        match named(old, &feature.id) {
            None => changes.push(ProposedChange {
                line: format!(
                    "feature {name} is new: {}",
                    value_text(&json!(feature.description))
                ),
                about: Changed::FeatureAdded { feature: name },
            }),
            Some(before) => changes.extend(feature_change(before, feature)),
        }
    }
    let gone = old
        .iter()
        .filter(|feature| named(new, &feature.id).is_none());
    changes.extend(gone.map(|feature| ProposedChange {
        line: format!("feature {} is removed", feature.id),
        about: Changed::FeatureRemoved {
            feature: feature.id.clone(),
        },
    }));
    changes
}

fn feature_change(old: &Feature, new: &Feature) -> Option<ProposedChange> {
    if old == new {
        return None;
    }
    let without_checks = |feature: &Feature| {
        let mut feature = value(feature);
        feature["checks"].take();
        feature
    };
    let mut said = differences(&without_checks(old), &without_checks(new));
    let of_checks = checks(&old.checks, &new.checks);
    let fails_again = !of_checks.is_empty();
    said.extend(of_checks);
    if fails_again {
        said.push("it fails until it is accepted again".to_owned());
    }
    if said.is_empty() {
        said.push("its checks have another order".to_owned());
    }
    let feature = new.id.clone();
    Some(ProposedChange {
        line: format!("feature {feature}: {}", said.join("; ")),
        about: Changed::FeatureChanged {
            feature,
            fails_again,
        },
    })
}

/// The differences between two lists of checks; their order counts for nothing.
fn checks(old: &[Check], new: &[Check]) -> Vec<String> {
    let by_id = |checks: &[Check]| -> BTreeMap<String, Value> {
        let checks = checks.iter().map(|check| (check.id.clone(), value(check)));
        checks.collect()
    };
    let (before, after) = (by_id(old), by_id(new));
    let mut said = Vec::new();
    for (id, check) in &after {
        match before.get(id) {
            None => said.push(format!("check {id} is new: {}", command(check))),
            Some(old) => {
                let changes = differences(old, check);
                said.extend(changes.iter().map(|change| format!("check {id}: {change}")));
            }
        }
    }
    let gone = before.keys().filter(|id| !after.contains_key(*id));
    said.extend(gone.map(|id| format!("check {id} is removed")));
    said
}

/// The command of a check.
fn command(check: &Value) -> String {
    let programs = ["cmd", "shell"].into_iter();
    let mut given =
        programs.filter_map(|key| Some(format!("{key} {}", value_text(check.get(key)?))));
    given
        .next()
        .unwrap_or_else(|| "a person makes it".to_owned())
}

/// The parts of a manifest that are neither features nor checks, by their names in the file.
fn tables(manifest: &Manifest) -> [(&'static str, Value); 10] {
    [
        (
            "workflow",
            json!({"objective": manifest.objective, "mode": manifest.mode}),
        ),
        ("workspace", value(&manifest.workspace)),
        ("protect", value(&manifest.protect)),
        ("policy", value(&manifest.policy)),
        ("budget", value(&manifest.budget)),
        ("permissions", value(&manifest.permissions)),
        ("verify", json!({"where": manifest.verify})),
        ("gates", value(&manifest.gates)),
        ("schedule", value(&manifest.schedule)),
        ("notify", value(&manifest.notify)),
    ]
}

/// The differences between two tables, a key each.
fn differences(old: &Value, new: &Value) -> Vec<String> {
    let nothing = serde_json::Map::new();
    let (old, new) = (
        old.as_object().unwrap_or(&nothing),
        new.as_object().unwrap_or(&nothing),
    );
    let added = new.keys().filter(|key| !old.contains_key(*key));
    let keys = old.keys().chain(added);
    let told = |key: &String| {
        let [before, after] = [old, new].map(|table| table.get(key).unwrap_or(&Value::Null));
        (before != after).then(|| format!("{key} {} -> {}", value_text(before), value_text(after)))
    };
    keys.filter_map(told).collect()
}

/// All of a value, on one line: who applies it has to see what runs.
fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => value.to_string(),
    }
}

/// A part as JSON. Nothing in a manifest cannot be JSON.
fn value(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap_or_default()
}

#[cfg(test)]
#[path = "proposal_tests.rs"]
mod tests;
