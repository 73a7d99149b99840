//! The tools that there are: they come and go while the service runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::{Registry, RegistryError, Tool};

/// The tools of a service: read by conversations, changed by those who bring tools. Clones share it.
///
/// A call looks its tool up here when it runs. What a conversation is offered does not follow: it keeps
/// the list of its first request until an operator renews it.
#[derive(Debug, Clone, Default)]
pub struct ToolShelf(Arc<RwLock<Registry>>);

impl ToolShelf {
    /// The tools that are there now.
    #[must_use]
    pub fn get(&self) -> Registry {
        let registry = self.0.read().unwrap_or_else(PoisonError::into_inner);
        registry.clone()
    }

    /// Puts other tools in the place of all.
    pub fn set(&self, tools: Registry) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = tools;
    }

    /// Adds a tool behind the others, or puts it in the place of the one of its name.
    ///
    /// # Errors
    /// A name or schema that the API would refuse changes nothing.
    pub fn put(&self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        let mut registry = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut tools: Vec<Arc<dyn Tool>> = registry.iter().cloned().collect();
        match tools.iter_mut().find(|other| other.name() == tool.name()) {
            Some(other) => *other = tool,
            None => tools.push(tool),
        }
        *registry = Registry::new(tools)?;
        Ok(())
    }

    /// Takes a tool away; false if there is none of that name.
    pub fn remove(&self, name: &str) -> bool {
        let mut registry = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let had = registry.get(name).is_some();
        *registry = registry.only(|other| other != name);
        had
    }
}

impl From<Registry> for ToolShelf {
    fn from(tools: Registry) -> Self {
        Self(Arc::new(RwLock::new(tools)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tools;
    use super::*;

    /// Spec: [TOOL-51]
    #[test]
    fn tools_come_and_go() {
        let shelf = ToolShelf::from(tools(&[("a", false, false), ("b", false, false)]));
        let seen = shelf.clone();
        let names = || -> Vec<String> { seen.get().names().map(str::to_owned).collect() };
        let tool = |name, alone| tools(&[(name, false, alone)]).get(name).unwrap();
        shelf.put(tool("c", false)).unwrap();
        shelf.put(tool("a", true)).unwrap();
        assert_eq!(names(), ["a", "b", "c"]);
        assert!(seen.get().runs_alone("a"), "the newer one");
        assert!(shelf.remove("b"));
        assert!(!shelf.remove("b"));
        assert_eq!(names(), ["a", "c"]);
    }
}
