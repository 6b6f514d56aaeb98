//! One step of a command: a line with name, progress and elapsed time; the output of the program goes to a log file.
//!
//! On a terminal the line is redrawn (elapsed seconds, last output line); otherwise a step prints one plain line when it
//! starts and one when it ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::paths::Paths;

/// Limits for the lines shown of a failed program: from the start, from the end, and error lines between them. The log has
/// all lines.
const MAX_HEAD_LINES: usize = 8;
const MAX_TAIL_LINES: usize = 80;
const MAX_ERROR_LINES: usize = 160;
/// Lines shown per error line, including it.
const LINES_PER_ERROR: usize = 6;
/// Lines shown per failed scenario: its name, the expectation and the line of code.
const LINES_PER_SCENARIO: usize = 36;

/// Held by the step that redraws its progress line.
static PROGRESS_LINE: Mutex<()> = Mutex::new(());

/// Prints a line on stderr.
pub fn print_line(line: &str) {
    // A closed stderr is no failure.
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

fn coloured(code: &str, text: &str) -> String {
    if is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// The mark of success.
pub fn success_mark() -> String {
    coloured("32", "✓")
}

/// The mark of failure.
pub fn failure_mark() -> String {
    coloured("31", "✗")
}

/// Prints the line of a skipped step.
pub fn print_skipped(name: &str, why: &str) {
    print_line(&format!("{} {name} {}", coloured("2", "="), coloured("2", why)));
}

/// Prints the line of a completed step that ran no program.
pub fn print_done(name: &str, detail: &str) {
    print_line(&format!("{} {name} {}", success_mark(), coloured("2", detail)));
}

/// The duration in seconds or minutes.
pub fn format_duration(time: Duration) -> String {
    let s = time.as_secs_f64();
    if s < 60.0 { format!("{s:.1} s") } else { format!("{} min {:02} s", s as u64 / 60, s as u64 % 60) }
}

/// What a program printed, and how it ended.
pub struct StepOutput {
    /// All lines of both streams, in the order of printing.
    pub text: String,
    /// The exit status.
    pub status: ExitStatus,
    /// The file with the same lines.
    pub log: PathBuf,
}

/// Receives each line when the program has printed it.
pub type LineObserver<'a> = &'a mut dyn FnMut(&str);

/// How a program is observed.
#[derive(Default)]
pub struct StepOptions<'a> {
    /// The child processes of the program, or the program itself if it has none, are ended after this time without a line of
    /// output: a hanging test program, while cargo goes on with the next one.
    pub silence_limit: Option<Duration>,
    /// Receives each line.
    pub on_line: Option<LineObserver<'a>>,
}

/// Runs a program as one step. Returns its complete output.
///
/// # Errors
/// When the program cannot be started or fails. The message names the step and the log, whose relevant lines have been
/// printed.
pub fn run(paths: &Paths, name: &str, command: &mut Command) -> Result<String> {
    let output = run_observed(paths, name, command, StepOptions::default())?;
    if output.status.success() {
        return Ok(output.text);
    }
    print_failed_output(&output.text);
    bail!("{name} failed ({}); the complete output is in {}", output.status, output.log.display())
}

/// Runs a program as one step. Its failure is part of the output, and nothing of it is printed.
///
/// # Errors
/// When the program cannot be started or its log cannot be written.
pub fn run_observed(
    paths: &Paths,
    name: &str,
    command: &mut Command,
    options: StepOptions<'_>,
) -> Result<StepOutput> {
    let began = Instant::now();
    let log = paths.xtask_folder().join(format!("{}.log", name.replace(' ', "-")));
    let mut running =
        spawn_piped(command).with_context(|| format!("{name}: cannot start {:?}", command.get_program()))?;
    // Of concurrent steps only one redraws its line.
    let line = PROGRESS_LINE.try_lock();
    let progress = line.is_ok().then_some(began);
    let text = write_log(name, &running, &log, progress, options)?;
    let status = running.child.wait()?;
    clear_line();
    drop(line);
    let time = coloured("2", &format_duration(began.elapsed()));
    let mark = if status.success() { success_mark() } else { failure_mark() };
    print_line(&format!("{mark} {name} {time}"));
    Ok(StepOutput { text, status, log })
}

/// Prints the relevant lines of a failed program; some report the error at the start, others at the end.
pub fn print_failed_output(output: &str) {
    let all: Vec<&str> = output.lines().collect();
    let tail = all.len().saturating_sub(MAX_TAIL_LINES);
    let head = &all[..tail.min(MAX_HEAD_LINES)];
    let left_out = tail - head.len();
    for line in head {
        print_line(&format!("    {line}"));
    }
    if left_out > 0 {
        print_line(&format!("    … {left_out} lines, including:"));
        for line in select_error_lines(&all[head.len()..tail]) {
            print_line(&format!("    {line}"));
        }
        print_line("    …");
    }
    for line in &all[tail..] {
        print_line(&format!("    {line}"));
    }
}

/// The lines of panics, compiler errors, failed tests and failed scenarios, with the lines that follow.
fn select_error_lines<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let lines_of_error = |line: &str| match line {
        _ if line.contains("panicked at ") || line.starts_with("error") || line.contains(" ... FAILED") => {
            LINES_PER_ERROR
        }
        _ if is_failed_scenario(line) => LINES_PER_SCENARIO,
        _ => 0,
    };
    let mut shown = Vec::new();
    let mut next = 0;
    for (at, line) in lines.iter().enumerate() {
        let count = lines_of_error(line);
        if count > 0 && at >= next {
            next = (at + count).min(lines.len());
            shown.extend_from_slice(&lines[at..next]);
        }
    }
    shown.truncate(MAX_ERROR_LINES);
    shown
}

/// Whether Playwright reports a failed scenario from this line on: `  2) scenarios/wizard.spec.ts:72:1 › …`.
fn is_failed_scenario(line: &str) -> bool {
    let number = line.trim_start().split_once(") scenarios/").map(|(number, _)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// A program and the lines that it prints.
struct RunningProgram {
    child: Child,
    lines: Receiver<String>,
}

/// Starts the program with one pipe for both streams, so that lines arrive in the order of printing. The channel closes when
/// the program and its children have closed the pipe.
fn spawn_piped(command: &mut Command) -> std::io::Result<RunningProgram> {
    let (reader, writer) = std::io::pipe()?;
    let child = command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).spawn();
    // The command holds both ends for another start: the pipe would never close.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (sender, lines) = mpsc::channel();
    forward_lines(reader, sender);
    Ok(RunningProgram { child: child?, lines })
}

fn forward_lines(stream: impl Read + Send + 'static, sender: Sender<String>) {
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

/// Writes the log until the program closes its output. Redraws the progress line if `progress` has the start time.
fn write_log(
    name: &str,
    running: &RunningProgram,
    log: &Path,
    progress: Option<Instant>,
    mut options: StepOptions<'_>,
) -> Result<String> {
    fs::create_dir_all(log.parent().context("a log has a folder")?)?;
    let mut file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let (mut output, mut last, mut last_at) = (String::new(), String::new(), Instant::now());
    if !is_terminal() {
        print_line(&format!("… {name}"));
    }
    loop {
        let line = match running.lines.recv_timeout(Duration::from_millis(120)) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                if let Some(began) = progress {
                    redraw_line(name, &last, began);
                }
                match options.silence_limit {
                    Some(limit) if last_at.elapsed() > limit => {
                        end_children(&running.child);
                        format!("{SILENCE_ENDED} of {}", format_duration(limit))
                    }
                    _ => continue,
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(output),
        };
        last_at = Instant::now();
        writeln!(file, "{line}")?;
        if let Some(on_line) = &mut options.on_line {
            on_line(&line);
        }
        output.push_str(&line);
        output.push('\n');
        if !line.trim().is_empty() {
            last = line;
        }
    }
}

/// The start of the line that the log has where a silent program was ended.
pub const SILENCE_ENDED: &str = "xtask ended the running program after silence";

/// Ends the child processes of this process, or the process itself if it has none or they cannot be listed.
fn end_children(parent: &Child) {
    let parent = parent.id().to_string();
    let listed = Command::new("ps").args(["-A", "-o", "pid=", "-o", "ppid="]).output();
    let list = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let children = list.lines().filter_map(|line| {
        let mut ids = line.split_whitespace();
        let (pid, ppid) = (ids.next()?, ids.next()?);
        (ppid == parent).then_some(pid)
    });
    let mut ended: Vec<&str> = children.collect();
    if ended.is_empty() {
        ended.push(&parent);
    }
    // What ended in the meantime needs no signal.
    let _ = Command::new("kill").arg("-KILL").args(ended).status();
}

fn redraw_line(name: &str, last: &str, began: Instant) {
    if is_terminal() {
        const WHEEL: [&str; 4] = ["◐", "◓", "◑", "◒"];
        let turn = WHEEL[(began.elapsed().as_millis() / 240) as usize % WHEEL.len()];
        let detail: String = strip_control_sequences(last).chars().take(60).collect();
        let _ = write!(
            std::io::stderr(),
            "\r\x1b[2K{turn} {name} {:.0} s  {}",
            began.elapsed().as_secs_f64(),
            detail.trim()
        );
    }
}

fn clear_line() {
    if is_terminal() {
        let _ = write!(std::io::stderr(), "\r\x1b[2K");
    }
}

/// Removes terminal control sequences from a line.
pub fn strip_control_sequences(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            // A sequence ends at its first letter.
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
    fn control_sequences_are_removed_from_the_progress_line() {
        assert_eq!(strip_control_sequences("\x1b[1;32m   Compiling\x1b[0m domain\r"), "   Compiling domain");
    }

    #[test]
    fn a_long_duration_is_shown_in_minutes() {
        assert_eq!(format_duration(Duration::from_millis(3240)), "3.2 s");
        assert_eq!(format_duration(Duration::from_secs(126)), "2 min 06 s");
    }

    #[test]
    fn the_error_lines_of_a_long_output_are_selected() {
        let mut lines = vec!["test a ... ok"; 50];
        lines.push("thread 'b' panicked at src/lib.rs:3:5:");
        lines.push("no provider");
        lines.extend(vec!["   0: a frame"; 50]);
        let shown = select_error_lines(&lines);
        assert_eq!(shown[..3], ["thread 'b' panicked at src/lib.rs:3:5:", "no provider", "   0: a frame"]);
        assert_eq!(shown.len(), LINES_PER_ERROR);
    }

    #[test]
    fn a_failed_scenario_is_shown_with_its_expectation() {
        let mut lines = vec!["[3/147] scenarios/a.spec.ts:5:1 › a list"];
        lines.push("  1) scenarios/a.spec.ts:5:1 › a list");
        lines.extend(vec!["    Expected: 1"; 50]);
        let shown = select_error_lines(&lines);
        assert_eq!(shown[..2], ["  1) scenarios/a.spec.ts:5:1 › a list", "    Expected: 1"]);
        assert_eq!(shown.len(), LINES_PER_SCENARIO);
    }

    #[test]
    fn a_failed_step_names_its_log() {
        let target = std::env::temp_dir().join(format!("flotilla-step-{}", std::process::id()));
        let paths = Paths::below(&std::env::temp_dir(), &target);
        let error = run(&paths, "a step", paths.command("sh").args(["-c", "echo why; exit 3"]))
            .unwrap_err()
            .to_string();
        let log = fs::read_to_string(target.join("xtask/a-step.log")).unwrap();
        fs::remove_dir_all(target).unwrap();
        assert!(error.contains("a step failed") && error.contains("a-step.log"), "{error}");
        assert_eq!(log, "why\n");
    }

    #[test]
    fn a_program_that_prints_nothing_for_too_long_is_ended_and_the_log_shows_it() {
        let target = std::env::temp_dir().join(format!("flotilla-silence-{}", std::process::id()));
        let paths = Paths::below(&std::env::temp_dir(), &target);
        let options = StepOptions { silence_limit: Some(Duration::from_millis(300)), on_line: None };
        // The shell goes on after its child was ended, like cargo with the next test program.
        let mut shell = paths.command("sh");
        let output =
            run_observed(&paths, "silent", shell.args(["-c", "sleep 600; echo next; exit 4"]), options)
                .unwrap();
        fs::remove_dir_all(target).unwrap();
        assert_eq!(output.status.code(), Some(4));
        let lines: Vec<&str> = output.text.lines().filter(|line| !line.contains("Killed")).collect();
        assert!(lines.len() == 2 && lines[0].starts_with(SILENCE_ENDED) && lines[1] == "next", "{lines:?}");
    }
}
