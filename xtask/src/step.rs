//! One step of a command: a line with a name, progress and elapsed time; the program's output goes to a log file.
//!
//! On a terminal the line moves (elapsed seconds and the program's last words); elsewhere a step is one plain line
//! when it starts and one when it ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::paths::Paths;

/// Lines of a failed program that are shown, from its beginning and its end, and of those between that say why; the
/// rest is in its log.
const HEAD: usize = 8;
const TAIL: usize = 80;
const REASONS: usize = 160;
/// Lines shown from each place that says why.
const REASON: usize = 6;

/// Who holds it moves the line.
static LINE: Mutex<()> = Mutex::new(());

/// Prints a line for the person.
pub fn say(line: &str) {
    // Nobody is left to tell when the terminal is gone.
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn on_terminal() -> bool {
    std::io::stderr().is_terminal()
}

fn coloured(code: &str, text: &str) -> String {
    if on_terminal() && std::env::var_os("NO_COLOR").is_none() {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// The mark of what worked.
pub fn tick() -> String {
    coloured("32", "✓")
}

/// The mark of what failed.
pub fn cross() -> String {
    coloured("31", "✗")
}

/// A step that had nothing to do.
pub fn unchanged(name: &str, why: &str) {
    say(&format!("{} {name} {}", coloured("2", "="), coloured("2", why)));
}

/// A step that is done without a program to show for it.
pub fn done(name: &str, detail: &str) {
    say(&format!("{} {name} {}", tick(), coloured("2", detail)));
}

/// Seconds as a person reads them.
pub fn seconds(time: Duration) -> String {
    let s = time.as_secs_f64();
    if s < 60.0 { format!("{s:.1} s") } else { format!("{} min {:02} s", s as u64 / 60, s as u64 % 60) }
}

/// Runs a program as one step. Returns everything it printed.
///
/// # Errors
/// When it cannot be started, or ends with a failure: the message names the step and the log, the last lines of
/// which have been printed.
pub fn run(paths: &Paths, name: &str, command: &mut Command) -> Result<String> {
    let began = Instant::now();
    let log = paths.own().join(format!("{}.log", name.replace(' ', "-")));
    let mut child =
        start(command).with_context(|| format!("{name}: cannot start {:?}", command.get_program()))?;
    let lines = listen(&mut child);
    // Of steps beside each other one has the line that moves.
    let line = LINE.try_lock();
    let output = follow(name, &lines, &log, line.is_ok().then_some(began))?;
    let status = child.wait()?;
    clear_line();
    drop(line);
    let time = coloured("2", &seconds(began.elapsed()));
    if status.success() {
        say(&format!("{} {name} {time}", tick()));
        return Ok(output);
    }
    say(&format!("{} {name} {time}", cross()));
    show(&output);
    bail!("{name} failed ({status}); all of its output is in {}", log.display())
}

/// Some programs say what is wrong first and then explain themselves, others end with it.
fn show(output: &str) {
    let all: Vec<&str> = output.lines().collect();
    let tail = all.len().saturating_sub(TAIL);
    let head = &all[..tail.min(HEAD)];
    let left_out = tail - head.len();
    for line in head {
        say(&format!("    {line}"));
    }
    if left_out > 0 {
        say(&format!("    … {left_out} lines, of which:"));
        for line in reasons(&all[head.len()..tail]) {
            say(&format!("    {line}"));
        }
        say("    …");
    }
    for line in &all[tail..] {
        say(&format!("    {line}"));
    }
}

/// Where tests panicked and compilers complained, with what they say there.
fn reasons<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let tells = |line: &str| {
        line.contains("panicked at ") || line.starts_with("error") || line.contains(" ... FAILED")
    };
    let mut shown = Vec::new();
    let mut next = 0;
    for (at, line) in lines.iter().enumerate() {
        if tells(line) && at >= next {
            next = (at + REASON).min(lines.len());
            shown.extend_from_slice(&lines[at..next]);
        }
    }
    shown.truncate(REASONS);
    shown
}

fn start(command: &mut Command) -> std::io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// One thread per stream; the channel closes when both have ended.
fn listen(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stream) = child.stdout.take() {
        forward(stream, sender.clone());
    }
    if let Some(stream) = child.stderr.take() {
        forward(stream, sender);
    }
    receiver
}

fn forward(stream: impl Read + Send + 'static, sender: Sender<String>) {
    thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if sender.send(text).is_err() {
                return;
            }
            line.clear();
        }
    });
}

/// Writes the log until the program closes its output, and moves the line, if it began some time.
fn follow(name: &str, lines: &Receiver<String>, log: &Path, moves: Option<Instant>) -> Result<String> {
    fs::create_dir_all(log.parent().context("a log has a folder")?)?;
    let mut file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let (mut output, mut last) = (String::new(), String::new());
    if !on_terminal() {
        say(&format!("… {name}"));
    }
    loop {
        match lines.recv_timeout(Duration::from_millis(120)) {
            Ok(line) => {
                writeln!(file, "{line}")?;
                output.push_str(&line);
                output.push('\n');
                if !line.trim().is_empty() {
                    last = line;
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(began) = moves {
                    move_line(name, &last, began);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(output),
        }
    }
}

fn move_line(name: &str, last: &str, began: Instant) {
    if on_terminal() {
        const WHEEL: [&str; 4] = ["◐", "◓", "◑", "◒"];
        let turn = WHEEL[(began.elapsed().as_millis() / 240) as usize % WHEEL.len()];
        let words: String = plain(last).chars().take(60).collect();
        let _ = write!(
            std::io::stderr(),
            "\r\x1b[2K{turn} {name} {:.0} s  {}",
            began.elapsed().as_secs_f64(),
            words.trim()
        );
    }
}

fn clear_line() {
    if on_terminal() {
        let _ = write!(std::io::stderr(), "\r\x1b[2K");
    }
}

/// A line without terminal control sequences.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            // A sequence ends with its first letter.
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else if !c.is_control() {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_never_reach_the_moving_line() {
        assert_eq!(plain("\x1b[1;32m   Compiling\x1b[0m domain\r"), "   Compiling domain");
    }

    #[test]
    fn a_long_time_is_told_in_minutes() {
        assert_eq!(seconds(Duration::from_millis(3240)), "3.2 s");
        assert_eq!(seconds(Duration::from_secs(126)), "2 min 06 s");
    }

    #[test]
    fn of_a_long_output_the_reasons_are_picked() {
        let mut lines = vec!["test a ... ok"; 50];
        lines.push("thread 'b' panicked at src/lib.rs:3:5:");
        lines.push("no provider");
        lines.extend(vec!["   0: a frame"; 50]);
        let shown = reasons(&lines);
        assert_eq!(shown[..3], ["thread 'b' panicked at src/lib.rs:3:5:", "no provider", "   0: a frame"]);
        assert_eq!(shown.len(), REASON);
    }

    #[test]
    fn a_failed_step_names_its_log() {
        let target = std::env::temp_dir().join(format!("flotilla-step-{}", std::process::id()));
        let paths = Paths { root: std::env::temp_dir(), target: target.clone(), with_tests: false };
        let error =
            run(&paths, "a step", paths.tool("sh").args(["-c", "echo why; exit 3"])).unwrap_err().to_string();
        let log = fs::read_to_string(target.join("xtask/a-step.log")).unwrap();
        fs::remove_dir_all(target).unwrap();
        assert!(error.contains("a step failed") && error.contains("a-step.log"), "{error}");
        assert_eq!(log, "why\n");
    }
}
