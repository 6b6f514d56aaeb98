//! Charts inside objects of other tools: `HelmChart` of K3s, `HelmRelease` of Flux, `Application` of Argo CD. On request, the chart, its
//! values and the options that have an equal become the source and the policies of a workload; everything else is named.
//!
//! The text is untrusted: it is parsed with the limits of a source, and the list of what is not carried over is bounded.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::chart::{ChartSource, is_chart_name};
use crate::model::chart_repository::ChartRepository;
use crate::model::policy::Policies;
use crate::model::remote::RemoteSource;
use crate::model::source::Source;
use crate::model::workload::WorkloadSpec;
use crate::text::finding::Finding;
use crate::text::manifest::{self, ParsedManifests};
use crate::text::source_file::SourceFile;

mod address;
mod argo;
mod flux;
mod k3s;
mod object_list;
mod object_reader;
#[cfg(test)]
mod tests;
mod values;

use object_list::ObjectList;
use object_reader::describe_object;

/// Most entries in the list of what is not carried over; the last one says that there are more.
pub const MAX_NOT_CARRIED: usize = 200;

/// A field or an object that has no equal in a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FieldNotCarried {
    /// Kind and name of the object.
    pub object: String,
    /// JSON pointer of the field; empty for the whole object.
    pub path: String,
    /// Why it is not carried over, as a sentence.
    pub reason: String,
}

/// Where the chart of an object is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ChartAddress {
    /// In a repository of charts.
    Repository {
        /// URL of the repository: `https://…` or `oci://…`.
        url: String,
        /// Name of the chart in it.
        chart: String,
        /// The version as the object names it; empty for the newest one.
        version: String,
    },
    /// In a Git repository or an OCI artifact.
    Path {
        /// URL of the repository.
        repository: String,
        /// Branch, tag or commit; empty for the default branch.
        #[serde(rename = "ref")]
        reference: String,
        /// The folder.
        path: String,
    },
}

/// The chart of an object of another tool, and what of the object a workload has.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct UnwrappedChart {
    /// Kind and name of the object.
    pub object: String,
    /// Where the chart is.
    pub address: ChartAddress,
    /// Name of the Helm release.
    pub release_name: String,
    /// Namespace of the release; empty if the object names none.
    pub namespace: String,
    /// The values, as YAML; they may contain secrets.
    pub values: String,
    /// Policies by name.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub policies: Map<String, Value>,
    /// What is not carried over.
    pub not_carried: Vec<FieldNotCarried>,
}

impl std::fmt::Debug for UnwrappedChart {
    /// Without the values, which may contain secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("UnwrappedChart");
        shown.field("object", &self.object).field("address", &self.address).finish_non_exhaustive()
    }
}

/// What a draft has once the chart of an object in it is its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChartUnwrapping {
    /// The chart, and what is not carried over; absent if the draft has no chart that can be unwrapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<UnwrappedChart>,
    /// The source that the draft gets; absent if the findings say why it can't get one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Why the draft can't get the source, and what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// A tool whose objects contain charts.
#[derive(Clone, Copy)]
enum ChartTool {
    K3s,
    Flux,
    Argo,
}

impl ChartTool {
    fn of(object: &Value) -> Option<Self> {
        match (group_of(object), object["kind"].as_str()?) {
            ("helm.cattle.io", "HelmChart") => Some(Self::K3s),
            ("helm.toolkit.fluxcd.io", "HelmRelease") => Some(Self::Flux),
            ("argoproj.io", "Application") => Some(Self::Argo),
            _ => None,
        }
    }
}

/// The API group of an object; empty for the core group.
fn group_of(object: &Value) -> &str {
    object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
}

/// Reads the chart of the only object of another tool in these files.
///
/// # Errors
/// The files can't be read as manifests, have no such object or several, or the object names a chart that can't be a source here or
/// another object that is not in the files.
pub fn unwrap_chart(files: &[SourceFile]) -> Result<UnwrappedChart, Vec<Finding>> {
    let ParsedManifests { manifests, findings } = manifest::parse(files);
    let blocking: Vec<Finding> = findings.into_iter().filter(Finding::is_blocking).collect();
    if !blocking.is_empty() {
        return Err(blocking);
    }
    let objects: Vec<&Value> = manifests.iter().map(|manifest| &manifest.object).collect();
    let with_chart: Vec<(usize, ChartTool)> = objects
        .iter()
        .enumerate()
        .filter_map(|(at, object)| ChartTool::of(object).map(|tool| (at, tool)))
        .collect();
    let (at, tool) = match with_chart.as_slice() {
        [only] => *only,
        [] => {
            let message = "No object of the source names a chart for a controller of the cluster.";
            let hint = "HelmChart of K3s, HelmRelease of Flux and Application of Argo CD can be unwrapped.";
            return Err(vec![*refuse(message, hint)]);
        }
        several => {
            let message = format!(
                "{} objects of the source name a chart, and a workload has one source.",
                several.len()
            );
            return Err(vec![*refuse(message, "Move each into a workload of its own.")]);
        }
    };
    let object = objects[at];
    let mut list = ObjectList::new(objects, at);
    let read = match tool {
        ChartTool::K3s => k3s::read(object, &mut list),
        ChartTool::Flux => flux::read(object, &mut list),
        ChartTool::Argo => argo::read(object),
    };
    let mut unwrapped = read.map_err(|finding| vec![finding.with_object(describe_object(object))])?;
    unwrapped.not_carried.extend(list.list_not_carried(&unwrapped.namespace));
    unwrapped.drop_invalid_policies();
    unwrapped.bound_list();
    Ok(unwrapped)
}

/// What a draft has once the chart of the object in its files is its source, in one of these repositories or at its own address. What is in
/// the way is a finding.
pub fn preview_unwrapping(spec: &WorkloadSpec, repositories: &[ChartRepository]) -> ChartUnwrapping {
    let mut chart = match read_draft(spec) {
        Ok(chart) => chart,
        Err(findings) => return ChartUnwrapping { chart: None, source: None, findings },
    };
    let (source, findings) = match chart.to_source(repositories) {
        Ok(source) => (Some(source), Vec::new()),
        Err(finding) => (None, vec![*finding]),
    };
    let mut changed = WorkloadSpec { policies: spec.policies.clone(), ..WorkloadSpec::default() };
    let kept = chart.apply_to(&mut changed, Source::default());
    chart.not_carried.extend(kept);
    chart.bound_list();
    ChartUnwrapping { chart: Some(chart), source, findings }
}

fn read_draft(spec: &WorkloadSpec) -> Result<UnwrappedChart, Vec<Finding>> {
    if spec.source.is_inline() {
        return unwrap_chart(spec.source.files());
    }
    let message = format!("Only files are unwrapped, and the source is {}.", spec.source.summary());
    Err(vec![*refuse(message, "Write the object as a file of the draft.")])
}

/// An error about the object or its chart.
fn refuse(message: impl Into<String>, hint: impl Into<String>) -> Box<Finding> {
    Box::new(Finding::error("G112", message, hint).with_path("/source"))
}

impl UnwrappedChart {
    /// The source of a workload with this chart, in one of these repositories or at its own address.
    ///
    /// # Errors
    /// None of the repositories has the URL, or the chart has a name that no chart can have.
    pub fn to_source(&self, repositories: &[ChartRepository]) -> Result<Source, Box<Finding>> {
        let (url, chart, version) = match &self.address {
            ChartAddress::Path { repository, reference, path } => {
                return Ok(Source::from(RemoteSource {
                    repository: repository.clone(),
                    reference: reference.clone(),
                    path: path.clone(),
                    release_name: self.release_name.clone(),
                    values: self.values.clone(),
                    ..RemoteSource::default()
                }));
            }
            ChartAddress::Repository { url, chart, version } => (url, chart, version),
        };
        if !is_chart_name(chart) {
            let shown: String = chart.chars().take(80).collect();
            return Err(refuse(format!("{shown:?} is no name of a chart."), "Correct it in the object."));
        }
        let named = repositories.iter().find(|one| address::is_same_url(&one.url, url)).ok_or_else(|| {
            let message = format!(
                "The project has no repository of charts with the URL {url}, where {} has its chart.",
                self.object
            );
            let hint = format!(
                "Add it: flotilla chart repo add NAME {url}; or on the page Charts. Then repeat this."
            );
            refuse(message, hint)
        })?;
        Ok(Source::Chart(ChartSource {
            chart: format!("{}/{chart}", named.name),
            version: version.clone(),
            release_name: self.release_name.clone(),
            values: self.values.clone(),
        }))
    }

    /// Replaces source and namespace of a spec, and the policies that have their default value. A policy that is set differently stays.
    /// Returns the policies that stay, as what is not carried over.
    pub fn apply_to(&self, spec: &mut WorkloadSpec, source: Source) -> Vec<FieldNotCarried> {
        spec.source = source;
        if !self.namespace.is_empty() {
            spec.namespace.clone_from(&self.namespace);
        }
        let (current, default) = (to_map(&spec.policies), to_map(&Policies::default()));
        let (mut adopted, mut kept) = (Map::new(), Vec::new());
        for (name, value) in &self.policies {
            let set = current.get(name);
            if set == default.get(name) {
                adopted.insert(name.clone(), value.clone());
            } else if set != Some(value) {
                let reason = format!(
                    "The policy {name} of the workload is {} and stays; the object means {value}.",
                    set.unwrap_or(&Value::Null)
                );
                let path = format!("/policies/{name}");
                kept.push(FieldNotCarried { object: self.object.clone(), path, reason });
            }
        }
        if let Ok(policies) = spec.policies.with_values(&adopted) {
            spec.policies = policies;
        }
        kept
    }

    /// Names policies that a workload can't have, and brings the others into the form in which they are stored.
    fn drop_invalid_policies(&mut self) {
        for (name, value) in std::mem::take(&mut self.policies) {
            let one = Map::from_iter([(name.clone(), value)]);
            match Policies::default().with_values(&one) {
                Ok(policies) => {
                    // At its default, serialization may leave it out: then there is nothing to set.
                    let stored = to_map(&policies).remove(&name);
                    self.policies.extend(stored.map(|value| (name, value)));
                }
                Err(why) => self.not_carried.push(FieldNotCarried {
                    object: self.object.clone(),
                    path: format!("/policies/{name}"),
                    reason: format!("{why}."),
                }),
            }
        }
    }

    fn bound_list(&mut self) {
        if self.not_carried.len() > MAX_NOT_CARRIED {
            self.not_carried.truncate(MAX_NOT_CARRIED - 1);
            let reason = "More fields and objects are not carried over.".to_owned();
            self.not_carried.push(FieldNotCarried {
                object: self.object.clone(),
                path: String::new(),
                reason,
            });
        }
    }
}

/// The fields of policies by name, without those that serialization leaves out.
fn to_map(policies: &Policies) -> Map<String, Value> {
    match serde_json::to_value(policies) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
