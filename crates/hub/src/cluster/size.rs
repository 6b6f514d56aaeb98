//! The size of what users write on all clusters together: each check of a workload and each placement reads all of it.

use domain::Finding;
use domain::bounded_json::JsonSize;
use domain::cluster::Cluster;
use serde::Serialize;
use store::Tx;

use crate::Error;

/// Most bytes of the labels, annotations, values and taints of all clusters together, as they are stored.
const BYTES_MAX: i64 = 16 << 20;
/// Most entries of them of all clusters together, in a fleet of at most so many per cluster: each needs far more memory than its text.
const VALUES_MAX: u64 = 20_000;
/// The same per cluster in a larger fleet. A cluster with at most as many can always be stored.
const VALUES_PER_CLUSTER: u64 = 100;

const HINT: &str = "Keep only what templates and selectors use; values that many clusters have in common belong to a cluster group or to the workload.";

/// Why a change of a cluster can't be stored beside the others (G111). One that does not grow is always accepted. Changes that come at once
/// may exceed the limit by their own size.
pub(super) async fn check_all_clusters(
    tx: &mut Tx,
    before: &Cluster,
    after: &Cluster,
) -> Result<Option<Finding>, Error> {
    if let Some(finding) = check_bytes(tx, before, after).await? {
        return Ok(Some(finding));
    }
    let own = count_values(after);
    if own <= VALUES_PER_CLUSTER || own <= count_values(before) {
        return Ok(None);
    }
    let (others, values) = store::cluster::count_values_of_others(tx, after.id).await?;
    let values = values.saturating_add(own);
    let most = VALUES_MAX.max(VALUES_PER_CLUSTER.saturating_mul(others.saturating_add(1)));
    Ok((values > most).then(|| {
        let message = format!(
            "With this change all clusters together have {values} labels, annotations, taints and values, with the maps and lists among \
             them, and at most {most} are possible: {VALUES_PER_CLUSTER} per cluster, or {VALUES_MAX}."
        );
        Finding::error("G111", message, HINT)
    }))
}

async fn check_bytes(tx: &mut Tx, before: &Cluster, after: &Cluster) -> Result<Option<Finding>, Error> {
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
        Finding::error("G111", message, HINT)
    }))
}

/// About the bytes of what is stored of a cluster.
fn count_bytes(cluster: &Cluster) -> i64 {
    let labels = json_bytes(&cluster.labels) + json_bytes(&cluster.annotations);
    let bytes = labels + json_bytes(&cluster.values) + json_bytes(&cluster.taints);
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The entries of what is stored of a cluster, with the maps and lists among them.
fn count_values(cluster: &Cluster) -> u64 {
    let labels = JsonSize::of_serialized(&cluster.labels).and(JsonSize::of_serialized(&cluster.annotations));
    let values = JsonSize::of_serialized(&cluster.values).and(JsonSize::of_serialized(&cluster.taints));
    labels.and(values).values
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

    #[tokio::test]
    async fn p19_all_clusters_together_are_bounded_in_the_number_of_their_values_and_small_ones_are_stored() {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let values = |count: usize| {
            [("list".to_owned(), serde_json::Value::Array(vec![serde_json::Value::Null; count]))]
                .into_iter()
                .collect::<serde_json::Map<String, serde_json::Value>>()
        };
        let mut tx = hub.write().await.unwrap();
        for number in 0..25 {
            let id = hub.ids().generate(ClusterId::from_parts);
            let name = format!("edge-{number}");
            let cluster = Cluster::new(id, name, ClusterKind::Simulated, hub.clock().now());
            let stored = if number < 20 { values(980) } else { values(0) };
            store::cluster::insert(&mut tx, &Cluster { values: stored, ..cluster }).await.unwrap();
        }
        tx.commit().await.unwrap();
        let actor = Actor::system();
        let edit = async |name: &str, count: usize| {
            let patch = ClusterPatch { values: Some(values(count)), ..ClusterPatch::default() };
            hub.edit_cluster(&actor, name, patch, None).await
        };
        let grown = edit("edge-24", 500).await;
        let Err(Error::Invalid(findings)) = grown else { panic!("{grown:?}") };
        assert_eq!(findings[0].code, "G111");
        assert!(findings[0].message.contains("at most 20000 are possible"), "{findings:#?}");
        edit("edge-24", 50).await.unwrap();
        edit("edge-0", 900).await.unwrap();
        let own = edit("edge-1", 1_000).await;
        let Err(Error::Invalid(findings)) = own else { panic!("{own:?}") };
        assert!(findings[0].message.contains("are 1002 with"), "{findings:#?}");
    }
}
