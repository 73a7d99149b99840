//! The number of colours of a terminal, and the nearest one that it has.

use ratatui::style::Color;

/// Red, green, blue.
type Rgb = [u8; 3];

/// The number of colours of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All.
    Full,
    /// The palette of 256.
    Palette,
    /// Sixteen.
    Sixteen,
    /// None, or none are wanted; bold, italic and the like remain.
    None,
}

/// The names of terminals that have all colours but do not always say so.
const FULL: [&str; 8] = [
    "-direct",
    "xterm-kitty",
    "xterm-ghostty",
    "alacritty",
    "foot",
    "wezterm",
    "contour",
    "rio",
];

/// The levels of each of the three parts of a colour in the cube of the palette.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The usual values of the sixteen colours.
const SIXTEEN: [(Color, Rgb); 16] = [
    (Color::Black, [0, 0, 0]),
    (Color::Red, [205, 0, 0]),
    (Color::Green, [0, 205, 0]),
    (Color::Yellow, [205, 205, 0]),
    (Color::Blue, [0, 0, 238]),
    (Color::Magenta, [205, 0, 205]),
    (Color::Cyan, [0, 205, 205]),
    (Color::Gray, [229, 229, 229]),
    (Color::DarkGray, [127, 127, 127]),
    (Color::LightRed, [255, 0, 0]),
    (Color::LightGreen, [0, 255, 0]),
    (Color::LightYellow, [255, 255, 0]),
    (Color::LightBlue, [92, 92, 255]),
    (Color::LightMagenta, [255, 0, 255]),
    (Color::LightCyan, [0, 255, 255]),
    (Color::White, [255, 255, 255]),
];

impl Depth {
    /// The environment's facts about the terminal, asked by the names of variables.
    pub(crate) fn from_environment(get: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| get(name).unwrap_or_default();
        let term = value("TERM");
        if !value("NO_COLOR").is_empty() || term == "dumb" {
            return Self::None;
        }
        let of_term = if term.contains("256color") {
            Self::Palette
        } else {
            Self::Sixteen
        };
        // This multiplexer inherits the variable of the terminal around it, and does not support true colour.
        if term.starts_with("screen") && get("TMUX").is_none() {
            return of_term;
        }
        let is_full = matches!(value("COLORTERM").as_str(), "truecolor" | "24bit")
            || FULL.iter().any(|name| term.contains(name));
        if is_full { Self::Full } else { of_term }
    }

    /// The nearest colour that there is.
    pub(super) fn color(self, rgb: Rgb) -> Option<Color> {
        let [red, green, blue] = rgb;
        match self {
            Self::Full => Some(Color::Rgb(red, green, blue)),
            Self::Palette => Some(Color::Indexed(nearest_of_palette(rgb))),
            Self::Sixteen => SIXTEEN
                .into_iter()
                .min_by_key(|(_, other)| distance(rgb, *other))
                .map(|(color, _)| color),
            Self::None => None,
        }
    }
}

/// The first sixteen are left out: their values differ between terminals.
fn nearest_of_palette(rgb: Rgb) -> u8 {
    (16..=255)
        .min_by_key(|index| distance(rgb, palette(*index)))
        .unwrap_or(16)
}

/// The colour of an index of at least 16: a cube of six levels, then 24 greys.
pub(super) fn palette(index: u8) -> Rgb {
    if index >= 232 {
        return [8 + (index - 232) * 10; 3];
    }
    let place = usize::from(index.saturating_sub(16));
    [place / 36, place / 6 % 6, place % 6]
        .map(|level| LEVELS.get(level).copied().unwrap_or_default())
}

fn distance(one: Rgb, other: Rgb) -> u32 {
    one.into_iter()
        .zip(other)
        .map(|(a, b)| u32::from(a.abs_diff(b)).pow(2))
        .sum()
}
