//! The colours of each scheme.

use ratatui::style::Color;

use super::Token;

/// Red, green, blue.
pub(super) type Rgb = [u8; 3];

/// For a dark screen.
pub(super) fn dark(token: Token) -> Rgb {
    match token {
        Token::Text => [0xe0, 0xe0, 0xe0],
        Token::User => [0x00, 0xff, 0xff],
        Token::ToolName | Token::Status => [0xff, 0xff, 0x00],
        Token::Error => [0xff, 0x00, 0x00],
        Token::Reasoning => [0x66, 0x66, 0x66],
        Token::Border => [0x44, 0x44, 0x44],
        Token::Link => [0x87, 0xaf, 0xff],
        Token::Ground => [0x1a, 0x1a, 0x1a],
        Token::Code => [0x3d, 0x3a, 0x28],
        Token::InlineCode => [0x33, 0x33, 0x38],
        Token::Selection => [0x26, 0x4f, 0x78],
        Token::Hit => [0x5a, 0x4a, 0x00],
        Token::CurrentHit => [0x9a, 0x5b, 0x00],
    }
}

/// For a light screen.
pub(super) fn light(token: Token) -> Rgb {
    match token {
        Token::Text => [0x1a, 0x1a, 0x1a],
        Token::User => [0x00, 0x6b, 0x6b],
        Token::ToolName | Token::Status => [0x8a, 0x6d, 0x00],
        Token::Error => [0xb0, 0x00, 0x20],
        Token::Reasoning => [0x6b, 0x6b, 0x6b],
        Token::Border => [0xb0, 0xb0, 0xb0],
        Token::Link => [0x0b, 0x57, 0xd0],
        Token::Ground => [0xff, 0xff, 0xff],
        Token::Code => [0xf3, 0xec, 0xd0],
        Token::InlineCode => [0xea, 0xea, 0xee],
        Token::Selection => [0xb5, 0xd5, 0xff],
        Token::Hit => [0xff, 0xe9, 0xa8],
        Token::CurrentHit => [0xff, 0xc9, 0x4d],
    }
}

/// For a light screen with sixteen colours, of which the nearest could not be read on white.
pub(super) fn light_of_sixteen(token: Token) -> Option<Color> {
    match token {
        Token::User | Token::Link => Some(Color::Blue),
        Token::ToolName | Token::Status => Some(Color::Magenta),
        Token::Error => Some(Color::Red),
        Token::Text
        | Token::Reasoning
        | Token::Border
        | Token::Ground
        | Token::Code
        | Token::InlineCode
        | Token::Selection
        | Token::Hit
        | Token::CurrentHit => None,
    }
}

/// The terminal's own; none where it decides. Its grounds are not ours to guess.
pub(super) fn terminal(token: Token) -> Option<Color> {
    match token {
        Token::User => Some(Color::Cyan),
        Token::ToolName | Token::Status => Some(Color::Yellow),
        Token::Error => Some(Color::Red),
        Token::Reasoning | Token::Border => Some(Color::DarkGray),
        Token::Link => Some(Color::Blue),
        Token::Text
        | Token::Ground
        | Token::Code
        | Token::InlineCode
        | Token::Selection
        | Token::Hit
        | Token::CurrentHit => None,
    }
}
