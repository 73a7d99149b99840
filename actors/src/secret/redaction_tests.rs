use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;

use super::*;

const KEY: &str = "sk-ant-0123456789";

fn conversation(name: &str) -> ConversationId {
    ConversationId::new(name)
}

/// Spec: [SEC-12]
#[test]
fn secrets_are_taken_out_wherever_they_stand() {
    let redaction = Redaction::new(vec!["key-0001".into(), "".into(), "token-02".into()]);
    let text = "a key-0001, key-0001\ntoken-02 and key-02".to_owned();
    assert_eq!(redaction.apply(text), "a ***, ***\n*** and key-02");
    // A short one is none.
    let redaction = Redaction::new(vec!["demo".into(), "ollama".into()]);
    assert_eq!(redaction.apply("demo, ollama".to_owned()), "demo, ollama");
}

/// Spec: [SEC-20]
#[test]
fn a_secret_that_is_added_counts_in_all_clones_and_for_ever() {
    let redaction = Redaction::default();
    let clone = redaction.clone().for_conversation(&conversation("c"));
    redaction.add_all((0..300).map(|number| format!("token-{number:04}").into()));
    redaction.add("token-new".into());
    let text = "token-0000 token-0299 token-new token-0300".to_owned();
    assert_eq!(clone.apply(text), "*** *** *** token-0300");
}

/// Spec: [SEC-21]
#[test]
fn a_secret_is_found_in_every_encoding() {
    let odd = "p\"a\\s/s\u{7f}wörd\n0123";
    let redaction = Redaction::new(vec![KEY.into(), odd.into()]);
    for secret in [KEY, odd] {
        let json = serde_json::json!({ "content": format!("a {secret} b") }).to_string();
        let again = serde_json::json!({ "content": json }).to_string();
        let in_base64 = BASE64_STANDARD.encode(format!("user:{secret}"));
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        for (text, left) in [
            (json, r#"{"content":"a *** b"}"#),
            (again, r#"{"content":"{\"content\":\"a *** b\"}"}"#),
            (hex, "***"),
        ] {
            assert_eq!(redaction.apply(text), left);
        }
        let left = redaction.apply(in_base64);
        assert!(left.starts_with("dXNlcj") && left.contains("***"), "{left}");
        assert!(left.len() < 20, "{left}");
    }
}

/// Spec: [SEC-21]
#[test]
fn secrets_that_overlap_leave_nothing() {
    let redaction = Redaction::new(vec!["abcdefgh-XYZ".into(), "XYZ-ijklmnop".into()]);
    let text = "<abcdefgh-XYZ-ijklmnop> <abcdefgh-XYZXYZ-ijklmnop>".to_owned();
    assert_eq!(redaction.apply(text), "<***> <******>");
}

/// Spec: [SEC-22]
#[test]
fn a_cut_leaves_no_part_of_a_secret() {
    let redaction = Redaction::new(vec![KEY.into()]);
    let text = format!("the key: {KEY}");
    for end in 0..=text.len() {
        let whole = redaction.apply_to_start(&text, end);
        let expected = if end <= 9 {
            &text[..end]
        } else {
            "the key: ***"
        };
        assert_eq!(whole, expected, "{end}");
        // Nothing is known of what follows.
        let cut = redaction.apply_to_start(&text[..end], usize::MAX);
        let expected = match end {
            0..=9 => &text[..end],
            _ if end == text.len() => "the key: ***",
            _ => "the key: ",
        };
        assert_eq!(cut, expected, "{end}");
    }
}

/// Spec: [SEC-22]
#[test]
fn a_secret_of_several_lines_keeps_their_number() {
    let redaction = Redaction::new(vec!["first-line\nsecond-line".into()]);
    let text = "a\nfirst-line\nsecond-line\nb".to_owned();
    assert_eq!(redaction.apply(text), "a\n***\n***\nb");
}

/// Spec: [SEC-24]
#[test]
fn a_key_of_a_conversation_counts_there_only() {
    let redaction = Redaction::new(vec![KEY.into()]);
    let (one, other) = (conversation("one"), conversation("other"));
    let text = || format!("{KEY} key-of-one-0123456789");
    redaction.learn(&one, "key-of-one-0123456789".into());
    assert_eq!(redaction.for_conversation(&one).apply(text()), "*** ***");
    for elsewhere in [redaction.for_conversation(&other), redaction.clone()] {
        assert_eq!(elsewhere.apply(text()), "*** key-of-one-0123456789");
    }
}

/// Spec: [SEC-24]
#[test]
fn words_and_paths_are_not_learned() {
    let redaction = Redaction::default();
    let one = conversation("one");
    for word in [
        "http",
        "key-of-15-bytes",
        "/usr/share/a/folder/",
        "~/some/long/path",
    ] {
        redaction.learn(&one, word.into());
        assert_eq!(
            redaction.for_conversation(&one).apply(word.to_owned()),
            word
        );
    }
}

/// Spec: [SEC-24]
#[test]
fn the_keys_of_conversations_are_not_collected_for_ever() {
    let redaction = Redaction::default();
    let key = |number: usize| format!("the-key-number-{number:04}");
    let one = conversation("one");
    for number in 0..=MAX_LEARNED {
        redaction.learn(&one, key(number).into());
        redaction.learn(&one, key(1).into());
    }
    let left = |number| redaction.for_conversation(&one).apply(key(number));
    assert_eq!(
        [left(0), left(1), left(2)],
        [key(0), MASK.into(), MASK.into()]
    );
    for number in 0..MAX_CONVERSATIONS {
        redaction.learn(&conversation(&number.to_string()), key(7).into());
    }
    assert_eq!(left(1), key(1));
}

/// Spec: [MODEL-45]
#[test]
fn a_key_of_one_call_counts_in_that_call() {
    let redaction = Redaction::new(vec![KEY.into()]);
    let of_call = redaction.with(&"key-2-of".into());
    let text = || format!("{KEY} key-2-of");
    assert_eq!(of_call.apply(text()), "*** ***");
    assert_eq!(redaction.apply(text()), "*** key-2-of");
    let home = redaction.with(&"/tmp/home/of/somebody".into());
    let said = || "/tmp/home/of/somebody".to_owned();
    assert_eq!(home.apply(said()), said());
}

proptest! {
    /// Spec: [SEC-21] [SEC-22]
    #[test]
    fn whatever_stands_around_a_secret_it_is_gone(
        before in "\\PC{0,40}",
        secret in "[!-~]{8,40}",
        after in "\\PC{0,40}",
        end in 0usize..140,
    ) {
        let redaction = Redaction::new(vec![secret.as_str().into()]);
        let text = format!("{before}{secret}{after}");
        let json = serde_json::to_string(&text).unwrap();
        for text in [text, json] {
            let left = redaction.apply(text.clone());
            prop_assert!(!left.contains(&secret), "{}", left);
            let start = redaction.apply_to_start(&text, end);
            let cut = redaction.apply_to_start(&text[..text.floor_char_boundary(end)], end);
            // Whatever follows a cut, no more is shown than without it.
            prop_assert!(left.starts_with(&start), "{} {}", left, start);
            prop_assert!(left.starts_with(&cut), "{} {}", left, cut);
        }
    }
}
