//! The routes of the service, a function each; no other file of the client names one.

use std::time::Duration;

use harness_protocol::{
    AcceptMcpServer, AnswerGate, AnswerOrder, Answered, AnyOrder, ApplyWorkflowFile, Approvals,
    CancelAnswer, CancelOrder, ChangeConversation, ChangeFeature, ChangeRules, ChangeSettings,
    CompactAnswer, CompactOrder, ContinueOrder, ConversationPage, ConversationSnapshot,
    ConversationSummary, Deleted, ForkOrder, FoundFiles, HistoryPage, JobList, McpServer,
    McpServerList, ModelList, NewWorkflow, PauseWorkflow, PlainWorkflowOrder, PromptAnswer,
    PromptOrder, Queue, QueueAnswer, QueueList, ResumeWorkflow, Rules, RunWorkflow, ServiceInfo,
    SettingsAnswer, ShellAnswer, ShellOrder, StopJobAnswer, StopJobOrder, UndoAnswer, UndoOrder,
    UsageAnswer, WithdrawAnswer, WorkflowDiff, WorkflowIteration, WorkflowList, WorkflowMade,
    WorkflowSnapshot,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::client::api::route::{Route, encoded};
use crate::client::api::stream::ClientEventStream;

const CONVERSATIONS: &str = "/v1/conversations";
const WORKFLOWS: &str = "/v1/workflows";
const MCP_SERVERS: &str = "/v1/mcp";
/// How long the cancel of a workflow may take: what runs is ended, and the workspace is put back.
const CANCEL_TIMEOUT: Duration = Duration::from_mins(10);
/// How long a command may run, and a moment more.
const SHELL_TIMEOUT: Duration = Duration::from_secs(610);
/// Time limit of the test of an MCP server. The service gives up earlier.
const MCP_TEST_TIMEOUT: Duration = Duration::from_secs(90);

/// The service's description of itself.
pub(crate) fn service() -> Route<ServiceInfo> {
    Route::get("/v1/service")
}

/// The models that can be chosen.
pub(crate) fn models() -> Route<ModelList> {
    Route::get("/v1/models")
}

/// The skills of a folder, or of the service's own, and what is wrong with those that are none.
pub(crate) fn skills(folder: Option<&str>) -> Route<Value> {
    Route::get("/v1/skills").with("workspace", folder)
}

/// The prompt templates of a folder, or of the service's own, and what is wrong with those that are
/// none.
pub(crate) fn templates(folder: Option<&str>) -> Route<Value> {
    Route::get("/v1/templates").with("workspace", folder)
}

/// A page of the conversations, the last active first.
pub(crate) fn conversations(limit: usize, cursor: Option<&str>) -> Route<ConversationPage> {
    let page = Route::get(CONVERSATIONS).with("limit", Some(limit));
    page.with("cursor", cursor)
}

/// A page of the conversations of one folder, the last active first.
pub(crate) fn conversations_in(
    folder: &str,
    limit: usize,
    cursor: Option<&str>,
) -> Route<ConversationPage> {
    conversations(limit, cursor).with("workspace", Some(folder))
}

/// Makes a conversation. The order is a `NewConversation`, or what the service is to judge as one.
pub(crate) fn create(order: &impl Serialize) -> Route<ConversationSummary> {
    Route::post(CONVERSATIONS, order)
}

/// A conversation with its last events.
pub(crate) fn snapshot(conversation: &str, tail: usize) -> Route<ConversationSnapshot> {
    Route::get(path(conversation, "")).with("tail", Some(tail))
}

/// Gives a conversation another title.
pub(crate) fn rename(
    conversation: &str,
    change: &ChangeConversation,
) -> Route<ConversationSummary> {
    Route::patch(path(conversation, ""), change)
}

/// Moves a conversation to the trash.
pub(crate) fn delete(conversation: &str) -> Route<Deleted> {
    Route::delete(path(conversation, ""))
}

/// Copies a conversation.
pub(crate) fn fork(conversation: &str, order: &ForkOrder) -> Route<ConversationSummary> {
    Route::post(path(conversation, "/fork"), order)
}

/// The page of the past that ends right before a record.
pub(crate) fn history_before(conversation: &str, seq: u64, limit: usize) -> Route<HistoryPage> {
    let page = Route::get(path(conversation, "/history")).with("before", Some(seq));
    page.with("limit", Some(limit))
}

/// The page of the past that begins right behind a record.
pub(crate) fn history_after(conversation: &str, seq: u64, limit: usize) -> Route<HistoryPage> {
    let page = Route::get(path(conversation, "/history")).with("after", Some(seq));
    page.with("limit", Some(limit))
}

/// The events of a conversation, from now on. `name` tells the other clients who follows them.
pub(crate) fn events(conversation: &str, name: &str) -> Route<ClientEventStream> {
    Route::get(path(conversation, "/events")).with("name", Some(name))
}

/// The same events behind a record or a position.
pub(crate) fn behind(events: Route<ClientEventStream>, place: &str) -> Route<ClientEventStream> {
    events.with("after", Some(place))
}

/// The same events from the last ones on.
pub(crate) fn last(events: Route<ClientEventStream>, count: u64) -> Route<ClientEventStream> {
    events.with("tail", Some(count))
}

/// Sends a prompt.
pub(crate) fn prompt(conversation: &str, order: &PromptOrder) -> Route<PromptAnswer> {
    Route::post(path(conversation, "/prompt"), order)
}

/// Sends a skill as a prompt.
pub(crate) fn skill(conversation: &str, order: &impl Serialize) -> Route<PromptAnswer> {
    Route::post(path(conversation, "/skill"), order)
}

/// Sends a filled-in template as a prompt.
pub(crate) fn template(conversation: &str, order: &impl Serialize) -> Route<PromptAnswer> {
    Route::post(path(conversation, "/template"), order)
}

/// Continues without a prompt.
pub(crate) fn resume(conversation: &str, order: &ContinueOrder) -> Route<PromptAnswer> {
    Route::post(path(conversation, "/continue"), order)
}

/// Asks for the last reply again.
pub(crate) fn retry(conversation: &str, order: &ContinueOrder) -> Route<PromptAnswer> {
    Route::post(path(conversation, "/retry"), order)
}

/// Cancels the run that is going.
pub(crate) fn cancel(conversation: &str, order: &CancelOrder) -> Route<CancelAnswer> {
    Route::post(path(conversation, "/cancel"), order)
}

/// Lets a message wait in a queue.
pub(crate) fn queue(conversation: &str, queue: Queue, order: &PromptOrder) -> Route<QueueAnswer> {
    let of_it = match queue {
        Queue::Steer => "/steer",
        Queue::FollowUp => "/follow-up",
    };
    Route::post(path(conversation, of_it), order)
}

/// The messages that wait.
pub(crate) fn queued(conversation: &str) -> Route<QueueList> {
    Route::get(path(conversation, "/queue"))
}

/// Withdraws a message that waits, or all of them.
pub(crate) fn withdraw(
    conversation: &str,
    item: Option<u64>,
    by: Option<&str>,
) -> Route<WithdrawAnswer> {
    let item = item.map_or_else(String::new, |item| format!("/{item}"));
    Route::delete(path(conversation, &format!("/queue{item}"))).with("by", by)
}

/// The open approvals of a conversation.
pub(crate) fn approvals(conversation: &str) -> Route<Approvals> {
    Route::get(path(conversation, "/approvals"))
}

/// The open approvals of all conversations.
pub(crate) fn all_approvals() -> Route<Approvals> {
    Route::get("/v1/approvals")
}

/// Takes back what tools changed.
pub(crate) fn undo(conversation: &str, order: &UndoOrder) -> Route<UndoAnswer> {
    Route::post(path(conversation, "/undo"), order)
}

/// Runs a command in the folder of a conversation, which may take minutes.
pub(crate) fn shell(conversation: &str, order: &ShellOrder) -> Route<ShellAnswer> {
    Route::post(path(conversation, "/shell"), order).within(SHELL_TIMEOUT)
}

/// Files of the folder of a conversation whose paths have these letters.
pub(crate) fn files(conversation: &str, query: &str) -> Route<FoundFiles> {
    Route::get(path(conversation, "/files")).with("q", Some(query))
}

/// The jobs in the background of a conversation.
pub(crate) fn jobs(conversation: &str) -> Route<JobList> {
    Route::get(path(conversation, "/jobs"))
}

/// The first byte of the output of a call, if it has written one.
pub(crate) fn output_start(conversation: &str, call: &str) -> Route<String> {
    let call = encoded(call);
    let path = path(conversation, &format!("/calls/{call}/output"));
    Route::get(path).with("bytes", Some("0-0"))
}

/// Stops a job.
pub(crate) fn stop_job(conversation: &str, job: u64, order: &StopJobOrder) -> Route<StopJobAnswer> {
    Route::post(path(conversation, &format!("/jobs/{job}/stop")), order)
}

/// The rules that hold in a conversation.
pub(crate) fn rules(conversation: &str) -> Route<Rules> {
    Route::get(path(conversation, "/rules"))
}

/// Changes the rules of a conversation.
pub(crate) fn change_rules(conversation: &str, order: &ChangeRules) -> Route<Rules> {
    Route::patch(path(conversation, "/rules"), order)
}

/// The rules of folders.
pub(crate) fn all_rules() -> Route<Rules> {
    Route::get("/v1/rules")
}

/// Changes the rules of folders.
pub(crate) fn change_all_rules(order: &ChangeRules) -> Route<Rules> {
    Route::patch("/v1/rules", order)
}

/// Answers an approval.
pub(crate) fn answer(conversation: &str, approval: u64, order: &AnswerOrder) -> Route<Answered> {
    Route::post(path(conversation, &format!("/approvals/{approval}")), order)
}

/// The settings of a conversation.
pub(crate) fn settings(conversation: &str) -> Route<SettingsAnswer> {
    Route::get(path(conversation, "/settings"))
}

/// Changes settings of a conversation.
pub(crate) fn change(conversation: &str, change: &ChangeSettings) -> Route<SettingsAnswer> {
    Route::patch(path(conversation, "/settings"), change)
}

/// Replaces the past of a conversation by a summary, which may take `limit`.
pub(crate) fn compact(
    conversation: &str,
    order: &CompactOrder,
    limit: Duration,
) -> Route<CompactAnswer> {
    Route::post(path(conversation, "/compact"), order).within(limit)
}

/// Gives an order.
pub(crate) fn give(conversation: &str, order: &AnyOrder) -> Route<Value> {
    Route::post(path(conversation, &format!("/{}", order.name)), &order.body)
}

/// The tokens that a conversation used, and what they cost.
pub(crate) fn usage(conversation: &str) -> Route<UsageAnswer> {
    Route::get(path(conversation, "/usage"))
}

/// The MCP servers. The service starts none of them for this.
pub(crate) fn mcp_servers(folder: Option<&str>) -> Route<McpServerList> {
    Route::get(MCP_SERVERS).with("workspace", folder)
}

/// Puts an MCP server into the configuration. The entry is an object of `mcp.json`.
pub(crate) fn put_mcp_server(name: &str, entry: &Value) -> Route<McpServer> {
    Route::put(of_mcp_server(name, ""), entry)
}

/// Starts an MCP server and finds its tools, in that folder or in the service's own.
pub(crate) fn test_mcp_server(name: &str, folder: Option<&str>) -> Route<McpServer> {
    let order = folder.map_or_else(|| json!({}), |folder| json!({ "workspace": folder }));
    Route::post(of_mcp_server(name, "/test"), &order).within(MCP_TEST_TIMEOUT)
}

/// Accepts an MCP server as its last test has shown it.
pub(crate) fn accept_mcp_server(name: &str, order: &AcceptMcpServer) -> Route<McpServer> {
    Route::post(of_mcp_server(name, "/accept"), order)
}

/// Removes an MCP server from the configuration. Answered with those that remain.
pub(crate) fn remove_mcp_server(name: &str, folder: Option<&str>) -> Route<McpServerList> {
    Route::delete(of_mcp_server(name, "")).with("workspace", folder)
}

/// The workflows, the last made first.
pub(crate) fn workflows() -> Route<WorkflowList> {
    Route::get(WORKFLOWS)
}

/// Makes a workflow, or tells what its file would do, which is answered as `Value`.
pub(crate) fn new_workflow(order: &NewWorkflow) -> Route<WorkflowMade> {
    Route::post(WORKFLOWS, order)
}

/// How a workflow is.
pub(crate) fn workflow(id: &str) -> Route<WorkflowSnapshot> {
    Route::get(of_workflow(id, ""))
}

/// The file that counts in a workflow, and what the one in its folder would change.
pub(crate) fn workflow_manifest(id: &str) -> Route<Value> {
    Route::get(of_workflow(id, "/manifest"))
}

/// The changes that a file would make in a workflow.
pub(crate) fn compare_manifest(id: &str, order: &ApplyWorkflowFile) -> Route<Value> {
    Route::put(of_workflow(id, "/manifest"), order)
}

/// Lets another file count in a workflow, in place of the one with the hash `over`.
pub(crate) fn apply_manifest(
    id: &str,
    order: &ApplyWorkflowFile,
    over: &str,
) -> Route<WorkflowSnapshot> {
    Route::put(of_workflow(id, "/manifest"), order).over(over)
}

/// An iteration of a workflow with its attempts; number 0 has the verifications.
pub(crate) fn workflow_iteration(id: &str, n: u32) -> Route<WorkflowIteration> {
    Route::get(of_workflow(id, &format!("/iterations/{n}")))
}

/// The changes of an attempt; of the last one of the iteration that left something if none is named.
pub(crate) fn workflow_diff(id: &str, n: u32, attempt: Option<u32>) -> Route<WorkflowDiff> {
    let path = of_workflow(id, &format!("/iterations/{n}/diff"));
    Route::get(path).with("attempt", attempt)
}

/// The output of a check, as text.
pub(crate) fn workflow_output(id: &str, sha256: &str) -> Route<String> {
    Route::get(of_workflow(id, &format!("/outputs/{}", encoded(sha256))))
}

/// Moves a workflow to the trash.
pub(crate) fn delete_workflow(id: &str) -> Route<Deleted> {
    Route::delete(of_workflow(id, ""))
}

/// Lets a workflow run.
pub(crate) fn run_workflow(id: &str, order: &RunWorkflow) -> Route<WorkflowSnapshot> {
    Route::post(of_workflow(id, "/run"), order)
}

/// Pauses a workflow.
pub(crate) fn pause_workflow(id: &str, order: &PauseWorkflow) -> Route<WorkflowSnapshot> {
    Route::post(of_workflow(id, "/pause"), order)
}

/// Resumes a workflow.
pub(crate) fn resume_workflow(id: &str, order: &ResumeWorkflow) -> Route<WorkflowSnapshot> {
    Route::post(of_workflow(id, "/resume"), order)
}

/// Ends a workflow for good, which may take minutes.
pub(crate) fn cancel_workflow(id: &str, order: &PlainWorkflowOrder) -> Route<WorkflowSnapshot> {
    Route::post(of_workflow(id, "/cancel"), order).within(CANCEL_TIMEOUT)
}

/// Runs all checks of a workflow, without a model.
pub(crate) fn verify_workflow(id: &str, order: &PlainWorkflowOrder) -> Route<WorkflowSnapshot> {
    Route::post(of_workflow(id, "/verify"), order)
}

/// Answers a gate of a workflow.
pub(crate) fn answer_gate(id: &str, gate: &str, order: &AnswerGate) -> Route<WorkflowSnapshot> {
    Route::post(of_workflow(id, &format!("/gates/{}", encoded(gate))), order)
}

/// Changes the state of a feature of a workflow.
pub(crate) fn change_feature(
    id: &str,
    feature: &str,
    order: &ChangeFeature,
) -> Route<WorkflowSnapshot> {
    Route::post(
        of_workflow(id, &format!("/features/{}", encoded(feature))),
        order,
    )
}

/// The page of a workflow's records that begins right behind a record.
pub(crate) fn workflow_history(id: &str, seq: u64, limit: usize) -> Route<HistoryPage> {
    let page = Route::get(of_workflow(id, "/history")).with("after", Some(seq));
    page.with("limit", Some(limit))
}

/// The last records of a workflow.
pub(crate) fn last_of_workflow(id: &str, count: usize) -> Route<HistoryPage> {
    Route::get(of_workflow(id, "/history")).with("limit", Some(count))
}

/// The events of a workflow, from now on. `name` tells the other clients who follows them.
pub(crate) fn workflow_events(id: &str, name: &str) -> Route<ClientEventStream> {
    Route::get(of_workflow(id, "/events")).with("name", Some(name))
}

/// The path of something of an MCP server, such as `/test`.
fn of_mcp_server(name: &str, of_it: &str) -> String {
    format!("{MCP_SERVERS}/{}{of_it}", encoded(name))
}

/// The path of something of a workflow, such as `/run`.
fn of_workflow(id: &str, of_it: &str) -> String {
    format!("{WORKFLOWS}/{}{of_it}", encoded(id))
}

/// The path of something of a conversation, such as `/prompt`.
fn path(conversation: &str, of_it: &str) -> String {
    format!("{CONVERSATIONS}/{}{of_it}", encoded(conversation))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-05]
    #[test]
    fn an_id_cannot_lead_to_another_route() {
        let shown = path("a/../b?c#d é", "/prompt");
        assert_eq!(
            shown,
            "/v1/conversations/a%2F..%2Fb%3Fc%23d%20%C3%A9/prompt"
        );
    }

    /// Spec: [CLI-05]
    #[test]
    fn a_text_in_a_query_stays_one_parameter() {
        let target = withdraw("c", Some(2), Some("ana & b=c")).target;
        assert_eq!(target, "/v1/conversations/c/queue/2?by=ana%20%26%20b%3Dc");
        assert_eq!(conversations(9, None).target, "/v1/conversations?limit=9");
        let target = conversations(9, Some("a/b")).target;
        assert_eq!(target, "/v1/conversations?limit=9&cursor=a%2Fb");
    }
}
