//! Subcharts that are packed in a chart (`charts/*.tgz`): Helm unpacks them when it loads the chart.

use std::collections::BTreeMap;

use domain::manifest::yaml_value;

use super::metadata::MAX_CHART_FILE_VALUES;
use super::{ArchiveRejected, Budget, EntryReader, Layout, MAX_PACKED_DEPTH, reject};

const SUBCHART_HINT: &str =
    "Pack the subchart again with `helm package`, or get it again with `helm dependency update`.";

/// The texts in the packed subcharts of a chart, at every depth.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PackedSubcharts {
    /// The texts by their path, as if each archive were a folder: `charts/kit-0.1.0.tgz/templates/_kit.tpl`.
    pub(super) texts: BTreeMap<String, String>,
    /// The names in `Chart.yaml` of the subcharts that are packed in the chart itself.
    pub(super) names: Vec<String>,
}

impl PackedSubcharts {
    /// Reads the subcharts that are packed in these files. What is read at all depths counts against `budget`.
    pub(super) fn read(
        files: &BTreeMap<String, Vec<u8>>,
        mut budget: Budget,
    ) -> Result<Self, ArchiveRejected> {
        let mut texts = BTreeMap::new();
        // The chart itself is the first level.
        collect_texts(files, "", MAX_PACKED_DEPTH - 1, &mut budget, &mut texts)?;
        let names = texts.iter().filter_map(|(path, text)| {
            let archive = path.strip_prefix("charts/")?.strip_suffix("/Chart.yaml")?;
            // Not of a subchart in a subchart.
            if archive.contains('/') {
                return None;
            }
            let chart = yaml_value::read_within(text, MAX_CHART_FILE_VALUES).ok()??;
            Some(chart["name"].as_str()?.to_owned())
        });
        let names = names.collect();
        Ok(Self { texts, names })
    }
}

/// Adds the texts of the subcharts that are packed in these files, and of those packed in them up to `depth` levels further.
fn collect_texts(
    files: &BTreeMap<String, Vec<u8>>,
    prefix: &str,
    depth: usize,
    budget: &mut Budget,
    texts: &mut BTreeMap<String, String>,
) -> Result<(), ArchiveRejected> {
    for (path, bytes) in files.iter().filter(|(path, _)| is_packed_subchart(path)) {
        let path = format!("{prefix}{path}");
        let Some(depth) = depth.checked_sub(1) else {
            let reason = format!(
                "is one more than the {MAX_PACKED_DEPTH} archives, one in the other, that are allowed"
            );
            return Err(inside(&path, reject("", reason)));
        };
        let read = EntryReader::new(*budget, Layout::OneFolder).read_entries(bytes);
        let read = read.map_err(|rejected| inside(&path, rejected))?;
        *budget = read.budget;
        if !read.files.contains_key("Chart.yaml") {
            return Err(inside(&path, reject("", "has no Chart.yaml")));
        }
        let prefix = format!("{path}/");
        collect_texts(&read.files, &prefix, depth, budget, texts)?;
        let read = read.files.into_iter();
        texts.extend(
            read.filter_map(|(path, bytes)| {
                Some((format!("{prefix}{path}"), String::from_utf8(bytes).ok()?))
            }),
        );
    }
    Ok(())
}

/// Whether Helm unpacks this file: a `.tgz` directly in the folder `charts` of the chart or of a subchart. It ignores what
/// begins with "_" or ".".
fn is_packed_subchart(path: &str) -> bool {
    let mut rest = path;
    while let Some(below) = rest.strip_prefix("charts/") {
        if below.starts_with(['_', '.']) {
            return false;
        }
        match below.split_once('/') {
            None => return below.ends_with(".tgz"),
            Some((_, inner)) => rest = inner,
        }
    }
    false
}

/// Names the packed subchart that was rejected, or in which an entry was.
fn inside(archive: &str, rejected: ArchiveRejected) -> ArchiveRejected {
    let ArchiveRejected { entry, reason, .. } = rejected;
    let entry = if entry.is_empty() { archive.to_owned() } else { format!("{archive}/{entry}") };
    ArchiveRejected { hint: SUBCHART_HINT, ..reject(&entry, reason) }
}
