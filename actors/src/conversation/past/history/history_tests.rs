//! The part of a conversation that the model is sent, byte by byte.

use serde_json::{Value, json};

use super::*;

#[path = "compact_tests.rs"]
mod compact_tests;
#[path = "cut_tests.rs"]
mod cut_tests;
#[path = "random_tests.rs"]
mod random_tests;
#[path = "request_tests.rs"]
mod request_tests;

/// A change of a history, and its name.
type Change = (&'static str, fn(&mut History));

fn block(json: &Value) -> Block {
    Block::new(json.as_object().unwrap().clone())
}

fn blocks(json: &Value) -> Vec<Block> {
    json.as_array().unwrap().iter().map(block).collect()
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn thinking(signature: &str) -> Value {
    json!({"type": "thinking", "thinking": "hm é \"\\", "signature": signature})
}

fn redacted() -> Value {
    json!({"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3p/+="})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "read", "input": {"b": 1, "a": [1.50, "x"]}})
}

fn web_search(id: &str) -> Value {
    json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}})
}

fn web_results(id: &str) -> Value {
    let hit = json!({"type": "web_search_result", "url": "u", "encrypted_content": "E"});
    json!({"type": "web_search_tool_result", "tool_use_id": id, "content": [hit]})
}

fn interrupted(id: &str) -> Value {
    result(id, "not executed: the reply was interrupted", true)
}

fn result(id: &str, content: &str, is_error: bool) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error})
}

fn user(content: &Value) -> Value {
    json!({"role": "user", "content": content})
}

fn assistant(content: &Value) -> Value {
    json!({"role": "assistant", "content": content})
}

/// The content of a request, byte by byte.
fn sent(history: &History) -> String {
    let messages = history.messages().concat();
    format!("[{}]", String::from_utf8(messages).unwrap())
}

/// A history with the prompt `hi`.
fn prompted() -> History {
    let mut history = History::default();
    history.push_prompt("hi", &[]);
    history
}

/// Replies, and what of them is sent back with the next prompt: the content of the assistant's
/// message and the results before the prompt.
fn check_replies(rows: &[(Value, Value, &[Value])]) {
    for (reply, kept, results) in rows {
        let mut history = prompted();
        history.push_reply(blocks(reply), Unanswered::Interrupted);
        history.push_prompt("next", &[]);
        let next = [*results, &[text("next")]].concat();
        let expected = json!([
            user(&json!([text("hi")])),
            assistant(kept),
            user(&json!(next))
        ]);
        assert_eq!(sent(&history), expected.to_string(), "{reply}");
    }
}

/// Spec: [CONV-731]
#[test]
fn of_an_attempt_before_a_fallback_only_what_is_done_is_sent_back() {
    let hop = || json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}});
    check_replies(&[
        (
            json!([
                thinking("s"),
                text("one"),
                call("t"),
                hop(),
                redacted(),
                text("two"),
                call("u")
            ]),
            json!([text("one"), hop(), redacted(), text("two"), call("u")]),
            &[interrupted("u")],
        ),
        (
            json!([call("t"), hop(), call("u"), hop(), text("end")]),
            json!([hop(), hop(), text("end")]),
            &[],
        ),
        // A change of the model that nothing follows on is none.
        (
            json!([thinking("s"), text("one"), hop(), thinking("t")]),
            json!([text("one")]),
            &[],
        ),
        (
            json!([
                web_search("a"),
                web_results("a"),
                web_search("b"),
                hop(),
                text("end")
            ]),
            json!([web_search("a"), web_results("a"), hop(), text("end")]),
            &[],
        ),
    ]);
}

/// Spec: [CONV-35]
#[test]
fn thinking_is_sent_back_as_it_came_or_not_at_all() {
    let unsigned = json!({"type": "thinking", "thinking": "hm"});
    let hidden = json!({"type": "thinking", "thinking": "", "signature": "s"});
    check_replies(&[
        (
            json!([thinking("Eq+/="), redacted(), hidden, text("a")]),
            json!([thinking("Eq+/="), redacted(), hidden, text("a")]),
            &[],
        ),
        (
            json!([unsigned, thinking(""), text("a")]),
            json!([text("a")]),
            &[],
        ),
        (json!([text("a"), thinking("s")]), json!([text("a")]), &[]),
        (
            json!([text("a"), redacted(), thinking("s"), text(" "), redacted()]),
            json!([text("a")]),
            &[],
        ),
        (
            json!([thinking("s"), call("t"), thinking("s")]),
            json!([thinking("s"), call("t")]),
            &[interrupted("t")],
        ),
        (
            json!([thinking("s"), call("t"), redacted(), call("u")]),
            json!([thinking("s"), call("t"), redacted(), call("u")]),
            &[interrupted("t"), interrupted("u")],
        ),
    ]);
}

/// Spec: [CONV-36]
#[test]
fn what_the_api_would_refuse_is_left_out() {
    let cited = json!({
        "type": "text", "text": "a",
        "citations": [{"type": "char_location", "cited_text": "x", "document_index": 0}],
    });
    let called = json!({
        "type": "tool_use", "id": "t", "name": "read", "input": {}, "caller": {"type": "direct"},
    });
    let with = |mut block: Value| {
        block["later"] = json!({"x": 1});
        block
    };
    check_replies(&[
        (
            json!([text(""), text("a"), text(" \n\u{a0}")]),
            json!([text("a")]),
            &[],
        ),
        (
            json!([{"type": "poem", "text": "x"}, {"text": "x"}, text("a")]),
            json!([text("a")]),
            &[],
        ),
        (
            json!([text("a"), {"type": "tool_use", "id": "t", "name": "read", "input": "{}"}]),
            json!([text("a")]),
            &[],
        ),
        (
            json!([text("a"), {"type": "tool_use", "name": "read", "input": {}}]),
            json!([text("a")]),
            &[],
        ),
        (
            json!([text("a"), result("t", "x", false)]),
            json!([text("a")]),
            &[],
        ),
        (
            json!([
                with(thinking("s")),
                with(redacted()),
                with(cited.clone()),
                with(called.clone())
            ]),
            json!([thinking("s"), redacted(), cited, called]),
            &[interrupted("t")],
        ),
        (
            json!([with(web_search("s")), with(web_results("s")), text("a")]),
            json!([with(web_search("s")), with(web_results("s")), text("a")]),
            &[],
        ),
    ]);
}

/// Spec: [CONV-37]
#[test]
fn calls_move_behind_the_text_that_followed_them() {
    check_replies(&[
        (
            json!([call("t"), text("a")]),
            json!([text("a"), call("t")]),
            &[interrupted("t")],
        ),
        (
            json!([text("a"), call("t"), thinking("s"), text("b"), call("u")]),
            json!([text("a"), thinking("s"), text("b"), call("t"), call("u")]),
            &[interrupted("t"), interrupted("u")],
        ),
        (
            json!([text("a"), call("t"), text(" "), call("u")]),
            json!([text("a"), call("t"), call("u")]),
            &[interrupted("t"), interrupted("u")],
        ),
    ]);
}

/// Spec: [CONV-38]
#[test]
fn calls_that_the_api_ran_itself_stay_with_their_results() {
    let mcp_call =
        json!({"type": "mcp_tool_use", "id": "m", "name": "n", "server_name": "s", "input": {}});
    let mcp_result = json!({"type": "mcp_tool_result", "tool_use_id": "m", "content": []});
    check_replies(&[
        (
            json!([
                text("a"),
                web_search("s"),
                web_results("s"),
                text("b"),
                mcp_call,
                mcp_result
            ]),
            json!([
                text("a"),
                web_search("s"),
                web_results("s"),
                text("b"),
                mcp_call,
                mcp_result
            ]),
            &[],
        ),
        (
            json!([
                text("a"),
                web_search("s"),
                web_search("r"),
                web_results("r")
            ]),
            json!([text("a"), web_search("r"), web_results("r")]),
            &[],
        ),
        (
            json!([web_results("s"), text("a"), mcp_call]),
            json!([text("a")]),
            &[],
        ),
        (
            json!([web_search("s"), call("t")]),
            json!([call("t")]),
            &[interrupted("t")],
        ),
    ]);
}

/// A past that ends with results beside an open call of the API's own tools.
fn mixed() -> History {
    let mut history = prompted();
    let reply = json!([text("a"), web_search("s"), call("t")]);
    history.push_tool_use(blocks(&reply), Unanswered::Interrupted);
    history.push_result("t", "x", false);
    history
}

/// The messages of [`mixed`], the reply with or without the open call.
fn mixed_messages(is_open: bool) -> [Value; 3] {
    let reply = match is_open {
        true => json!([text("a"), web_search("s"), call("t")]),
        false => json!([text("a"), call("t")]),
    };
    [
        user(&json!([text("hi")])),
        assistant(&reply),
        user(&json!([result("t", "x", false)])),
    ]
}

/// Spec: [CONV-38] [CONV-796]
#[test]
fn an_open_call_of_the_apis_own_tools_beside_calls_is_answered_in_the_next_reply() {
    let mut history = mixed();
    assert!(history.awaits_server_results());
    let open = mixed_messages(true);
    assert_eq!(sent(&history), json!(open).to_string());

    let next = json!([web_results("s"), text("b"), web_search("r"), call("u")]);
    history.push_tool_use(blocks(&next), Unanswered::Interrupted);
    history.push_result("u", "y", false);
    let answered = [&open[..], &[assistant(&next)]].concat();
    let behind = [&answered[..], &[user(&json!([result("u", "y", false)]))]].concat();
    assert_eq!(sent(&history), json!(behind).to_string());

    // A pause of the reply that has the result changes nothing.
    history.push_paused(blocks(&json!([web_results("r"), web_search("q")])));
    assert!(!history.awaits_server_results());
    let paused = assistant(&json!([web_results("r"), web_search("q")]));
    let paused = [&behind[..], &[paused]].concat();
    assert_eq!(sent(&history), json!(paused).to_string());
    history.push_reply(
        blocks(&json!([web_results("q"), text("c")])),
        Unanswered::Interrupted,
    );
    let whole = [
        web_results("r"),
        web_search("q"),
        web_results("q"),
        text("c"),
    ];
    let whole = [&behind[..], &[assistant(&json!(whole))]].concat();
    assert_eq!(sent(&history), json!(whole).to_string());

    // Taken back, it is awaited again.
    assert!(history.take_back_reply());
    assert!(history.awaits_server_results());
    assert_eq!(sent(&history), json!(behind).to_string());
}

/// Spec: [CONV-797]
#[test]
fn an_open_call_of_the_apis_own_tools_that_gets_no_result_is_left_out() {
    let dropped = mixed_messages(false);
    let changes: [Change; 3] = [
        ("nothing else", |history| history.drop_server_calls()),
        ("a reply without the result", |history| {
            history.push_reply(blocks(&json!([text("b")])), Unanswered::Interrupted);
        }),
        ("a prompt", |history| history.push_prompt("next", &[])),
    ];
    for (name, change) in changes {
        let mut history = mixed();
        change(&mut history);
        assert!(!history.awaits_server_results(), "{name}");
        let sent: Vec<Value> = serde_json::from_str(&sent(&history)).unwrap();
        assert_eq!(sent[..2], dropped[..2], "{name}");
        assert_eq!(sent[2]["content"][0], dropped[2]["content"][0], "{name}");
    }
    // Without a call of our tools that was to be answered there is no next reply to have it.
    let mut history = prompted();
    let reply = json!([text("a"), web_search("s")]);
    history.push_tool_use(blocks(&reply), Unanswered::Interrupted);
    let expected = json!([user(&json!([text("hi")])), assistant(&json!([text("a")]))]);
    assert_eq!(sent(&history), expected.to_string());
    // The API refused the request: what may be the reason is not sent again.
    let mut history = mixed();
    assert!(history.leave_out_refused().is_empty());
    let sent: Vec<Value> = serde_json::from_str(&sent(&history)).unwrap();
    assert_eq!(sent[1], dropped[1]);
}

/// Spec: [WEB-09]
#[test]
fn a_search_that_the_api_could_not_read_again_is_sent_as_text() {
    let page = json!({"type": "web_search_result", "title": "T", "url": "https://a.example/x"});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": [page]});
    let cited = |fields: Value| {
        let mut cited = json!({"type": "web_search_result_location", "url": "u"});
        cited
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        json!({"type": "text", "text": "b", "citations": [cited]})
    };
    let sealed = cited(json!({"encrypted_index": "I"}));
    let uncited = json!({"type": "text", "text": "b", "citations": []});
    check_replies(&[
        (
            json!([web_search("s"), found, cited(json!({})), call("t")]),
            json!([
                text("[web_search: q]"),
                text("[1 page\n  T · a.example]"),
                text("b"),
                call("t")
            ]),
            &[interrupted("t")],
        ),
        (
            json!([web_search("r"), web_results("r"), sealed]),
            json!([web_search("r"), web_results("r"), sealed]),
            &[],
        ),
        // What came before there were searches stays the same bytes.
        (json!([uncited]), json!([uncited]), &[]),
    ]);
    // The call before it goes with it.
    let mut history = mixed();
    history.push_reply(blocks(&json!([found, text("c")])), Unanswered::Interrupted);
    let sent: Vec<Value> = serde_json::from_str(&sent(&history)).unwrap();
    assert_eq!(sent[1], mixed_messages(false)[1]);
    let told = json!([text("[1 page\n  T · a.example]"), text("c")]);
    assert_eq!(sent[3], assistant(&told));
}

/// Spec: [CONV-796]
#[test]
fn a_summary_never_parts_an_open_call_from_its_result() {
    for kept in 0..=5 {
        let mut history = mixed();
        let next = json!([web_results("s"), text("b")]);
        history.push_reply(blocks(&next), Unanswered::Interrupted);
        history.push_prompt("next", &[]);
        history.compact("S", kept);
        let sent: Vec<Value> = serde_json::from_str(&sent(&history)).unwrap();
        let has = |kind: &str| Value::from(sent.clone()).to_string().contains(kind);
        let has_call = has("server_tool_use");
        assert_eq!(has_call, has("web_search_tool_result"), "{kept} kept");
        assert_eq!(has_call, kept > 1, "{kept} kept");
        assert_eq!(first_violation(&sent), None, "{kept} kept");
    }
}

/// Spec: [CONV-33]
#[test]
fn a_reply_with_nothing_to_send_back_leaves_roles_alternating() {
    for reply in [
        json!([]),
        json!([text(" ")]),
        json!([thinking("s"), redacted()]),
        json!([web_search("s")]),
    ] {
        let mut history = prompted();
        history.push_reply(blocks(&reply), Unanswered::Interrupted);
        history.push_prompt("next", &[]);
        let expected = json!([user(&json!([text("hi"), text("next")]))]);
        assert_eq!(sent(&history), expected.to_string(), "{reply}");
    }
}

/// Spec: [CONV-34]
#[test]
fn a_call_without_a_result_gets_one_that_says_why() {
    for (unanswered, why) in [
        (Unanswered::Interrupted, "the reply was interrupted"),
        (Unanswered::Cancelled, "cancelled by user"),
        (Unanswered::Refused, "the request was refused"),
        (Unanswered::EarlierToolFailed, "an earlier tool failed"),
    ] {
        let mut history = prompted();
        history.push_reply(blocks(&json!([call("t"), call("u")])), unanswered);
        history.push_result("t", "", false);
        history.push_result("nobody", "x", false);
        history.push_prompt("one", &[]);
        history.push_prompt("two", &[]);
        let note = result("u", &format!("not executed: {why}"), true);
        let expected = json!([
            user(&json!([text("hi")])),
            assistant(&json!([call("t"), call("u")])),
            user(&json!([
                result("t", "", false),
                note,
                text("one"),
                text("two")
            ])),
        ]);
        assert_eq!(sent(&history), expected.to_string());
    }
}

/// Spec: [CONV-38] [CONV-40]
#[test]
fn a_paused_reply_is_the_end_of_the_request_and_the_start_of_what_follows() {
    let mut history = prompted();
    let paused = json!([text("a"), text(" "), web_search("s"), thinking("s")]);
    history.push_paused(blocks(&paused));
    let hi = user(&json!([text("hi")]));
    let expected = json!([hi, assistant(&json!([text("a"), web_search("s")]))]);
    assert_eq!(sent(&history), expected.to_string());

    let more = json!([web_results("s"), web_search("r")]);
    history.push_paused(blocks(&more));
    let so_far = json!([
        text("a"),
        web_search("s"),
        web_results("s"),
        web_search("r")
    ]);
    let expected = json!([hi, assistant(&so_far)]);
    assert_eq!(sent(&history), expected.to_string());

    // The thinking that was not sent back does not come up again.
    let rest = json!([web_results("r"), call("t")]);
    history.push_reply(blocks(&rest), Unanswered::Cancelled);
    let whole = json!([
        text("a"),
        web_search("s"),
        web_results("s"),
        web_search("r"),
        web_results("r"),
        call("t")
    ]);
    let note = result("t", "not executed: cancelled by user", true);
    let expected = json!([hi, assistant(&whole), user(&json!([note]))]);
    assert_eq!(sent(&history), expected.to_string());
}

/// Spec: [CONV-33] [CONV-38]
#[test]
fn a_paused_reply_that_does_not_go_on_ends_there() {
    let mut history = prompted();
    history.push_paused(blocks(&json!([text("a"), web_search("s")])));
    history.push_prompt("next", &[]);
    let expected = json!([
        user(&json!([text("hi")])),
        assistant(&json!([text("a")])),
        user(&json!([text("next")])),
    ]);
    assert_eq!(sent(&history), expected.to_string());

    // Found by random interleavings: two user messages stood in a row.
    for rest in [json!([]), json!([text(" ")])] {
        let mut history = prompted();
        history.push_paused(blocks(&json!([thinking("s"), web_search("s")])));
        history.push_reply(blocks(&rest), Unanswered::Cancelled);
        history.push_prompt("next", &[]);
        let expected = json!([user(&json!([text("hi"), text("next")]))]);
        assert_eq!(sent(&history), expected.to_string());
    }
}

/// Spec: [CONV-19]
#[test]
fn a_pause_with_nothing_to_send_back_repeats_the_request() {
    let mut history = prompted();
    let before = sent(&history);
    history.push_paused(blocks(&json!([text(" "), thinking("s")])));
    assert_eq!(sent(&history), before);
}

/// Where the pieces of a request are in memory.
fn places(history: &History) -> Vec<*const u8> {
    let place = |piece: &RequestPiece| match piece {
        RequestPiece::Json(json) if json.as_ref() != b"," => Some(json.as_ptr()),
        RequestPiece::Json(_) | RequestPiece::Attachments(_) => None,
    };
    history
        .pieces(Caching::Off)
        .iter()
        .filter_map(place)
        .collect()
}

/// Spec: [CONV-39]
#[test]
fn messages_that_no_longer_change_are_never_serialized_again() {
    let mut history = History::default();
    let mut earlier = Vec::new();
    for turn in 0..6 {
        history.push_prompt("hi", &[]);
        let mut sealed = places(&history);
        sealed.pop();
        assert_eq!(sealed.len(), 2 * turn);
        assert!(sealed.starts_with(&earlier));
        earlier = sealed;
        let reply = json!([thinking("s"), text("a"), call(&format!("t{turn}"))]);
        let before = history.messages().concat();
        history.push_reply(blocks(&reply), Unanswered::Interrupted);
        history.push_result(&format!("t{turn}"), "x", false);
        assert!(history.messages().concat().starts_with(&before));
    }
}

/// Spec: [MODEL-69]
#[test]
fn white_space_at_the_end_of_a_paused_reply_is_not_sent_back() {
    let mut history = prompted();
    history.push_paused(blocks(&json!([
        text(" a \n"),
        text(" b \n"),
        thinking("s")
    ])));
    let hi = user(&json!([text("hi")]));
    let paused = assistant(&json!([text(" a \n"), text(" b")]));
    assert_eq!(sent(&history), json!([hi, paused]).to_string());
    // What was sent stays as it was.
    history.push_reply(blocks(&json!([text(" c ")])), Unanswered::Interrupted);
    let whole = assistant(&json!([text(" a \n"), text(" b"), text(" c ")]));
    assert_eq!(sent(&history), json!([hi, whole]).to_string());
}
