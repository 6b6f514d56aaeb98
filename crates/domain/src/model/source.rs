//! Where the manifests of a workload come from.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::model::chart::ChartSource;
use crate::model::remote::{OnNewCommit, PinnedCommit, RemoteSource, is_oci_url};
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
    /// A path in a Git repository: manifests, a chart or a kustomization.
    Git(Box<RemoteSource>),
    /// A path in an OCI artifact of a registry, with the same content as one in Git.
    Oci(Box<RemoteSource>),
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
    repository: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    path: Option<String>,
    on_new_commit: Option<OnNewCommit>,
    pinned: Option<PinnedCommit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum SourceType {
    Yaml,
    Chart,
    Git,
    Oci,
}

impl SourceFields {
    /// The first field that only a source of type git or oci has.
    fn find_remote_field(&self) -> Option<&'static str> {
        let fields = [
            ("repository", self.repository.is_some()),
            ("ref", self.reference.is_some()),
            ("path", self.path.is_some()),
            ("onNewCommit", self.on_new_commit.is_some()),
            ("pinned", self.pinned.is_some()),
        ];
        fields.into_iter().find_map(|(name, is_set)| is_set.then_some(name))
    }

    fn into_remote(self) -> Result<Source, String> {
        if self.files.is_some() || self.chart.is_some() || self.version.is_some() {
            return Err("a source of type git or oci has none of files, chart and version".into());
        }
        let repository = self.repository.ok_or("missing field `repository`")?;
        match (self.source_type, is_oci_url(&repository)) {
            (SourceType::Git, true) => return Err("a repository oci://… has the type oci".into()),
            (SourceType::Oci, false) if !repository.trim().is_empty() => {
                return Err("the repository of a source of type oci begins with oci://".into());
            }
            _ => {}
        }
        Ok(Source::from(RemoteSource {
            repository,
            reference: self.reference.unwrap_or_default(),
            path: self.path.unwrap_or_default(),
            on_new_commit: self.on_new_commit.unwrap_or_default(),
            release_name: self.release_name.unwrap_or_default(),
            values: self.values.unwrap_or_default(),
            pinned: self.pinned,
        }))
    }
}

impl From<RemoteSource> for Source {
    /// The source of the kind that the URL of the repository has.
    fn from(source: RemoteSource) -> Self {
        if source.is_oci() { Self::Oci(Box::new(source)) } else { Self::Git(Box::new(source)) }
    }
}

impl TryFrom<SourceFields> for Source {
    type Error = String;

    fn try_from(fields: SourceFields) -> Result<Self, String> {
        if let (Some(field), SourceType::Yaml | SourceType::Chart) =
            (fields.find_remote_field(), &fields.source_type)
        {
            return Err(format!("only a source of type git or oci has the field `{field}`"));
        }
        if let SourceType::Git | SourceType::Oci = fields.source_type {
            return fields.into_remote();
        }
        let SourceFields { source_type, files, chart, version, release_name, values, .. } = fields;
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
            SourceType::Chart | SourceType::Git | SourceType::Oci => {
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
            Self::Git(source) | Self::Oci(source) => source.repository.trim().is_empty(),
        }
    }

    /// Whether it has neither a file nor a chart. Unlike [`Source::is_blank`], it does not read texts.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Yaml { files } => files.is_empty(),
            Self::Chart(source) => source.chart.is_empty(),
            Self::Git(source) | Self::Oci(source) => source.repository.is_empty(),
        }
    }

    /// The YAML files of this source; none for a chart or a repository.
    pub fn files(&self) -> &[SourceFile] {
        match self {
            Self::Yaml { files } => files,
            Self::Chart(_) | Self::Git(_) | Self::Oci(_) => &[],
        }
    }

    /// What it is, in a few words: `2 YAML files`, `chart local/podinfo 6.14.1`.
    pub fn summary(&self) -> String {
        match self {
            Self::Yaml { files } if files.len() == 1 => "1 YAML file".to_owned(),
            Self::Yaml { files } => format!("{} YAML files", files.len()),
            Self::Chart(source) if source.chart.is_empty() => "no chart chosen".to_owned(),
            Self::Chart(source) => format!("chart {} {}", source.chart, source.version).trim_end().to_owned(),
            Self::Git(source) | Self::Oci(source) if source.repository.is_empty() => {
                "no repository named".to_owned()
            }
            Self::Git(source) | Self::Oci(source) => {
                let (kind, reference) = (source.kind_label(), source.reference_label());
                match &source.pinned {
                    Some(pinned) => format!("{kind} {reference} at {}", pinned.short()),
                    None => format!("{kind} {reference}"),
                }
            }
        }
    }

    /// The chart of this source.
    pub fn chart(&self) -> Option<&ChartSource> {
        match self {
            Self::Yaml { .. } | Self::Git(_) | Self::Oci(_) => None,
            Self::Chart(source) => Some(source),
        }
    }

    /// The Git repository or OCI artifact of this source.
    pub fn remote(&self) -> Option<&RemoteSource> {
        match self {
            Self::Yaml { .. } | Self::Chart(_) => None,
            Self::Git(source) | Self::Oci(source) => Some(source),
        }
    }

    /// As [`Self::remote`], to change it. Its URL stays one of the same kind.
    pub fn remote_mut(&mut self) -> Option<&mut RemoteSource> {
        match self {
            Self::Yaml { .. } | Self::Chart(_) => None,
            Self::Git(source) | Self::Oci(source) => Some(source),
        }
    }

    /// Whether Helm renders it: a chart of a repository of charts, in Git, or in an artifact.
    pub fn is_chart(&self) -> bool {
        match self {
            Self::Yaml { .. } => false,
            Self::Chart(_) => true,
            Self::Git(source) | Self::Oci(source) => source.is_chart(),
        }
    }

    /// What Helm renders: a chart of a repository of charts, or release name and values of one in Git.
    pub fn helm_source(&self) -> Option<Cow<'_, ChartSource>> {
        match self {
            Self::Chart(source) => Some(Cow::Borrowed(source)),
            Self::Git(source) | Self::Oci(source) if source.is_chart() => {
                Some(Cow::Owned(source.to_chart_source()))
            }
            Self::Yaml { .. } | Self::Git(_) | Self::Oci(_) => None,
        }
    }

    /// Whether the manifests stand in the source itself. Otherwise only the hub has them.
    pub const fn is_inline(&self) -> bool {
        matches!(self, Self::Yaml { .. })
    }
}
