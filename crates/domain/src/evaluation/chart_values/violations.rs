//! Values that violate the schema of a chart, with the override or the lock that sets them (G113).

use std::collections::BTreeMap;

use super::ChartRelease;
use crate::model::cluster::Cluster;
use crate::model::values::{LayerValues, ValuesLayer};
use crate::text::finding::Finding;

/// A value that violates the schema.
const SCHEMA_VIOLATION: &str = "G113";
/// Where the common values are in a spec.
const COMMON_VALUES: &str = "/source/values";
/// Most findings that are named, and most clusters that are read for one of them: the texts of all their values are parsed.
const MAX_FINDINGS: usize = 50;
const MAX_CLUSTERS: usize = 4;

impl ChartRelease<'_> {
    /// Adds the origin to violations by values that are not among the common ones. Those have a path there, which leads to the field
    /// of the form, and retain it if not all clusters of a violation are read: the others may have the common value.
    pub fn name_origins(&self, findings: &mut [Finding], clusters: &[Cluster]) {
        let violations = findings.iter_mut().filter(|finding| finding.code == SCHEMA_VIOLATION);
        let mut read: Vec<TracedViolation<'_>> = violations
            .take(MAX_FINDINGS)
            .filter(|finding| finding.path.starts_with(COMMON_VALUES))
            .map(|finding| TracedViolation::new(finding, clusters))
            .collect();
        let named: BTreeMap<&str, &Cluster> =
            read.iter().flat_map(|one| &one.named).map(|&cluster| (cluster.name.as_str(), cluster)).collect();
        // The layers of one cluster after the other are in memory.
        for cluster in named.into_values() {
            let layers = self.written_layers(cluster);
            for one in read.iter_mut().filter(|one| one.named.iter().any(|named| named.name == cluster.name))
            {
                let pointer = one.finding.path.strip_prefix(COMMON_VALUES).unwrap_or_default();
                one.origins.push(find_origin(&layers, pointer));
            }
        }
        read.into_iter().for_each(TracedViolation::name_origin);
    }
}

/// A violation with the clusters that are read for it.
struct TracedViolation<'a> {
    finding: &'a mut Finding,
    named: Vec<&'a Cluster>,
    /// The origin of the value on each of these clusters.
    origins: Vec<Option<String>>,
}

impl<'a> TracedViolation<'a> {
    fn new(finding: &'a mut Finding, clusters: &'a [Cluster]) -> Self {
        let named = clusters.iter().filter(|cluster| finding.clusters.contains(&cluster.name));
        let named = named.take(MAX_CLUSTERS).collect();
        Self { finding, named, origins: Vec::new() }
    }

    /// Adds the origin, if it is the same on all clusters that were read.
    fn name_origin(self) {
        let Self { finding, named, mut origins } = self;
        origins.dedup();
        let [Some(origin)] = &origins[..] else { return };
        if named.len() == finding.clusters.len() {
            finding.message = format!("{} {origin}.", finding.message);
            finding.path.clear();
        } else {
            let names: Vec<&str> = named.iter().map(|cluster| cluster.name.as_str()).collect();
            finding.message = format!("{} {origin} on {}.", finding.message, names.join(", "));
        }
    }
}

/// The override or the lock that sets a single value, as a sentence without its end; `None` for one of the common values or of the chart.
fn find_origin(layers: &[LayerValues], pointer: &str) -> Option<String> {
    let mut strongest_first = layers.iter().rev();
    let (layer, value) = strongest_first.find_map(|one| Some((&one.layer, one.values.pointer(pointer)?)))?;
    match layer {
        _ if value.is_object() => None,
        ValuesLayer::Override { name, .. } => Some(format!("Override {name} sets it")),
        layer => layer.lock_owner().map(|owner| format!("{owner} locks it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::ClusterId;
    use crate::kubernetes::time::Timestamp;
    use crate::model::chart::ChartSource;
    use crate::model::cluster::ClusterKind;
    use crate::model::placement::ClusterGroup;
    use crate::model::workload::WorkloadSpec;

    #[test]
    fn g113_an_origin_that_is_not_read_of_all_clusters_names_those_that_are_read() {
        let group = ClusterGroup {
            name: "prod".to_owned(),
            members: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
            locked_values: "tag: 2\n".to_owned(),
            ..ClusterGroup::default()
        };
        let source = ChartSource { values: "tag: 1\n".to_owned(), ..ChartSource::default() };
        let release = ChartRelease {
            workload: "web",
            revision: 1,
            spec: &WorkloadSpec::default(),
            source: &source,
            groups: std::slice::from_ref(&group),
            project: None,
            targets: &[],
            installed: &BTreeMap::new(),
        };
        let clusters = ["a", "b", "c", "d", "e"].map(|name| {
            let id = ClusterId::from_parts(1, 1);
            Cluster::new(id, name.to_owned(), ClusterKind::Agent, Timestamp::from_millis(0))
        });
        let named = |on: &[&str]| {
            let finding = Finding::error("G113", "It violates the schema.", "")
                .with_path("/source/values/tag".to_owned())
                .with_clusters(on.iter().map(|&name| name.to_owned()).collect());
            let mut found = [finding];
            release.name_origins(&mut found, &clusters);
            let [Finding { path, message, .. }] = found;
            (path, message)
        };
        let all = (String::new(), "It violates the schema. Group prod locks it.".to_owned());
        assert_eq!(named(&["a", "b", "c", "d"]), all);
        assert_eq!(named(&["d"]), all);
        let unchanged = ("/source/values/tag".to_owned(), "It violates the schema.".to_owned());
        assert_eq!(named(&["d", "e"]), unchanged, "e has the common value");
        assert_eq!(named(&[]), unchanged);
        let (path, message) = named(&["a", "b", "c", "d", "e"]);
        assert_eq!(message, "It violates the schema. Group prod locks it on a, b, c, d.");
        assert_eq!(path, "/source/values/tag", "the field of the common value, which e has");
    }
}
