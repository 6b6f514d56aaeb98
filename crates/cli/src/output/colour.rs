//! Colours of the output. Colour never carries information alone: the text is always printed too.

use domain::Severity;
use domain::cluster::Connectivity;
use domain::release::ReleaseState;

/// Whether text is coloured.
#[derive(Debug, Clone, Copy)]
pub struct ColourMode(bool);

/// The colours in use, out of the 16 standard ANSI colours, whose shades the terminal defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Grey,
}

impl ColourMode {
    /// With or without colours.
    pub const fn new(on: bool) -> Self {
        Self(on)
    }

    /// Whether text is coloured.
    pub const fn is_enabled(self) -> bool {
        self.0
    }

    /// The text in this colour.
    pub fn apply(self, colour: Colour, text: &str) -> String {
        self.sgr(
            match colour {
                Colour::Red => "31",
                Colour::Green => "32",
                Colour::Yellow => "33",
                Colour::Blue => "34",
                Colour::Grey => "90",
            },
            text,
        )
    }

    /// The text in red.
    pub fn red(self, text: &str) -> String {
        self.sgr("1;31", text)
    }

    /// The text in yellow.
    pub fn yellow(self, text: &str) -> String {
        self.sgr("1;33", text)
    }

    /// The text in bold.
    pub fn bold(self, text: &str) -> String {
        self.sgr("1", text)
    }

    fn sgr(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The colour of a state.
pub const fn state_colour(state: ReleaseState) -> Colour {
    match state {
        ReleaseState::Healthy => Colour::Green,
        ReleaseState::Failed | ReleaseState::Degraded | ReleaseState::Blocked => Colour::Red,
        ReleaseState::Drifted | ReleaseState::Stale | ReleaseState::Suspended => Colour::Yellow,
        ReleaseState::NotAssessed
        | ReleaseState::Unknown
        | ReleaseState::Removed
        | ReleaseState::Orphaned
        | ReleaseState::Abandoned => Colour::Grey,
        _ => Colour::Blue,
    }
}

/// The colour of a connectivity.
pub const fn connectivity_colour(reach: Connectivity) -> Colour {
    match reach {
        Connectivity::Online => Colour::Green,
        Connectivity::Late => Colour::Yellow,
        Connectivity::Offline => Colour::Grey,
    }
}

/// The colour of a severity.
pub const fn severity_colour(severity: Severity) -> Colour {
    match severity {
        Severity::Error => Colour::Red,
        Severity::Warning => Colour::Yellow,
        Severity::Note => Colour::Blue,
    }
}
