//! Memory for the values of stored drafts, revisions and plans: what a request reads is reserved by its number of values before it is
//! decoded.

use source::client_shares::VALUES_OF_USERS;
use source::requester::current_turn;
use source::retained_memory::RetainedMemory;

/// The share for what a user reads: it is not the one for the bodies and bundles of the user, whose reservations would wait for this one of
/// their own request.
fn read_share(turn: &str) -> String {
    format!("{turn}, stored values")
}

/// Reserves so many bytes in the memory for values until the request ends for which this task works; `false` if others use it. It never
/// waits: a transaction may be open. What no request reads is read by loops, one workload after the other.
pub(crate) fn reserve_decoded(bytes: u64) -> bool {
    RetainedMemory::current()
        .is_none_or(|request| request.try_reserve_more(&VALUES_OF_USERS, read_share(&current_turn()), bytes))
}

#[cfg(test)]
mod tests {
    use domain::OverrideId;
    use domain::overrides::{ClusterSelector, Override};
    use domain::workload::{NewWorkload, WorkloadSpec};
    use source::retained_memory::run_with_memory;

    use super::*;
    use crate::{Actor, Clock, Error, Hub, HubConfig, run_for_requester};

    #[tokio::test]
    async fn p19_a_draft_that_an_earlier_version_stored_with_many_values_is_read_only_with_memory_for_them() {
        let _alone = crate::render::MEMORY_TESTS.lock().await;
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("flotilla.db");
        let address = format!("sqlite://{}", database.display());
        let hub = Hub::open(HubConfig::new(address, Clock::system())).await.unwrap();
        let nested = format!("{}0{}", r#"{"a":"#.repeat(60), "}".repeat(60));
        let list: serde_json::Value = serde_json::from_str(&format!("[{nested}]")).unwrap();
        let value = serde_json::json!({ "data": vec![list; 1_000] });
        let patch = serde_json::json!({ "object": {}, "op": "merge", "value": value });
        let over = Override {
            id: OverrideId::from_parts(1, 0),
            name: "wide".to_owned(),
            target: ClusterSelector::default(),
            priority: 0,
            values: String::new(),
            patches: vec![serde_json::from_value(patch).unwrap()],
        };
        let new = NewWorkload { name: "web".to_owned(), ..NewWorkload::default() };
        Box::pin(hub.create_workload(&Actor::system(), new)).await.unwrap();
        let id = hub.get_workload("web").await.unwrap().workload.id;
        let mut tx = hub.write().await.unwrap();
        let draft = WorkloadSpec { overrides: vec![over], ..WorkloadSpec::default() };
        store::workload::replace_draft(&mut tx, id, &draft).await.unwrap();
        tx.commit().await.unwrap();
        let read = async |user: &str| {
            let request = run_with_memory((), async {
                let read = Box::pin(hub.get_workload("web")).await.map(|view| view.workload.draft);
                let share = VALUES_OF_USERS.reserve(read_share(&current_turn()), 0).await.unwrap();
                let free = share.free_bytes();
                (read, free)
            });
            run_for_requester(user.to_owned(), request).await
        };
        let (stored, free) = read("olivia").await;
        assert_eq!(stored.unwrap(), draft);
        assert!(free + (16 << 20) < VALUES_OF_USERS.share_bytes() || free == 0, "{free} bytes are free");
        // What the user reads in other requests.
        let in_use = VALUES_OF_USERS.reserve(read_share("user olivia"), u64::MAX).await.unwrap();
        let (refused, _) = read("olivia").await;
        assert!(matches!(refused, Err(Error::ServerBusy { .. })), "{refused:?}");
        drop(in_use);
        read("olivia").await.0.unwrap();
    }
}
