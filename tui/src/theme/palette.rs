//! The colours: a row a token.

use ratatui::style::{Color, Modifier};

use super::Token;

/// The colours of a token.
pub(super) struct Colours {
    /// Red, green and blue for a dark screen.
    pub(super) dark: [u8; 3],
    /// The same for a light screen.
    pub(super) light: [u8; 3],
    /// For a light screen with sixteen colours, where the nearest could not be read on white.
    pub(super) light_of_sixteen: Option<Color>,
    /// The terminal's own; none where it decides. Its grounds are not ours to guess.
    pub(super) terminal: Option<Color>,
    /// What stands for it as a ground where there is no colour.
    pub(super) instead: Modifier,
}

const fn row(dark: u32, light: u32, of_sixteen: Option<Color>, terminal: Option<Color>) -> Colours {
    let [_, red, green, blue] = dark.to_be_bytes();
    let dark = [red, green, blue];
    let [_, red, green, blue] = light.to_be_bytes();
    Colours {
        dark,
        light: [red, green, blue],
        light_of_sixteen: of_sixteen,
        terminal,
        instead: Modifier::empty(),
    }
}

const fn ground(dark: u32, light: u32, instead: Modifier) -> Colours {
    Colours {
        instead,
        ..row(dark, light, None, None)
    }
}

const LOUD: Modifier = Modifier::REVERSED.union(Modifier::BOLD);
const MARKED: Modifier = Modifier::UNDERLINED.union(Modifier::BOLD);

/// The table.
pub(super) const fn of(token: Token) -> Colours {
    use Color::{Blue, Cyan, DarkGray, Green, Magenta, Red, Yellow};
    match token {
        Token::Text => row(0xe0_e0_e0, 0x1a_1a_1a, None, None),
        Token::User => row(0x00_ff_ff, 0x00_6b_6b, Some(Blue), Some(Cyan)),
        Token::ToolName | Token::Status => row(0xff_ff_00, 0x8a_6d_00, Some(Magenta), Some(Yellow)),
        Token::Error => row(0xff_00_00, 0xb0_00_20, Some(Red), Some(Red)),
        Token::Added => row(0x5f_d7_5f, 0x1a_6b_1a, Some(Green), Some(Green)),
        Token::Removed => row(0xff_87_87, 0xb0_00_20, Some(Red), Some(Red)),
        Token::Reasoning => row(0x66_66_66, 0x6b_6b_6b, None, Some(DarkGray)),
        Token::Border => row(0x44_44_44, 0xb0_b0_b0, None, Some(DarkGray)),
        Token::Link => row(0x87_af_ff, 0x0b_57_d0, Some(Blue), Some(Blue)),
        Token::Ground => ground(0x1a_1a_1a, 0xff_ff_ff, Modifier::empty()),
        Token::Code => ground(0x3d_3a_28, 0xf3_ec_d0, Modifier::empty()),
        Token::InlineCode => ground(0x33_33_38, 0xea_ea_ee, Modifier::DIM),
        Token::Selection => ground(0x26_4f_78, 0xb5_d5_ff, Modifier::REVERSED),
        Token::Hit => ground(0x5a_4a_00, 0xff_e9_a8, MARKED),
        Token::CurrentHit => ground(0x9a_5b_00, 0xff_c9_4d, LOUD),
    }
}
