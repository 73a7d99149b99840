//! The wire format between the service and its clients: serde types, and the words in which every
//! client tells them.
//!
//! Invariant: no IO, no clock, no actor.

mod approval;
mod change;
mod command;
mod conversations;
mod event;
mod extent;
mod fallback;
mod files;
mod guidance;
pub mod hidden;
mod job;
mod mcp;
mod models;
mod order;
mod problem;
mod queue;
mod rest;
mod rules;
mod service;
mod setting;
mod settings;
mod undo;
mod usage;
mod web;
pub mod words;
mod workflow;
mod workflow_past;

pub use approval::{
    AnswerOrder, Answered, Approval, Approvals, OpenApproval, Scope, Verdict, Withdrawal,
};
pub use change::{ChangeAction, FileChange, FilePlace, PathKind};
pub use command::{Access, Backend, CommandPlan, Subject};
pub use conversations::{
    ChangeConversation, ContextFileEntry, ConversationPage, ConversationSnapshot,
    ConversationState, ConversationSummary, Damage, Deleted, ForkOrder, HistoryPage,
    NewConversation, PastEvent,
};
pub use event::{
    ActivityState, CompactionReason, DeltaKind, EndOutcome, Event, Family, TokenUsage,
};
pub use extent::Extent;
pub use fallback::ModelFallback;
pub use files::FoundFiles;
pub use guidance::{
    Instructions, SkillList, SkillOrder, SkillSummary, TemplateList, TemplateOrder, TemplateSummary,
};
pub use job::{Job, JobChange, JobChanges, JobEnd, JobList, StopJobAnswer, StopJobOrder};
pub use mcp::{
    AcceptMcpServer, McpCall, McpServer, McpServerList, McpState, McpTool, McpToolState,
};
pub use models::{ModelEntry, ModelList, ToolEntry, ToolList};
pub use order::*;
pub use problem::Problem;
pub use queue::{
    Attachment, AttachmentOrder, Queue, QueueAnswer, QueueItem, QueueList, WithdrawAnswer,
};
pub use rest::{
    CancelAnswer, CancelOrder, CompactAnswer, CompactOrder, ContinueOrder, PromptAnswer,
    PromptOrder, ShellAnswer, ShellOrder,
};
pub use rules::{ChangeRules, HeldRule, NewRule, RuleAction, Rules, RunRules};
pub use service::{
    Discovery, GivenSetting, Health, PROTOCOL, ProtocolRange, ServiceInfo, SettingValue,
    StartOptions, Upstream, UpstreamKind, challenge,
};
pub use setting::{SettingKind, SettingRow};
pub use settings::{
    ApprovalMode, ChangeSettings, FullSettings, NO_TOOLS, OWN_LIMIT, QueueMode, RefusalFallback,
    SETTINGS, Settings, SettingsAnswer, SettingsPatch, THINKING_LEVELS, ThinkingLevel,
    ToolExecution, WEB_TOOLS, WebSearch, are_no_tools,
};
pub use undo::{UndoAnswer, UndoOrder, UndoOutcome, UndoTo, UndoneFile};
pub use usage::{ContextWindow, ModelUsage, RunUsage, UsageAnswer};
pub use web::{WebSource, WebStep};
pub use workflow::{
    AnswerGate, ApplyWorkflowFile, ChangeFeature, NewWorkflow, PauseWorkflow, PlainWorkflowOrder,
    ResumeWorkflow, RunWorkflow, WorkflowFeature, WorkflowGate, WorkflowLimits, WorkflowList,
    WorkflowMade, WorkflowSnapshot, WorkflowSpent, WorkflowStep,
};
pub use workflow_past::{
    WorkflowAttempt, WorkflowCheckRun, WorkflowDiff, WorkflowIteration, WorkflowIterations,
    WorkflowReason,
};
