//! The entries of an archive, read with the limits of a chart.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Take};

use domain::manifest::yaml_value::READ_VALUE_BYTES;
use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};
use unicode_normalization::UnicodeNormalization;

use super::metadata::MAX_CHART_FILE_VALUES;
use super::{
    ArchiveRejected, MAX_CHART_BYTES, MAX_FILE_BYTES, MAX_FILES, MAX_PATH_BYTES, MAX_RATIO, RATIO_FREE_BYTES,
    reject,
};

/// What the headers and the padding of an archive may have in addition to its content, in bytes.
const HEADER_BYTES: u64 = 8 << 20;

/// What the values of a `Chart.yaml` need while they are read, in bytes.
const CHART_FILE_BYTES: u64 = MAX_CHART_FILE_VALUES as u64 * READ_VALUE_BYTES;

/// How the entries of an archive are arranged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// All below one folder, as in a packed chart.
    OneFolder,
    /// Anywhere.
    Any,
}

/// What an archive and all that are packed in it have had so far, compared with the limits of the outermost one: an archive
/// that is packed in another one gets nothing of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    /// Size of the outermost archive.
    packed: u64,
    /// Bytes of content that were read.
    content: u64,
    /// Files that were read.
    files: usize,
    /// Unpacked bytes that may still be read, headers and padding included.
    stream: u64,
}

impl Budget {
    /// For an archive of this size.
    pub(super) fn new(packed: u64) -> Self {
        let budget = Self { packed, content: 0, files: 0, stream: 0 };
        Self { stream: budget.max_content() + HEADER_BYTES, ..budget }
    }

    /// For what is packed in these files.
    pub(super) fn of_files(files: &BTreeMap<String, Vec<u8>>) -> Self {
        let content = files.values().map(|bytes| bytes.len() as u64).sum();
        Self { content, files: files.len(), ..Self::new(content) }
    }

    /// The most memory that the outermost archive and its content need, and the values of a `Chart.yaml`.
    pub(super) fn max_memory(&self) -> u64 {
        self.max_content().saturating_add(self.packed).saturating_add(CHART_FILE_BYTES)
    }

    /// The most content that the outermost archive may have.
    fn max_content(&self) -> u64 {
        MAX_CHART_BYTES.min(RATIO_FREE_BYTES.saturating_add(self.packed.saturating_mul(MAX_RATIO)))
    }
}

/// Reads the entries of one archive, with what has been read so far.
pub(super) struct EntryReader {
    layout: Layout,
    /// What remains for archives that are packed in this one.
    pub(super) budget: Budget,
    /// The one folder of the entries, if the layout has one.
    pub(super) folder: Option<String>,
    /// The files by path.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// The paths as a file system sees them that ignores case and normalizes names.
    folded: HashSet<String>,
}

impl EntryReader {
    pub(super) fn new(budget: Budget, layout: Layout) -> Self {
        Self { layout, budget, folder: None, files: BTreeMap::new(), folded: HashSet::new() }
    }

    /// Reads all entries. Afterwards `folder` is the one folder, if the layout has one.
    pub(super) fn read_entries(mut self, archive: &[u8]) -> Result<Self, ArchiveRejected> {
        let mut archive = Archive::new(MultiGzDecoder::new(archive).take(self.budget.stream));
        let result = self.read_all(&mut archive);
        self.budget.stream = archive.into_inner().limit();
        match result {
            // What ended is our limit, and not the archive.
            Err(_) if self.budget.stream == 0 => Err(self.reject_content("")),
            result => result.map(|()| self),
        }
    }

    fn read_all(&mut self, archive: &mut Archive<Take<impl Read>>) -> Result<(), ArchiveRejected> {
        let unreadable = |error: std::io::Error| reject("", format!("is no readable .tgz file: {error}"));
        for entry in archive.entries().map_err(unreadable)? {
            let mut entry = entry.map_err(unreadable)?;
            let header = entry.header().entry_type();
            let raw = entry.path_bytes().into_owned();
            let path = std::str::from_utf8(&raw)
                .map_err(|_| reject(&String::from_utf8_lossy(&raw), "has a name that is not UTF-8"))?
                .to_owned();
            match header {
                EntryType::Regular => {}
                EntryType::Directory => {
                    let path = path.trim_end_matches('/');
                    if path != "." {
                        self.check_path(path)?;
                    }
                    continue;
                }
                // A comment for the whole archive, such as that of git.
                EntryType::XGlobalHeader => continue,
                other => return Err(reject(&path, format!("is {}, not a plain file", describe_type(other)))),
            }
            let below = self.check_path(&path)?;
            let size = entry.size();
            self.check_size(&path, size)?;
            let mut bytes = Vec::new();
            entry.by_ref().take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
            if bytes.len() as u64 != size {
                return Err(reject(&path, "has another size than its header says"));
            }
            self.insert(&path, below, bytes)?;
        }
        Ok(())
    }

    fn check_size(&mut self, path: &str, size: u64) -> Result<(), ArchiveRejected> {
        if size > MAX_FILE_BYTES {
            return Err(reject(
                path,
                format!("has {size} bytes; at most {MAX_FILE_BYTES} are allowed in one file"),
            ));
        }
        self.budget.content = self.budget.content.saturating_add(size);
        if self.budget.content > self.budget.max_content() { Err(self.reject_content(path)) } else { Ok(()) }
    }

    fn reject_content(&self, path: &str) -> ArchiveRejected {
        let (limit, packed) = (self.budget.max_content(), self.budget.packed);
        reject(
            path,
            format!("exceeds the limit of {limit} bytes of content for an archive of {packed} bytes"),
        )
    }

    /// Checks a path and returns it, without the folder of the chart if the layout has one.
    fn check_path(&mut self, path: &str) -> Result<String, ArchiveRejected> {
        if path.len() > MAX_PATH_BYTES {
            return Err(reject(
                path,
                format!("has a name of {} bytes; at most {MAX_PATH_BYTES} are allowed", path.len()),
            ));
        }
        if path.starts_with('/') {
            return Err(reject(path, "has an absolute path"));
        }
        if path.contains(['\\', ':']) || path.chars().any(char::is_control) {
            return Err(reject(path, "has a character in its name that is not allowed"));
        }
        let path = path.strip_prefix("./").unwrap_or(path);
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(reject(path, "has a path with an empty part, \".\" or \"..\""));
        }
        if self.layout == Layout::Any {
            return Ok(path.to_owned());
        }
        let (folder, below) = path.split_once('/').unwrap_or((path, ""));
        match &self.folder {
            Some(first) if first != folder => {
                return Err(reject(path, format!("is not in the folder {first:?} of the chart")));
            }
            Some(_) => {}
            None => self.folder = Some(folder.to_owned()),
        }
        Ok(below.to_owned())
    }

    fn insert(&mut self, path: &str, below: String, bytes: Vec<u8>) -> Result<(), ArchiveRejected> {
        if below.is_empty() {
            return Err(reject(path, "is not in a folder"));
        }
        if self.budget.files >= MAX_FILES {
            return Err(reject(path, format!("is one more than the {MAX_FILES} files that are allowed")));
        }
        let folded: String = below.to_lowercase().nfc().collect();
        if !self.folded.insert(folded) {
            return Err(reject(
                path,
                "stands there twice, or differs from another one only by case or by its encoding",
            ));
        }
        self.budget.files += 1;
        self.files.insert(below, bytes);
        Ok(())
    }
}

fn describe_type(entry: EntryType) -> &'static str {
    match entry {
        EntryType::Symlink => "a symbolic link",
        EntryType::Link => "a hard link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a pipe",
        EntryType::GNUSparse => "a sparse file",
        _ => "of an unusual type",
    }
}
