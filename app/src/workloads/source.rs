//! The files of a source on their way in and out of the server.

use domain::Finding;
use domain::workload::{Source, SourceFile};

use crate::errors::{Answer, AppError};

/// Takes the texts out and leaves the names: "are there files?" is still answered.
pub fn without_texts(source: &mut Source) {
    match source {
        Source::Yaml { files } => {
            for file in files {
                file.text = String::new();
            }
        }
    }
}

/// A source larger than this is refused before it is parsed, in bytes over all its files.
pub const SOURCE_MAX: usize = 1_048_576;
/// Files of one source at most.
pub const FILES_MAX: usize = 100;

/// The files that have any text, within bounds; line ends as the editor shows them.
pub fn source_of(files: Vec<SourceFile>) -> Answer<Source> {
    let files: Vec<SourceFile> = files
        .into_iter()
        .filter(|file| !file.text.trim().is_empty())
        .map(|file| SourceFile {
            name: file.name.chars().take(200).collect(),
            text: file.text.replace("\r\n", "\n"),
        })
        .collect();
    let size: usize = files.iter().map(|file| file.text.len()).sum();
    if size > SOURCE_MAX || files.len() > FILES_MAX {
        return Err(AppError::finding(Finding::error(
            "G109",
            format!("{} files with {size} bytes are too much for one workload.", files.len()),
            format!("Keep it under {FILES_MAX} files and {SOURCE_MAX} bytes."),
        )));
    }
    Ok(Source::Yaml { files })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> SourceFile {
        SourceFile { name: name.into(), text: text.into() }
    }

    #[test]
    fn a_form_s_line_ends_become_plain_and_empty_files_are_left_out() {
        let source = source_of(vec![file("a.yaml", "x: 1\r\ny: 2\r\n"), file("b.yaml", "  \n")]).unwrap();
        assert_eq!(source.files(), [file("a.yaml", "x: 1\ny: 2\n")]);
    }

    #[test]
    fn a_source_that_is_too_large_is_refused_before_it_is_read() {
        let error = source_of(vec![file("a.yaml", &"x".repeat(SOURCE_MAX + 1))]).unwrap_err();
        assert_eq!(error.findings()[0].code, "G109");
    }
}
