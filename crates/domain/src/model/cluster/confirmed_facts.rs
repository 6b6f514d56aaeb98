//! Confirmed facts: what a cluster reports selects nothing for it before a user has confirmed it.
//!
//! An agent reports whatever it likes: a region that placements select would bring their Secrets to its cluster. So
//! placement and templates read only confirmed facts. Reported facts serve the guard rails of the cluster that reports them.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{Allocatable, Cluster, ClusterFacts};
use crate::kubernetes::quantity::Quantity;

/// Facts that placement uses: predicates, spreads and scores, and template variables for the location of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfirmedFacts {
    /// Cloud provider of its nodes; empty when none is confirmed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// Region of its nodes; empty when none is confirmed. A label for the region takes precedence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// Zones of its nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Version of its API server; empty when none is confirmed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kubernetes_version: String,
    /// Most allocatable cores that scores count.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub cpu: Quantity,
    /// Most allocatable bytes of memory that scores count.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub memory: Quantity,
}

impl ConfirmedFacts {
    /// The facts that a cluster reports, as they would be confirmed.
    pub fn from_reported(facts: &ClusterFacts) -> Self {
        let Allocatable { cpu, memory, .. } = Allocatable::sum(&facts.node_pools);
        Self {
            provider: facts.provider.clone(),
            region: facts.region.clone(),
            zones: facts.zones.clone(),
            kubernetes_version: facts.kubernetes_version.clone(),
            cpu,
            memory,
        }
    }

    /// Takes over those reported facts that have no value here yet; returns whether there was one.
    pub fn adopt_unknown(&mut self, facts: &ClusterFacts) -> bool {
        let before = self.clone();
        let reported = Self::from_reported(facts);
        let adopt = |value: &mut String, reported: String| {
            if value.is_empty() {
                *value = reported;
            }
        };
        adopt(&mut self.provider, reported.provider);
        adopt(&mut self.region, reported.region);
        adopt(&mut self.kubernetes_version, reported.kubernetes_version);
        if self.zones.is_empty() {
            self.zones = reported.zones;
        }
        if self.cpu == Quantity::default() && self.memory == Quantity::default() {
            (self.cpu, self.memory) = (reported.cpu, reported.memory);
        }
        *self != before
    }

    /// The Kubernetes distribution in the confirmed version; empty without one.
    pub fn distribution(&self) -> &'static str {
        super::find_distribution(&self.kubernetes_version)
    }

    /// Whether the provider, the region, the zones and the version are the same; capacity varies with every node.
    pub fn has_same_identity(&self, other: &Self) -> bool {
        let identity = |facts: &Self| {
            let Self { provider, region, zones, kubernetes_version, .. } = facts.clone();
            (provider, region, zones, kubernetes_version)
        };
        identity(self) == identity(other)
    }
}

/// Most characters of a value that is displayed: an agent reports texts of any content.
const MAX_SHOWN_CHARS: usize = 200;

/// A fact that a user confirms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ConfirmableFact {
    /// The infrastructure provider.
    Provider,
    /// The region.
    Region,
    /// The zones.
    Zones,
    /// The version of the API server.
    KubernetesVersion,
    /// Allocatable cores.
    Cpu,
    /// Allocatable memory.
    Memory,
}

impl ConfirmableFact {
    /// Its name, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A reported fact that waits for confirmation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PendingFact {
    /// Which.
    pub fact: ConfirmableFact,
    /// The confirmed value, which placement uses; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub confirmed: String,
    /// The reported value; empty if it is no longer reported.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reported: String,
    /// Whether the difference is one of routine operation: an upgrade, another number of nodes, a value that is not reported
    /// any more. It needs no attention until a placement selects by it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub routine: bool,
}

/// `region eu-central-1 (confirmed: eu-west-1)`.
impl fmt::Display for PendingFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (confirmed: {})", self.fact.as_str(), self.reported_text(), self.confirmed_text())
    }
}

impl PendingFact {
    /// The confirmed value, for display.
    pub fn confirmed_text(&self) -> &str {
        text_or_none(&self.confirmed)
    }

    /// The reported value, for display.
    pub fn reported_text(&self) -> &str {
        text_or_none(&self.reported)
    }
}

const fn text_or_none(value: &str) -> &str {
    if value.is_empty() { "none" } else { value }
}

/// These facts as one text.
pub fn format_pending_facts(facts: &[PendingFact]) -> String {
    facts.iter().map(PendingFact::to_string).collect::<Vec<_>>().join(", ")
}

impl Cluster {
    /// The reported facts that differ from the confirmed ones, so that placement does not use them. A region is omitted where
    /// a label sets it.
    pub fn pending_facts(&self) -> Vec<PendingFact> {
        if !self.facts.is_reported() {
            return Vec::new();
        }
        let (confirmed, reported) = (&self.confirmed_facts, ConfirmedFacts::from_reported(&self.facts));
        let text = |fact, confirmed: &str, reported: &str, routine| {
            (confirmed != reported).then(|| PendingFact {
                fact,
                confirmed: shorten(confirmed),
                reported: shorten(reported),
                routine: routine || reported.is_empty(),
            })
        };
        let has_new_zone = reported.zones.iter().any(|zone| !confirmed.zones.contains(zone));
        let region = text(ConfirmableFact::Region, &confirmed.region, &reported.region, false);
        let grown = |fact, confirmed: Quantity, reported: Quantity, format: fn(Quantity) -> String| {
            (reported > confirmed).then(|| text(fact, &format(confirmed), &format(reported), true)).flatten()
        };
        [
            text(ConfirmableFact::Provider, &confirmed.provider, &reported.provider, false),
            region.filter(|_| self.region().is_empty()),
            text(
                ConfirmableFact::Zones,
                &confirmed.zones.join(" "),
                &reported.zones.join(" "),
                !has_new_zone,
            ),
            text(
                ConfirmableFact::KubernetesVersion,
                &confirmed.kubernetes_version,
                &reported.kubernetes_version,
                true,
            ),
            grown(ConfirmableFact::Cpu, confirmed.cpu, reported.cpu, |cpu| cpu.to_string()),
            grown(ConfirmableFact::Memory, confirmed.memory, reported.memory, Quantity::format_bytes),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Allocatable cores for scores: what is reported, at most what is confirmed.
    pub fn scored_cpu(&self) -> Quantity {
        Allocatable::sum(&self.facts.node_pools).cpu.min(self.confirmed_facts.cpu)
    }

    /// Allocatable memory for scores: what is reported, at most what is confirmed.
    pub fn scored_memory(&self) -> Quantity {
        Allocatable::sum(&self.facts.node_pools).memory.min(self.confirmed_facts.memory)
    }
}

fn shorten(text: &str) -> String {
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(MAX_SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::ClusterId;
    use crate::kubernetes::time::Timestamp;
    use crate::model::cluster::ClusterKind;
    use crate::model::cluster::NodePool;

    fn cluster(facts: ClusterFacts) -> Cluster {
        let kind = ClusterKind::Agent;
        Cluster {
            facts,
            ..Cluster::new(ClusterId::from_parts(1, 1), "eu-1", kind, Timestamp::from_millis(0))
        }
    }

    fn facts() -> ClusterFacts {
        let pool = NodePool { cpu: Quantity::from_units(4), ..NodePool::default() };
        ClusterFacts {
            kubernetes_version: "v1.33.4".into(),
            provider: "aws".into(),
            region: "eu-west-1".into(),
            zones: vec!["a".into(), "b".into()],
            node_pools: vec![pool],
            ..ClusterFacts::default()
        }
    }

    fn pending(cluster: &Cluster) -> Vec<(&'static str, bool)> {
        cluster.pending_facts().into_iter().map(|one| (one.fact.as_str(), one.routine)).collect()
    }

    #[test]
    fn reported_facts_are_pending_until_they_are_confirmed() {
        let mut cluster = cluster(facts());
        assert_eq!(
            pending(&cluster),
            [
                ("provider", false),
                ("region", false),
                ("zones", false),
                ("kubernetesVersion", true),
                ("cpu", true)
            ]
        );
        assert_eq!(cluster.scored_cpu(), Quantity::default());
        cluster.confirmed_facts = ConfirmedFacts::from_reported(&cluster.facts);
        assert_eq!(pending(&cluster), []);
        assert_eq!(cluster.scored_cpu(), Quantity::from_units(4));
    }

    #[test]
    fn upgrades_and_other_numbers_of_nodes_are_routine_and_a_new_location_is_not() {
        let mut cluster = cluster(facts());
        cluster.confirmed_facts = ConfirmedFacts::from_reported(&cluster.facts);
        cluster.facts.kubernetes_version = "v1.34.0".into();
        cluster.facts.zones = vec!["b".into()];
        cluster.facts.node_pools[0].cpu = Quantity::from_units(8);
        assert_eq!(pending(&cluster), [("zones", true), ("kubernetesVersion", true), ("cpu", true)]);
        assert_eq!(cluster.scored_cpu(), Quantity::from_units(4), "more is not confirmed");
        cluster.facts.node_pools[0].cpu = Quantity::from_units(2);
        assert_eq!(cluster.scored_cpu(), Quantity::from_units(2), "less counts at once");
        cluster.facts = ClusterFacts { region: "eu-central-1".into(), ..facts() };
        assert_eq!(
            format_pending_facts(&cluster.pending_facts()),
            "region eu-central-1 (confirmed: eu-west-1)"
        );
        cluster.labels = [("region".to_owned(), "eu-north-1".to_owned())].into();
        assert_eq!(pending(&cluster), [], "a label for the region takes precedence");
    }
}
