use super::*;

/// The events of the bytes in these chunks: name and data.
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
    let mut lines = SseLines::default();
    let mut events = Vec::new();
    for chunk in chunks {
        let mut chunk = Bytes::copy_from_slice(chunk);
        while let Some(event) = lines.next(&mut chunk).unwrap() {
            events.push((event.event.into_owned(), event.data));
        }
    }
    events
}

/// Each case: its name, the stream, the data of its events.
///
/// Source: the cases of the web platform tests and of the official SDKs, restated.
fn cases() -> Vec<(&'static str, String, Vec<String>)> {
    let long = "x".repeat(2048);
    let case = |name, stream: &str, events: &[&str]| {
        let events = events.iter().map(|event| (*event).to_owned()).collect();
        (name, stream.to_owned(), events)
    };
    vec![
        case(
            "data",
            "data:msg\ndata: msg\n\n:\nfalsefield:msg\n\nfalsefield:msg\nData:data\n\ndata\n\ndata:end\n\n",
            &["msg\nmsg", "", "end"],
        ),
        case(
            "a BOM",
            "\u{feff}data:1\n\n\u{feff}data:2\n\ndata:3\n\n",
            &["1", "3"],
        ),
        case(
            "two BOMs",
            "\u{feff}\u{feff}data:1\n\ndata:2\n\ndata:3\n\n",
            &["2", "3"],
        ),
        case(
            "comments",
            &format!("data:1\r:\0\n:\r\ndata:2\n:{long}\rdata:3\n:data:fail\r:{long}\ndata:4\n\n"),
            &["1\n2\n3\n4"],
        ),
        case(
            "an unfinished end",
            "retry:1000\ndata:test1\n\nid:test\ndata:test2",
            &["test1"],
        ),
        case(
            "empty data",
            "data:\n\ndata\ndata\n\ndata:test\n\n",
            &["", "\n", "test"],
        ),
        case(
            "field parsing",
            "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n",
            &["\0\n 2\n1\n3\n\n4"],
        ),
        case(
            "unknown fields",
            "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:comment\ndata:test\n\n",
            &["test\n\ntest"],
        ),
        case(
            "leading space",
            "data:\ttest\rdata: \ndata:test\n\n",
            &["\ttest\n\ntest"],
        ),
        case(
            "line ends",
            "data:test\r\ndata\ndata:test\r\n\r\n",
            &["test\n\ntest"],
        ),
        case("null character", "data:\0\n\n", &["\0"]),
        case(
            "retry",
            "retry:3000\nretry:1000x\nretry\ndata:x\n\n",
            &["x"],
        ),
        case(
            "other characters",
            "data:ok…é😀\u{2028}\u{2029}x\n\n",
            &["ok…é😀\u{2028}\u{2029}x"],
        ),
        case(
            "escaped line ends",
            "data: {\"a\":\"\\n\\n\"}\n\n",
            &["{\"a\":\"\\n\\n\"}"],
        ),
        case("only comments", ": a\n\n: b\r\n\r\n", &[]),
        case(
            "an event without data",
            "event: ping\n\ndata: x\n\n",
            &["x"],
        ),
        case(
            "many lines",
            "data:\ndata: foo\ndata:\ndata:\ndata: bar\n\n",
            &["\nfoo\n\n\nbar"],
        ),
        case("CR only", "data: a\r\rdata: b\r\r", &["a", "b"]),
        case(
            "a name that ends early",
            "dat: a\n\nda\n\ndata: b\n\n",
            &["b"],
        ),
    ]
}

/// Spec: [MODEL-03]
#[test]
fn streams_are_read_as_the_standard_says_in_every_chunking() {
    for (name, stream, expected) in cases() {
        let bytes = stream.as_bytes();
        let data = |events: Vec<(String, String)>| -> Vec<String> {
            events.into_iter().map(|(_, data)| data).collect()
        };
        for size in [1, 2, 3, bytes.len()] {
            assert_eq!(
                data(decode(bytes.chunks(size))),
                expected,
                "{name} by {size}"
            );
        }
        for at in 0..bytes.len() {
            let (start, rest) = bytes.split_at(at);
            assert_eq!(data(decode([start, rest])), expected, "{name} at {at}");
        }
    }
}

/// Spec: [MODEL-03]
#[test]
fn event_names_are_read_and_do_not_last() {
    let events = decode([b"event:test\ndata:x\n\ndata:x\n\nevent: \ndata:data\n\n".as_slice()]);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["test", "message", "message"]);
}

/// Spec: [MODEL-03]
#[test]
fn invalid_utf_8_is_replaced_and_what_follows_is_intact() {
    let stream = b"data: a\xffb\xf0\x9f\n\ndata: c\n\n";
    for size in [1, 2, 100] {
        let events = decode(stream.chunks(size));
        assert!(events[0].1.starts_with("a\u{fffd}b\u{fffd}"), "{events:?}");
        assert_eq!(events[1].1, "c");
    }
}

/// Spec: [MODEL-06]
#[test]
fn the_event_that_was_begun_at_the_end_is_told_apart() {
    let unfinished = |bytes: &[u8]| {
        let mut lines = SseLines::default();
        let mut chunk = Bytes::copy_from_slice(bytes);
        while lines.next(&mut chunk).unwrap().is_some() {}
        lines.unfinished().map(|event| event.data)
    };
    assert_eq!(unfinished(b"data: a\n\n"), None);
    assert_eq!(unfinished(b"data: a\n\ndata: b"), Some("b".to_owned()));
    assert_eq!(unfinished(b"data: b\n"), Some("b".to_owned()));
    assert_eq!(unfinished(b"data: b\r"), Some("b".to_owned()));
    assert_eq!(unfinished(b": comment"), None);
}
