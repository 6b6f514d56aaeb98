//! Conversion and limits of source files in server functions.

use domain::Finding;
use domain::workload::{Source, SourceFile};

use crate::errors::{AppError, AppResult};
use crate::workloads::chart::draft::ChartForm;
use crate::workloads::git::fields::GitForm;

/// Removes the texts of the files and keeps their names and number.
pub fn clear_texts(source: &mut Source) {
    match source {
        Source::Yaml { files } => {
            for file in files {
                file.text = String::new();
            }
        }
        Source::Chart(source) => source.values = String::new(),
        Source::Git(source) | Source::Oci(source) => source.values = String::new(),
    }
}

/// Removes the texts of files that have more than [`SOURCE_MAX`] bytes or [`PAGE_VALUES_MAX`] values in all, unless `is_whole`: a page has
/// them several times, and parses them. Returns their bytes if it did.
pub fn clear_large_texts(source: &mut Source, is_whole: bool) -> Option<u32> {
    let bytes: usize = source.files().iter().map(|file| file.text.len()).sum();
    if is_whole || (bytes <= SOURCE_MAX && count_values(source) <= PAGE_VALUES_MAX) {
        return None;
    }
    clear_texts(source);
    Some(u32::try_from(bytes).unwrap_or(u32::MAX))
}

/// The values of the files at most: a value has a line, or a part of a list or a map in one line.
fn count_values(source: &Source) -> usize {
    let is_value = |byte: &&u8| matches!(byte, b'\n' | b',' | b'[' | b'{');
    source.files().iter().map(|file| file.text.as_bytes().iter().filter(is_value).count()).sum()
}

/// Most values of files in a page. Usual files with [`SOURCE_MAX`] bytes have fewer; many short values need far more memory than their text.
const PAGE_VALUES_MAX: usize = 60_000;
/// Largest source in bytes over all its files. A larger one is rejected before it is parsed.
pub const SOURCE_MAX: usize = 1_048_576;
/// Most files of a source.
pub const FILES_MAX: usize = 100;

/// Creates a source from the repository or the chart, if one is chosen, or else from the files that are not blank, with line ends normalised to
/// `\n`. Errors: G109 if it exceeds [`SOURCE_MAX`] or [`FILES_MAX`].
pub fn create_source(files: Vec<SourceFile>, chart: &ChartForm, git: &GitForm) -> AppResult<Source> {
    if git.is_git {
        return Ok(Source::from(git.to_source()));
    }
    if chart.is_chart {
        return Ok(Source::Chart(chart.to_source()));
    }
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
        return Err(AppError::from_finding(Finding::error(
            "G109",
            format!("{} files with {size} bytes exceed the limits of one workload.", files.len()),
            format!("Stay under {FILES_MAX} files and {SOURCE_MAX} bytes."),
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
    fn p19_the_texts_of_large_files_are_left_out_unless_all_of_them_are_read() {
        let files = |bytes: usize| Source::Yaml {
            files: vec![file("a.yaml", &"x".repeat(bytes)), file("b.yaml", &"x".repeat(bytes))],
        };
        let mut small = files(SOURCE_MAX / 2);
        assert_eq!(clear_large_texts(&mut small, false), None);
        assert_eq!(small, files(SOURCE_MAX / 2));
        let mut large = files(SOURCE_MAX);
        assert_eq!(clear_large_texts(&mut large, true), None);
        assert_eq!(large, files(SOURCE_MAX));
        assert_eq!(clear_large_texts(&mut large, false), Some(2 << 20));
        assert_eq!(large, files(0), "the names stay");
    }

    #[test]
    fn p19_the_texts_of_files_with_many_short_values_are_left_out_too() {
        let files = |lines: usize| Source::Yaml { files: vec![file("a.yaml", &"- a\n".repeat(lines))] };
        let mut usual = files(PAGE_VALUES_MAX);
        assert_eq!(clear_large_texts(&mut usual, false), None);
        let mut dense = files(PAGE_VALUES_MAX + 1);
        assert_eq!(clear_large_texts(&mut dense, true), None);
        assert_eq!(clear_large_texts(&mut dense, false), Some(240_004));
        assert_eq!(dense, Source::Yaml { files: vec![file("a.yaml", "")] });
    }

    #[test]
    fn line_ends_are_normalised_and_empty_files_are_left_out() {
        let source = create_source(
            vec![file("a.yaml", "x: 1\r\ny: 2\r\n"), file("b.yaml", "  \n")],
            &ChartForm::default(),
            &GitForm::default(),
        )
        .unwrap();
        assert_eq!(source.files(), [file("a.yaml", "x: 1\ny: 2\n")]);
    }

    #[test]
    fn a_source_that_is_too_large_is_rejected_before_it_is_parsed() {
        let large = vec![file("a.yaml", &"x".repeat(SOURCE_MAX + 1))];
        let error = create_source(large, &ChartForm::default(), &GitForm::default()).unwrap_err();
        assert_eq!(error.findings()[0].code, "G109");
    }

    #[test]
    fn a_chart_source_stays_one_also_without_a_chart() {
        let chart = ChartForm { is_chart: true, ..ChartForm::default() };
        let source = create_source(Vec::new(), &chart, &GitForm::default()).unwrap();
        assert!(matches!(source, Source::Chart(_)));
    }

    #[test]
    fn a_git_source_stays_one_also_without_a_repository() {
        let git = GitForm { is_git: true, ..GitForm::default() };
        let source = create_source(Vec::new(), &ChartForm::default(), &git).unwrap();
        assert!(source.remote().is_some() && source.is_blank());
    }
}
