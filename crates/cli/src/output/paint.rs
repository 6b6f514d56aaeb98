//! Colours, where they are wanted. The word is always there too: colour only helps to find it.

use domain::Severity;
use domain::cluster::Reach;
use domain::release::State;

/// Whether colours are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Paint(bool);

/// The colours we use: the sixteen that every terminal has, in its owner's choice of shades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Grey,
}

impl Paint {
    /// Colours or none.
    pub const fn new(on: bool) -> Self {
        Self(on)
    }

    /// Whether colours are wanted.
    pub const fn is_on(self) -> bool {
        self.0
    }

    /// The text in this colour.
    pub fn colour(self, colour: Colour, text: &str) -> String {
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
pub const fn of_state(state: State) -> Colour {
    match state {
        State::Healthy => Colour::Green,
        State::Failed | State::Degraded | State::Blocked => Colour::Red,
        State::Drifted | State::Stale | State::Suspended => Colour::Yellow,
        State::Unknown | State::Removed | State::Orphaned | State::Abandoned => Colour::Grey,
        _ => Colour::Blue,
    }
}

/// The colour of a reach.
pub const fn of_reach(reach: Reach) -> Colour {
    match reach {
        Reach::Online => Colour::Green,
        Reach::Late => Colour::Yellow,
        Reach::Offline => Colour::Grey,
    }
}

/// The colour of a severity.
pub const fn of_severity(severity: Severity) -> Colour {
    match severity {
        Severity::Error => Colour::Red,
        Severity::Warning => Colour::Yellow,
        Severity::Note => Colour::Blue,
    }
}
