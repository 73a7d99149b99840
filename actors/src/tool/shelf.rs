//! The tools that there are: they come and go while the service runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::{Registry, RegistryError, Tool};

/// The tools of a service: read by conversations, changed by those who bring tools. Clones share it.
///
/// A call looks its tool up here when it runs. What a conversation is offered does not follow: it keeps
/// the list of its first request until an operator renews it.
#[derive(Debug, Clone, Default)]
pub struct ToolShelf {
    own: Arc<RwLock<Registry>>,
    /// The shelf whose tools are in front of the own ones.
    front: Option<Arc<Self>>,
}

/// The tools that there are only in some folders, a shelf each. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct FolderShelves(Arc<Mutex<HashMap<PathBuf, ToolShelf>>>);

impl FolderShelves {
    /// The shelf of a folder, by its real path.
    #[must_use]
    pub fn get(&self, folder: &Path) -> ToolShelf {
        let mut shelves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shelves.entry(folder.to_owned()).or_default().clone()
    }
}

impl ToolShelf {
    /// These tools behind those of another shelf, which both can still be changed.
    #[must_use]
    pub fn behind(self, front: Self) -> Self {
        Self {
            front: Some(Arc::new(front)),
            ..self
        }
    }

    /// The tools that are there now. Of two of one name, the one in front is there.
    #[must_use]
    pub fn get(&self) -> Registry {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        match &self.front {
            None => own.clone(),
            Some(front) => front.get().before(&own),
        }
    }

    /// Puts other tools in the place of all that are its own.
    pub fn set(&self, tools: Registry) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = tools;
    }

    /// Adds a tool behind the others, or puts it in the place of the one of its name.
    ///
    /// # Errors
    /// A name or schema that the API would refuse changes nothing.
    pub fn put(&self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        let mut registry = self.own.write().unwrap_or_else(PoisonError::into_inner);
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
        let mut registry = self.own.write().unwrap_or_else(PoisonError::into_inner);
        let had = registry.get(name).is_some();
        *registry = registry.only(|other| other != name);
        had
    }
}

impl From<Registry> for ToolShelf {
    fn from(tools: Registry) -> Self {
        Self {
            own: Arc::new(RwLock::new(tools)),
            front: None,
        }
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

    /// Spec: [MCP-15]
    #[test]
    fn a_folder_has_tools_of_its_own_behind_those_of_all() {
        let all = ToolShelf::from(tools(&[("a", false, false), ("b", false, false)]));
        let shelves = FolderShelves::default();
        let here = shelves.get(Path::new("/w")).behind(all.clone());
        let names =
            |shelf: &ToolShelf| -> Vec<String> { shelf.get().names().map(str::to_owned).collect() };
        assert_eq!(names(&here), ["a", "b"]);
        let own = tools(&[("c", false, false), ("a", false, true)]);
        shelves.get(Path::new("/w")).set(own);
        assert_eq!(names(&here), ["a", "b", "c"]);
        assert!(!here.get().runs_alone("a"), "the one of all");
        assert!(all.remove("b"));
        assert_eq!(names(&here), ["a", "c"]);
        assert_eq!(names(&shelves.get(Path::new("/v")).behind(all)), ["a"]);
    }
}
