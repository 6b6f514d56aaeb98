//! The API server goes away and comes back.

use domain::report::DriftOutcome;
use domain::workload::Policies;

use crate::place::*;

pub async fn p11_a_change_while_the_server_was_away_and_its_history_was_lost_is_put_back(place: Place) {
    place.wants(vec![config_map("settings", "1"), config_map("other", "1")], Policies::default());
    place.until_operational().await;
    let recorded = async || place.record().await.is_some_and(|record| record["spec"]["applied"] != "");
    place.eventually("recorded", recorded).await;
    let before = place.get(CONFIG_MAP, "settings").await.unwrap()["metadata"]["uid"].clone();
    match (place.cluster(), place.plane()) {
        (Some(cluster), _) => {
            cluster.faults().set_offline(true);
            cluster.delete(CONFIG_MAP, (&place.namespace, "settings")).unwrap();
            cluster.compact();
        }
        (_, Some(plane)) => {
            plane.stop();
            plane.delete_stored(&format!("registry/configmaps/{}/settings", place.namespace)).await;
            plane.compact().await;
        }
        _ => unreachable!("a place is simulated or real"),
    }
    place.eventually("known to be away", async || !place.agent.engine.is_reachable()).await;
    match (place.cluster(), place.plane()) {
        (Some(cluster), _) => cluster.faults().set_offline(false),
        (_, Some(plane)) => plane.restart().await,
        _ => unreachable!("a place is simulated or real"),
    }
    let anew = async || {
        let live = place.get(CONFIG_MAP, "settings").await;
        live.is_some_and(|live| live["metadata"]["uid"] != before)
    };
    place.eventually("put back", anew).await;
    place.eventually("told", async || !place.agent.drift().is_empty()).await;
    let notes = place.agent.drift();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].object.name, "settings");
    assert_eq!(notes[0].outcome, DriftOutcome::Healed);
    place.until_operational().await;
}
