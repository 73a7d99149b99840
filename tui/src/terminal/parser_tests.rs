use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::terminal::key::{Button, Mouse, MouseAction};

fn read(bytes: &[u8]) -> Vec<TerminalInput> {
    let mut parser = Parser::new(0x7f);
    let mut found = parser.feed(bytes, false);
    found.extend(give_up(&mut parser));
    found
}

/// Its meaning when nothing more comes, ever.
fn give_up(parser: &mut Parser) -> Vec<TerminalInput> {
    let mut found = Vec::new();
    while parser.patience().is_some() {
        found.extend(parser.expire());
    }
    found
}

type Paced<'a> = &'a [(&'a [u8], u64)];

/// The meaning of pieces that come with pauses between them, given in milliseconds.
fn paced(pieces: Paced<'_>) -> Vec<TerminalInput> {
    let mut parser = Parser::new(0x7f);
    let mut found = Vec::new();
    for (bytes, pause) in pieces {
        found.extend(parser.feed(bytes, false));
        let mut pause = Duration::from_millis(*pause);
        while let Some(patience) = parser.patience().filter(|patience| *patience <= pause) {
            found.extend(parser.expire());
            pause -= patience;
        }
    }
    found
}

/// Spec: [TERM-29]
#[test]
fn a_pause_within_a_key_makes_it_no_text() {
    let wheel = || {
        TerminalInput::Mouse(Mouse {
            action: MouseAction::Wheel(-1),
            column: 9,
            row: 4,
        })
    };
    let pressed = |press: KeyPress| vec![TerminalInput::Key(press)];
    let left = || pressed(KeyPress::plain(Key::Left).control());
    let escape_then = |text: &str| {
        let escape = KeyPress::plain(Key::Escape);
        let typed = text.chars().map(char);
        let keys = std::iter::once(escape).chain(typed);
        keys.map(TerminalInput::Key).collect::<Vec<_>>()
    };
    let alt = |letter: char| pressed(char(letter).alt());
    let broken = vec![
        TerminalInput::Key(char(char::REPLACEMENT_CHARACTER)),
        TerminalInput::Key(char('x')),
    ];
    let cases: [(Paced<'_>, Vec<TerminalInput>); 20] = [
        (&[(b"\x1b[1;", 60), (b"5D", 0)], left()),
        (&[(b"\x1b[1;", 999), (b"5", 999), (b"D", 0)], left()),
        (&[(b"\x1b[", 60), (b"1;5D", 0)], left()),
        (
            &[(b"\x1bO", 60), (b"A", 0)],
            pressed(KeyPress::plain(Key::Up)),
        ),
        (
            &[(b"\x1b[[", 60), (b"A", 0)],
            pressed(KeyPress::plain(Key::Function(1))),
        ),
        (&[(b"\x1b[<64;10;", 60), (b"5M", 0)], vec![wheel()]),
        (&[(b"\x1b[<64;10;", 1_500), (b"5Mx", 0)], pressed(char('x'))),
        (
            &[(b"\x1b[1;", 1_000), (b"5", 2_000), (b"Dx", 0)],
            pressed(char('x')),
        ),
        (&[(b"\x1b[[", 1_500), (b"Ax", 0)], pressed(char('x'))),
        (&[(b"\x1b[", 1_500), (b"A", 0)], alt('[')),
        (&[(b"\x1bO", 1_500), (b"A", 0)], alt('O')),
        (&[(b"\x1b]", 60), (b"0;x\x07", 0)], vec![]),
        // What begins anew is no rest.
        (&[(b"\x1b[1;", 1_500), (b"\x1b[1;5D", 0)], left()),
        (
            &[(b"\x1b[1;", 1_500), ("漢".as_bytes(), 0)],
            pressed(char('漢')),
        ),
        // Nobody waits for ever.
        (&[(b"\x1b[1;", 11_000), (b"x", 0)], pressed(char('x'))),
        // Line breaks of a paste send nothing, however late its beginning was whole.
        (
            &[(b"\x1b[20", 1_500), (b"0~a\rb\x1b[201~", 0)],
            vec![TerminalInput::Paste("a\rb".to_owned())],
        ),
        (&[(b"\x1b", 60), (b"x", 0)], escape_then("x")),
        (&[(b"\xe6\xbc", 100), (b"\xa2", 0)], pressed(char('漢'))),
        (&[(b"\xe6", 60_000), (b"\xbc\xa2", 0)], pressed(char('漢'))),
        (&[(b"\xe6\xbc", 60_000), (b"x", 0)], broken),
    ];
    for (pieces, expected) in cases {
        assert_eq!(same(paced(pieces)), shown(&expected), "{pieces:?}");
    }
    // Who pressed Alt and a bracket types on.
    let expected = [char('[').alt(), char('x')].map(TerminalInput::Key);
    let found = paced(&[(b"\x1b[", 1_500), (b"x", 0)]);
    assert_eq!(same(found), shown(&expected));
}

/// The one key that the bytes are.
fn key(bytes: &[u8]) -> KeyPress {
    match read(bytes).as_slice() {
        [TerminalInput::Key(press)] => *press,
        other => panic!("{bytes:?} is {other:?}"),
    }
}

const fn char(letter: char) -> KeyPress {
    KeyPress::plain(Key::Char(letter))
}

const ENTER: KeyPress = KeyPress::plain(Key::Enter);

/// Spec: [TERM-08]
#[test]
fn each_form_of_a_newline_is_known() {
    let forms: [(&[u8], KeyPress); 12] = [
        (b"\r", ENTER),
        (b"\n", char('j').control()),
        (b"\x1b[106;5u", char('j').control()),
        (b"\x1b[13;5u", ENTER.control()),
        (b"\x1b[27;5;13~", ENTER.control()),
        (b"\x1b[13;2u", ENTER.shift()),
        (b"\x1b[27;2;13~", ENTER.shift()),
        (b"\x1b[13;3u", ENTER.alt()),
        (b"\x1b\r", ENTER.alt()),
        (b"\x1b\n", ENTER.alt()),
        (b"\x1b[57414;5u", ENTER.control()),
        (b"\x1bOM", ENTER),
    ];
    for (bytes, press) in forms {
        assert_eq!(key(bytes), press, "{bytes:?}");
    }
}

/// Spec: [TERM-09]
#[test]
fn the_forms_of_ctrl_shift_c_are_one_key_and_ctrl_c_is_another() {
    let copy = char('c').control().shift();
    let forms: [&[u8]; 5] = [
        b"\x1b[99;6u",
        b"\x1b[99:67;6u",
        b"\x1b[67;6u",
        b"\x1b[67;5u",
        b"\x1b[27;6;67~",
    ];
    for bytes in forms {
        assert_eq!(key(bytes), copy, "{bytes:?}");
    }
    let cancels: [&[u8]; 3] = [b"\x03", b"\x1b[99;5u", b"\x1b[27;5;99~"];
    for bytes in cancels {
        assert_eq!(key(bytes), char('c').control(), "{bytes:?}");
    }
}

/// Spec: [TERM-10]
#[test]
fn each_other_key_is_known_in_each_form() {
    let plain = KeyPress::plain;
    let forms: [(&[u8], KeyPress); 43] = [
        (b"a", char('a')),
        (b"A", char('A')),
        (b"\x1b[97;2u", char('A')),
        (b"?", char('?')),
        (b"\x1b[47:63;2u", char('?')),
        (b"\x1bb", char('b').alt()),
        (b"\x1b[98;3u", char('b').alt()),
        (b"\x1bB", char('B').alt()),
        (b"\x1b[98;4u", char('B').alt()),
        ("\x1bé".as_bytes(), char('é').alt()),
        ("漢".as_bytes(), char('漢')),
        (b"\x00", char(' ').control()),
        (b"\x1a", char('z').control()),
        (b"\x1f", char('_').control()),
        (b"\x1b[47;5u", char('_').control()),
        (b"\x1b[45;6u", char('_').control()),
        (b"\x1b[95;6u", char('_').control()),
        (b"\x7f", plain(Key::Backspace)),
        (b"\x08", plain(Key::Backspace).control()),
        (b"\x1b[127;5u", plain(Key::Backspace).control()),
        (b"\x1b\x7f", plain(Key::Backspace).alt()),
        (b"\t", plain(Key::Tab)),
        (b"\x1b[Z", plain(Key::Tab).shift()),
        (b"\x1b[9;2u", plain(Key::Tab).shift()),
        (b"\x1b", plain(Key::Escape)),
        (b"\x1b[27u", plain(Key::Escape)),
        (b"\x1b[A", plain(Key::Up)),
        (b"\x1bOA", plain(Key::Up)),
        (b"\x1b[1;3A", plain(Key::Up).alt()),
        (b"\x1b[1;5:1H", plain(Key::Home).control()),
        (b"\x1b[1;5F", plain(Key::End).control()),
        (b"\x1b[4~", plain(Key::End)),
        (b"\x1b[5~", plain(Key::PageUp)),
        (b"\x1b[6;5~", plain(Key::PageDown).control()),
        (b"\x1b[3~", plain(Key::Delete)),
        (b"\x1bOP", plain(Key::Function(1))),
        (b"\x1b[P", plain(Key::Function(1))),
        (b"\x1b[11~", plain(Key::Function(1))),
        (b"\x1b[[B", plain(Key::Function(2))),
        (b"\x1b[24~", plain(Key::Function(12))),
        (b"\x1b[", char('[').alt()),
        (b"\x1b]", char(']').alt()),
        (b"\x1bO", char('O').alt()),
    ];
    for (bytes, press) in forms {
        assert_eq!(key(bytes), press, "{bytes:?}");
    }
}

/// Spec: [TERM-10]
#[test]
fn where_backspace_is_control_h_the_two_change_places() {
    let mut parser = Parser::new(0x08);
    let keys = parser.feed(b"\x08\x7f", false);
    let plain = KeyPress::plain(Key::Backspace);
    let expected = [
        TerminalInput::Key(KeyPress {
            is_burst: true,
            ..plain
        }),
        TerminalInput::Key(plain.control()),
    ];
    assert_eq!(shown(&keys), shown(&expected));
}

fn shown(inputs: &[TerminalInput]) -> String {
    format!("{inputs:?}")
}

/// Spec: [TERM-12]
#[test]
fn what_no_person_typed_is_no_text() {
    let none: [&[u8]; 14] = [
        b"\x1b[24;80R",
        b"\x1b[8;24;80t",
        b"\x1b]10;rgb:1a1a/1a1a/1a1a\x1b\\",
        b"\x1bP11;rgb:1a1a/1a1a/1a1a\x1b\\",
        b"\x1b]52;c;aGk=\x1b\\",
        b"\x1bP1+r544e=787465726d\x1b\\",
        b"\x1b[?2026;2$y",
        b"\x1b[?62;22c",
        b"\x1b[?1u",
        b"\x1b[97;1:3u",
        b"\x1b[57441;2u",
        b"\x1b[<35;3;4M",
        b"\x1b[<66;3;4M",
        b"\xc2\x9b",
    ];
    for bytes in none {
        let found = read(&[bytes, b"x"].concat());
        assert_eq!(
            shown(&found),
            shown(&[TerminalInput::Key(char('x'))]),
            "{bytes:?}"
        );
    }
}

/// Spec: [TERM-24]
#[test]
fn the_background_is_told_in_each_form_and_between_keys() {
    let forms: [(&[u8], bool); 4] = [
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", true),
        (b"\x1b]11;rgb:ff/ff/ff\x07", true),
        (b"\x1b]11;rgba:ffff/ffff/ffff/ffff\x1b\\", true),
        (b"\x1b]11;rgb:1a1a/1a1a/1a1a\x07", false),
    ];
    for (bytes, is_light) in forms {
        let found = read(&[b"\x1b[A", bytes, b"x"].concat());
        let expected = [
            TerminalInput::Key(KeyPress::plain(Key::Up)),
            TerminalInput::Background { is_light },
            TerminalInput::Key(char('x')),
        ];
        assert_eq!(same(found), shown(&expected), "{bytes:?}");
    }
    // What is too long to be an answer to us is none.
    let long = format!("\x1b]11;rgb:ff/ff/ff{}\x07x", " ".repeat(MAX_KEPT));
    let expected = [TerminalInput::Key(char('x'))];
    assert_eq!(shown(&read(long.as_bytes())), shown(&expected));
}

/// Spec: [TERM-24]
#[test]
fn an_answer_that_is_due_is_no_text_wherever_it_pauses() {
    let answer = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\";
    for cut in 0..=answer.len() {
        let mut parser = Parser::new(0x7f);
        parser.expect_answer(true);
        let (now, later) = answer.split_at(cut);
        let mut found = parser.feed(now, false);
        if parser.patience() == Some(ESCAPE) {
            // Escape is Escape as fast as ever.
            assert_eq!(cut, 1);
            let escape = parser.expire();
            assert_eq!(shown(&escape), shown(&read(b"\x1b")));
        }
        found.extend(parser.feed(later, false));
        let expected = [TerminalInput::Background { is_light: true }];
        assert_eq!(shown(&found), shown(&expected), "{cut}");
        assert_eq!(parser.patience(), None);
        // From then on Alt+] is a key again.
        parser.feed(b"\x1b]", false);
        assert_eq!(shown(&give_up(&mut parser)), shown(&read(b"\x1b]")));
    }
    // When it is not expected any more, what is typed behind Escape is typed.
    let mut parser = Parser::new(0x7f);
    parser.expect_answer(true);
    parser.feed(b"\x1b", false);
    parser.expire();
    parser.expect_answer(false);
    let mut found = parser.feed(b"]", false);
    assert_eq!(parser.patience(), Some(ESCAPE));
    found.extend(parser.expire());
    assert_eq!(shown(&found), shown(&[TerminalInput::Key(char(']'))]));
}

/// Spec: [TUI-620]
#[test]
fn an_answer_that_is_not_due_is_no_text_wherever_it_pauses() {
    let escape = || TerminalInput::Key(KeyPress::plain(Key::Escape));
    let x = || TerminalInput::Key(char('x'));
    let answers: [&[u8]; 7] = [
        b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
        b"\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
        b"\x1b]52;c;aGk=\x1b\\",
        b"\x1bP1+r544e=787465726d\x1b\\",
        b"\x1bP>|xterm(390)\x1b\\",
        b"\x1b[?62;22c",
        b"\x1b[24;80R",
    ];
    for answer in answers {
        // Cut right after ESC, which was taken for the key, and once more.
        for pause in [60, 300, 900, 5_000] {
            // `[` and what follows it could be the start of a key or of text.
            let first = if answer[1] == b'[' { answer.len() } else { 2 };
            for cut in first..=answer.len() {
                let (one, other) = answer[1..].split_at(cut - 1);
                let pieces: Paced<'_> = &[(b"\x1b", pause), (one, 20), (other, 0), (b"x", 0)];
                let found = paced(pieces).into_iter();
                let found =
                    found.filter(|input| !matches!(input, TerminalInput::Background { .. }));
                let expected = shown(&[escape(), x()]);
                assert_eq!(same(found.collect()), expected, "{answer:?} {pause} {cut}");
            }
        }
    }
    // An answer that pauses for longer than a second is given up, and its rest is no text.
    for rest in [
        &b"/1e1e\x1b\\x"[..],
        b"1e/1e1e\x07x",
        b"b:1e1e/1e1e/1e1e\x1b\\x",
    ] {
        let found = paced(&[(b"\x1b]11;rgb:1e1e", 1_500), (rest, 0)]);
        assert_eq!(same(found), shown(&[x()]), "{rest:?}");
    }
    let found = paced(&[(b"\x1b]11;rgb:1e1e", 1_500), (b"write", 0)]);
    assert_eq!(
        same(found),
        shown(
            &"write"
                .chars()
                .map(char)
                .map(TerminalInput::Key)
                .collect::<Vec<_>>()
        )
    );
}

/// Spec: [TERM-13]
#[test]
fn a_paste_is_one_thing_whatever_is_in_it() {
    let found = read(b"\x1b[200~a\r\x1b[A\x03?\x1b[201~x");
    let expected = [
        TerminalInput::Paste("a\r\x1b[A\x03?".to_owned()),
        TerminalInput::Key(char('x')),
    ];
    assert_eq!(shown(&found), shown(&expected));
    // A paste whose end was lost does not swallow what is typed for ever.
    let mut parser = Parser::new(0x7f);
    assert_eq!(shown(&parser.feed(b"\x1b[200~ab", false)), "[]");
    assert_eq!(parser.patience(), Some(PASTE));
    let expected = [TerminalInput::Paste("ab".to_owned())];
    assert_eq!(shown(&parser.expire()), shown(&expected));
    assert_eq!(parser.patience(), None);
}

/// Spec: [TERM-13]
#[test]
fn a_paste_of_a_megabyte_is_one_paste() {
    let text = "0123456789abcde\n".repeat(65_536);
    let found = read(format!("\x1b[200~{text}\x1b[201~").as_bytes());
    assert!(matches!(found.as_slice(), [TerminalInput::Paste(pasted)] if *pasted == text));
}

/// Spec: [TERM-13]
#[test]
fn keys_that_come_together_say_so() {
    let mut parser = Parser::new(0x7f);
    let bursts = |found: Vec<TerminalInput>| {
        let of =
            |input: &TerminalInput| matches!(input, TerminalInput::Key(press) if press.is_burst);
        found.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(bursts(parser.feed(b"?", false)), [false]);
    assert_eq!(bursts(parser.feed(b"?ab", false)), [true, true, false]);
    assert_eq!(bursts(parser.feed(b"?a", true)), [true, true]);
}

/// Spec: [TERM-10]
#[test]
fn the_mouse_is_told_from_zero() {
    use MouseAction::{Drag, Press, Release, Wheel};
    let forms: [(&[u8], MouseAction); 6] = [
        (b"\x1b[<0;1;1M", Press(Button::Left)),
        (b"\x1b[<2;1;1M", Press(Button::Right)),
        (b"\x1b[<32;1;1M", Drag(Button::Left)),
        (b"\x1b[<0;1;1m", Release(Button::Left)),
        (b"\x1b[<64;1;1M", Wheel(-1)),
        (b"\x1b[<69;1;1M", Wheel(1)),
    ];
    for (bytes, action) in forms {
        let mouse = Mouse {
            action,
            column: 0,
            row: 0,
        };
        assert_eq!(shown(&read(bytes)), shown(&[TerminalInput::Mouse(mouse)]));
    }
    let found = read(b"\x1b[<0;300;41M\x1b[I\x1b[O");
    let mouse = Mouse {
        action: Press(Button::Left),
        column: 299,
        row: 40,
    };
    let expected = [
        TerminalInput::Mouse(mouse),
        TerminalInput::Focused(true),
        TerminalInput::Focused(false),
    ];
    assert_eq!(shown(&found), shown(&expected));
}

/// The inputs, without what depends on how they were cut.
fn same(inputs: Vec<TerminalInput>) -> String {
    let calm = |input| match input {
        TerminalInput::Key(press) => TerminalInput::Key(KeyPress {
            is_burst: false,
            ..press
        }),
        other => other,
    };
    shown(&inputs.into_iter().map(calm).collect::<Vec<_>>())
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let whole: [&'static [u8]; 15] = [
        b"\x1b",
        b"[",
        b"200~",
        b"201~",
        b"\x1b[200~",
        b"\x1b[201~",
        b"\x1b[13;5u",
        b"\x1b[27;6;67~",
        b"\x1b[<64;3;4M",
        b"\x1b]11;x\x07",
        b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
        b"\x1bOA",
        "漢é👍".as_bytes(),
        b"\x1b[[A",
        b"x",
    ];
    let piece = prop_oneof![
        prop::sample::select(whole.to_vec()).prop_map(<[u8]>::to_vec),
        vec(any::<u8>(), 1..4),
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Spec: [TERM-14]
    #[test]
    fn bytes_mean_the_same_however_they_are_cut(bytes in pieces(), cuts in vec(0..64_usize, 0..6)) {
        let mut parser = Parser::new(0x7f);
        let mut found = Vec::new();
        let mut rest = bytes.as_slice();
        for cut in cuts {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            found.extend(parser.feed(now, false));
            rest = later;
        }
        found.extend(parser.feed(rest, false));
        found.extend(give_up(&mut parser));
        prop_assert_eq!(same(found), same(read(&bytes)));
        // Whatever came, a key is a key afterwards.
        let after = parser.feed(b"x", false);
        let last = after.last().map(|last| format!("{last:?}"));
        prop_assert_eq!(last, Some(format!("{:?}", TerminalInput::Key(char('x')))));
    }
}

/// Spec: [TERM-29]
#[test]
fn a_sequence_that_was_cut_right_behind_its_escape_is_no_text() {
    let escape = || TerminalInput::Key(KeyPress::plain(Key::Escape));
    let rest = |rest: &[u8]| paced(&[(b"\x1b", 60), (rest, 0)]);
    let told = |inputs: Vec<TerminalInput>| format!("{inputs:?}");
    let paste = TerminalInput::Paste("aa\rbb".to_owned());
    assert_eq!(
        told(rest(b"[200~aa\rbb\x1b[201~")),
        told(vec![escape(), paste])
    );
    for (bytes, code) in [
        (&b"[A"[..], Key::Up),
        (b"OA", Key::Up),
        (b"[6~", Key::PageDown),
    ] {
        let key = TerminalInput::Key(KeyPress::plain(code));
        assert_eq!(told(rest(bytes)), told(vec![escape(), key]), "{bytes:?}");
    }
    assert_eq!(
        told(rest(b"[I")),
        told(vec![escape(), TerminalInput::Focused(true)])
    );
    // A person types one at a time.
    let typed = paced(&[(b"\x1b", 60), (b"[", 10), (b"A", 0)]);
    let key = |c: char| TerminalInput::Key(KeyPress::plain(Key::Char(c)));
    assert_eq!(told(typed), told(vec![escape(), key('['), key('A')]));
}

/// Spec: [TUI-160]
#[test]
fn text_behind_the_escape_key_is_text() {
    let typed = |text: &str| {
        let keys = text.chars().map(|c| TerminalInput::Key(char(c)));
        let escape = TerminalInput::Key(KeyPress::plain(Key::Escape));
        std::iter::once(escape).chain(keys).collect::<Vec<_>>()
    };
    for text in [
        "[abc", "[[tabc", "[1] see", "[x]", "O(n)", "[ab", "] x", "]", "Please", "P", "P1", "_x",
        "]1", "]12 x", "]; x",
    ] {
        for pause in [60, 900, 3_000] {
            let found = paced(&[(b"\x1b", pause), (text.as_bytes(), 100)]);
            assert_eq!(same(found), shown(&typed(text)), "{text} after {pause} ms");
        }
    }
    // What could be the rest of a sequence is text a second later.
    for text in ["[A", "[12", "[6~"] {
        let found = paced(&[(b"\x1b", 1_100), (text.as_bytes(), 0)]);
        assert_eq!(same(found), shown(&typed(text)), "{text}");
    }
}

#[path = "parser_corpus_tests.rs"]
mod corpus;
