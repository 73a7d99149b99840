//! Where workflows can be started, and of what.

use std::sync::Arc;

use tokio::runtime::Builder;

use super::bench::*;
use crate::directory::{DirectoryActor, Extensions, MAX_OPEN_CONVERSATIONS};
use crate::harness::config::Config;
use crate::harness::wiring::parts;
use crate::journal::{JournalStore as _, MemoryStore};
use crate::workflow::keeper::Directory;
use crate::workflow::state::RunErrorKind;
use crate::{Clock, ConversationId, standard_tools};
use actix::prelude::*;

/// Spec: [FLOW-121] [LIB-320]
#[test]
fn it_works_in_any_runtime_and_says_so_where_there_is_none() {
    let bench = Bench::new();
    let refused = bench.builder().build().unwrap_err();
    assert_eq!(refused.kind, RunErrorKind::NotReady);
    assert!(refused.message.contains("tokio::main"), "{refused}");
    let working = async {
        let runtime = bench.builder().build().unwrap();
        let made = runtime
            .run_initializer(initializer("r0", plan(&["one"])))
            .await;
        assert!(made.unwrap().created);
        bench.right("one");
        let result = runtime.run_task_iteration(iteration("r1")).await.unwrap();
        assert!(result.completed);
    };
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(working);
}

/// Spec: [FLOW-122]
#[actix::test]
async fn it_takes_journals_and_conversations_that_there_are() {
    let bench = Bench::new();
    let (conversations, workflows) = (MemoryStore::default(), MemoryStore::default());
    let extensions = Extensions {
        transport: Some(Arc::new(bench.model.clone())),
        ..Extensions::default()
    };
    let shared = parts(
        Config::for_model("any"),
        standard_tools(),
        extensions,
        bench.repository.path().into(),
        Clock::system(),
        Arbiter::current(),
    );
    let store = Arc::new(conversations.clone());
    let directory = DirectoryActor::new(store, shared.unwrap(), MAX_OPEN_CONVERSATIONS).start();
    let directory = Directory {
        open: directory.clone().recipient(),
        create: directory.recipient(),
    };
    let builder = bench
        .bare()
        .conversations(directory)
        .memory(Arc::new(conversations.clone()), Arc::new(workflows.clone()));
    let runtime = builder.build().unwrap();
    runtime
        .run_initializer(initializer("r0", plan(&["one"])))
        .await
        .unwrap();
    bench.right("one");
    assert!(
        runtime
            .run_task_iteration(iteration("r1"))
            .await
            .unwrap()
            .completed
    );
    assert!(workflows.open(&ConversationId::new("w")).await.is_ok());
    assert!(
        conversations
            .open(&ConversationId::new("wf-w-1"))
            .await
            .is_ok()
    );
    assert!(bench.records("w").await.is_empty());
}

/// Spec: [FLOW-135]
#[actix::test]
async fn a_state_folder_that_cannot_be_made_is_memory() {
    let bench = Bench::new();
    let file = bench.home.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let builder = crate::harness::workflow::WorkflowRuntime::builder(
        bench.repository.path(),
        &file.join("home"),
    );
    let refused = builder.provider(Config::for_model("any")).build();
    assert_eq!(refused.err().unwrap().kind, RunErrorKind::Memory);
}
