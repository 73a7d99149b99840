//! Tests of reading front matter.

use super::*;

#[track_caller]
fn check(yaml: &str, expected: &[(&str, &str)]) {
    let fields = parse(yaml).unwrap();
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    assert_eq!(fields, expected, "{yaml}");
}

/// Spec: [GUIDE-20]
#[test]
fn front_matter_stands_between_two_lines_of_hyphens() {
    for (text, divided) in [
        ("---\na: b\n---\ntext\n", Some(("a: b\n", "text\n"))),
        ("--- \na: b\n---\t\ntext", Some(("a: b\n", "text"))),
        ("---\n---", Some(("", ""))),
        ("---\na: b\n---", Some(("a: b\n", ""))),
        ("---\na\n---\nb\n---\nc", Some(("a\n", "b\n---\nc"))),
        ("---\na: b\n ---\n---\n", Some(("a: b\n ---\n", ""))),
        ("---\na: b\ntext\n", None),
        ("---", None),
        ("\n---\na: b\n---\n", None),
        ("----\na: b\n---\n", None),
        ("text", None),
        ("", None),
    ] {
        assert_eq!(divide(text), divided, "{text:?}");
    }
}

/// Spec: [GUIDE-21]
#[test]
fn texts_of_every_style_are_read() {
    check("", &[]);
    check("# nothing\n\n", &[]);
    check(
        "# comment\nname: pdf   # why\ndescription: \"a: \\\"b\\\"\\n\\u00fc\"\n",
        &[("description", "a: \"b\"\nü"), ("name", "pdf")],
    );
    check("a: 'it''s: so'\n", &[("a", "it's: so")]);
    check(
        "a: >-\n  folded\n  text: here\n\n  more\nb: |\n  kept\n   lines\n",
        &[("a", "folded text: here\nmore"), ("b", "kept\n lines\n")],
    );
    check("a: plain\n  goes on\n", &[("a", "plain goes on")]);
    check("{a: b, c: d}", &[("a", "b"), ("c", "d")]);
    check("a: true\nb: 1.50\n", &[("a", "true"), ("b", "1.50")]);
    check(
        "a:\nb: ~\nc: null\nd: '~'\n",
        &[("a", ""), ("b", ""), ("c", ""), ("d", "~")],
    );
}

/// Spec: [GUIDE-21]
#[test]
fn what_is_no_text_is_passed_over() {
    check(
        "allowed-tools:\n  - Read\n  - Bash(git:*)\nname: x\nmetadata: {name: y, l: [1, {name: z}]}\nz: [a, b]\n",
        &[("name", "x")],
    );
    check("? [a, b]\n: c\nname: x\n", &[("name", "x")]);
    check("a: &one x\nb: *one\nc: y\n", &[("a", "x"), ("c", "y")]);
}

/// Spec: [GUIDE-22]
#[test]
fn a_colon_in_a_plain_value_is_taken_as_it_is_meant() {
    check(
        "name: x\ndescription: Use when: it's said, e.g. \"do: this\"\nlist:\n  - a\nb: 'q: r'\n",
        &[
            ("b", "q: r"),
            ("description", "Use when: it's said, e.g. \"do: this\""),
            ("name", "x"),
        ],
    );
    check("description: @mention\n", &[("description", "@mention")]);
}

/// Spec: [GUIDE-23]
#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    for (yaml, reason) in [
        ("- a\n- b\n", "its front matter is not YAML: it is a list"),
        (
            "just text\n",
            "its front matter is not YAML: it has no names",
        ),
        (
            "a: b\na: c\n",
            "its front matter is not YAML: it has \"a\" twice",
        ),
        ("a: [b\n", "its front matter is not YAML: "),
        ("a: \"b\n", "its front matter is not YAML: "),
        ("a: *none\n  b\n x", "its front matter is not YAML: "),
    ] {
        let refusal = parse(yaml).unwrap_err();
        assert!(refusal.starts_with(reason), "{yaml}: {refusal}");
    }
    let long = format!("a: {}\n", "x".repeat(MAX_BYTES));
    assert_eq!(parse(&long[..MAX_BYTES]).unwrap().len(), 1);
    assert!(parse(&long).unwrap_err().contains("more than 65536 bytes"));
}

/// Aliases that stand for each other would fill any memory if they were built; brackets in
/// brackets would fill the stack.
///
/// Spec: [GUIDE-23]
#[test]
fn front_matter_that_grows_when_it_is_read_stays_small() {
    let mut bomb = "name: x\na0: &a0 [x, x]\n".to_owned();
    for level in 1..60 {
        let below = level - 1;
        bomb += &format!("a{level}: &a{level} [*a{below}, *a{below}, *a{below}]\n");
    }
    check(&bomb, &[("name", "x")]);
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", "")] {
        let nested = |depth: usize| open.repeat(depth) + &close.repeat(depth);
        let most = MAX_BYTES / (open.len() + close.len()) - 8;
        for depth in [10, most] {
            drop(parse(&format!("a: {}", nested(depth))));
            drop(parse(&format!("a:\n  {}", nested(depth))));
            drop(parse(&nested(depth)));
        }
    }
    let mut steps = String::new();
    for depth in 0..350 {
        steps += &" ".repeat(depth);
        steps += "a:\n";
    }
    drop(parse(&steps));
}

/// Whatever is there is read or refused, and nothing breaks.
///
/// Spec: [GUIDE-23]
#[test]
fn any_mixture_of_signs_is_read_or_refused() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let pieces = [
        "a",
        "b: ",
        "- ",
        "? ",
        ": ",
        "\n",
        "\n  ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\"",
        "'",
        "|",
        ">-",
        "&x ",
        "*x",
        "!t ",
        "!!str ",
        "#",
        " ",
        "\t",
        "---",
        "...",
        "%YAML 1.2",
        "\\",
        "@",
        "`",
        "ü",
        "\u{1f600}",
        "\u{feff}",
        "\0",
        "\u{85}",
        "~",
        "<<: ",
    ];
    for _ in 0..20_000 {
        let count = random.usize(..24);
        let yaml: String = (0..count)
            .map(|_| pieces[random.usize(..pieces.len())])
            .collect();
        drop(parse(&yaml));
    }
}
