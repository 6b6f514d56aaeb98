//! Outages of the API server.

use domain::report::DriftOutcome;
use domain::workload::Policies;

use crate::test_env::*;

pub async fn p11_a_change_during_an_outage_with_lost_watch_history_is_healed(env: TestEnv) {
    env.set_present(vec![config_map("settings", "1"), config_map("other", "1")], Policies::default());
    env.until_operational().await;
    let is_recorded = async || env.record().await.is_some_and(|record| record["spec"]["applied"] != "");
    env.wait_until("recorded", is_recorded).await;
    let before = env.get(CONFIG_MAP, "settings").await.unwrap()["metadata"]["uid"].clone();
    match (env.simulated_cluster(), env.control_plane()) {
        (Some(cluster), _) => {
            cluster.faults().set_offline(true);
            cluster.delete(CONFIG_MAP, (&env.namespace, "settings")).unwrap();
            cluster.compact();
        }
        (_, Some(plane)) => {
            plane.kill_api_server();
            plane.delete_from_etcd(&format!("registry/configmaps/{}/settings", env.namespace)).await;
            plane.compact_etcd().await;
        }
        _ => unreachable!("an environment is simulated or real"),
    }
    env.wait_until("detected as unreachable", async || !env.agent.engine.is_reachable()).await;
    match (env.simulated_cluster(), env.control_plane()) {
        (Some(cluster), _) => cluster.faults().set_offline(false),
        (_, Some(plane)) => plane.restart_api_server().await,
        _ => unreachable!("an environment is simulated or real"),
    }
    let is_re_created = async || {
        let live = env.get(CONFIG_MAP, "settings").await;
        live.is_some_and(|live| live["metadata"]["uid"] != before)
    };
    env.wait_until("healed", is_re_created).await;
    env.wait_until("reported", async || !env.agent.drift().is_empty()).await;
    let notes = env.agent.drift();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].object.name, "settings");
    assert_eq!(notes[0].outcome, DriftOutcome::Healed);
    env.until_operational().await;
}
