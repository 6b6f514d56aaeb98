//! Objects that contain a chart for a controller of the cluster (G128).

use serde_json::Value;

use super::rule_context::{RuleContext, RuleObject, quote};
use crate::text::finding::Finding;

const HINT: &str = "To manage its objects here, add the repository of the chart: flotilla chart repo add; \
     then make the chart the source, with the values of this object: Use the chart itself, or flotilla apply -f FILE --unwrap-chart.";

/// G128: a chart that a controller of the cluster installs. The workload has the object that names the chart, and not what is made of it.
pub(super) fn charts(context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |object: &RuleObject<'_>| {
        let chart = read_chart(object)?;
        let message = format!(
            "{} {} names {}. A controller of the cluster installs it: the objects of the chart are in no plan, status or drift of this \
             workload.",
            object.name.kind,
            object.name.name,
            chart.describe()
        );
        Some(object.warning("G128", "/spec", message, HINT))
    };
    context.objects.iter().filter_map(finding).collect()
}

/// A chart as an object of another tool names it; fields may be empty.
struct EmbeddedChart<'a> {
    name: &'a str,
    version: &'a str,
    repository: &'a str,
}

impl EmbeddedChart<'_> {
    fn describe(&self) -> String {
        let mut text = match self.name {
            "" => "a chart".to_owned(),
            name => format!("the chart {}", quote(name)),
        };
        if !self.version.is_empty() {
            text.push_str(&format!(" {}", self.version));
        }
        if !self.repository.is_empty() {
            text.push_str(&format!(" of {}", self.repository));
        }
        text
    }
}

/// `HelmChart` of K3s and RKE2, `HelmRelease` of Flux, `Application` of Argo CD with a chart: of several sources, the first with one.
fn read_chart<'a>(object: &RuleObject<'a>) -> Option<EmbeddedChart<'a>> {
    let read = |name: &str, version: &str, repository: &str| EmbeddedChart {
        name: object.text(name),
        version: object.text(version),
        repository: object.text(repository),
    };
    if object.is_kind("helm.cattle.io", "HelmChart") {
        return Some(read("/spec/chart", "/spec/version", "/spec/repo"));
    }
    if object.is_kind("helm.toolkit.fluxcd.io", "HelmRelease") {
        return Some(read(
            "/spec/chart/spec/chart",
            "/spec/chart/spec/version",
            "/spec/chart/spec/sourceRef/name",
        ));
    }
    if !object.is_kind("argoproj.io", "Application") {
        return None;
    }
    let read = |source: &'a Value, field: &str| source.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut sources = object.items("/spec/sources").iter().chain(object.get("/spec/source"));
    let source = sources.find(|source| !read(source, "chart").is_empty())?;
    Some(EmbeddedChart {
        name: read(source, "chart"),
        version: read(source, "targetRevision"),
        repository: read(source, "repoURL"),
    })
}
