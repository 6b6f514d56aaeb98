//! What changed last before an incident.

use domain::incident::{IncidentCluster, IncidentKind, PrecedingChange};
use domain::workload::WorkloadHead;
use store::Tx;
use store::revision::RevisionAuthor;

use crate::Error;

/// Clusters whose changes are read: those that failed first.
const SEARCHED_CLUSTERS: usize = 10;

/// The latest change before the first of these failures: the publish of the revision that the cluster runs, which overrides are a
/// part of, or a change of one of the clusters. That of a rollout is its publish; a source changes outside of Flotilla.
pub(super) async fn find_preceding_change(
    tx: &mut Tx,
    workload: &WorkloadHead,
    kind: IncidentKind,
    clusters: &[IncidentCluster],
) -> Result<Option<PrecedingChange>, Error> {
    if kind.workload_place().is_some() {
        let is_rollout =
            matches!(kind, IncidentKind::Rollout | IncidentKind::Rollback | IncidentKind::Silence);
        let Some(number) = workload.published.filter(|_| is_rollout) else {
            return Ok(None);
        };
        let revision = store::revision::get_author(tx, workload.id, number).await?;
        return Ok(revision.map(describe_publish));
    }
    let mut sorted: Vec<&IncidentCluster> = clusters.iter().collect();
    sorted.sort_by_key(|cluster| cluster.since);
    let Some(first) = sorted.first() else { return Ok(None) };
    let mut changes: Vec<PrecedingChange> = Vec::new();
    let revision = store::revision::get_author_on_cluster(tx, workload.id, first.id).await?;
    changes.extend(revision.map(describe_publish));
    for cluster in sorted.iter().take(SEARCHED_CLUSTERS) {
        let event = store::event::get_latest_cluster_change(tx, cluster.id, cluster.since).await?;
        changes.extend(event.map(|event| PrecedingChange {
            message: event.message,
            actor: event.actor,
            at: event.at,
            revision: None,
            cluster: event.cluster_name,
        }));
    }
    Ok(changes.into_iter().max_by_key(|change| change.at))
}

fn describe_publish(revision: RevisionAuthor) -> PrecedingChange {
    PrecedingChange {
        message: match revision.message.as_str() {
            "" => format!("Revision {} was published.", revision.number),
            text => format!("Revision {} was published: {text}", revision.number),
        },
        actor: revision.author,
        at: revision.created_at,
        revision: Some(revision.number),
        cluster: String::new(),
    }
}
