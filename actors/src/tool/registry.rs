//! The tools of a service, by name.

use std::sync::Arc;

use derive_more::{Display, Error};
use serde_json::{Value, json};

use super::Tool;

/// The tools that a model is offered, in a fixed order.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Arc<[Arc<dyn Tool>]>,
}

/// The name in the definition of a tool, in the API's format.
#[must_use]
pub fn defined_name(definition: &Value) -> &str {
    definition["name"].as_str().unwrap_or_default()
}

/// Why a set of tools cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
pub enum RegistryError {
    /// The API takes 1 to 64 letters, digits, `_` and `-`.
    #[display("the tool name {name:?} must be 1 to 64 letters, digits, _ or -")]
    BadName {
        /// The name.
        name: String,
    },
    /// Two tools have one name.
    #[display("the tool name {name:?} is used twice")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// The API takes only schemas of objects.
    #[display("the input schema of the tool {name:?} must have the type \"object\"")]
    BadSchema {
        /// The tool's name.
        name: String,
    },
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Registry {
    /// A registry of these tools.
    ///
    /// # Errors
    /// A name or schema that the API would refuse.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Result<Self, RegistryError> {
        for (index, tool) in tools.iter().enumerate() {
            let name = tool.name().to_owned();
            let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if !(1..=64).contains(&name.len()) || !name.chars().all(allowed) {
                return Err(RegistryError::BadName { name });
            }
            if tools[..index].iter().any(|other| other.name() == name) {
                return Err(RegistryError::Duplicate { name });
            }
            if tool.input_schema().get("type").and_then(Value::as_str) != Some("object") {
                return Err(RegistryError::BadSchema { name });
            }
        }
        Ok(Self {
            tools: tools.into(),
        })
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name).cloned()
    }

    /// The tools, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    /// The names of the tools, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name())
    }

    /// The tools whose names are wanted, in this registry's order.
    #[must_use]
    pub fn only(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let is_wanted = |tool: &&Arc<dyn Tool>| is_wanted(tool.name());
        Self {
            tools: self.tools.iter().filter(is_wanted).cloned().collect(),
        }
    }

    /// These tools, and behind them those of another registry whose names are not among them.
    #[must_use]
    pub(super) fn before(self, others: &Self) -> Self {
        if others.tools.is_empty() {
            return self;
        }
        let is_new = |tool: &&Arc<dyn Tool>| self.get(tool.name()).is_none();
        let new = others.tools.iter().filter(is_new);
        Self {
            tools: self.tools.iter().chain(new).cloned().collect(),
        }
    }

    /// Whether the tool of that name may only run alone.
    #[must_use]
    pub fn runs_alone(&self, name: &str) -> bool {
        let mut tools = self.tools.iter();
        tools.any(|tool| tool.name() == name && tool.runs_alone())
    }

    /// Whether the tool of that name changes nothing; also if there is none.
    #[must_use]
    pub fn is_harmless(&self, name: &str) -> bool {
        let mut tools = self.tools.iter();
        !tools.any(|tool| tool.name() == name && tool.has_effects())
    }

    /// The tools in the API's format.
    #[must_use]
    pub fn definitions(&self) -> Vec<Value> {
        let definition = |tool: &Arc<dyn Tool>| {
            json!({
                "name": tool.name(),
                "description": tool.description(),
                "input_schema": tool.input_schema(),
            })
        };
        self.tools.iter().map(definition).collect()
    }

    /// True if there is a tool of that name with long inputs.
    pub(crate) fn has_long_inputs(&self, name: &str) -> bool {
        let mut tools = self.tools.iter();
        tools.any(|tool| tool.name() == name && tool.has_long_inputs())
    }
}

/// Tools of these names that return nothing, each with whether it has effects and runs alone.
#[cfg(test)]
pub(crate) fn tools(tools: &[(&'static str, bool, bool)]) -> Registry {
    struct Nothing(&'static str, bool, bool);

    impl Tool for Nothing {
        fn name(&self) -> &str {
            self.0
        }

        fn description(&self) -> &'static str {
            "d"
        }

        fn input_schema(&self) -> Value {
            json!({"type": "object"})
        }

        fn has_effects(&self) -> bool {
            self.1
        }

        fn runs_alone(&self) -> bool {
            self.2
        }

        fn execute(
            &self,
            _: crate::reply::Object,
            _: super::Cancellation,
        ) -> super::ToolFuture<'_> {
            Box::pin(async { Ok(String::new()) })
        }
    }

    let tool = |tool: &(&'static str, bool, bool)| {
        Arc::new(Nothing(tool.0, tool.1, tool.2)) as Arc<dyn Tool>
    };
    let tools = tools.iter().map(tool).collect();
    Registry::new(tools).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{Cancellation, ToolFuture};
    use super::*;
    use crate::reply::Object;

    struct Named(&'static str, Value);

    impl Tool for Named {
        fn name(&self) -> &str {
            self.0
        }

        fn description(&self) -> &'static str {
            "d"
        }

        fn input_schema(&self) -> Value {
            self.1.clone()
        }

        fn execute(&self, _: Object, _: Cancellation) -> ToolFuture<'_> {
            Box::pin(async { Ok(String::new()) })
        }
    }

    fn registry(names: &[&'static str], schema: &Value) -> Result<Registry, RegistryError> {
        let tool = |name: &&'static str| Arc::new(Named(name, schema.clone())) as Arc<dyn Tool>;
        Registry::new(names.iter().map(tool).collect())
    }

    /// Spec: [TOOL-02]
    #[test]
    fn only_what_the_api_takes_is_registered() {
        let object = json!({"type": "object"});
        assert!(registry(&["read", "list_dir", "a-B_9"], &object).is_ok());
        for bad in ["", "a b", "é", "x.y"] {
            let name = bad.to_owned();
            let refused = registry(&[bad], &object).err();
            assert_eq!(refused, Some(RegistryError::BadName { name }));
        }
        let twice = registry(&["a", "b", "a"], &object).err();
        let name = "a".to_owned();
        assert_eq!(twice, Some(RegistryError::Duplicate { name: name.clone() }));
        let refused = registry(&["a"], &json!({"type": "string"})).err();
        assert_eq!(refused, Some(RegistryError::BadSchema { name }));
    }

    /// Spec: [TOOL-01]
    #[test]
    fn definitions_are_in_the_api_format_and_in_order() {
        let schema = json!({"type": "object"});
        let registry = registry(&["b", "a"], &schema).unwrap();
        let definition = |name| json!({"name": name, "description": "d", "input_schema": schema});
        assert_eq!(registry.definitions(), [definition("b"), definition("a")]);
    }
}
