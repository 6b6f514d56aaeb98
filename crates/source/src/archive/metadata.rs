//! `Chart.yaml`, and addresses in values schemas.

use domain::chart::{ChartDependency, is_chart_name};
use domain::manifest::yaml_value;
use serde_json::Value;

use super::{ArchiveRejected, reject};

/// Longest text taken from `Chart.yaml`, in characters; longer ones are cut.
const MAX_TEXT_CHARS: usize = 1_000;

/// Most dependencies and links that are read.
const MAX_LISTED: usize = 100;

/// Most values of a `Chart.yaml`, keys included: some 3 MiB of memory while it is read. A chart with fifty dependencies has a quarter of it.
pub(super) const MAX_CHART_FILE_VALUES: usize = 4_000;

/// What `Chart.yaml` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChartMetadata {
    /// Name of the chart.
    pub name: String,
    /// Its version, a semantic version.
    pub version: String,
    /// Version of the application in it; may be empty.
    pub app_version: String,
    /// What it is; may be empty.
    pub description: String,
    /// The Kubernetes versions that it supports, as a range; empty for every version.
    pub kubernetes_range: String,
    /// The charts that it depends on.
    pub dependencies: Vec<ChartDependency>,
    /// Addresses about the chart: its home and its sources.
    pub links: Vec<String>,
    /// Whether the maintainers advise against it.
    pub is_deprecated: bool,
}

impl ChartMetadata {
    /// Parses `Chart.yaml`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ArchiveRejected> {
        let wrong = |reason: String| reject("Chart.yaml", reason);
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("is not UTF-8".to_owned()))?;
        let value = yaml_value::read_within(text, MAX_CHART_FILE_VALUES)
            .map_err(|found| wrong(format!("is not valid: {}", found.message)))?;
        let value = value.unwrap_or_default();
        let field = |key: &str| read_text(&value[key]);
        let read = Self {
            name: field("name"),
            version: field("version"),
            app_version: field("appVersion"),
            description: field("description"),
            kubernetes_range: field("kubeVersion"),
            dependencies: read_dependencies(&value["dependencies"]),
            links: read_links(&value),
            is_deprecated: value["deprecated"].as_bool().unwrap_or_default(),
        };
        if !is_chart_name(&read.name) {
            return Err(wrong(format!("has {:?} as the name of the chart, which is not valid", read.name)));
        }
        if semver::Version::parse(read.version.trim_start_matches('v')).is_err() {
            return Err(wrong(format!(
                "has {:?} as the version, which is no semantic version",
                read.version
            )));
        }
        if field("type") == "library" {
            return Err(wrong("describes a library chart, which renders nothing by itself".to_owned()));
        }
        if field("apiVersion").is_empty() {
            return Err(wrong("has no apiVersion".to_owned()));
        }
        Ok(read)
    }
}

/// A text or a number without control characters; empty for anything else.
fn read_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.chars().filter(|c| !c.is_control()).take(MAX_TEXT_CHARS).collect(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn read_dependencies(value: &Value) -> Vec<ChartDependency> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let read = items.iter().take(MAX_LISTED).map(|item| {
        let field = |key: &str| read_text(&item[key]);
        let (name, alias) = (field("name"), field("alias"));
        ChartDependency {
            version: field("version"),
            repository: field("repository"),
            condition: field("condition"),
            values_key: if alias.is_empty() { name.clone() } else { alias },
            name,
        }
    });
    read.filter(|dependency| !dependency.name.is_empty()).collect()
}

/// The home and the sources, without addresses that a browser would not open as a page.
fn read_links(value: &Value) -> Vec<String> {
    let sources = value["sources"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_page = |link: &String| link.starts_with("https://") || link.starts_with("http://");
    let mut links: Vec<String> = Vec::new();
    for link in std::iter::once(&value["home"]).chain(sources).map(read_text).filter(is_page) {
        if links.len() < MAX_LISTED && !links.contains(&link) {
            links.push(link);
        }
    }
    links
}

/// Whether the field of a schema is an address that Helm would read to use it: a reference that is not inside the schema, or a metaschema that
/// Helm does not have.
pub(super) fn is_remote_ref(key: &str, text: &str) -> bool {
    let is_known = |metaschema: &str| {
        ["https://json-schema.org/draft", "http://json-schema.org/draft"]
            .iter()
            .any(|known| metaschema.starts_with(known))
    };
    match key {
        "$ref" | "$dynamicRef" | "$recursiveRef" => !text.starts_with('#'),
        "$schema" => !is_known(text),
        _ => false,
    }
}
