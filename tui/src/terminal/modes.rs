//! The modes of the terminal that the client needs, and how each is given back.

/// A mode of the terminal. Raw mode is none of them: it belongs to the device, not to its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalMode {
    /// A screen of our own; the shell's is kept.
    AlternateScreen,
    /// The terminal marks pastes.
    BracketedPaste,
    /// The terminal tells when its window has the focus.
    Focus,
    /// Buttons, drags and the wheel, with places of any size. The terminal does not report moves without a button: the
    /// client needs none, and there are many.
    Mouse,
    /// Ctrl+Enter and Shift+Enter differ from Enter: kitty's flag 1 and no other.
    KittyKeyboard,
    /// The cursor is a bar, since it is between characters.
    CursorShape,
    /// The cursor is a block, since it is on a character.
    BlockCursor,
    /// The cursor is hidden until a frame shows it.
    HiddenCursor,
    /// The title shows the state of the conversation; the terminal keeps the earlier title.
    Title,
}

impl TerminalMode {
    /// Those that are always entered, in this order.
    pub(super) const ALWAYS: [Self; 7] = [
        Self::AlternateScreen,
        Self::BracketedPaste,
        Self::Focus,
        Self::Mouse,
        Self::KittyKeyboard,
        Self::CursorShape,
        Self::HiddenCursor,
    ];

    /// The bytes that enter it.
    pub(super) fn enter(self) -> &'static str {
        match self {
            Self::AlternateScreen => "\x1b[?1049h",
            Self::BracketedPaste => "\x1b[?2004h",
            Self::Focus => "\x1b[?1004h",
            Self::Mouse => "\x1b[?1000h\x1b[?1002h\x1b[?1006h",
            Self::KittyKeyboard => "\x1b[>1u",
            Self::CursorShape => "\x1b[6 q",
            Self::BlockCursor => "\x1b[2 q",
            Self::HiddenCursor => "\x1b[?25l",
            Self::Title => "\x1b[22;2t",
        }
    }

    /// The bytes that leave it.
    pub(super) fn leave(self) -> &'static str {
        match self {
            Self::AlternateScreen => "\x1b[?1049l",
            Self::BracketedPaste => "\x1b[?2004l",
            Self::Focus => "\x1b[?1004l",
            Self::Mouse => "\x1b[?1006l\x1b[?1002l\x1b[?1000l",
            Self::KittyKeyboard => "\x1b[<1u",
            Self::CursorShape => "\x1b[0 q",
            Self::BlockCursor => "\x1b[6 q",
            Self::HiddenCursor => "\x1b[?25h",
            // A terminal that keeps no titles is left with none of ours.
            Self::Title => "\x1b]2;\x1b\\\x1b[23;2t",
        }
    }
}
