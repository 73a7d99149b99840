//! The colours: a row a token.

use ratatui::style::{Color, Modifier};

use super::Token;

/// The colours of a token.
pub(super) struct TokenColours {
    /// Red, green and blue for a dark screen.
    pub(super) dark: [u8; 3],
    /// The same for a light screen.
    pub(super) light: [u8; 3],
    /// Their places in the palette of 256, where the nearest would be another colour.
    pub(super) dark_of_palette: Option<u8>,
    /// The same for a light screen.
    pub(super) light_of_palette: Option<u8>,
    /// For a light screen with sixteen colours, where the nearest could not be read on white.
    pub(super) light_of_sixteen: Option<Color>,
    /// The terminal's own; none where it decides. Its grounds are not ours to guess.
    pub(super) terminal: Option<Color>,
    /// Its substitute as a ground without colours.
    pub(super) instead: Modifier,
}

const fn row(
    dark: u32,
    light: u32,
    of_sixteen: Option<Color>,
    terminal: Option<Color>,
) -> TokenColours {
    let [_, red, green, blue] = dark.to_be_bytes();
    let dark = [red, green, blue];
    let [_, red, green, blue] = light.to_be_bytes();
    TokenColours {
        dark,
        light: [red, green, blue],
        dark_of_palette: None,
        light_of_palette: None,
        light_of_sixteen: of_sixteen,
        terminal,
        instead: Modifier::empty(),
    }
}

const fn ground(dark: u32, light: u32, instead: Modifier) -> TokenColours {
    TokenColours {
        instead,
        ..row(dark, light, None, None)
    }
}

/// The ground of a line or of words of a diff.
const fn of_diff(dark: u32, light: u32, of_palette: (u8, u8)) -> TokenColours {
    TokenColours {
        dark_of_palette: Some(of_palette.0),
        light_of_palette: Some(of_palette.1),
        ..row(dark, light, None, None)
    }
}

const LOUD: Modifier = Modifier::REVERSED.union(Modifier::BOLD);
const MARKED: Modifier = Modifier::UNDERLINED.union(Modifier::BOLD);

/// The table.
pub(super) const fn colours(token: Token) -> TokenColours {
    use Color::{Blue, Cyan, DarkGray, Green, Magenta, Red, Yellow};
    match token {
        Token::Text => row(0xe0_e0_e0, 0x1a_1a_1a, None, None),
        Token::User => row(0x00_ff_ff, 0x00_6b_6b, Some(Blue), Some(Cyan)),
        Token::ToolName | Token::Status => row(0xff_ff_00, 0x7a_60_00, Some(Magenta), Some(Yellow)),
        Token::Error => row(0xff_00_00, 0xb0_00_20, Some(Red), Some(Red)),
        Token::Added => row(0x5f_d7_5f, 0x1a_6b_1a, Some(Green), Some(Green)),
        Token::Removed => row(0xff_87_87, 0xb0_00_20, Some(Red), Some(Red)),
        Token::Reasoning => row(0x66_66_66, 0x6b_6b_6b, None, Some(DarkGray)),
        Token::Quiet => row(0x8a_8a_8a, 0x6b_6b_6b, None, Some(DarkGray)),
        Token::Notice => row(0xd8_c2_6a, 0x7a_60_00, Some(Magenta), Some(Yellow)),
        Token::Accent => row(0x7f_c8_d0, 0x00_6b_6b, Some(Blue), Some(Cyan)),
        Token::Border => row(0x44_44_44, 0xb0_b0_b0, None, Some(DarkGray)),
        Token::Link => row(0x87_af_ff, 0x0b_57_d0, Some(Blue), Some(Blue)),
        Token::Comment => row(0xa8_a8_9a, 0x5f_5f_5f, None, Some(DarkGray)),
        Token::Literal => row(0xb5_d0_8a, 0x22_66_1a, Some(Green), Some(Green)),
        Token::Constant => row(0xf0_a9_7a, 0x8a_3b_00, Some(Red), Some(Yellow)),
        Token::Keyword => row(0xd7_a9_e8, 0x8b_1a_8b, Some(Magenta), Some(Magenta)),
        Token::Function | Token::Heading => row(0x8f_c7_f5, 0x0b_50_b8, Some(Blue), Some(Cyan)),
        Token::Type => row(0xe8_d1_8a, 0x00_62_6b, Some(Blue), Some(Yellow)),
        Token::Tag => row(0xf0_9a_9a, 0x9a_34_12, Some(Red), Some(Red)),
        Token::Ground => ground(0x1a_1a_1a, 0xff_ff_ff, Modifier::empty()),
        Token::Code => ground(0x3d_3a_28, 0xf3_ec_d0, Modifier::empty()),
        Token::InlineCode => ground(0x33_33_38, 0xea_ea_ee, Modifier::BOLD),
        // Red has a contrast of 4.4 on the ground of the screen, and of 4.8 on this.
        Token::Alarm => ground(0x1c_0c_0c, 0xff_ff_ff, Modifier::empty()),
        Token::AddedLine => of_diff(0x21_3a_2b, 0xda_fb_e1, (22, 194)),
        Token::RemovedLine => of_diff(0x4a_22_1d, 0xff_eb_e9, (52, 224)),
        Token::AddedWord => of_diff(0x28_58_3c, 0xa6_ee_b8, (22, 194)),
        Token::RemovedWord => of_diff(0x7a_30_2a, 0xff_c4_bd, (52, 224)),
        Token::Selection => ground(0x26_4f_78, 0xb5_d5_ff, Modifier::REVERSED),
        Token::Hit => ground(0x5a_4a_00, 0xff_e9_a8, MARKED),
        Token::CurrentHit => ground(0x8a_52_00, 0xff_c9_4d, LOUD),
    }
}
