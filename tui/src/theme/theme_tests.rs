use std::collections::BTreeMap;

use super::*;

/// All that is written in.
const WORDS: [Token; 20] = [
    Token::Text,
    Token::User,
    Token::ToolName,
    Token::Error,
    Token::Added,
    Token::Removed,
    Token::Reasoning,
    Token::Quiet,
    Token::Notice,
    Token::Accent,
    Token::Status,
    Token::Link,
    Token::Comment,
    Token::Literal,
    Token::Constant,
    Token::Keyword,
    Token::Function,
    Token::Type,
    Token::Tag,
    Token::Heading,
];

/// All that is written on, besides the ground of the screen.
const GROUNDS: [Token; 10] = [
    Token::Code,
    Token::InlineCode,
    Token::Alarm,
    Token::AddedLine,
    Token::RemovedLine,
    Token::AddedWord,
    Token::RemovedWord,
    Token::Selection,
    Token::Hit,
    Token::CurrentHit,
];

/// All tokens.
fn tokens() -> impl Iterator<Item = Token> {
    let others = [Token::Border, Token::Ground];
    WORDS.into_iter().chain(GROUNDS).chain(others)
}

fn foreground(theme: Theme, token: Token) -> Option<Color> {
    theme.style(Look::new(token)).fg
}

/// Spec: [VIEW-04], [VIEW-280]
#[test]
fn the_dark_colours_are_exact() {
    let theme = Theme::new(Scheme::Dark, Depth::Full);
    let expected = [
        (Token::Text, 0xe0e0e0),
        (Token::User, 0x00ffff),
        (Token::ToolName, 0xffff00),
        (Token::Error, 0xff0000),
        (Token::Reasoning, 0x666666),
        (Token::Border, 0x444444),
        (Token::Status, 0xffff00),
        (Token::Quiet, 0x8a8a8a),
        (Token::Notice, 0xd8c26a),
    ];
    for (token, value) in expected {
        assert_eq!(
            foreground(theme, token),
            Some(Color::from_u32(value)),
            "{token:?}"
        );
    }
    let code = Look::new(Token::Text).on(Token::Code);
    assert_eq!(theme.style(code).bg, Some(Color::from_u32(0x3d3a28)));
    assert_eq!(
        theme.ground(),
        Style::new()
            .fg(Color::from_u32(0xe0e0e0))
            .bg(Color::from_u32(0x1a1a1a))
    );
}

/// How far the light of two colours is apart, as reading needs it.
fn contrast(one: Color, other: Color) -> f64 {
    let light = |color| {
        let parts = match color {
            Color::Rgb(red, green, blue) => [red, green, blue],
            Color::Indexed(index) => depth::palette(index),
            other => panic!("{other} has no parts"),
        };
        let parts = parts.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.03928 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] + 0.05
    };
    let (one, other) = (light(one), light(other));
    (one / other).max(other / one)
}

/// Thinking on the dark ground of the screen, of which the requirement S2-19 fixes both colours.
fn is_fixed(scheme: Scheme, token: Token, ground: Option<Token>) -> bool {
    let is_of_screen = matches!(ground, None | Some(Token::Alarm));
    scheme == Scheme::Dark && token == Token::Reasoning && is_of_screen
}

/// Spec: [VIEW-05], [VIEW-280]
#[test]
fn whatever_is_written_can_be_read_on_every_ground() {
    let mut bad = Vec::new();
    for scheme in [Scheme::Dark, Scheme::Light] {
        for depth in [Depth::Full, Depth::Palette] {
            let theme = Theme::new(scheme, depth);
            for token in WORDS {
                for ground in [None].into_iter().chain(GROUNDS.map(Some)) {
                    let look = Look {
                        ground,
                        ..Look::new(token)
                    };
                    let style = theme.style(look);
                    let behind = style.bg.or(theme.ground().bg).unwrap();
                    let contrast = contrast(style.fg.unwrap(), behind);
                    if contrast < 4.5 && !is_fixed(scheme, token, ground) {
                        bad.push(format!(
                            "{scheme:?} {depth:?} {token:?} on {ground:?}: {contrast:.2}"
                        ));
                    }
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Spec: [VIEW-281]
#[test]
fn a_diff_has_grounds_where_there_are_enough_colours_and_else_coloured_words() {
    let lines = [
        (Token::AddedLine, Token::AddedWord, Token::Added),
        (Token::RemovedLine, Token::RemovedWord, Token::Removed),
    ];
    for scheme in Scheme::ALL {
        for depth in [Depth::Full, Depth::Palette, Depth::Sixteen, Depth::None] {
            let theme = Theme::new(scheme, depth);
            let has_grounds =
                scheme != Scheme::Terminal && matches!(depth, Depth::Full | Depth::Palette);
            for (line, word, instead) in lines {
                let look = Look::new(Token::Keyword).on(line);
                assert_eq!(theme.shows(line), has_grounds, "{scheme:?} {depth:?}");
                assert_eq!(theme.style(look).bg.is_some(), has_grounds);
                if !has_grounds {
                    let colored = foreground(theme, instead);
                    assert_eq!(theme.style(look).fg, colored, "{scheme:?} {depth:?}");
                }
                if depth == Depth::Full && has_grounds {
                    assert_ne!(theme.style(look.on(word)).bg, theme.style(look).bg);
                }
            }
        }
    }
    let of = |scheme, depth, token| {
        let theme = Theme::new(scheme, depth);
        theme.style(Look::new(Token::Text).on(token)).bg
    };
    let full = |token| of(Scheme::Dark, Depth::Full, token);
    assert_eq!(full(Token::AddedLine), Some(Color::from_u32(0x213a2b)));
    assert_eq!(full(Token::RemovedLine), Some(Color::from_u32(0x4a221d)));
    let light = |token| of(Scheme::Light, Depth::Palette, token);
    assert_eq!(light(Token::AddedLine), Some(Color::Indexed(194)));
    assert_eq!(light(Token::RemovedLine), Some(Color::Indexed(224)));
}

/// Spec: [VIEW-262]
#[test]
fn what_has_less_weight_can_be_read_on_both_grounds() {
    for scheme in [Scheme::Dark, Scheme::Light] {
        let theme = Theme::new(scheme, Depth::Full);
        let ground = theme.ground().bg.unwrap();
        let weight = |token| contrast(foreground(theme, token).unwrap(), ground);
        assert!(weight(Token::Quiet) >= 4.5);
        assert!(weight(Token::Quiet) < weight(Token::Text));
    }
}

/// Spec: [VIEW-05]
#[test]
fn sixteen_colours_can_be_read_on_a_light_screen_too() {
    let theme = Theme::new(Scheme::Light, Depth::Sixteen);
    assert_eq!(theme.ground().bg, Some(Color::White));
    for token in [
        Token::User,
        Token::ToolName,
        Token::Status,
        Token::Error,
        Token::Link,
        Token::Text,
    ] {
        let color = foreground(theme, token).unwrap();
        let dark = [Color::Black, Color::Blue, Color::Magenta, Color::Red];
        assert!(dark.contains(&color), "{token:?} is {color}");
    }
}

/// Spec: [VIEW-06]
#[test]
fn without_colours_attributes_remain_and_stand_in() {
    for scheme in Scheme::ALL {
        let theme = Theme::new(scheme, Depth::None);
        for token in tokens() {
            for look in [
                Look::new(token).bold().italic(),
                Look::new(Token::Text).bold().italic().on(token),
            ] {
                let style = theme.style(look);
                assert_eq!((style.fg, style.bg), (None, None), "{look:?}");
                assert!(style.add_modifier.contains(look.modifier), "{look:?}");
            }
        }
        let selected = theme.style(Look::new(Token::Text).on(Token::Selection));
        assert_eq!(selected.add_modifier, Modifier::REVERSED);
        assert_eq!(
            theme.style(Look::new(Token::Reasoning)).add_modifier,
            Modifier::DIM
        );
        assert_eq!(theme.ground(), Style::new());
    }
}

/// Spec: [VIEW-06]
#[test]
fn whatever_the_depth_what_is_marked_can_be_told_from_what_is_not() {
    for scheme in Scheme::ALL {
        for depth in [Depth::Full, Depth::Palette, Depth::Sixteen, Depth::None] {
            let theme = Theme::new(scheme, depth);
            let plain = theme.style(Look::new(Token::Text));
            for ground in [
                Token::Selection,
                Token::Hit,
                Token::CurrentHit,
                Token::InlineCode,
            ] {
                let marked = theme.style(Look::new(Token::Text).on(ground));
                assert_ne!(marked, plain, "{scheme:?} {depth:?} {ground:?}");
                assert!(marked.bg.is_none() || marked.bg != theme.ground().bg);
            }
        }
    }
}

#[test]
fn fewer_colours_are_the_nearest() {
    let cases = [
        (Depth::Palette, [0x00, 0xff, 0xff], Color::Indexed(51)),
        (Depth::Palette, [0x1a, 0x1a, 0x1a], Color::Indexed(234)),
        (Depth::Palette, [0x66, 0x66, 0x66], Color::Indexed(241)),
        (Depth::Sixteen, [0x00, 0xff, 0xff], Color::LightCyan),
        (Depth::Sixteen, [0x66, 0x66, 0x66], Color::DarkGray),
        (Depth::Sixteen, [0x1a, 0x1a, 0x1a], Color::Black),
    ];
    for (depth, rgb, color) in cases {
        assert_eq!(depth.color(rgb), Some(color), "{rgb:?}");
    }
    for depth in [Depth::Palette, Depth::Sixteen, Depth::None] {
        for scheme in Scheme::ALL {
            for token in tokens() {
                let style = Theme::new(scheme, depth).style(Look::new(token).on(token));
                for color in [style.fg, style.bg].into_iter().flatten() {
                    assert!(!matches!(color, Color::Rgb(..)), "{depth:?} {token:?}");
                }
            }
        }
    }
}

/// Spec: [VIEW-07]
#[test]
fn the_environment_says_how_many_colours_there_are() {
    let cases: [(&[(&str, &str)], Depth); 13] = [
        (
            &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
            Depth::Full,
        ),
        (&[("TERM", "xterm"), ("COLORTERM", "24bit")], Depth::Full),
        (&[("TERM", "xterm-256color")], Depth::Palette),
        (&[("TERM", "xterm")], Depth::Sixteen),
        (&[("TERM", "xterm-kitty")], Depth::Full),
        (&[("TERM", "xterm-direct")], Depth::Full),
        (&[], Depth::Sixteen),
        (&[("TERM", "dumb"), ("COLORTERM", "truecolor")], Depth::None),
        (
            &[("NO_COLOR", "1"), ("COLORTERM", "truecolor")],
            Depth::None,
        ),
        (&[("NO_COLOR", ""), ("COLORTERM", "truecolor")], Depth::Full),
        (
            &[("TERM", "screen"), ("COLORTERM", "truecolor")],
            Depth::Sixteen,
        ),
        (
            &[
                ("TERM", "screen.xterm-256color"),
                ("COLORTERM", "truecolor"),
            ],
            Depth::Palette,
        ),
        (
            &[
                ("TERM", "screen-256color"),
                ("TMUX", "/x"),
                ("COLORTERM", "truecolor"),
            ],
            Depth::Full,
        ),
    ];
    for (variables, depth) in cases {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        let get = |name: &str| variables.get(name).map(|value| (*value).to_owned());
        assert_eq!(Depth::from_environment(get), depth, "{variables:?}");
    }
}

#[test]
fn schemes_have_names() {
    for scheme in Scheme::ALL {
        assert_eq!(Scheme::parse(scheme.name()), Some(scheme));
    }
    assert_eq!(Scheme::parse("pink"), None);
}

/// Spec: [VIEW-08]
#[test]
fn nobody_else_names_a_colour() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![source.clone()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path != source.join("theme") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                seen += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(
                    !text.contains("Color::"),
                    "{} names a colour",
                    path.display()
                );
            }
        }
    }
    assert!(seen > 10, "looked in the wrong place");
}
