//! Tests of how arguments come into templates.

use proptest::prelude::*;

use super::*;

fn template(content: &str) -> PromptTemplate {
    PromptTemplate {
        content: content.to_owned(),
        ..PromptTemplate::default()
    }
}

fn expand(content: &str, args: &[&str]) -> String {
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    template(content).expand(&args)
}

#[track_caller]
fn check(args: &[&str], table: &[(&str, &str)]) {
    for (content, expanded) in table {
        assert_eq!(expand(content, args), *expanded, "{content:?} of {args:?}");
    }
}

/// Spec: [GUIDE-05]
#[test]
fn arguments_have_their_places() {
    check(
        &["a", "b c", ""],
        &[
            ("", ""),
            ("plain", "plain"),
            ("$1", "a"),
            ("$1$2", "ab c"),
            ("<$2>", "<b c>"),
            ("$3|$4|$0|$00", "|||"),
            ("$01", "a"),
            ("$99999999999999999999999999", ""),
            ("$1x $1_ $1.5", "ax a_ a.5"),
            ("$@", "a b c "),
            ("$ARGUMENTS", "a b c "),
            ("$ARGUMENTSX $@@", "a b c X a b c @"),
            ("ü$1ü", "üaü"),
        ],
    );
    let ten = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "ten", "eleven"];
    check(&ten, &[("$10 $11 $1 0", "ten eleven 1 0")]);
    check(&[], &[("[$1][$@][$ARGUMENTS]", "[][][]")]);
}

/// Spec: [GUIDE-06]
#[test]
fn a_place_can_have_a_default() {
    check(
        &["a", "", "b"],
        &[
            ("${1:-x}", "a"),
            ("${2:-x}", "x"),
            ("${4:-x}", "x"),
            ("${0:-x}", "x"),
            ("${4:-}", ""),
            ("${4:-two words\nand lines}", "two words\nand lines"),
            ("${4:-$1}", "$1"),
            ("${4:-:-}", ":-"),
            ("${4:-${1}}", "${1}"),
            ("${@:-x} ${ARGUMENTS:-x}", "a  b a  b"),
        ],
    );
    check(&[], &[("${@:-x y} ${ARGUMENTS:-}.", "x y .")]);
    check(&[""], &[("${@:-x}", "x")]);
    check(&["", ""], &[("[${@:-x}]", "[ ]")]);
}

/// Spec: [GUIDE-07]
#[test]
fn a_place_can_take_some_of_the_arguments() {
    check(
        &["a", "b", "c", "d"],
        &[
            ("${@:1}", "a b c d"),
            ("${@:0}", "a b c d"),
            ("${@:3}", "c d"),
            ("${@:5}", ""),
            ("${@:2:2}", "b c"),
            ("${@:0:2}", "a b"),
            ("${@:4:9}", "d"),
            ("${@:2:0}", ""),
            ("${@:99999999999999999999:1}", ""),
            ("${@:2:99999999999999999999}", "b c d"),
            // This is a default.
            ("${@:-2}", "a b c d"),
        ],
    );
}

/// Spec: [GUIDE-08]
#[test]
fn what_is_no_place_stays_as_it_is() {
    let same = [
        "$",
        "$$",
        "$ 1",
        "$x",
        "$arguments",
        "$Arguments",
        "$ARGUMENT",
        "$HOME",
        "${",
        "${}",
        "${1}",
        "${@}",
        "${ARGUMENTS}",
        "${x:-y}",
        "${-1:-y}",
        "${ 1:-y}",
        "${1:-y",
        "${1-y}",
        "${@:}",
        "${@:x}",
        "${@:1:}",
        "${@:1:x}",
        "${@:1:2:3}",
        "${@:-",
        "${1:2}",
        "$(1)",
        "$-1",
        "$１",
        "$é",
        "100 %",
        "\\n",
    ];
    check(&["a", "b"], &same.map(|content| (content, content)));
    check(
        &["a", "b"],
        &[
            // There is no way to quote a place.
            ("\\$1", "\\a"),
            ("$$1", "$a"),
            ("${1$2}", "${1b}"),
            ("${x:-$1}", "${x:-a}"),
        ],
    );
}

/// Spec: [GUIDE-09]
#[test]
fn what_an_argument_says_is_not_looked_at_for_places() {
    check(
        &["$2", "$@", "${1:-x}$ARGUMENTS"],
        &[
            ("$1", "$2"),
            ("$2 $3", "$@ ${1:-x}$ARGUMENTS"),
            ("$@", "$2 $@ ${1:-x}$ARGUMENTS"),
            ("${@:2:1}", "$@"),
            ("${1:-y}", "$2"),
        ],
    );
    // Neither do an argument and what stands behind it make a place.
    check(&["$", "1"], &[("$11", ""), ("${1:-x}1 $1@", "$1 $@")]);
}

/// Spec: [GUIDE-16]
#[test]
fn a_text_that_grows_beyond_its_bound_is_not_made() {
    let args = [String::from("1234"), String::from("5")];
    let within = |content, max| template(content).expand_within(&args, max);
    assert_eq!(within("x$1$2", 6).as_deref(), Some("x12345"));
    assert_eq!(within("x$1$2", 5), None);
    assert_eq!(within("$@x", 6), None);
    assert_eq!(within("${@:2}$", 1), None);
    assert_eq!(within("", 0).as_deref(), Some(""));
    // Made whole, it would not fit into the memory of any machine.
    let long = [String::from("x").repeat(1 << 20)];
    let content = "$@".repeat(1 << 19);
    assert_eq!(template(&content).expand_within(&long, 1 << 22), None);
}

/// Spec: [GUIDE-10]
#[test]
fn a_line_is_taken_apart_into_arguments() {
    let table: [(&str, &[&str]); 14] = [
        ("", &[]),
        (" \t\n ", &[]),
        ("a", &["a"]),
        ("  a \t b\nc  ", &["a", "b", "c"]),
        ("'a b' \"c d\"", &["a b", "c d"]),
        ("a'b c'd", &["ab cd"]),
        ("'it is \"so\"' \"it's\"", &["it is \"so\"", "it's"]),
        ("'' \"\" a ''", &["a"]),
        ("a'' ''b", &["a", "b"]),
        ("' '", &[" "]),
        ("'a b", &["a b"]),
        ("a \"", &["a"]),
        ("a\\ b \\n \\'x y\\'", &["a\\", "b", "\\n", "\\x y\\"]),
        ("ü 'ß €'\u{3000}x", &["ü", "ß €", "x"]),
    ];
    for (line, args) in table {
        assert_eq!(parse_arguments(line), args, "{line:?}");
    }
}

/// Pieces of which templates are made that try much.
fn content() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("$1".to_owned()),
        Just("$@".to_owned()),
        Just("$ARGUMENTS".to_owned()),
        Just("${2:-x}".to_owned()),
        Just("${@:2:1}".to_owned()),
        Just("$".to_owned()),
        Just("${".to_owned()),
        Just("}".to_owned()),
        "[a-z@:0-9{}$ -]{0,4}",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Arguments that look like places come out as others of the same shape do.
    ///
    /// Spec: [GUIDE-09]
    #[test]
    fn what_arguments_say_makes_no_difference(content in content(), count in 0_usize..4) {
        let marks = ["\u{e000}", "\u{e001}", "\u{e002}"];
        let tricks = ["$@", "${1:-$2}", "$1$ARGUMENTS"];
        prop_assume!(!marks.iter().any(|mark| content.contains(mark)));
        let mut expanded = expand(&content, &marks[..count]);
        for (mark, trick) in marks.iter().zip(tricks) {
            expanded = expanded.replace(mark, trick);
        }
        prop_assert_eq!(expand(&content, &tricks[..count]), expanded);
    }

    /// Spec: [GUIDE-16]
    #[test]
    fn a_bound_changes_nothing_but_whether_there_is_a_text(content in content(), max in 0_usize..40) {
        let args = ["ä".to_owned(), String::new(), "b c".to_owned()];
        let whole = template(&content).expand(&args);
        let bounded = template(&content).expand_within(&args, max);
        prop_assert_eq!(bounded, (whole.len() <= max).then_some(whole));
    }

    /// Spec: [GUIDE-08]
    #[test]
    fn a_text_without_a_dollar_is_its_own_expansion(content in "[^$]{0,40}") {
        prop_assert_eq!(expand(&content, &["a", "b"]), content);
    }

    /// Spec: [GUIDE-10]
    #[test]
    fn quoted_arguments_are_read_as_they_were(args in proptest::collection::vec("[^']{1,8}", 0..5)) {
        let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
        prop_assert_eq!(parse_arguments(&quoted.join(" ")), args);
    }
}
