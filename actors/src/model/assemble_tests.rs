#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test fails at whatever it does not name"
)]

use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::json;

use super::super::SseLines;
use super::*;

/// The result of a stream.
type Assembled = Result<Reply, ModelError>;

#[derive(Debug, Clone, PartialEq)]
struct Reply {
    blocks: Vec<Block>,
    end: ReplyEnd,
}

/// Runs the bytes through decoder and assembler as an attempt does, in these chunks.
fn assemble<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Assembled {
    let mut lines = SseLines::default();
    let mut assembler = Assembler::default();
    let mut blocks = Vec::new();
    let mut pieces = Pieces::new();
    for chunk in chunks {
        let mut chunk = Bytes::copy_from_slice(chunk);
        while let Some(event) = lines.next(&mut chunk)? {
            match assembler.take(&event.event, &event.data)? {
                AssembledStep::Nothing => {}
                AssembledStep::Delta {
                    index,
                    kind,
                    offset,
                    text,
                } => follow(&mut pieces, (index, kind), offset, &text),
                AssembledStep::Block(index, block) => {
                    check_pieces(&mut pieces, index, &block);
                    blocks.push((index, block));
                }
                AssembledStep::Finished(rest, end) => return Ok(finished(blocks, rest, end)),
            }
        }
    }
    if let Some(event) = lines
        .unfinished()
        .filter(|event| event.data.contains("message_stop"))
        && let Ok(AssembledStep::Finished(rest, end)) = assembler.take(&event.event, &event.data)
    {
        return Ok(finished(blocks, rest, end));
    }
    Err(ModelError::Truncated)
}

/// The pieces of each block in deltas.
type Pieces = BTreeMap<u64, (DeltaKind, String)>;

/// Adds a delta, which goes on where the last one of its block ended.
fn follow(pieces: &mut Pieces, (index, kind): (u64, DeltaKind), offset: u64, text: &str) {
    assert!(!text.is_empty());
    let (kind_so_far, so_far) = pieces.entry(index).or_insert((kind, String::new()));
    assert_eq!((*kind_so_far, so_far.len() as u64), (kind, offset));
    so_far.push_str(text);
}

/// The deltas of a block add up to it.
fn check_pieces(pieces: &mut Pieces, index: u64, block: &Block) {
    let json = |key: &str| block.json().get(key).and_then(Value::as_str);
    let (kind, whole) = match block.type_name() {
        "text" => (DeltaKind::Text, json("text")),
        "thinking" => (DeltaKind::Reasoning, json("thinking")),
        "tool_use" => (DeltaKind::ToolInput, None),
        _ => {
            assert_eq!(pieces.remove(&index), None);
            return;
        }
    };
    let (told, pieces) = pieces.remove(&index).unwrap_or((kind, String::new()));
    assert_eq!(told, kind);
    match whole {
        // Half a character at the end of a block is known to be one only then.
        Some(whole) => assert_eq!(pieces, whole.strip_suffix('\u{fffd}').unwrap_or(whole)),
        None if pieces.is_empty() || block.input_error().is_some() => {}
        None => assert_eq!(
            serde_json::from_str::<Value>(&pieces).unwrap(),
            block.json()["input"]
        ),
    }
}

fn finished(mut blocks: Vec<(u64, Block)>, rest: Vec<(u64, Block)>, end: ReplyEnd) -> Reply {
    blocks.extend(rest);
    blocks.sort_by_key(|(index, _)| *index);
    let blocks = blocks.into_iter().map(|(_, block)| block).collect();
    Reply { blocks, end }
}

fn events(events: &[Value]) -> Assembled {
    let mut bytes = Vec::new();
    for event in events {
        bytes.extend(format!("data: {event}\n\n").into_bytes());
    }
    assemble([bytes.as_slice()])
}

fn begin() -> Value {
    json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 1}}})
}

fn open(index: impl Into<Value>, block: impl Into<Value>) -> Value {
    let (index, block) = (index.into(), block.into());
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn text_block() -> Value {
    json!({"type": "text", "text": ""})
}

fn delta(index: impl Into<Value>, delta: impl Into<Value>) -> Value {
    let (index, delta) = (index.into(), delta.into());
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text(text: &str) -> Value {
    json!({"type": "text_delta", "text": text})
}

fn stop(index: impl Into<Value>) -> Value {
    let index = index.into();
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}})
}

fn done() -> Value {
    json!({"type": "message_stop"})
}

fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs/examples/streams");
    let mut found = Vec::new();
    for folder in std::fs::read_dir(folder).unwrap() {
        let folder = folder.unwrap().path();
        if folder.is_dir() {
            found.extend(
                std::fs::read_dir(folder)
                    .unwrap()
                    .map(|file| file.unwrap().path()),
            );
        }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "sse"));
    assert_eq!(found.len(), 10);
    found
}

/// The message that the official SDKs make of a recording; `None` where they raise an error.
fn expected(recording: &Path) -> Option<Object> {
    let file = std::fs::read(recording.with_extension("expected.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let message = file["message"].as_object().unwrap().clone();
    (!message.contains_key("error")).then_some(message)
}

/// A reply as the API's message object, with nulls left out.
fn message(reply: &Reply) -> Object {
    let blocks = reply
        .blocks
        .iter()
        .map(|block| Value::Object(block.json().clone()));
    let mut message = json!({
        "type": "message",
        "role": "assistant",
        "id": reply.end.id,
        "model": reply.end.model,
        "content": blocks.collect::<Vec<_>>(),
        "stop_reason": reply.end.stop_reason.to_string(),
        "usage": reply.end.usage.json(),
    });
    if !reply.end.stop_details.is_empty() {
        message["stop_details"] = Value::Object(reply.end.stop_details.clone());
    }
    without_nulls(message).as_object().unwrap().clone()
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                kept.map(|(key, value)| (key, without_nulls(value)))
                    .collect(),
            )
        }
        Value::Array(list) => list.into_iter().map(without_nulls).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn check(recording: &Path, assembled: &Assembled, how: &str) {
    let name = recording.display();
    match (expected(recording), assembled) {
        (Some(expected), Ok(reply)) => assert_eq!(message(reply), expected, "{name} {how}"),
        // Where the SDKs raise an error, the call gets one as its answer.
        (None, Ok(reply)) => {
            let call = reply.blocks.last().unwrap();
            assert_eq!(call.json()["input"], json!({}), "{name} {how}");
            let error = call.input_error().unwrap();
            assert!(error.contains("celsius"), "{name} {how}: {error}");
        }
        (_, assembled) => panic!("{name} {how}: {assembled:?}"),
    }
}

/// Spec: [MODEL-04] [MODEL-05] [MODEL-06] [MODEL-11] [MODEL-12] [MODEL-27]
#[test]
fn recordings_are_assembled_as_the_official_sdks_do_in_every_chunking() {
    let mut random = fastrand::Rng::with_seed(fastrand::u64(..));
    println!("seed {}", random.get_seed());
    for recording in recordings() {
        let bytes = std::fs::read(&recording).unwrap();
        check(&recording, &assemble([bytes.as_slice()]), "whole");
        for size in [1, 2, 7] {
            check(&recording, &assemble(bytes.chunks(size)), "in pieces");
        }
        let crlf = String::from_utf8(bytes.clone())
            .unwrap()
            .replace('\n', "\r\n");
        check(&recording, &assemble([crlf.as_bytes()]), "with CRLF");
        check(
            &recording,
            &assemble(crlf.as_bytes().chunks(1)),
            "with CRLF in pieces",
        );
        let cr = crlf.replace("\r\n", "\r");
        check(
            &recording,
            &assemble(cr.as_bytes().chunks(1)),
            "with CR in pieces",
        );
        for at in 0..bytes.len() {
            let (start, rest) = bytes.split_at(at);
            check(&recording, &assemble([start, rest]), "in two");
        }
        for _ in 0..1000 {
            let mut rest = bytes.as_slice();
            let mut chunks = Vec::new();
            while !rest.is_empty() {
                let (chunk, more) = rest.split_at(random.usize(1..=rest.len().min(200)));
                chunks.push(chunk);
                rest = more;
            }
            check(&recording, &assemble(chunks), "in random pieces");
        }
    }
}

/// Spec: [MODEL-06]
#[test]
fn a_recording_cut_before_its_end_is_never_a_whole_reply() {
    for recording in recordings() {
        let bytes = std::fs::read(&recording).unwrap();
        let last = bytes
            .windows(14)
            .rposition(|part| part == b"\"message_stop\"")
            .unwrap();
        let whole = last + bytes[last..].iter().position(|byte| *byte == b'}').unwrap() + 1;
        for at in 0..whole {
            let cut = assemble([&bytes[..at]]);
            assert!(cut.is_err(), "{} at {at}", recording.display());
        }
        check(
            &recording,
            &assemble([&bytes[..whole]]),
            "without the last line end",
        );
    }
}

/// Spec: [MODEL-08]
#[test]
fn what_is_unknown_is_skipped_or_carried() {
    let reply = events(&[
        json!({"type": "future", "index": -1}),
        json!({"no": "type"}),
        begin(),
        json!({"type": "ping"}),
        open(0, json!({"type": "future_block", "x": [1]})),
        delta(0, json!({"type": "future_delta", "y": 2})),
        stop(0),
        open(1, json!({"type": "text", "text": "al", "later": true})),
        delta(1, text("so")),
        delta(1, json!({"type": "input_json_delta", "partial_json": "no"})),
        delta(1, json!({"no": "type"})),
        stop(1),
        json!({"type": "message_delta", "delta": {"stop_reason": "future", "z": 3}}),
        done(),
    ])
    .unwrap();
    assert_eq!(reply.blocks[0].kind(), crate::reply::BlockKind::Unknown);
    let carried = json!({"type": "text", "text": "also", "later": true});
    assert_eq!(Value::Object(reply.blocks[1].json().clone()), carried);
    assert_eq!(reply.end.stop_reason, StopReason::Other("future".into()));
}

/// Spec: [MODEL-08] [MODEL-19]
#[test]
fn events_are_told_apart_by_name_and_odd_counts_are_no_failure() {
    let mut assembler = Assembler::default();
    let huge = r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1e400}}}"#;
    for (name, data) in [
        ("foo", "hello"),
        ("ping", ""),
        ("ping", "null"),
        ("message", r#"{"type":null}"#),
        ("message", "[DONE]"),
        ("message_start", huge),
        (
            "message_delta",
            r#"{"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1e400}}"#,
        ),
        ("message_delta", r#"{"delta":null,"usage":[]}"#),
    ] {
        assert_eq!(
            assembler.take(name, data),
            Ok(AssembledStep::Nothing),
            "{name} {data}"
        );
    }
    let Ok(AssembledStep::Finished(_, end)) =
        assembler.take("message_stop", r#"{"type":"message_stop"}"#)
    else {
        panic!("the reply is complete");
    };
    assert_eq!((end.usage.count("output_tokens"), &*end.id), (0, "m"));
    assert!(
        Assembler::default()
            .take("message", r#"["message_stop"]"#)
            .is_err()
    );
}

/// Spec: [MODEL-26]
#[test]
fn a_character_that_is_cut_in_two_arrives_whole() {
    let piece = |escapes: &str| {
        let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}"#;
        format!("data: {}\n\n", delta.replace("TEXT", escapes))
    };
    let text_of = |pieces: &[&str]| {
        let mut stream = format!("data: {}\n\ndata: {}\n\n", begin(), open(0, text_block()));
        stream.extend(pieces.iter().map(|escapes| piece(escapes)));
        stream += &format!("data: {}\n\ndata: {}\n\n", stop(0), done());
        let reply = assemble([stream.as_bytes()]).unwrap();
        reply.blocks[0].json()["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(text_of(&["a\\ud83c", "\\udf31b"]), "a🌱b");
    assert_eq!(text_of(&["\\ud83c", "\\udf31\\ud83c", "\\udf31"]), "🌱🌱");
    assert_eq!(text_of(&["a\\ud83c", "b"]), "a\u{fffd}b");
    assert_eq!(text_of(&["a\\ud83c"]), "a\u{fffd}");
    assert_eq!(text_of(&["\\udf31b"]), "\u{fffd}b");
}

/// Spec: [MODEL-80]
#[test]
fn a_reply_may_begin_with_its_first_block() {
    let reply = [
        open(0, text_block()),
        delta(0, text("x")),
        stop(0),
        end("end_turn"),
        done(),
    ];
    let assembled = events(&reply).unwrap();
    assert_eq!(assembled.blocks, [Block::text("x")]);
    assert_eq!(assembled.end.model, "");
    // There is no other beginning behind it.
    let late = events(&[open(0, text_block()), begin()]);
    assert!(
        matches!(late, Err(ModelError::Malformed { .. })),
        "{late:?}"
    );
}

/// Spec: [MODEL-07]
#[test]
fn a_stream_that_breaks_the_rules_is_malformed() {
    let tool = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
    let cases = [
        vec![delta(0, text("x"))],
        vec![done()],
        vec![end("end_turn")],
        vec![begin(), begin()],
        vec![begin(), delta(0, text("x"))],
        vec![begin(), stop(0)],
        vec![begin(), open(0, text_block()), open(0, text_block())],
        vec![begin(), open(0, text_block()), stop(0), stop(0)],
        vec![begin(), open(0, text_block()), stop(0), delta(0, text("x"))],
        vec![
            begin(),
            open(0, text_block()),
            stop(0),
            open(2, text_block()),
        ],
        vec![begin(), open(u32::MAX, text_block())],
        vec![begin(), open(u64::MAX, text_block())],
        vec![begin(), open(-1, text_block())],
        vec![begin(), open(1.5, text_block())],
        vec![begin(), open("0", text_block())],
        vec![
            begin(),
            json!({"type": "content_block_start", "content_block": text_block()}),
        ],
        vec![begin(), json!({"type": "content_block_start", "index": 0})],
        vec![begin(), open(0, json!("text"))],
        vec![begin(), open(0, json!({"type": "tool_use", "input": {}}))],
        vec![begin(), open(0, tool.clone()), stop(0), stop(0)],
        vec![json!({"type": "message_start"})],
        vec![json!("text")],
        vec![json!([1, 2])],
    ];
    for case in cases {
        let assembled = events(&case);
        assert!(
            matches!(assembled, Err(ModelError::Malformed { .. })),
            "{case:?}: {assembled:?}"
        );
    }
    let not_json = assemble([b"data: {\"type\":\n\n".as_slice()]);
    assert!(
        matches!(not_json, Err(ModelError::Malformed { .. })),
        "{not_json:?}"
    );
}

/// Spec: [MODEL-09]
#[test]
fn an_event_or_reply_over_its_limit_is_refused() {
    let line = vec![b'x'; 9 * 1024 * 1024];
    let one_line = assemble([b"data: ".as_slice(), &line, b"\n\n"]);
    assert!(matches!(one_line, Err(ModelError::Malformed { .. })));
    let mut many = Vec::new();
    while many.len() < 9 * 1024 * 1024 {
        many.extend_from_slice(b"data: ");
        many.extend_from_slice(&[b'x'; 93]);
        many.push(b'\n');
    }
    let many_lines = assemble(many.chunks(4096));
    assert!(matches!(many_lines, Err(ModelError::Malformed { .. })));

    let piece = "x".repeat(4 * 1024 * 1024);
    let big = |block: Value, piece: Value| {
        let mut stream = vec![begin(), open(0, block)];
        stream.extend(vec![delta(0, piece); 17]);
        events(&stream)
    };
    let text_reply = big(text_block(), text(&piece));
    assert!(matches!(text_reply, Err(ModelError::Malformed { .. })));
    let citation = json!({"type": "citations_delta", "citation": {"cited_text": &piece}});
    let cited = big(text_block(), citation);
    assert!(matches!(cited, Err(ModelError::Malformed { .. })));
    let whole_blocks = (0..17).flat_map(|index| {
        let block = json!({"type": "web_search_tool_result", "content": &piece});
        [open(index, block), stop(index)]
    });
    let whole_blocks: Vec<Value> = std::iter::once(begin()).chain(whole_blocks).collect();
    assert!(matches!(
        events(&whole_blocks),
        Err(ModelError::Malformed { .. })
    ));
    let tool = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
    let input = json!({"type": "input_json_delta", "partial_json": piece});
    assert!(matches!(
        big(tool, input),
        Err(ModelError::ToolInput { .. })
    ));
}

fn tool_input(pieces: &[&str], reason: &str) -> Assembled {
    let tool = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
    let mut stream = vec![begin(), open(0, tool)];
    let piece = |text: &&str| delta(0, json!({"type": "input_json_delta", "partial_json": text}));
    stream.extend(pieces.iter().map(piece));
    stream.extend([stop(0), end(reason), done()]);
    events(&stream)
}

/// Spec: [MODEL-10] [MODEL-11] [MODEL-430]
#[test]
fn a_bad_input_is_answered_with_an_error_unless_the_api_says_that_it_cut_it() {
    let input = |assembled: Assembled| assembled.unwrap().blocks[0].json()["input"].clone();
    assert_eq!(input(tool_input(&[], "tool_use")), json!({}));
    assert_eq!(
        input(tool_input(&["", "{\"a\"", ":1}"], "tool_use")),
        json!({"a": 1})
    );
    for pieces in [
        &["{\"a\":1"][..],
        &["[1]"],
        &["{}{}"],
        &["{\"a\":1,\"a\":2}"],
        &["{\"a\":\"x\\ud99c y\"}"],
        &["{\"a\":\"x\n", "y\"}"],
    ] {
        for reason in ["tool_use", "end_turn", "refusal"] {
            let reply = tool_input(pieces, reason).unwrap();
            let call = &reply.blocks[0];
            assert_eq!(call.json()["input"], json!({}), "{pieces:?}");
            let error = call.input_error().unwrap();
            assert!(error.starts_with("not executed: its input "), "{error}");
        }
    }
    assert_eq!(
        input(tool_input(&["{\"a\":1,\"b\":\"x"], "max_tokens")),
        json!({"a": 1})
    );
    assert_eq!(input(tool_input(&["{\"a\":x}"], "max_tokens")), json!({}));
}

/// Spec: [MODEL-430]
#[test]
fn a_call_that_no_event_ends_has_a_bad_input_and_the_field_of_the_answer_is_ours() {
    let tool = json!({"type": "tool_use", "id": "t", "name": "read", "input": {"a": 1}, "input_error": "no"});
    let reply = events(&[begin(), open(0, tool.clone()), stop(0), done()]).unwrap();
    assert_eq!(reply.blocks[0].input_error(), None);
    let reply = events(&[begin(), open(0, tool), done()]).unwrap();
    let error = reply.blocks[0].input_error().unwrap();
    assert!(error.contains("stops in the middle"), "{error}");
    assert_eq!(reply.blocks[0].json()["input"], json!({}));
}

/// Spec: [MODEL-10]
#[test]
fn a_bad_input_of_a_tool_of_the_api_fails_the_reply() {
    let tool = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let piece = json!({"type": "input_json_delta", "partial_json": "[1]"});
    let stream = [
        begin(),
        open(0, tool),
        delta(0, piece),
        stop(0),
        end("end_turn"),
        done(),
    ];
    let assembled = events(&stream);
    assert!(
        matches!(assembled, Err(ModelError::ToolInput { .. })),
        "{assembled:?}"
    );
}

/// Spec: [MODEL-12]
#[test]
fn thinking_keeps_its_signature_and_a_cut_one_has_none() {
    let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
    let thought = json!({"type": "thinking_delta", "thinking": "hm"});
    let signature = json!({"type": "signature_delta", "signature": "c2ln"});
    let redacted = json!({"type": "redacted_thinking", "data": "b3BhcXVl"});
    let reply = events(&[
        begin(),
        open(0, thinking.clone()),
        delta(0, thought.clone()),
        delta(0, signature),
        stop(0),
        open(1, redacted.clone()),
        stop(1),
        open(2, thinking),
        delta(2, thought),
        stop(2),
        end("end_turn"),
        done(),
    ])
    .unwrap();
    let json = |index: usize| Value::Object(reply.blocks[index].json().clone());
    assert_eq!(
        json(0),
        json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"})
    );
    assert_eq!(json(1), redacted);
    let unsigned = crate::reply::BlockKind::Thinking {
        thinking: "hm",
        signature: None,
    };
    assert_eq!(reply.blocks[2].kind(), unsigned);
}

/// Spec: [MODEL-13]
#[test]
fn an_error_inside_the_stream_has_the_status_that_its_type_stands_for() {
    for (kind, status) in [
        ("overloaded_error", 529),
        ("rate_limit_error", 429),
        ("invalid_request_error", 400),
        ("authentication_error", 401),
        ("api_error", 500),
        ("later_error", 500),
    ] {
        let error =
            json!({"type": "error", "error": {"type": kind, "message": "m"}, "request_id": "r"});
        let expected = ModelError::Api {
            status,
            kind: kind.to_owned(),
            message: "m".to_owned(),
            request_id: Some("r".to_owned()),
        };
        assert_eq!(events(&[begin(), error]), Err(expected));
    }
}

/// Spec: [MODEL-17]
#[test]
fn the_text_of_an_open_block_can_be_taken_as_far_as_it_came() {
    let mut assembler = Assembler::default();
    for event in [
        begin(),
        open(0, text_block()),
        delta(0, text("whole")),
        stop(0),
        open(1, text_block()),
        open(2, text_block()),
        delta(2, text("half ")),
        open(3, json!({"type": "thinking", "thinking": "hm"})),
    ] {
        assembler.take("", &event.to_string()).unwrap();
    }
    assert_eq!(assembler.partial_texts(), [(2, Block::text("half "))]);
}

/// Spec: [MODEL-27]
#[test]
fn a_delta_says_where_in_its_block_it_begins() {
    let mut assembler = Assembler::default();
    let mut steps = Vec::new();
    for event in [
        begin(),
        open(0, json!({"type": "thinking", "thinking": "h"})),
        delta(0, json!({"type": "thinking_delta", "thinking": "m é"})),
        delta(0, json!({"type": "signature_delta", "signature": "s"})),
        open(1, text_block()),
        delta(1, text("a")),
        delta(1, text("")),
        delta(0, json!({"type": "thinking_delta", "thinking": "!"})),
        open(
            2,
            json!({"type": "tool_use", "id": "t", "name": "read", "input": {}}),
        ),
        delta(
            2,
            json!({"type": "input_json_delta", "partial_json": "{\"a\""}),
        ),
        delta(
            2,
            json!({"type": "input_json_delta", "partial_json": ":1}"}),
        ),
        open(
            3,
            json!({"type": "server_tool_use", "id": "s", "name": "n", "input": {}}),
        ),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{}"})),
        delta(1, text("b")),
    ] {
        match assembler.take("", &event.to_string()).unwrap() {
            AssembledStep::Nothing => {}
            step => steps.push(step),
        }
    }
    let expected = [
        (0, DeltaKind::Reasoning, 0, "h"),
        (0, DeltaKind::Reasoning, 1, "m é"),
        (1, DeltaKind::Text, 0, "a"),
        (0, DeltaKind::Reasoning, 5, "!"),
        (2, DeltaKind::ToolInput, 0, "{\"a\""),
        (2, DeltaKind::ToolInput, 4, ":1}"),
        (1, DeltaKind::Text, 1, "b"),
    ];
    let expected = expected.map(|(index, kind, offset, text)| AssembledStep::Delta {
        index,
        kind,
        offset,
        text: text.to_owned(),
    });
    assert_eq!(steps, expected);
}

/// Spec: [MODEL-68]
#[test]
fn behind_a_fallback_the_reply_is_of_the_model_that_it_names() {
    let hop = json!({"type": "fallback", "from": {"model": "x"}, "to": {"model": "y"}});
    let reply = events(&[
        begin(),
        open(0, hop.clone()),
        stop(0),
        open(1, text_block()),
        delta(1, text("hi")),
        stop(1),
        end("end_turn"),
        done(),
    ])
    .unwrap();
    assert_eq!(reply.end.model, "y");
    assert_eq!(Value::from(reply.blocks[0].json().clone()), hop);
    let odd = [
        json!({"type": "fallback"}),
        json!({"type": "fallback", "to": {"model": 1}}),
    ];
    for hop in odd {
        let reply = events(&[begin(), open(0, hop), stop(0), end("end_turn"), done()]).unwrap();
        assert_eq!(reply.end.model, "x");
    }
}

/// Spec: [MODEL-68]
#[test]
fn each_piece_of_a_summary_of_the_api_replaces_the_one_before() {
    let summary = |content: Value| json!({"type": "compaction", "content": content});
    let piece = |content: Value, opaque: Value| json!({"type": "compaction_delta", "content": content, "encrypted_content": opaque});
    for (begun, pieces, whole) in [
        (
            json!(null),
            vec![
                piece(json!("The "), json!("a")),
                piece(json!("The past."), json!("b")),
            ],
            json!({"type": "compaction", "content": "The past.", "encrypted_content": "b"}),
        ),
        (
            json!("The "),
            vec![json!({"type": "compaction_delta", "content": "The past."})],
            summary(json!("The past.")),
        ),
        (
            json!(null),
            vec![
                piece(json!(null), json!(null)),
                piece(json!(7), json!(null)),
            ],
            summary(json!(null)),
        ),
    ] {
        let mut stream = vec![begin(), open(0, summary(begun))];
        stream.extend(pieces.into_iter().map(|piece| delta(0, piece)));
        stream.extend([stop(0), end("end_turn"), done()]);
        let reply = events(&stream).unwrap();
        assert_eq!(Value::from(reply.blocks[0].json().clone()), whole);
    }
    // Another delta may have a field of that name and any kind.
    let other = json!({"type": "later_delta", "content": [1]});
    let stream = [
        begin(),
        open(0, text_block()),
        delta(0, other),
        stop(0),
        end("end_turn"),
        done(),
    ];
    assert!(events(&stream).is_ok());
}

/// Spec: [MODEL-805]
#[test]
fn what_the_api_left_out_of_the_request_is_noted_with_the_counts() {
    let mut assembler = Assembler::default();
    let edits = json!([{"type": "clear_tool_uses_20250919", "cleared_input_tokens": 12_000}]);
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 3}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1},
               "context_management": {"applied_edits": edits}}),
    ];
    for event in events {
        assembler.take("", &event.to_string()).unwrap();
    }
    let last = assembler.take("", r#"{"type":"message_stop"}"#).unwrap();
    let AssembledStep::Finished(_, end) = last else {
        panic!("{last:?}");
    };
    assert_eq!((end.usage.cleared(), end.usage.context()), (12_000, 12_004));
}
