//! Dependencies between workloads (`dependsOn`): on every cluster, a workload is delivered only after those that it names are operational
//! there. Waiting is a stage with a reason and no error; only a cycle, which would wait forever, is refused (G312).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::kubernetes::id::ClusterId;
use crate::text::finding::Finding;
use crate::text::name_check;

/// Most workloads that one workload depends on.
pub const MAX_DEPENDENCIES: usize = 20;
/// Most names that a message lists.
const MAX_SHOWN: usize = 10;

/// The code of the findings about what a workload depends on.
pub const DEPENDENCY: &str = "G312";
/// The code of the finding that other workloads depend on one that is to be removed; a publish can force it.
pub const HAS_DEPENDENTS: &str = "G313";

/// A workload that another one depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkloadDependency {
    /// Its name.
    pub workload: String,
}

impl WorkloadDependency {
    /// The dependency on the workload with this name.
    pub fn new(workload: impl Into<String>) -> Self {
        Self { workload: workload.into() }
    }

    /// The dependencies on these workloads, in their order; blank and repeated names are left out.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let mut known = BTreeSet::new();
        let names = names.into_iter().map(str::trim).filter(|name| !name.is_empty());
        names.filter(|name| known.insert(*name)).map(Self::new).collect()
    }
}

/// G312: the checks of the dependencies of the workload `name` that need no other workload.
pub fn check(name: &str, dependencies: &[WorkloadDependency]) -> Vec<Finding> {
    if dependencies.len() > MAX_DEPENDENCIES {
        let message = format!(
            "It depends on {} workloads; at most {MAX_DEPENDENCIES} are allowed.",
            dependencies.len()
        );
        let hint =
            "Name only those that have to be there first; what they depend on themselves is waited for too.";
        return vec![Finding::error(DEPENDENCY, message, hint).with_path("/dependsOn")];
    }
    let mut known = BTreeSet::new();
    let mut findings = Vec::new();
    for (at, WorkloadDependency { workload }) in dependencies.iter().enumerate() {
        let finding = if let Some(invalid) = name_check::check_workload_name(workload) {
            Finding::error(DEPENDENCY, invalid.message, invalid.hint)
        } else if workload == name {
            Finding::error(
                DEPENDENCY,
                format!("{name} depends on itself, so it would wait forever."),
                "Remove this dependency.",
            )
        } else if !known.insert(workload) {
            let message = format!("The dependency on {workload} is listed twice.");
            Finding::error(DEPENDENCY, message, "Remove one of them.")
        } else {
            continue;
        };
        findings.push(finding.with_path(format!("/dependsOn/{at}/workload")));
    }
    findings
}

/// The workloads by name, each with those that it depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DependencyGraph(BTreeMap<String, BTreeSet<String>>);

impl DependencyGraph {
    /// The graph with these edges, each from a workload to one that it depends on.
    pub fn from_edges(edges: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut graph = Self::default();
        for (workload, dependency) in edges {
            graph.0.entry(workload).or_default().insert(dependency);
        }
        graph
    }

    /// The shortest way on which the workload `name` would wait for itself with these dependencies; it begins and ends with it. Each
    /// workload is visited once.
    pub fn find_cycle(&self, name: &str, dependencies: &[WorkloadDependency]) -> Option<Vec<String>> {
        let mut previous: BTreeMap<&str, &str> = BTreeMap::new();
        let mut waiting: VecDeque<&str> = VecDeque::new();
        for WorkloadDependency { workload } in dependencies {
            if previous.insert(workload, name).is_none() {
                waiting.push_back(workload);
            }
        }
        while let Some(at) = waiting.pop_front() {
            if at == name {
                break;
            }
            for next in self.0.get(at).into_iter().flatten() {
                if !previous.contains_key(next.as_str()) {
                    previous.insert(next, at);
                    waiting.push_back(next);
                }
            }
        }
        let mut at = previous.get(name).copied()?;
        let mut way = vec![name.to_owned()];
        while at != name {
            way.push(at.to_owned());
            at = previous.get(at).copied()?;
        }
        way.push(name.to_owned());
        way.reverse();
        Some(way)
    }

    /// G312: the finding that the workload `name` would wait for itself with these dependencies.
    pub fn check(&self, name: &str, dependencies: &[WorkloadDependency]) -> Option<Finding> {
        let way = self.find_cycle(name, dependencies)?;
        let message =
            format!("The workloads {} wait for each other, so none of them is delivered.", join_way(&way));
        let hint = "Remove one of these dependencies; the first of them is in this workload.";
        Some(Finding::error(DEPENDENCY, message, hint).with_path("/dependsOn"))
    }
}

fn join_way(way: &[String]) -> String {
    let is_long = way.len() > MAX_SHOWN;
    let shown = if is_long { &way[..MAX_SHOWN] } else { way };
    let end = if is_long { format!(" → … → {}", way[way.len() - 1]) } else { String::new() };
    format!("{}{end}", shown.join(" → "))
}

/// Where the workloads are that a draft depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownDependencies {
    /// The workloads that exist, by name, each with those of the clusters in question that have it; `None` for one that is not published.
    pub clusters: BTreeMap<String, Option<BTreeSet<ClusterId>>>,
}

impl KnownDependencies {
    /// G312: dependencies of the workload `name` that do not exist, are not published, or are not placed on one of its `targets`, given
    /// with their names. The clusters wait, so these are warnings.
    pub fn check(
        &self,
        name: &str,
        dependencies: &[WorkloadDependency],
        targets: &[(ClusterId, &str)],
    ) -> Vec<Finding> {
        let check = |(at, WorkloadDependency { workload }): (usize, &WorkloadDependency)| {
            let finding = match self.clusters.get(workload) {
                None => Finding::warning(
                    DEPENDENCY,
                    format!("There is no workload {workload:?}, so {name} would wait on every cluster."),
                    "Correct the name, or create and publish that workload: the clusters then continue by themselves.",
                ),
                Some(None) => Finding::warning(
                    DEPENDENCY,
                    format!("{workload} is not published, so {name} would wait for it on every cluster."),
                    "Publish it: the clusters then continue by themselves.",
                ),
                Some(Some(clusters)) => {
                    let missing = targets.iter().filter(|(id, _)| !clusters.contains(id));
                    let missing: Vec<String> = missing.map(|(_, cluster)| (*cluster).to_owned()).collect();
                    if missing.is_empty() {
                        return None;
                    }
                    let message = format!(
                        "{workload} is not placed on these clusters, so {name} would wait for it there."
                    );
                    let hint = format!(
                        "Place {workload} on them too, or exclude them from the placement of {name}."
                    );
                    Finding::warning(DEPENDENCY, message, hint).with_clusters(missing)
                }
            };
            Some(finding.with_path(format!("/dependsOn/{at}/workload")))
        };
        dependencies.iter().enumerate().filter_map(check).collect()
    }
}

/// The workloads that depend on one and are on clusters that would lose it. There may be a thousand on as many clusters: which one is on
/// which is not kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AffectedDependents {
    /// Names of the workloads.
    pub workloads: BTreeSet<String>,
    /// Names of the clusters.
    pub clusters: BTreeSet<String>,
}

/// G313: the workloads that depend on `name` and are on clusters that would lose it; `None` if there are none. `hint` says how to remove it
/// nevertheless.
pub fn dependents_finding(name: &str, dependents: AffectedDependents, hint: &str) -> Option<Finding> {
    let AffectedDependents { workloads, clusters } = dependents;
    if workloads.is_empty() {
        return None;
    }
    let shown: Vec<&str> = workloads.iter().map(String::as_str).take(MAX_SHOWN).collect();
    let more = workloads.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let verb = if workloads.len() == 1 { "depends" } else { "depend" };
    let message = format!(
        "{}{more} {verb} on {name} on these clusters. What runs there stays, but no new revision of it is delivered without {name}.",
        shown.join(", ")
    );
    let clusters = clusters.into_iter().collect();
    Some(Finding::error(HAS_DEPENDENTS, message, hint).with_clusters(clusters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> DependencyGraph {
        DependencyGraph::from_edges(edges.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())))
    }

    fn on(names: &[&str]) -> Vec<WorkloadDependency> {
        names.iter().copied().map(WorkloadDependency::new).collect()
    }

    #[test]
    fn g312_a_cycle_is_found_with_its_shortest_way() {
        let known = graph(&[("db", "disk"), ("disk", "web"), ("cache", "db"), ("db", "web")]);
        assert_eq!(known.find_cycle("web", &on(&["cache"])).unwrap(), ["web", "cache", "db", "web"]);
        let finding = known.check("web", &on(&["cache"])).unwrap();
        assert!(finding.is_blocking());
        assert!(finding.message.contains("web → cache → db → web"), "{}", finding.message);
        assert_eq!(known.find_cycle("web", &on(&["other"])), None);
        assert_eq!(known.find_cycle("web", &on(&["web"])).unwrap(), ["web", "web"]);
        // A circle that the workload is not part of is not its own.
        assert_eq!(graph(&[("a", "b"), ("b", "a")]).find_cycle("web", &on(&["a"])), None);
    }

    #[test]
    fn g312_a_dependency_is_a_name_of_another_workload_and_listed_once() {
        assert_eq!(check("web", &on(&["db", "cache"])), []);
        let findings = check("web", &on(&["db", "db", "web", "No Name"]));
        let paths: Vec<&str> = findings.iter().map(|finding| &*finding.path).collect();
        assert_eq!(paths, ["/dependsOn/1/workload", "/dependsOn/2/workload", "/dependsOn/3/workload"]);
        assert!(findings.iter().all(|finding| finding.code == DEPENDENCY && finding.is_blocking()));
        let names: Vec<String> = (0..=MAX_DEPENDENCIES).map(|number| format!("w{number}")).collect();
        let many: Vec<WorkloadDependency> = names.iter().map(WorkloadDependency::new).collect();
        assert_eq!(check("web", &many[1..]), []);
        assert!(check("web", &many)[0].message.contains("21 workloads; at most 20"));
    }

    #[test]
    fn g312_a_cluster_without_the_dependency_is_a_warning_that_names_it() {
        let (east, west) = (ClusterId::from_parts(1, 1), ClusterId::from_parts(1, 2));
        let placed = Some(BTreeSet::from([east]));
        let clusters = BTreeMap::from([("db".to_owned(), placed), ("cache".to_owned(), None)]);
        let known = KnownDependencies { clusters };
        let targets = [(east, "east"), (west, "west")];
        let findings = known.check("web", &on(&["db", "cache", "queue"]), &targets);
        assert_eq!(findings.len(), 3);
        assert!(findings.iter().all(|finding| !finding.is_blocking()));
        assert_eq!(findings[0].clusters, ["west"]);
        assert!(findings[1].message.contains("not published"), "{}", findings[1].message);
        assert!(findings[2].message.contains("no workload \"queue\""), "{}", findings[2].message);
        assert_eq!(known.check("web", &on(&["db"]), &targets[..1]), []);
    }

    #[test]
    fn names_are_read_without_blanks_and_repetitions() {
        assert_eq!(WorkloadDependency::from_names([" db", "", "cache ", "db"]), on(&["db", "cache"]));
    }
}
