//! Colours of the output, out of the 16 standard ANSI colours, whose shades the terminal defines. Colour never carries information alone: the text is always printed too.

use anstyle::{AnsiColor, Style};
use domain::Severity;
use domain::cluster::Connectivity;
use domain::release::ReleaseState;

/// Whether text is coloured.
#[derive(Debug, Clone, Copy)]
pub struct ColourMode(bool);

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
    pub fn apply(self, colour: AnsiColor, text: &str) -> String {
        self.style(colour.on_default(), text)
    }

    /// The text in bold red.
    pub fn red(self, text: &str) -> String {
        self.style(AnsiColor::Red.on_default().bold(), text)
    }

    /// The text in bold yellow.
    pub fn yellow(self, text: &str) -> String {
        self.style(AnsiColor::Yellow.on_default().bold(), text)
    }

    /// The text in bold.
    pub fn bold(self, text: &str) -> String {
        self.style(Style::new().bold(), text)
    }

    fn style(self, style: Style, text: &str) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// The colour of a state.
pub const fn state_colour(state: ReleaseState) -> AnsiColor {
    match state {
        ReleaseState::Healthy => AnsiColor::Green,
        ReleaseState::Failed | ReleaseState::Degraded | ReleaseState::Blocked => AnsiColor::Red,
        ReleaseState::Drifted | ReleaseState::Stale | ReleaseState::Suspended => AnsiColor::Yellow,
        ReleaseState::NotAssessed
        | ReleaseState::Unknown
        | ReleaseState::Removed
        | ReleaseState::Orphaned
        | ReleaseState::Abandoned => AnsiColor::BrightBlack,
        _ => AnsiColor::Blue,
    }
}

/// The colour of a connectivity.
pub const fn connectivity_colour(reach: Connectivity) -> AnsiColor {
    match reach {
        Connectivity::Online => AnsiColor::Green,
        Connectivity::Late => AnsiColor::Yellow,
        Connectivity::Offline => AnsiColor::BrightBlack,
    }
}

/// The colour of a severity.
pub const fn severity_colour(severity: Severity) -> AnsiColor {
    match severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Note => AnsiColor::Blue,
    }
}
