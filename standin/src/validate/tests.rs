//! One row a rule: the request is valid but for the change in the row.

use serde_json::{Value, json};

use super::*;

fn headers() -> Vec<(String, String)> {
    let given = [
        ("x-api-key", "sk-test"),
        ("anthropic-version", "2023-06-01"),
        ("content-type", "application/json"),
    ];
    given
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}

/// A valid request with these fields put in; `null` takes a field out.
pub(super) fn body(changes: Value) -> Value {
    let mut body = json!({
        "model": "claude-sonnet-5-5",
        "max_tokens": 2000,
        "messages": [{"role": "user", "content": "hi"}],
    });
    let Value::Object(changes) = changes else {
        panic!("not an object: {changes}")
    };
    for (name, value) in changes {
        if value.is_null() {
            body.as_object_mut().unwrap().remove(&name);
        } else {
            body[name] = value;
        }
    }
    body
}

pub(super) fn verdict(body: &Value) -> String {
    let model = Model::new(body["model"].as_str().unwrap_or_default());
    verdict_for(body, &model)
}

pub(super) fn verdict_for(body: &Value, model: &Model) -> String {
    let bytes = body.to_string();
    let model_of = |_: &str| Ok(model.clone());
    match validate_for(Endpoint::Messages, &headers(), bytes.as_bytes(), model_of) {
        Ok(_) => "valid".to_owned(),
        Err(error) => {
            assert_eq!(
                (error.status, error.kind.as_str()),
                (400, "invalid_request_error")
            );
            error.message
        }
    }
}

/// A conversation from the contents of its messages, which alternate between the roles.
pub(super) fn conversation(contents: &[Value]) -> Value {
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages = contents.iter().zip(roles);
    let messages: Vec<Value> = messages
        .map(|(content, role)| json!({"role": role, "content": content}))
        .collect();
    body(json!({"messages": messages}))
}

pub(super) fn check_rows(rows: Vec<(Value, &str)>) {
    for (body, expected) in rows {
        let verdict = verdict(&body);
        assert!(
            verdict.contains(expected),
            "{expected:?} expected, {verdict:?} given: {body}"
        );
    }
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "read", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "x"})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn thinking() -> Value {
    json!({"type": "thinking", "thinking": "hm", "signature": "sig"})
}

#[test]
fn headers_are_checked() {
    let without = |name: &str| {
        let mut headers = headers();
        headers.retain(|(given, _)| given != name);
        headers
    };
    let with = |mut headers: Vec<(String, String)>, name: &str, value: &str| {
        headers.push((name.to_owned(), value.to_owned()));
        headers
    };
    let bearer = with(without("x-api-key"), "authorization", "Bearer t");
    let rows = [
        (headers(), None),
        (bearer, None),
        (without("x-api-key"), Some((401, "authentication_error"))),
        (
            with(without("x-api-key"), "x-api-key", " "),
            Some((401, "authentication_error")),
        ),
        (
            with(headers(), "authorization", "Bearer t"),
            Some((401, "authentication_error")),
        ),
        (
            without("anthropic-version"),
            Some((400, "invalid_request_error")),
        ),
        (
            without("content-type"),
            Some((400, "invalid_request_error")),
        ),
        (
            with(
                without("content-type"),
                "content-type",
                "application/json; charset=utf-8",
            ),
            None,
        ),
    ];
    for (headers, expected) in rows {
        let outcome = validate(
            Endpoint::Messages,
            &headers,
            body(json!({})).to_string().as_bytes(),
        );
        let error = outcome.err();
        let refused = error
            .as_ref()
            .map(|error| (error.status, error.kind.as_str()));
        assert_eq!(refused, expected, "{headers:?}");
    }
}

#[test]
fn a_body_that_is_no_json_object_is_refused() {
    for bytes in [&b"{"[..], b"", b"[]", b"\xff"] {
        assert_eq!(
            validate(Endpoint::Messages, &headers(), bytes)
                .unwrap_err()
                .status,
            400
        );
    }
}

#[test]
fn top_level_fields_are_checked() {
    check_rows(vec![
        (body(json!({})), "valid"),
        (
            body(json!({"foo": 1})),
            "foo: Extra inputs are not permitted",
        ),
        (body(json!({"model": null})), "model: Field required"),
        (body(json!({"model": 1})), "model:"),
        (
            body(json!({"max_tokens": null})),
            "max_tokens: Field required",
        ),
        (body(json!({"max_tokens": -1})), "max_tokens:"),
        (body(json!({"max_tokens": 1.5})), "max_tokens:"),
        (body(json!({"stream": "yes"})), "stream:"),
        (body(json!({"system": "be brief"})), "valid"),
        (body(json!({"system": [text("be brief")]})), "valid"),
        (
            body(json!({"system": [text("")]})),
            "system.0: text content blocks must be non-empty",
        ),
        (body(json!({"system": 1})), "system:"),
        (body(json!({"temperature": 1.0})), "temperature:"),
        (
            body(json!({"temperature": 1.0, "model": "claude-haiku-4-5-20251001"})),
            "valid",
        ),
        (
            body(json!({"temperature": 2.0, "model": "claude-haiku-4-5-20251001"})),
            "temperature:",
        ),
        (
            body(json!({"thinking": {"type": "adaptive", "display": "summarized"}})),
            "valid",
        ),
        (
            body(json!({"thinking": {"type": "enabled", "budget_tokens": 1024}})),
            "thinking.type:",
        ),
        (
            body(json!({
                "thinking": {"type": "enabled", "budget_tokens": 10},
                "model": "claude-haiku-4-5-20251001",
            })),
            "budget_tokens:",
        ),
        (
            body(json!({"thinking": {"type": "disabled"}, "model": "claude-opus-5-5"})),
            "thinking.type:",
        ),
    ]);
}

#[test]
fn counting_takes_no_limit() {
    let check = |body: Value| {
        validate(
            Endpoint::CountTokens,
            &headers(),
            body.to_string().as_bytes(),
        )
        .map(drop)
    };
    assert_eq!(check(body(json!({"max_tokens": null}))), Ok(()));
    assert_eq!(check(body(json!({}))).unwrap_err().status, 400);
}

#[test]
fn messages_and_their_blocks_are_checked() {
    let last = |block: Value| conversation(&[json!("hi"), json!([block]), json!("go on")]);
    let unknown = json!({"type": "poem", "text": "x"});
    let unsigned = json!({"type": "thinking", "thinking": "hm"});
    let extra = json!({"type": "text", "text": "x", "index": 0});
    check_rows(vec![
        (body(json!({"messages": []})), "messages: at least one"),
        (
            body(json!({"messages": [{"role": "assistant", "content": "x"}]})),
            "first message",
        ),
        (
            body(json!({"messages": [{"role": "tool", "content": "x"}]})),
            "messages.0.role:",
        ),
        (
            body(json!({"messages": [{"role": "user", "content": "x", "id": "m"}]})),
            "messages.0.id: Extra inputs",
        ),
        (
            conversation(&[json!("")]),
            "messages.0: all messages must have non-empty content",
        ),
        (
            conversation(&[json!([])]),
            "messages.0: all messages must have non-empty content",
        ),
        (conversation(&[json!(1)]), "messages.0.content:"),
        (
            conversation(&[json!([text("")])]),
            "messages.0.content.0: text content blocks must be",
        ),
        (
            conversation(&[json!([text(" \n")])]),
            "messages.0.content.0: text content blocks must",
        ),
        (
            conversation(&[json!([unknown])]),
            "messages.0.content.0: Input tag 'poem'",
        ),
        (
            conversation(&[json!([extra])]),
            "messages.0.content.0.text.index: Extra inputs",
        ),
        (
            conversation(&[json!([call("a")])]),
            "messages.0.content.0: `tool_use` blocks can not",
        ),
        (
            last(result("a")),
            "messages.1.content.0: `tool_result` blocks can not",
        ),
        (
            last(unsigned),
            "messages.1.content.0.thinking.signature: Field required",
        ),
        (last(thinking()), "messages.1.content.0: The final block"),
        (
            conversation(&[json!("hi"), json!([thinking(), text("x")]), json!("go on")]),
            "valid",
        ),
        (
            last(json!({"type": "redacted_thinking", "data": "x"})),
            "messages.1.content.0: The final block",
        ),
        (
            conversation(&[json!("hi"), json!("The answer is")]),
            "prefill",
        ),
        (
            last(json!({"type": "tool_use", "id": "a b", "name": "x", "input": {}})),
            "tool_use.id:",
        ),
        (
            last(json!({"type": "tool_use", "id": "a", "name": "x.y", "input": {}})),
            "use.name:",
        ),
        (
            last(json!({"type": "tool_use", "id": "a", "name": "x", "input": "{}"})),
            "use.input:",
        ),
    ]);
}

#[test]
fn calls_and_results_are_paired() {
    let after = |calls: Value, next: Value| conversation(&[json!("hi"), calls, next]);
    let answered = |id: &str| [json!([call(id)]), json!([result(id)])];
    let [call_a, result_a] = answered("a");
    let server = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let failed = json!({"type": "tool_result", "tool_use_id": "a", "is_error": true});
    check_rows(vec![
        (after(call_a.clone(), result_a.clone()), "valid"),
        (
            after(
                json!([text("x"), call("a"), call("b")]),
                json!([result("b"), result("a")]),
            ),
            "valid",
        ),
        (
            after(call_a.clone(), json!([result("a"), text("and now")])),
            "valid",
        ),
        (
            after(call_a.clone(), json!([text("and now"), result("a")])),
            "messages.2.content.1:",
        ),
        (
            after(json!([call("a"), text("x")]), result_a.clone()),
            "messages.1.content.1: text must",
        ),
        (
            after(call_a.clone(), json!("hi")),
            "messages.1: `tool_use` ids were found without",
        ),
        (
            after(json!([call("a"), call("b")]), result_a.clone()),
            "immediately after: b.",
        ),
        (
            after(json!("x"), result_a.clone()),
            "messages.2.content.0: unexpected `tool_use_id`",
        ),
        (
            after(call_a.clone(), json!([result("a"), result("a")])),
            "single result",
        ),
        (
            after(json!([call("a"), call("a")]), result_a.clone()),
            "ids must be unique",
        ),
        (
            conversation(&[
                json!("hi"),
                call_a.clone(),
                result_a.clone(),
                call_a.clone(),
                result_a,
            ]),
            "messages.3.content.0: `tool_use` ids must be unique",
        ),
        (
            conversation(&[json!("hi"), call_a.clone()]),
            "messages.1: `tool_use` ids were found",
        ),
        (
            after(call_a, json!([failed])),
            "content cannot be empty if `is_error` is true",
        ),
        (conversation(&[json!("hi"), json!([server])]), "valid"),
        (
            after(json!([server, text("x")]), json!("go on")),
            "messages.1.content.0: `server_tool",
        ),
        (
            after(json!([server, found, text("x")]), json!("go on")),
            "valid",
        ),
        (
            after(json!([found, text("x")]), json!("go on")),
            "messages.1.content.0: unexpected `tool_use_id` s",
        ),
    ]);
}

#[test]
fn the_version_of_october_2026_takes_no_sampling_no_citations_and_no_documents_in_replies() {
    let versions = ["2023-01-01", "2023-06-01", "2026-10-21"];
    let verdicts = |body: &Value| {
        versions.map(|version| {
            let mut headers = headers();
            headers[1].1 = version.to_owned();
            let checked = validate(Endpoint::Messages, &headers, body.to_string().as_bytes());
            checked.map_or_else(|error| error.message, |_| "valid".to_owned())
        })
    };
    let old = json!("claude-sonnet-4-6");
    for (field, value) in [("temperature", 1), ("top_p", 1), ("top_k", 5)] {
        let verdicts = verdicts(&body(json!({"model": old, field: value})));
        assert_eq!(verdicts[..2], ["valid", "valid"], "{field}");
        assert_eq!(
            verdicts[2],
            format!("{field}: Extra inputs are not permitted")
        );
    }
    let cited = json!({"type": "text", "text": "x", "citations": [{"type": "char_location"}]});
    let by_user = verdicts(&conversation(&[json!([cited])]));
    assert_eq!(by_user[..2], ["valid", "valid"]);
    assert!(by_user[2].starts_with("messages.0.content.0.text.citations: "));
    let by_model = conversation(&[json!("hi"), json!([cited]), json!("next")]);
    assert_eq!(verdicts(&by_model), ["valid"; 3]);
}

#[test]
fn the_result_of_a_server_tool_beside_calls_is_in_the_next_reply() {
    let server =
        |id: &str| json!({"type": "server_tool_use", "id": id, "name": "web_fetch", "input": {}});
    let found =
        |id: &str| json!({"type": "web_fetch_tool_result", "tool_use_id": id, "content": {}});
    let mixed = json!([text("x"), server("s"), call("a")]);
    let talk = |rest: &[Value]| conversation(&[&[json!("hi"), mixed.clone()], rest].concat());
    let results = json!([result("a")]);
    check_rows(vec![
        (talk(std::slice::from_ref(&results)), "valid"),
        (
            talk(&[
                results.clone(),
                json!([found("s"), text("y")]),
                json!("next"),
            ]),
            "valid",
        ),
        // The next reply may do it again.
        (
            talk(&[
                results.clone(),
                json!([found("s"), server("r"), call("b")]),
                json!([result("b")]),
            ]),
            "valid",
        ),
        (
            talk(&[json!([result("a"), text("and now")])]),
            "messages.2: `server_tool_use` s awaits its result",
        ),
        (
            talk(&[results.clone(), json!([text("y")]), json!("next")]),
            "messages.1.content.1: `server_tool_use` s was found without its result block",
        ),
        (
            talk(&[results, json!([found("s"), found("r")]), json!("next")]),
            "messages.3.content.1: unexpected `tool_use_id` r",
        ),
        (talk(&[]), "messages.1: `tool_use` ids were found"),
    ]);
}

#[test]
fn a_part_of_a_beta_is_taken_with_its_header_only() {
    let summary = json!({"type": "compaction", "content": "S", "signature": "s"});
    let fallback = json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}});
    let thought = json!({"type": "thinking", "thinking": "t", "signature": "s"});
    let call = json!({"type": "tool_use", "id": "t", "name": "n", "input": {}});
    let after = |reply: Value| conversation(&[json!("hi"), reply, json!("next")]);
    let mut summarized = after(json!([text("x")]));
    summarized["messages"][0] = json!({"role": "assistant", "content": [summary]});
    summarized["messages"][1] = json!({"role": "user", "content": "go on"});
    summarized["messages"].as_array_mut().unwrap().truncate(2);
    let rows = [
        (
            "context-management-2025-06-27",
            body(json!({"context_management": {"edits": []}})),
            "context_management: Extra inputs",
        ),
        (
            "message-threads-2026-08-12",
            body(json!({"thread": {"type": "create"}})),
            "thread: Extra inputs",
        ),
        (
            "server-side-fallback-2026-07-01",
            body(json!({"fallbacks": "default"})),
            "fallbacks: Extra inputs",
        ),
        (
            "task-budgets-2026-03-13",
            body(json!({"output_config": {"task_budget": {"total": 1}}})),
            "output_config.task_budget: Extra inputs",
        ),
        (
            "server-side-fallback-2026-07-01",
            after(json!([text("Part. "), fallback, text("Rest.")])),
            "messages.1.content.1: Input tag 'fallback'",
        ),
        (
            "compact-2026-09-04",
            summarized,
            "messages.0.content.0: Input tag 'compaction'",
        ),
    ];
    let verdict = |beta: &str, body: &Value| {
        let mut headers = headers();
        if !beta.is_empty() {
            headers.push((
                "anthropic-beta".to_owned(),
                format!("other-2026-01-01,{beta}"),
            ));
        }
        let checked = validate(Endpoint::Messages, &headers, body.to_string().as_bytes());
        checked.map_or_else(|error| error.message, |_| "valid".to_owned())
    };
    for (beta, body, refused) in rows {
        assert_eq!(verdict(beta, &body), "valid", "{body}");
        let without = verdict("", &body);
        assert!(without.starts_with(refused), "{without}");
    }
    for before in [thought, call] {
        let reply = json!([before, fallback, text("Rest.")]);
        let refused = verdict("server-side-fallback-2026-07-01", &after(reply));
        assert!(refused.starts_with("messages.1.content.0: "), "{refused}");
    }
    let late = after(json!([summary]));
    let refused = verdict("compact-2026-09-04", &late);
    assert!(refused.contains("must be the only one of the first message"));
}

#[test]
fn tools_for_the_web_are_checked() {
    let with = |fields: Value| {
        let mut tool = json!({"type": "web_search_20260318", "name": "web_search"});
        let fields = fields.as_object().unwrap().clone();
        tool.as_object_mut().unwrap().extend(fields);
        body(json!({"tools": [tool]}))
    };
    check_rows(vec![
        (
            with(json!({"max_uses": 5, "allowed_callers": ["direct"]})),
            "valid",
        ),
        (with(json!({"allowed_domains": ["docs.rs/a"]})), "valid"),
        (
            with(json!({"allowed_domains": ["a.b"], "blocked_domains": ["c.d"]})),
            "only one of `allowed_domains`",
        ),
        (
            with(json!({"blocked_domains": ["a.b", "https://c.d"]})),
            "tools.0.web_search_20260318.blocked_domains.1: ",
        ),
        (
            with(json!({"url_sources": {}})),
            "tools.0.web_search_20260318.url_sources: Extra inputs",
        ),
    ]);
}

#[test]
fn tools_and_the_choice_are_checked() {
    let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
    let with = |tools: Value, choice: Value| body(json!({"tools": tools, "tool_choice": choice}));
    let none = Value::Null;
    let schema = |schema: Value| json!([{"name": "x", "input_schema": schema}]);
    let forced = json!({"type": "tool", "name": "x"});
    let mut opus = with(json!([tool("x")]), forced.clone());
    let mut older = opus.clone();
    older["model"] = json!("claude-sonnet-5");
    opus["model"] = json!("claude-opus-5-5");
    check_rows(vec![
        (
            with(json!([tool("read"), tool("grep")]), json!({"type": "auto"})),
            "valid",
        ),
        (with(json!([tool("a b")]), none.clone()), "tools.0.name:"),
        (
            with(json!([tool(&"a".repeat(65))]), none.clone()),
            "tools.0.name:",
        ),
        (
            with(json!([tool("x"), tool("x")]), none.clone()),
            "tools: Tool names must be unique",
        ),
        (
            with(json!([{"name": "x"}]), none.clone()),
            "input_schema: Field required",
        ),
        (with(schema(json!("object")), none.clone()), "input_schema:"),
        (
            with(schema(json!({"type": "array"})), none.clone()),
            "input_schema.type:",
        ),
        (
            with(json!([{"name": "x", "parameters": {}}]), none.clone()),
            "parameters: Extra",
        ),
        (
            with(json!([tool("x")]), json!({"type": "some"})),
            "tool_choice.type:",
        ),
        (older, "valid"),
        (
            with(json!([tool("y")]), forced.clone()),
            "tool_choice: Tool 'x' not found",
        ),
        (with(none, forced), "tool_choice: may only be"),
        (opus, "tool_choice:"),
    ]);
}

#[test]
fn cache_breakpoints_are_counted() {
    let marked = |control: Value| json!({"type": "text", "text": "x", "cache_control": control});
    let short = marked(json!({"type": "ephemeral"}));
    let long = marked(json!({"type": "ephemeral", "ttl": "1h"}));
    let with = |count: usize| conversation(&[json!(vec![short.clone(); count])]);
    let one = |control: Value| conversation(&[json!([marked(control)])]);
    let system = |blocks: Value| body(json!({"system": blocks}));
    let mut everywhere = with(2);
    everywhere["system"] = json!([short]);
    everywhere["tools"] = json!([
        {"name": "x", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
    ]);
    let mut too_many = everywhere.clone();
    too_many["cache_control"] = json!({"type": "ephemeral"});
    let thinking = json!({
        "type": "thinking", "thinking": "hm", "signature": "sig",
        "cache_control": {"type": "ephemeral"},
    });
    let thinking = conversation(&[json!("hi"), json!([thinking, text("x")]), json!("go on")]);
    let empty = json!([{"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]);
    check_rows(vec![
        (with(4), "valid"),
        (with(5), "A maximum of 4 blocks"),
        (everywhere, "valid"),
        (too_many, "A maximum of 4 blocks"),
        (
            one(json!({"type": "lasting"})),
            "messages.0.content.0.cache_control:",
        ),
        (
            one(json!({"type": "ephemeral", "ttl": "1d"})),
            "cache_control:",
        ),
        (
            one(json!({"type": "ephemeral", "scope": "x"})),
            "cache_control.ephemeral.scope: Extra",
        ),
        (conversation(&[json!([long, short])]), "valid"),
        (
            conversation(&[json!([short, long])]),
            "messages.0.content.1.cache_control: a block with a ttl of '1h'",
        ),
        (
            thinking,
            "messages.1.content.0.thinking.cache_control: Extra",
        ),
        (system(json!([short])), "valid"),
        (
            system(empty),
            "system.0: text content blocks must be non-empty",
        ),
        (
            system(json!([{"type": "text", "text": "x", "id": 1}])),
            "system.0.id: Extra",
        ),
    ]);
}

#[test]
fn neighbours_of_the_same_role_are_told() {
    let message = json!({"role": "user", "content": "x"});
    let body = body(json!({"messages": [message, message]}));
    let request = validate(Endpoint::Messages, &headers(), body.to_string().as_bytes()).unwrap();
    assert_eq!(
        strict_roles(&request),
        ["messages.1: follows a message of the same role \"user\""]
    );
}
