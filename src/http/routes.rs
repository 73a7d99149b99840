//! The table of routes: what is done at which path with which method.

use actix_web::http::Method;
use actix_web::{Route, web};

use super::guard::OPEN_ROUTE;
use super::problem::Kind;
use super::{
    approvals, attachments, compaction, conversations, events, files, given, history, jobs, mcp,
    models, prompt, queue, ready, rules, run, service, settings, shell, skills, snapshot, tools,
    undo, usage, workflows,
};

/// Adds resources to the configuration. A method that a resource does not have is answered with
/// those that it has.
macro_rules! table {
    ($config:ident; $($path:expr => $($method:ident $handler:path),+;)+) => {
        $($config.service(
            web::resource($path)
                $(.route(web::method(Method::$method).to($handler)))+
                .default_service(only(&[$(stringify!($method)),+])),
        );)+
    };
}

/// Adds every route of the service.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    table! { config;
        "/events" => GET events::events;
        "/prompt" => POST prompt::prompt;
        "/cancel" => POST run::cancel;
        "/v1/conversations" => GET conversations::list, POST conversations::create;
        "/v1/conversations/{id}" =>
            GET snapshot::read, PATCH conversations::change, DELETE conversations::delete;
        "/v1/conversations/{id}/history" => GET history::history;
        "/v1/conversations/{id}/events" => GET events::conversation_events;
        "/v1/conversations/{id}/fork" => POST conversations::fork;
        "/v1/conversations/{id}/prompt" => POST prompt::prompt;
        "/v1/conversations/{id}/skill" => POST skills::say_skill;
        "/v1/conversations/{id}/template" => POST skills::say_template;
        "/v1/conversations/{id}/steer" => POST queue::steer;
        "/v1/conversations/{id}/follow-up" => POST queue::follow_up;
        "/v1/conversations/{id}/queue" => GET queue::list, DELETE queue::clear;
        "/v1/conversations/{id}/queue/{item}" => DELETE queue::remove;
        "/v1/conversations/{id}/continue" => POST run::go_on;
        "/v1/conversations/{id}/retry" => POST run::retry;
        "/v1/conversations/{id}/cancel" => POST run::cancel;
        "/v1/conversations/{id}/settings" => GET settings::read, PATCH settings::change;
        "/v1/conversations/{id}/tools" => POST given::renew_tools;
        "/v1/conversations/{id}/compact" => POST compaction::compact;
        "/v1/conversations/{id}/approvals" => GET approvals::list;
        "/v1/conversations/{id}/approvals/{approval}" => POST approvals::answer;
        "/v1/conversations/{id}/files" => GET files::find;
        "/v1/conversations/{id}/jobs" => GET jobs::list;
        "/v1/conversations/{id}/jobs/{job}/stop" => POST jobs::stop;
        "/v1/conversations/{id}/calls/{call}/output" => GET jobs::output;
        "/v1/conversations/{id}/shell" => POST shell::run;
        "/v1/conversations/{id}/undo" => POST undo::undo;
        "/v1/conversations/{id}/rules" => GET rules::list, PATCH rules::change;
        "/v1/conversations/{id}/usage" => GET usage::read;
        "/v1/workflows" => GET workflows::list, POST workflows::create;
        "/v1/workflows/{id}" => GET workflows::read, DELETE workflows::delete;
        "/v1/workflows/{id}/manifest" => GET workflows::manifest, PUT workflows::apply;
        "/v1/workflows/{id}/run" => POST workflows::run;
        "/v1/workflows/{id}/pause" => POST workflows::pause;
        "/v1/workflows/{id}/resume" => POST workflows::resume;
        "/v1/workflows/{id}/cancel" => POST workflows::cancel;
        "/v1/workflows/{id}/verify" => POST workflows::verify;
        "/v1/workflows/{id}/gates/{gate}" => POST workflows::answer_gate;
        "/v1/workflows/{id}/features/{feature}" => POST workflows::change_feature;
        "/v1/workflows/{id}/iterations" => GET workflows::iterations;
        "/v1/workflows/{id}/iterations/{n}" => GET workflows::iteration;
        "/v1/workflows/{id}/iterations/{n}/diff" => GET workflows::diff;
        "/v1/workflows/{id}/outputs/{sha256}" => GET workflows::output;
        "/v1/workflows/{id}/events" => GET workflows::events;
        "/v1/workflows/{id}/history" => GET workflows::history;
        "/v1/approvals" => GET approvals::all;
        "/v1/rules" => GET rules::all, PATCH rules::change_all;
        "/v1/attachments/{sha256}" => GET attachments::read;
        "/v1/models" => GET models::list;
        "/v1/tools" => GET tools::list;
        "/v1/mcp" => GET mcp::list;
        "/v1/mcp/{name}" => PUT mcp::put, DELETE mcp::remove;
        "/v1/mcp/{name}/test" => POST mcp::test;
        "/v1/mcp/{name}/accept" => POST mcp::accept;
        "/v1/skills" => GET skills::skills;
        "/v1/skills/{name}" => GET skills::skill;
        "/v1/templates" => GET skills::templates;
        "/v1/templates/{name}" => GET skills::template;
        "/v1/service" => GET service::service;
        "/readyz" => GET ready::readyz;
        OPEN_ROUTE => GET service::healthz;
    }
    config.default_service(web::to(|| async {
        Kind::NotFound.answer("the routes are /events, /prompt, /cancel, /healthz, /readyz and those under /v1/conversations, /v1/workflows, /v1/approvals, /v1/rules, /v1/attachments, /v1/service, /v1/models, /v1/tools, /v1/mcp, /v1/skills and /v1/templates")
    }));
}

/// Answers a method that a resource does not have.
fn only(methods: &[&str]) -> Route {
    let allow = methods.join(", ");
    web::to(move || std::future::ready(Kind::method_not_allowed(&allow)))
}
