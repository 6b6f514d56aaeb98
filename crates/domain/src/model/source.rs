//! Where the manifests of a workload come from.

use serde::{Deserialize, Serialize};

use crate::model::chart::ChartSource;
use crate::text::source_file::SourceFile;

/// Where the manifests come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase", try_from = "SourceFields")]
pub enum Source {
    /// YAML files.
    Yaml {
        /// The files, in the order given.
        files: Vec<SourceFile>,
    },
    /// A Helm chart, rendered with values.
    Chart(ChartSource),
}

/// The fields of a source as they stand in text: in one struct, so that [`crate::text::strict_input`] finds unknown ones.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SourceFields {
    #[serde(rename = "type")]
    source_type: SourceType,
    files: Option<Vec<SourceFile>>,
    chart: Option<String>,
    version: Option<String>,
    release_name: Option<String>,
    values: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum SourceType {
    Yaml,
    Chart,
}

impl TryFrom<SourceFields> for Source {
    type Error = String;

    fn try_from(fields: SourceFields) -> Result<Self, String> {
        let SourceFields { source_type, files, chart, version, release_name, values } = fields;
        match source_type {
            SourceType::Yaml => {
                if [chart, version, release_name, values].iter().any(Option::is_some) {
                    return Err(
                        "a source of type yaml has files, and none of chart, version, releaseName and values"
                            .into(),
                    );
                }
                Ok(Self::Yaml { files: files.ok_or("missing field `files`")? })
            }
            SourceType::Chart => {
                if files.is_some() {
                    return Err("a source of type chart has no files".into());
                }
                Ok(Self::Chart(ChartSource {
                    chart: chart.ok_or("missing field `chart`")?,
                    version: version.ok_or("missing field `version`")?,
                    release_name: release_name.unwrap_or_default(),
                    values: values.unwrap_or_default(),
                }))
            }
        }
    }
}

impl Default for Source {
    fn default() -> Self {
        Self::Yaml { files: Vec::new() }
    }
}

impl Source {
    /// Whether it describes nothing: all files are empty, or no chart is chosen.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Yaml { files } => files.iter().all(|file| file.text.trim().is_empty()),
            Self::Chart(source) => source.chart.trim().is_empty(),
        }
    }

    /// Whether it has neither a file nor a chart. Unlike [`Source::is_blank`], it does not read texts.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Yaml { files } => files.is_empty(),
            Self::Chart(source) => source.chart.is_empty(),
        }
    }

    /// The YAML files of this source; none for a chart.
    pub fn files(&self) -> &[SourceFile] {
        match self {
            Self::Yaml { files } => files,
            Self::Chart(_) => &[],
        }
    }

    /// What it is, in a few words: `2 YAML files`, `chart local/podinfo 6.14.1`.
    pub fn summary(&self) -> String {
        match self {
            Self::Yaml { files } if files.len() == 1 => "1 YAML file".to_owned(),
            Self::Yaml { files } => format!("{} YAML files", files.len()),
            Self::Chart(source) if source.chart.is_empty() => "no chart chosen".to_owned(),
            Self::Chart(source) => format!("chart {} {}", source.chart, source.version).trim_end().to_owned(),
        }
    }

    /// The chart of this source.
    pub fn chart(&self) -> Option<&ChartSource> {
        match self {
            Self::Yaml { .. } => None,
            Self::Chart(source) => Some(source),
        }
    }
}
