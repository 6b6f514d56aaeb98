//! Processes of this machine that a test did not start itself, as `/proc` shows them.

use std::path::PathBuf;

/// Units of CPU time per second in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: u64 = 100;

/// A process by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningProcess {
    id: u32,
}

/// The processes with this text in their command line that have not ended.
///
/// # Panics
/// Where there is no `/proc`.
pub fn find_processes(text: &str) -> Vec<RunningProcess> {
    let entries = std::fs::read_dir("/proc").expect("/proc can be read").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all = ids.map(|id| RunningProcess { id });
    all.filter(|process| process.command_line().contains(text)).collect()
}

impl RunningProcess {
    fn folder(self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.id))
    }

    /// Its arguments in one text; empty if it has ended, also while nobody has waited for it.
    pub fn command_line(self) -> String {
        let bytes = std::fs::read(self.folder().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    }

    /// The name of its program, such as `helm`.
    pub fn program(self) -> String {
        let path = std::fs::read_link(self.folder().join("exe")).unwrap_or_default();
        path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The CPU time that it has used, in whole seconds; `None` if it has ended.
    pub fn cpu_seconds(self) -> Option<u64> {
        let text = std::fs::read_to_string(self.folder().join("stat")).ok()?;
        // The name, which may contain anything, is in parentheses; the state follows it.
        let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
    }
}
