//! Packed charts (`.tgz`), read into a bounded map. Nothing of an archive is ever written to a file system by name.
//!
//! An archive that contains anything but plain files below one folder is rejected as a whole, with the entry named: links, devices,
//! paths that leave the folder, names that two file systems read differently, and sizes out of proportion.

use std::collections::BTreeMap;
use std::fmt;

mod entries;
mod helm_ignore;
mod json_texts;
mod metadata;
mod pack;
mod search;
mod subcharts;

use entries::{Budget, EntryReader, Layout};

pub use helm_ignore::{HELM_IGNORE, HelmIgnoreRules};
pub use metadata::ChartMetadata;
use subcharts::PackedSubcharts;

use crate::client_shares::{ARCHIVES_OF_USERS, ClientReservation};
use crate::memory_budget::MemoryExhausted;
use crate::requester::current_turn;

/// Largest packed chart, in bytes: what a request may contain.
pub const MAX_ARCHIVE_BYTES: usize = 12 << 20;
/// Largest chart after unpacking, in bytes, with what is packed in it.
pub const MAX_CHART_BYTES: u64 = 64 << 20;
/// Largest file of a chart, in bytes.
pub const MAX_FILE_BYTES: u64 = 10 << 20;
/// Most files of a chart, with those that are packed in it.
pub const MAX_FILES: usize = 10_000;
/// Most bytes of content per packed byte, beyond the first [`RATIO_FREE_BYTES`]; text rarely exceeds 20.
const MAX_RATIO: u64 = 100;
/// Content that is not compared with the packed size: a chart of a few repetitive files is small in any case.
const RATIO_FREE_BYTES: u64 = 1 << 20;
/// Longest path of a file, in bytes.
const MAX_PATH_BYTES: usize = 512;
/// Most archives one in the other: a chart, a subchart packed in it, one packed in that, and so on.
const MAX_PACKED_DEPTH: usize = 8;
/// Most characters of a name that a message repeats.
const MAX_SHOWN_CHARS: usize = 120;

/// Why an archive was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ArchiveRejected {
    /// The entry; empty if it is the archive as a whole.
    pub entry: String,
    /// What is wrong, as the end of a sentence about the entry.
    pub reason: String,
    /// What to do.
    pub hint: &'static str,
}

impl fmt::Display for ArchiveRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.entry {
            "" => write!(f, "The archive {}.", self.reason),
            entry => write!(f, "The archive is rejected: its entry {entry:?} {}.", self.reason),
        }
    }
}

const PACK_HINT: &str = "Pack the chart with `helm package`.";

fn reject(entry: &str, reason: impl Into<String>) -> ArchiveRejected {
    // Control characters of a name would change a terminal or a log.
    let shown = entry.chars().filter(|c| !c.is_control()).take(MAX_SHOWN_CHARS).collect();
    ArchiveRejected { entry: shown, reason: reason.into(), hint: PACK_HINT }
}

/// Reserves the most memory that reading an archive of this many bytes needs, in the share of the user of this task. Hold it as long as the
/// archive or its content is in memory.
///
/// # Errors
/// Others use it for longer than a request waits.
pub async fn reserve_memory(packed: usize) -> Result<ClientReservation, MemoryExhausted> {
    reserve_memory_with(packed, 0).await
}

/// The same with so many bytes for what is parsed of its files.
///
/// # Errors
/// As [`reserve_memory`].
pub async fn reserve_memory_with(packed: usize, parsed: u64) -> Result<ClientReservation, MemoryExhausted> {
    let needed = Budget::new(packed as u64).max_memory().saturating_add(parsed);
    ARCHIVES_OF_USERS.reserve_in_full(current_turn(), needed).await
}

/// A chart in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartArchive {
    metadata: ChartMetadata,
    /// The files by their path below the folder of the chart.
    files: BTreeMap<String, Vec<u8>>,
    /// The texts in its packed subcharts.
    subcharts: PackedSubcharts,
    /// Whether a template evaluates other texts as templates, by `tpl`.
    uses_tpl: bool,
}

impl ChartArchive {
    /// Reads a packed chart, and the subcharts that are packed in it.
    ///
    /// # Errors
    /// It is no packed chart, or one of its entries, or of those in a packed subchart, is not allowed.
    pub fn read(archive: &[u8]) -> Result<Self, ArchiveRejected> {
        if archive.len() > MAX_ARCHIVE_BYTES {
            return Err(reject(
                "",
                format!("has {} bytes; at most {MAX_ARCHIVE_BYTES} are allowed", archive.len()),
            ));
        }
        let budget = Budget::new(archive.len() as u64);
        let read = EntryReader::new(budget, Layout::OneFolder).read_entries(archive)?;
        let folder = read.folder.ok_or_else(|| reject("", "is empty"))?;
        let chart = Self::build(read.files, read.budget)?;
        if chart.metadata.name != folder {
            let reason =
                format!("is named {folder:?}, but Chart.yaml names the chart {:?}", chart.metadata.name);
            return Err(reject(&folder, reason));
        }
        Ok(chart)
    }

    /// The chart with these files, by their path below its folder.
    ///
    /// # Errors
    /// There is no valid `Chart.yaml`, or a packed subchart is not allowed.
    pub fn from_files(files: BTreeMap<String, Vec<u8>>) -> Result<Self, ArchiveRejected> {
        let budget = Budget::of_files(&files);
        Self::build(files, budget)
    }

    /// `budget` is what remains for the packed subcharts.
    fn build(files: BTreeMap<String, Vec<u8>>, budget: Budget) -> Result<Self, ArchiveRejected> {
        let chart_file = files.get("Chart.yaml").ok_or_else(|| reject("", "has no Chart.yaml"))?;
        let metadata = ChartMetadata::parse(chart_file)?;
        let subcharts = PackedSubcharts::read(&files, budget)?;
        let chart = Self { metadata, files, subcharts, uses_tpl: false };
        let uses_tpl = chart.detect_tpl();
        Ok(Self { uses_tpl, ..chart })
    }

    /// What `Chart.yaml` says.
    pub fn metadata(&self) -> &ChartMetadata {
        &self.metadata
    }

    /// The text of a file; `None` if there is none, or it is no text.
    pub fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(self.files.get(path)?).ok()
    }

    /// The text of `values.yaml`, with comments; empty without one.
    pub fn default_values(&self) -> &str {
        self.text("values.yaml").unwrap_or_default()
    }

    /// The text of `values.schema.json`.
    pub fn values_schema(&self) -> Option<&str> {
        self.text("values.schema.json")
    }

    /// The README, as Markdown.
    pub fn readme(&self) -> Option<&str> {
        self.text("README.md")
    }
}

/// Reads any packed folder by its paths, with the limits of a chart.
///
/// # Errors
/// It is no readable archive, has no file, or one of its entries is not allowed.
pub(crate) fn read_files(archive: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, ArchiveRejected> {
    let budget = Budget::new(archive.len() as u64);
    let files = EntryReader::new(budget, Layout::Any).read_entries(archive)?.files;
    if files.is_empty() { Err(reject("", "has no file")) } else { Ok(files) }
}

#[cfg(test)]
mod tests;
