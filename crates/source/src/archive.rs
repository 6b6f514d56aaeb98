//! Packed charts (`.tgz`), read into a bounded map. Nothing of an archive is ever written to a file system by name.
//!
//! An archive that contains anything but plain files below one folder is rejected as a whole, with the entry named: links, devices,
//! paths that leave the folder, names that two file systems read differently, and sizes out of proportion.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};
use unicode_normalization::UnicodeNormalization;

mod ignore_rules;
mod metadata;
mod pack;

pub use ignore_rules::{HELM_IGNORE, IgnoreRules};
pub use metadata::ChartMetadata;

/// Largest packed chart, in bytes: what a request may contain.
pub const MAX_ARCHIVE_BYTES: usize = 12 << 20;
/// Largest chart after unpacking, in bytes.
pub const MAX_CHART_BYTES: u64 = 64 << 20;
/// Largest file of a chart, in bytes.
pub const MAX_FILE_BYTES: u64 = 10 << 20;
/// Most files of a chart.
pub const MAX_FILES: usize = 10_000;
/// Most bytes of content per packed byte, beyond the first [`RATIO_FREE_BYTES`]; text rarely exceeds 20.
const MAX_RATIO: u64 = 100;
/// Content that is not compared with the packed size: a chart of a few repetitive files is small in any case.
const RATIO_FREE_BYTES: u64 = 1 << 20;
/// Longest path of a file, in bytes.
const MAX_PATH_BYTES: usize = 512;
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

/// A chart in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartArchive {
    metadata: ChartMetadata,
    /// The files by their path below the folder of the chart.
    files: BTreeMap<String, Vec<u8>>,
}

impl ChartArchive {
    /// Reads a packed chart.
    ///
    /// # Errors
    /// It is no packed chart, or one of its entries is not allowed.
    pub fn read(archive: &[u8]) -> Result<Self, ArchiveRejected> {
        if archive.len() > MAX_ARCHIVE_BYTES {
            return Err(reject(
                "",
                format!("has {} bytes; at most {MAX_ARCHIVE_BYTES} are allowed", archive.len()),
            ));
        }
        let read = EntryReader::new(archive.len() as u64, Layout::OneFolder).read_entries(archive)?;
        let folder = read.folder.ok_or_else(|| reject("", "is empty"))?;
        let chart = Self::from_files(read.files)?;
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
    /// There is no valid `Chart.yaml`.
    pub fn from_files(files: BTreeMap<String, Vec<u8>>) -> Result<Self, ArchiveRejected> {
        let chart_file = files.get("Chart.yaml").ok_or_else(|| reject("", "has no Chart.yaml"))?;
        let metadata = ChartMetadata::parse(chart_file)?;
        Ok(Self { metadata, files })
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

    /// Whether any text that Helm evaluates contains `needle`: templates and values of the chart and its subcharts.
    pub fn contains_text(&self, needle: &str) -> bool {
        self.evaluated_texts().any(|(_, text)| text.contains(needle))
    }

    /// The paths of the texts that Helm evaluates and that contain `needle`.
    pub fn files_with_text(&self, needle: &str) -> Vec<String> {
        let found = self.evaluated_texts().filter(|(_, text)| text.contains(needle));
        found.map(|(path, _)| path.to_owned()).collect()
    }

    /// Whether the output may differ between two runs with equal inputs: a function that is random or reads the clock is used.
    pub fn may_be_random(&self) -> bool {
        self.evaluated_texts().any(|(_, text)| RANDOM_FUNCTIONS.iter().any(|name| contains_word(text, name)))
    }

    /// Addresses that values schemas refer to; they are not fetched.
    pub fn remote_schema_refs(&self) -> Vec<String> {
        let mut found = Vec::new();
        for text in self.values_schemas() {
            if let Ok(schema) = serde_json::from_str(text) {
                metadata::collect_remote_refs(&schema, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The texts of all values schemas, those of subcharts included.
    pub(crate) fn values_schemas(&self) -> impl Iterator<Item = &str> {
        let is_schema = |path: &str| path.rsplit('/').next() == Some("values.schema.json");
        let files = self.files.iter().filter(move |(path, _)| is_schema(path));
        files.filter_map(|(_, bytes)| std::str::from_utf8(bytes).ok())
    }

    /// The keys below which the values of subcharts are.
    pub(crate) fn subchart_names(&self) -> impl Iterator<Item = &str> {
        let named = self.metadata.dependencies.iter().map(|one| one.values_key.as_str());
        let packed = self.files.keys().filter_map(|path| path.strip_prefix("charts/")?.split('/').next());
        named.chain(packed).chain(["global"])
    }

    /// The texts that Helm evaluates by their path: templates and default values of the chart and its subcharts.
    pub(crate) fn evaluated_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_evaluated = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            path.split('/').any(|part| part == "templates") || name == "values.yaml"
        };
        let files = self.files.iter().filter(move |(path, _)| is_evaluated(path));
        files.filter_map(|(path, bytes)| Some((path.as_str(), std::str::from_utf8(bytes).ok()?)))
    }
}

/// Functions of Helm's templates whose results differ between runs.
const RANDOM_FUNCTIONS: [&str; 21] = [
    "ago",
    "bcrypt",
    "encryptAES",
    "genCA",
    "genCAWithKey",
    "genPrivateKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "htpasswd",
    "now",
    "randAlpha",
    "randAlphaNum",
    "randAscii",
    "randBytes",
    "randInt",
    "randNumeric",
    "shuffle",
    "unixEpoch",
    "uuidv4",
];

/// Whether `word` occurs inside an expression, with no letter, digit or `_` on either side.
fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let expressions = text.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap_or(rest));
    let mut found = expressions.flat_map(|expression| {
        expression.match_indices(word).map(move |(at, _)| (&expression[..at], &expression[at + word.len()..]))
    });
    found.any(|(before, after)| !before.ends_with(is_part) && !after.starts_with(is_part))
}

/// Reads any packed folder by its paths, with the limits of a chart.
///
/// # Errors
/// It is no readable archive, has no file, or one of its entries is not allowed.
pub(crate) fn read_files(archive: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, ArchiveRejected> {
    let files = EntryReader::new(archive.len() as u64, Layout::Any).read_entries(archive)?.files;
    if files.is_empty() { Err(reject("", "has no file")) } else { Ok(files) }
}

/// How the entries of an archive are arranged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// All below one folder, as in a packed chart.
    OneFolder,
    /// Anywhere.
    Any,
}

/// Reads the entries of one archive, with what has been read so far.
struct EntryReader {
    layout: Layout,
    packed: u64,
    total: u64,
    folder: Option<String>,
    files: BTreeMap<String, Vec<u8>>,
    /// The paths as a file system sees them that ignores case and normalizes names.
    folded: HashSet<String>,
}

impl EntryReader {
    fn new(packed: u64, layout: Layout) -> Self {
        Self { layout, packed, total: 0, folder: None, files: BTreeMap::new(), folded: HashSet::new() }
    }

    /// Reads all entries. Afterwards `folder` is the one folder, if the layout has one.
    fn read_entries(mut self, archive: &[u8]) -> Result<Self, ArchiveRejected> {
        let unreadable = |error: std::io::Error| reject("", format!("is no readable .tgz file: {error}"));
        // One byte more than allowed, so that an end at the limit is told from a larger stream.
        let mut archive = Archive::new(MultiGzDecoder::new(archive).take(self.max_content() + (8 << 20)));
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
        Ok(self)
    }

    /// The most content that this archive may have.
    fn max_content(&self) -> u64 {
        MAX_CHART_BYTES.min(RATIO_FREE_BYTES + self.packed.saturating_mul(MAX_RATIO))
    }

    fn check_size(&mut self, path: &str, size: u64) -> Result<(), ArchiveRejected> {
        if size > MAX_FILE_BYTES {
            return Err(reject(
                path,
                format!("has {size} bytes; at most {MAX_FILE_BYTES} are allowed in one file"),
            ));
        }
        self.total = self.total.saturating_add(size);
        if self.total > self.max_content() {
            let reason = format!(
                "exceeds the limit of {} bytes of content for an archive of {} bytes",
                self.max_content(),
                self.packed
            );
            return Err(reject(path, reason));
        }
        Ok(())
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
        if self.files.len() >= MAX_FILES {
            return Err(reject(path, format!("is one more than the {MAX_FILES} files that are allowed")));
        }
        let folded: String = below.to_lowercase().nfc().collect();
        if !self.folded.insert(folded) {
            return Err(reject(
                path,
                "stands there twice, or differs from another one only by case or by its encoding",
            ));
        }
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

#[cfg(test)]
mod tests;
