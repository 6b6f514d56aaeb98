//! The progress of a wait: on a terminal one line per cluster, redrawn in place; otherwise one line per change, for logs.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

use domain::release::ReleaseState;
use unicode_width::UnicodeWidthChar;
use wire::{TargetCluster, WorkloadStatus};

use crate::output::{ColourMode, Printer, sanitize, state_colour, terminal_columns, terminal_rows};

/// The output stream of the progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressStream {
    /// On stderr, because stdout carries the result.
    Stderr,
    /// On stdout, because the progress is the result.
    Stdout,
}

/// The display of a progress.
pub struct ProgressDisplay {
    stream: ProgressStream,
    paint: ColourMode,
    is_redrawn: bool,
    /// Lines drawn on the terminal, which the next redraw replaces.
    drawn_lines: usize,
    lines: Vec<String>,
    shown_states: BTreeMap<String, (ReleaseState, String)>,
    message: String,
}

impl ProgressDisplay {
    /// An empty display.
    pub fn new(stream: ProgressStream, out: &Printer) -> Self {
        let (terminal, paint) = match stream {
            ProgressStream::Stderr => (io::stderr().is_terminal(), out.stderr_colours()),
            ProgressStream::Stdout => (io::stdout().is_terminal(), out.stdout_colours()),
        };
        let is_redrawn = terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            stream,
            paint,
            is_redrawn,
            drawn_lines: 0,
            lines: Vec::new(),
            shown_states: BTreeMap::new(),
            message: String::new(),
        }
    }

    /// Shows a status. A write error is returned for stdout and ignored for stderr.
    pub fn show_status(&mut self, status: &WorkloadStatus) -> io::Result<()> {
        if self.is_redrawn {
            self.lines = terminal_lines(status, self.paint);
            return self.redraw();
        }
        for target in sorted_by_name(status) {
            let now = (target.state, target.message.clone());
            if self.shown_states.get(&target.cluster_name) != Some(&now) {
                self.write(&(format_row(target, 0, ColourMode::new(false)) + "\n"))?;
                self.shown_states.insert(target.cluster_name.clone(), now);
            }
        }
        Ok(())
    }

    /// Shows a message, once per text.
    pub fn show_message(&mut self, text: &str) -> io::Result<()> {
        if self.message == text {
            return Ok(());
        }
        text.clone_into(&mut self.message);
        if self.is_redrawn {
            return self.redraw();
        }
        self.write(&format!("{}\n", sanitize(text)))
    }

    /// Removes the message.
    pub fn clear_message(&mut self) {
        self.message.clear();
    }

    fn redraw(&mut self) -> io::Result<()> {
        let mut text = String::new();
        if self.drawn_lines > 0 {
            text.push_str(&format!("\u{1b}[{}A", self.drawn_lines));
        }
        text.push_str("\r\u{1b}[J");
        let width = usize::from(terminal_columns().unwrap_or(80)).saturating_sub(1);
        let message = Some(sanitize(&self.message)).filter(|message| !message.is_empty());
        let lines: Vec<String> = self.lines.iter().cloned().chain(message).collect();
        for line in &lines {
            text.push_str(&truncate_line(line, width));
            text.push('\n');
        }
        self.drawn_lines = lines.len();
        self.write(&text)
    }

    fn write(&self, text: &str) -> io::Result<()> {
        match self.stream {
            ProgressStream::Stderr => {
                let _ = io::stderr().lock().write_all(text.as_bytes());
                Ok(())
            }
            ProgressStream::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes())?;
                stdout.flush()
            }
        }
    }
}

/// One line per cluster as far as they fit, and one line for the rest. If not all fit, the worst states come first.
fn terminal_lines(status: &WorkloadStatus, paint: ColourMode) -> Vec<String> {
    let limit = usize::from(terminal_rows().unwrap_or(24)).saturating_sub(4).max(3);
    let mut targets = sorted_by_name(status);
    if targets.len() > limit {
        targets.sort_by_key(|target| std::cmp::Reverse(target.state));
    }
    let left = targets.split_off(targets.len().min(limit));
    let widest = targets.iter().map(|target| target.cluster_name.len()).max().unwrap_or(0);
    let mut lines: Vec<String> =
        targets.into_iter().map(|target| format_row(target, widest, paint)).collect();
    if !left.is_empty() {
        let plural = if left.len() == 1 { "" } else { "s" };
        lines.push(format!("… and {} more cluster{plural}", left.len()));
    }
    lines
}

fn sorted_by_name(status: &WorkloadStatus) -> Vec<&TargetCluster> {
    let mut targets: Vec<&TargetCluster> = status.target_clusters.iter().collect();
    targets.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    targets
}

fn format_row(target: &TargetCluster, widest: usize, paint: ColourMode) -> String {
    const WIDEST_STATE: usize = 11;
    let word = target.state.as_str();
    let gap = " ".repeat(WIDEST_STATE.saturating_sub(word.len()));
    let state = paint.apply(state_colour(target.state), word);
    let text =
        format!("{:widest$}  {state}{gap}  {}", sanitize(&target.cluster_name), sanitize(&target.message));
    text.trim_end().to_owned()
}

/// Truncates the line to `width` columns. Colour sequences have no width.
fn truncate_line(line: &str, width: usize) -> String {
    let (mut text, mut used, mut in_colour) = (String::new(), 0, false);
    for c in line.chars() {
        if c == '\u{1b}' {
            in_colour = true;
        } else if !in_colour {
            used += c.width().unwrap_or(0);
            if used > width {
                text.push_str("\u{1b}[0m");
                return text;
            }
        }
        in_colour &= c != 'm';
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_truncated_to_the_terminal_and_colours_have_no_width() {
        assert_eq!(truncate_line("abcdef", 3), "abc\u{1b}[0m");
        assert_eq!(truncate_line("\u{1b}[31mabc\u{1b}[0m", 3), "\u{1b}[31mabc\u{1b}[0m");
        assert_eq!(truncate_line("東京都", 4), "東京\u{1b}[0m");
        assert_eq!(truncate_line("", 0), "");
    }
}
