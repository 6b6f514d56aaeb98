//! Values that cluster groups and the project lock (G119).

use super::{ChartRelease, LayerFiller};
use crate::model::cluster::Cluster;
use crate::model::placement::ClusterGroup;
use crate::model::values::{LayerValues, LockViolation, ValuesLayer, find_lock_violations};
use crate::text::finding::Finding;
use crate::text::secret_values::SecretMarks;
use crate::text::template::{SampleValues, VariableSource};

/// A layer sets a value that a group or the project locks.
const LOCKED_VALUE: &str = "G119";

impl ChartRelease<'_> {
    /// What the groups of the cluster lock, then what the project locks, which is above them.
    pub(super) fn lock_texts(&self, cluster: &Cluster) -> Vec<(ValuesLayer, &str)> {
        self.list_group_locks(|group| group.contains(cluster)).chain(self.project_lock()).collect()
    }

    pub(super) fn project_lock(&self) -> Option<(ValuesLayer, &str)> {
        let project = self.project.filter(|project| !project.locked_values.is_empty())?;
        Some((ValuesLayer::LockedByProject { project: project.name.clone() }, project.locked_values.as_str()))
    }

    fn list_group_locks(
        &self,
        is_concerned: impl Fn(&ClusterGroup) -> bool,
    ) -> impl Iterator<Item = (ValuesLayer, &str)> {
        let locking =
            self.groups.iter().filter(move |group| !group.locked_values.is_empty() && is_concerned(group));
        locking.map(|group| {
            (ValuesLayer::LockedByGroup { group: group.name.clone() }, group.locked_values.as_str())
        })
    }

    /// Where the common values set what the project, or a group of one of `clusters`, locks (G119), with samples in place of values of
    /// clusters. Values that can't be read are reported by the static checks.
    pub fn find_sample_lock_violations(&self, clusters: &[&Cluster]) -> Vec<Finding> {
        let mut filler = LayerFiller::new(&SampleValues);
        let common = filler.read_layer(ValuesLayer::Common, &self.source.values);
        filler.rejected.clear();
        let common_size = filler.size.clone();
        let of_groups = self.list_group_locks(|group| clusters.iter().any(|cluster| group.contains(cluster)));
        for (layer, text) in of_groups.chain(self.project_lock()) {
            // Each lock alone: two groups need not have a cluster in common.
            filler.size = common_size.clone();
            filler.lock_values(&mut vec![common.clone()], layer, text);
        }
        let locked = filler.rejected.into_iter().filter(|finding| finding.code == LOCKED_VALUE);
        locked
            .map(|finding| {
                let path = format!("/source/values{}", finding.path);
                finding.with_path(path)
            })
            .collect()
    }
}

impl<V: VariableSource> LayerFiller<'_, V> {
    /// Adds the locked values above all layers, and rejects those layers that set others (G119).
    pub(super) fn lock_values(&mut self, layers: &mut Vec<LayerValues>, layer: ValuesLayer, text: &str) {
        let locked = self.read_layer(layer, text);
        match find_lock_violations(&locked.values, layers) {
            Ok(violations) => {
                self.rejected.extend(violations.iter().map(|one| lock_finding(&locked.layer, one)));
            }
            Err(finding) => self.rejected.push(*finding),
        }
        layers.push(locked);
    }
}

/// G119: a layer sets a value that a group or the project locks.
fn lock_finding(owner: &ValuesLayer, violation: &LockViolation) -> Finding {
    let LockViolation { path, locked, layer } = violation;
    let by = owner.lock_owner().unwrap_or_else(|| owner.to_string());
    // Everybody who reads the workload reads the finding.
    let shown =
        if SecretMarks::Names.is_secret_path(path, locked) { String::new() } else { format!(" to {locked}") };
    let message = format!("{by} locks the value {path}{shown}; the values ({layer}) set another one.");
    let hint = match owner {
        ValuesLayer::LockedByProject { .. } => {
            "Remove it from these values, or let an admin change what the project locks."
        }
        _ => "Remove it from these values, or let the owner of the group change the lock.",
    };
    Finding::error(LOCKED_VALUE, message, hint).with_path(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::kubernetes::id::ClusterId;
    use crate::kubernetes::time::Timestamp;
    use crate::model::chart::ChartSource;
    use crate::model::cluster::ClusterKind;
    use crate::model::project::Project;
    use crate::model::workload::WorkloadSpec;

    fn group(name: &str, member: &str, locked_values: &str) -> ClusterGroup {
        ClusterGroup {
            name: name.to_owned(),
            members: vec![member.to_owned()],
            locked_values: locked_values.to_owned(),
            ..ClusterGroup::default()
        }
    }

    /// The paths of the violations by the values of a workload on cluster `a`, each with the start of its message.
    fn find_violations(values: &str) -> Vec<(String, String)> {
        let groups = [
            group("prod", "a", "registry: mirror.example\nname: ${{ cluster.name }}\n"),
            group("other", "b", "registry: other.example\n"),
        ];
        find_violations_with(values, &groups)
    }

    /// The same with these groups.
    fn find_violations_with(values: &str, groups: &[ClusterGroup]) -> Vec<(String, String)> {
        let source = ChartSource { values: values.to_owned(), ..ChartSource::default() };
        let (name, locked_values) = ("default".into(), "tls: {enabled: true}\n".into());
        let project = Project { name, locked_values, revision: 1, ..Project::default() };
        let release = ChartRelease {
            workload: "web",
            revision: 1,
            spec: &WorkloadSpec::default(),
            source: &source,
            groups,
            project: Some(&project),
            targets: &[],
            installed: &BTreeMap::new(),
        };
        let id = ClusterId::from_parts(1, 1);
        let cluster = Cluster::new(id, "a".to_owned(), ClusterKind::Agent, Timestamp::from_millis(0));
        let found = release.find_sample_lock_violations(&[&cluster]);
        assert!(found.iter().all(|finding| finding.code == LOCKED_VALUE && finding.is_blocking()));
        let owner = |finding: &Finding| finding.message.split(" locks").next().unwrap().to_owned();
        found.iter().map(|finding| (finding.path.clone(), owner(finding))).collect()
    }

    #[test]
    fn s2_8_g119_common_values_violate_the_locks_of_the_project_and_of_groups_with_a_target() {
        let violation = |path: &str, owner: &str| (format!("/source/values{path}"), owner.to_owned());
        let found = find_violations("registry: own.example\ntls: {enabled: false, port: 443}\n");
        assert_eq!(
            found,
            [violation("/registry", "Group prod"), violation("/tls/enabled", "Project default")]
        );
        assert_eq!(find_violations("tls: off\n"), [violation("/tls/enabled", "Project default")]);
        for allowed in ["", "registry: mirror.example\ntls: {port: 443}\n", "registry: [", "- a list\n"] {
            assert_eq!(find_violations(allowed), [], "{allowed}");
        }
    }

    #[test]
    fn g119_the_locks_of_many_groups_count_one_by_one_for_the_size_of_the_values() {
        // Each is within the limit of 8 MiB, and both together are not. Fewer than 100 aliases: the parser refuses many of one anchor.
        let aliases = format!("long: &a {}\nall: [{}]\n", "x".repeat(80_000), vec!["*a"; 60].join(", "));
        let groups = ["one", "two"].map(|name| group(name, "a", &aliases));
        let found = find_violations_with("tls: {enabled: false}\n", &groups);
        assert_eq!(found, [("/source/values/tls/enabled".to_owned(), "Project default".to_owned())]);
    }
}
