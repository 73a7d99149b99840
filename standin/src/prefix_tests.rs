//! Beginnings of requests: what counts, what is told, and how many tokens it has.

use serde_json::json;

use super::*;

fn mark(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn request(system: &Value, messages: &[Value]) -> Value {
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages: Vec<Value> = messages
        .iter()
        .zip(roles)
        .map(|(content, role)| json!({"role": role, "content": content}))
        .collect();
    let tools = json!([{"name": "read", "input_schema": {"type": "object"}}]);
    json!({"tools": tools, "system": system, "messages": messages})
}

#[test]
fn a_beginning_goes_on_when_only_marks_move() {
    let first = request(
        &json!([mark(text("be brief"))]),
        &[json!([mark(text("hi"))])],
    );
    let grown = [
        json!("hi"),
        json!([text("hello")]),
        json!([mark(text("go on"))]),
    ];
    let second = request(&json!("be brief"), &grown);
    assert_eq!(prefix_break(&first, &second), None);
    assert_eq!(prefix_break(&second, &second), None);
}

#[test]
fn a_break_is_told_with_its_place() {
    let system = json!("be brief");
    let start = [json!([text("one"), mark(text("two"))])];
    let first = request(&system, &start);
    let told = |next: &Value| prefix_break(&first, next).unwrap_or_default();
    let other = told(&request(&json!("be long"), &start));
    assert!(other.starts_with("system.0 differs"), "{other}");
    let other = told(&request(&system, &[json!([text("one"), text("TWO")])]));
    assert!(other.starts_with("messages.0.content.1 differs"), "{other}");
    assert!(other.contains("at byte 23"), "{other}");
    let other = told(&request(&system, &[json!([text("one")])]));
    assert!(
        other.contains("messages.0.content.1: the next request ends"),
        "{other}"
    );
    let mut reordered = first.clone();
    reordered["tools"] = json!([{"input_schema": {"type": "object"}, "name": "read"}]);
    assert!(told(&reordered).starts_with("tools.0 differs"));
    let mut role = first.clone();
    role["messages"][0]["role"] = json!("assistant");
    assert!(told(&role).starts_with("messages.0.content.0 differs"));
    let unmarked = request(&system, &[json!("hi")]);
    assert!(prefix_break(&unmarked, &unmarked).is_some());
}

#[test]
fn what_stands_behind_the_last_mark_may_change() {
    let first = request(&json!("s"), &[json!([mark(text("one")), text("two")])]);
    let second = request(&json!("s"), &[json!([text("one"), text("other")])]);
    assert_eq!(prefix_break(&first, &second), None);
}

#[test]
fn a_mark_within_a_result_and_one_for_the_whole_request_count() {
    let result =
        |inner: Value| json!([{"type": "tool_result", "tool_use_id": "a", "content": [inner]}]);
    let first = request(&json!("s"), &[result(mark(text("one")))]);
    let second = request(&json!("s"), &[result(text("one"))]);
    assert_eq!(prefix_break(&first, &second), None);
    let mut whole = second.clone();
    whole["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(prefix_break(&whole, &second), None);
    let third = request(&json!("s"), &[result(text("two"))]);
    assert!(prefix_break(&whole, &third).is_some());
}

#[test]
fn tokens_are_counted_by_the_plain_rule() {
    let tokens = |content: Value, percent| {
        let body = json!({"messages": [{"role": "user", "content": content}]});
        Weight::from_body(&body, percent).tokens()
    };
    let block = text(&"a".repeat(4000)).to_string().len() as u64;
    assert_eq!(tokens(json!("a".repeat(4000)), 100), block.div_ceil(4));
    assert_eq!(
        tokens(json!([mark(text(&"ä".repeat(4000)))]), 100),
        block.div_ceil(4)
    );
    assert_eq!(tokens(json!("a".repeat(4000)), 200), block.div_ceil(2));
    let image = json!({"type": "image", "source": {"data": "A".repeat(40_000)}});
    assert_eq!(tokens(json!([image, image]), 300), 2 * IMAGE_TOKENS);
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": [image]});
    assert_eq!(tokens(json!([result]), 100), IMAGE_TOKENS + 1);
    let pdf = json!({"type": "document", "source": {"media_type": "application/pdf", "data": "A"}});
    assert_eq!(tokens(json!([pdf]), 100), PDF_TOKENS);
}
