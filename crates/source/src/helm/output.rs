//! The files that a run has written.

use std::path::Path;

use domain::workload::SourceFile;

use super::{FailureKind, RenderFailed};
use crate::sandbox::{FILE_BYTES, read_bounded};

/// Most bytes of all rendered files; more than a bundle may have is rejected later, with the objects named.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// Most rendered files.
const MAX_OUTPUT_FILES: usize = 10_000;

/// Reads every file below `folder`, by name. There is none if the chart renders nothing.
pub(super) fn read_files(folder: &Path) -> Result<Vec<SourceFile>, RenderFailed> {
    let mut files = Vec::new();
    let mut total = 0;
    let mut open = vec![folder.to_owned()];
    while let Some(current) = open.pop() {
        let entries = match std::fs::read_dir(&current) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && current == folder => break,
            Err(error) => return Err(RenderFailed::from_io(error)),
        };
        for entry in entries {
            let entry = entry.map_err(RenderFailed::from_io)?;
            let kind = entry.file_type().map_err(RenderFailed::from_io)?;
            if kind.is_dir() {
                open.push(entry.path());
                continue;
            }
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            let limit =
                |what: &str| RenderFailed::new(FailureKind::Limit, format!("The chart renders {what}."));
            if files.len() >= MAX_OUTPUT_FILES {
                return Err(limit(&format!("more than {MAX_OUTPUT_FILES} files")));
            }
            let bytes = read_bounded(&path, FILE_BYTES).map_err(RenderFailed::from_io)?;
            let bytes = bytes.ok_or_else(|| limit(&format!("more than {FILE_BYTES} bytes in {name}")))?;
            total += bytes.len();
            if total > MAX_OUTPUT_BYTES {
                return Err(limit(&format!("more than {MAX_OUTPUT_BYTES} bytes")));
            }
            let text = String::from_utf8(bytes)
                .map_err(|_| RenderFailed::new(FailureKind::Template, format!("{name} is not UTF-8.")))?;
            files.push(SourceFile { name, text });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}
