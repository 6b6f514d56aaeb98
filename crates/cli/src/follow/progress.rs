//! What people see while they wait: on a terminal one line per cluster that is kept up to date, elsewhere one line per
//! change, as logs want it.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

use domain::release::State;
use unicode_width::UnicodeWidthChar;
use wire::{Status, TargetCluster};

use crate::output::{Out, Paint, clean, columns, of_state, rows};

/// Where it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Beside the answer, on stderr.
    Notes,
    /// It is the answer, on stdout.
    Answer,
}

/// What is shown.
pub struct Progress {
    stream: Stream,
    paint: Paint,
    live: bool,
    /// Lines on the terminal that are ours.
    drawn: usize,
    lines: Vec<String>,
    seen: BTreeMap<String, (State, String)>,
    said: String,
}

impl Progress {
    /// Shows nothing yet.
    pub fn new(stream: Stream, out: &Out) -> Self {
        let (terminal, paint) = match stream {
            Stream::Notes => (io::stderr().is_terminal(), out.paint_notes()),
            Stream::Answer => (io::stdout().is_terminal(), out.paint()),
        };
        let live = terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { stream, paint, live, drawn: 0, lines: Vec::new(), seen: BTreeMap::new(), said: String::new() }
    }

    /// Shows a status. What can't be shown is no reason to stop, unless it is the answer itself that nobody reads.
    pub fn show(&mut self, status: &Status) -> io::Result<()> {
        if self.live {
            self.lines = live_lines(status, self.paint);
            return self.draw();
        }
        for target in by_name(status) {
            let now = (target.state, target.message.clone());
            if self.seen.get(&target.cluster_name) != Some(&now) {
                self.write(&(row(target, 0, Paint::new(false)) + "\n"))?;
                self.seen.insert(target.cluster_name.clone(), now);
            }
        }
        Ok(())
    }

    /// Says something once.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        if self.said == text {
            return Ok(());
        }
        text.clone_into(&mut self.said);
        if self.live {
            return self.draw();
        }
        self.write(&format!("{}\n", clean(text)))
    }

    /// What was said is over.
    pub fn unsay(&mut self) {
        self.said.clear();
    }

    fn draw(&mut self) -> io::Result<()> {
        let mut text = String::new();
        if self.drawn > 0 {
            text.push_str(&format!("\u{1b}[{}A", self.drawn));
        }
        text.push_str("\r\u{1b}[J");
        let width = usize::from(columns().unwrap_or(80)).saturating_sub(1);
        let said = Some(clean(&self.said)).filter(|said| !said.is_empty());
        let lines: Vec<String> = self.lines.iter().cloned().chain(said).collect();
        for line in &lines {
            text.push_str(&cut(line, width));
            text.push('\n');
        }
        self.drawn = lines.len();
        self.write(&text)
    }

    fn write(&self, text: &str) -> io::Result<()> {
        match self.stream {
            Stream::Notes => {
                let _ = io::stderr().lock().write_all(text.as_bytes());
                Ok(())
            }
            Stream::Answer => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes())?;
                stdout.flush()
            }
        }
    }
}

/// The rows that fit, and the rest in one line: those that need a look come first when not all fit.
fn live_lines(status: &Status, paint: Paint) -> Vec<String> {
    let room = usize::from(rows().unwrap_or(24)).saturating_sub(4).max(3);
    let mut targets = by_name(status);
    if targets.len() > room {
        targets.sort_by_key(|target| std::cmp::Reverse(target.state));
    }
    let left = targets.split_off(targets.len().min(room));
    let widest = targets.iter().map(|target| target.cluster_name.len()).max().unwrap_or(0);
    let mut lines: Vec<String> = targets.into_iter().map(|target| row(target, widest, paint)).collect();
    if !left.is_empty() {
        let plural = if left.len() == 1 { "" } else { "s" };
        lines.push(format!("… and {} more cluster{plural}", left.len()));
    }
    lines
}

fn by_name(status: &Status) -> Vec<&TargetCluster> {
    let mut targets: Vec<&TargetCluster> = status.target_clusters.iter().collect();
    targets.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    targets
}

fn row(target: &TargetCluster, widest: usize, paint: Paint) -> String {
    const WIDEST_STATE: usize = 11;
    let word = target.state.word();
    let gap = " ".repeat(WIDEST_STATE.saturating_sub(word.len()));
    let state = paint.colour(of_state(target.state), word);
    let text = format!("{:widest$}  {state}{gap}  {}", clean(&target.cluster_name), clean(&target.message));
    text.trim_end().to_owned()
}

/// The line, no wider than the terminal, so that it stays one line. Our own colours take no room.
fn cut(line: &str, width: usize) -> String {
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
    fn a_line_is_cut_where_the_terminal_ends_and_colours_take_no_room() {
        assert_eq!(cut("abcdef", 3), "abc\u{1b}[0m");
        assert_eq!(cut("\u{1b}[31mabc\u{1b}[0m", 3), "\u{1b}[31mabc\u{1b}[0m");
        assert_eq!(cut("東京都", 4), "東京\u{1b}[0m");
        assert_eq!(cut("", 0), "");
    }
}
