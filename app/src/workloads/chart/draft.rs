//! A chart source that is being edited: its fields, and the findings on them.

use std::time::Duration;

use domain::chart::ChartSource;
use domain::finding::{Finding, sort_findings};
use domain::manifest::yaml_value;
use domain::workload::{Source, WorkloadSpec};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::queries::{ChartLookup, chart_values_check};
use crate::errors::AppResult;
use crate::parsing::parse_text;

/// The name of the values in links from findings.
pub(super) const VALUES_FILE: &str = "values.yaml";
/// Path of the values in findings.
const VALUES_PATH: &str = "/source/values";
/// Pause in typing after which the server checks the values: a run of Helm.
const CHECK_PAUSE: Duration = Duration::from_millis(600);

/// The fields as they are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChartForm {
    /// Whether the source is a chart.
    pub is_chart: bool,
    /// Repository and name.
    pub chart: String,
    /// The version; empty for the newest one.
    pub version: String,
    /// Name of the Helm release; empty for the name of the workload.
    pub release_name: String,
    /// The common values.
    pub values: String,
}

impl ChartForm {
    /// The source of these fields; line ends are normalised to `\n`.
    pub fn to_source(&self) -> ChartSource {
        ChartSource {
            chart: self.chart.trim().to_owned(),
            version: self.version.trim().to_owned(),
            release_name: self.release_name.trim().to_owned(),
            values: self.values.replace("\r\n", "\n"),
        }
    }
}

/// What the server checks: workload, namespace and source.
type CheckInput = (String, String, ChartSource);

/// A chart source that is being edited.
#[derive(Clone, Copy)]
pub struct ChartDraft {
    pub(super) chart: RwSignal<String>,
    pub(super) version: RwSignal<String>,
    pub(super) release_name: RwSignal<String>,
    pub(super) values: RwSignal<String>,
    /// What the query of the page found about this chart, if it is that of the stored draft.
    pub(super) lookup: StoredValue<Option<ChartLookup>>,
    /// The check of the values by the server.
    check: Action<CheckInput, AppResult<Vec<Finding>>>,
}

impl ChartDraft {
    /// The fields of `source`; `lookup` is what the query of the page found about the stored draft.
    pub fn new(source: &ChartSource, lookup: Option<ChartLookup>) -> Self {
        let check = Action::new(|(workload, namespace, source): &CheckInput| {
            chart_values_check(workload.clone(), namespace.clone(), source.clone())
        });
        Self {
            chart: RwSignal::new(source.chart.clone()),
            version: RwSignal::new(source.version.clone()),
            release_name: RwSignal::new(source.release_name.clone()),
            values: RwSignal::new(source.values.clone()),
            lookup: StoredValue::new(lookup.filter(|found| is_of_chart(found, source))),
            check,
        }
    }

    /// The current fields.
    pub fn form(self) -> ChartForm {
        ChartForm {
            is_chart: true,
            chart: self.chart.get(),
            version: self.version.get(),
            release_name: self.release_name.get(),
            values: self.values.get(),
        }
    }

    /// Findings on the fields: at once those that need no chart, and after a pause those of the server. What the chart renders
    /// for each cluster is checked by the review.
    pub fn findings(self, name: Signal<String>, namespace: Signal<String>) -> Memo<Vec<Finding>> {
        let check = self.check;
        let mut refresh = debounce(CHECK_PAUSE, move |input: CheckInput| drop(check.dispatch(input)));
        Effect::new(move |_| {
            let source = self.form().to_source();
            if !source.chart.is_empty() && !source.version.is_empty() {
                refresh((name.get(), namespace.get(), source));
            }
        });
        Memo::new(move |_| {
            let source = self.form().to_source();
            let values = source.values.clone();
            let spec = WorkloadSpec {
                namespace: namespace.get(),
                source: Source::Chart(source),
                ..WorkloadSpec::default()
            };
            let name = name.get();
            let mut findings = parse_text(|| domain::workload::check(&name, &spec));
            findings.retain(|finding| finding.path.starts_with("/source"));
            let checked = check.value().get().and_then(Result::ok).unwrap_or_default();
            findings.extend(checked.into_iter().map(|finding| locate(finding, &values)));
            sort_findings(&mut findings);
            findings
        })
    }

    /// The state of the check by the server, beside the findings.
    pub(super) fn check_status(self) -> Option<String> {
        if self.check.pending().get() {
            return Some("Checking the values…".to_owned());
        }
        let failed = self.check.value().get().and_then(Result::err);
        failed.map(|error| format!("The values were not checked with the chart: {error}"))
    }
}

fn is_of_chart(found: &ChartLookup, source: &ChartSource) -> bool {
    (&found.chart, &found.version) == (&source.chart, &source.version)
}

/// The finding with the line of its value.
fn locate(finding: Finding, values: &str) -> Finding {
    let place = finding.path.strip_prefix(VALUES_PATH);
    let place = place.and_then(|pointer| parse_text(|| yaml_value::locate(values, VALUES_FILE, pointer)));
    if place.is_some() { finding.with_location(place) } else { finding }
}
