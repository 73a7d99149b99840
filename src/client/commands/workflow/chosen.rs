//! Which workflow a command is about.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use harness_protocol::WorkflowSnapshot;

use super::rest::is_over;
use crate::client::api::connection::ServiceConnection;
use crate::client::api::routes;
use crate::client::commands::common::CallerArgs;
use crate::client::error::CommandError;
use crate::client::folder;

/// The flags of every command about one workflow.
#[derive(Debug, Args)]
pub(super) struct WorkflowArg {
    /// The workflow; may be left out where this folder has only one
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(super) id: Option<String>,
}

/// The operator's name, and how the answer is printed.
#[derive(Debug, Args)]
pub(super) struct Saying {
    /// The operator's name.
    #[command(flatten)]
    pub(super) caller: CallerArgs,
    /// Print the answer of the service as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl WorkflowArg {
    /// The workflow that is meant: the one that is named, or the only one of this folder. Those that are over
    /// do not count beside one that is not.
    ///
    /// # Errors
    /// If none or several could be meant.
    pub(super) async fn find(&self, service: &ServiceConnection) -> Result<String, CommandError> {
        if let Some(id) = &self.id {
            return Ok(id.clone());
        }
        let here = folder::here()?;
        let all = service.ask(&routes::workflows()).await?.workflows;
        only(all, &here)
    }
}

fn only(all: Vec<WorkflowSnapshot>, here: &str) -> Result<String, CommandError> {
    let is_here = |it: &WorkflowSnapshot| it.folder == here || it.worktree.as_deref() == Some(here);
    let (over, open): (Vec<_>, Vec<_>) = all
        .into_iter()
        .filter(is_here)
        .partition(|it| is_over(&it.state));
    let found = if open.is_empty() { over } else { open };
    let reason = match found.as_slice() {
        [only] => return Ok(only.id.clone()),
        [] => "this folder has no workflow; make one with `harness workflow new FILE`, or name one"
            .to_owned(),
        several => {
            let ids: Vec<&str> = several.iter().map(|it| it.id.as_str()).collect();
            format!(
                "this folder has several workflows; name one of {}",
                ids.join(", ")
            )
        }
    };
    Err(CommandError::Usage { reason })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::snapshot;
    use super::*;

    /// Spec: [FLOW-89]
    #[test]
    fn the_only_workflow_of_the_folder_need_not_be_named() {
        let it = |id: &str, folder: &str, state: &str| {
            let mut it = snapshot(state);
            it["id"] = json!(id);
            it["folder"] = json!(folder);
            serde_json::from_value::<WorkflowSnapshot>(it).unwrap()
        };
        let chosen = |all: &[(&str, &str, &str)]| {
            let all = all.iter().map(|(id, folder, state)| it(id, folder, state));
            only(all.collect(), "/here").map_err(|error| (error.exit_code(), error.to_string()))
        };
        let ours = ("a", "/here", "paused");
        assert_eq!(chosen(&[ours, ("b", "/there", "ready")]), Ok("a".into()));
        assert_eq!(chosen(&[("b", "/here", "completed"), ours]), Ok("a".into()));
        assert_eq!(chosen(&[("b", "/here", "completed")]), Ok("b".into()));
        let (code, told) = chosen(&[("b", "/there", "ready")]).unwrap_err();
        assert!(code == 2 && told.contains("workflow new"), "{told}");
        let (code, told) = chosen(&[ours, ("b", "/here", "ready")]).unwrap_err();
        assert!(code == 2 && told.ends_with("one of a, b"), "{told}");
    }
}
