//! The size of what users write on all clusters together: each check of a workload and each placement reads all of it.

use domain::Finding;
use domain::cluster::Cluster;
use serde::Serialize;
use store::Tx;

use crate::Error;

/// Most bytes of the labels, annotations, values and taints of all clusters together, as they are stored.
const BYTES_MAX: i64 = 16 << 20;

/// Why a change of a cluster can't be stored beside the others (G111). One that does not grow is always accepted. Changes that come at once
/// may exceed the limit by their own size.
pub(super) async fn check_all_clusters(
    tx: &mut Tx,
    before: &Cluster,
    after: &Cluster,
) -> Result<Option<Finding>, Error> {
    let own = count_bytes(after);
    if own <= count_bytes(before) {
        return Ok(None);
    }
    let bytes = store::cluster::measure_others(tx, after.id).await?.saturating_add(own);
    Ok((bytes > BYTES_MAX).then(|| {
        let message = format!(
            "With this change all clusters together have {} KiB of labels, annotations, values and taints, and at most {} KiB are possible.",
            bytes >> 10,
            BYTES_MAX >> 10
        );
        let hint = "Keep only what templates and selectors use; values that many clusters have in common belong to a cluster group or to the workload.";
        Finding::error("G111", message, hint)
    }))
}

/// About the bytes of what is stored of a cluster.
fn count_bytes(cluster: &Cluster) -> i64 {
    let labels = json_bytes(&cluster.labels) + json_bytes(&cluster.annotations);
    let bytes = labels + json_bytes(&cluster.values) + json_bytes(&cluster.taints);
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn json_bytes(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests {
    use domain::ClusterId;
    use domain::cluster::ClusterKind;
    use domain::labels::Labels;
    use domain::request::ClusterPatch;

    use super::*;
    use crate::{Actor, Clock, Hub, HubConfig};

    /// A patch that sets or removes the annotation `note`.
    fn note(text: Option<&str>) -> ClusterPatch {
        let annotations = [("note".to_owned(), text.map(str::to_owned))].into();
        ClusterPatch { annotations, ..ClusterPatch::default() }
    }

    #[tokio::test]
    async fn p19_all_clusters_together_are_bounded_because_each_check_reads_them_and_one_that_shrinks_is_stored()
     {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let mut tx = hub.write().await.unwrap();
        for number in 0..17 {
            // The last one has none.
            let size = if number < 16 { 1 << 20 } else { 0 };
            let annotations = Labels::from_iter([("note".to_owned(), "x".repeat(size))]);
            let id = hub.ids().generate(ClusterId::from_parts);
            let name = format!("edge-{number}");
            let cluster = Cluster::new(id, name, ClusterKind::Simulated, hub.clock().now());
            store::cluster::insert(&mut tx, &Cluster { annotations, ..cluster }).await.unwrap();
        }
        tx.commit().await.unwrap();
        let actor = Actor::system();
        let grown = hub.edit_cluster(&actor, "edge-16", note(Some("Bern")), None).await;
        let Err(Error::Invalid(findings)) = grown else { panic!("{grown:?}") };
        assert_eq!(findings[0].code, "G111");
        assert!(findings[0].message.ends_with("at most 16384 KiB are possible."), "{findings:#?}");
        // Only what grows is refused.
        hub.edit_cluster(&actor, "edge-0", note(None), None).await.unwrap();
        hub.edit_cluster(&actor, "edge-16", note(Some("Bern")), None).await.unwrap();
    }
}
