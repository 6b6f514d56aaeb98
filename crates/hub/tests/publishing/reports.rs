//! Which reports count.

use domain::release::State;

use crate::house::{House, everywhere, obeyed};
use crate::state;

#[tokio::test(flavor = "multi_thread")]
async fn p9_replayed_reports_and_those_of_an_older_agent_are_dropped() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    let want = east.one().await;
    east.obey(&want).await;
    east.seq -= 1;
    assert!(!east.send(obeyed(&want)).await.taken, "the same batch twice");

    let newer = house.hub.agent_begin(east.id).await.unwrap();
    assert!(newer > east.incarnation);
    let mut broken = obeyed(&want);
    broken.health.status = domain::health::HealthStatus::Degraded;
    assert!(!east.send(broken).await.taken, "an agent that was replaced");
    assert_eq!(state(&house, "web", "east").await, State::Healthy);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_can_neither_report_nor_read_another_clusters_release() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    let mut west = house.cluster("east-1", &[]).await;
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    let (theirs, mine) = (east.one().await, west.one().await);
    assert!(west.send(obeyed(&theirs)).await.taken, "the batch counts, the foreign release in it does not");
    assert_eq!(state(&house, "web", "east").await, State::Queued);
    let domain::report::Goal::Present { bundle, .. } = &theirs.goal else { panic!() };
    assert!(house.hub.bundle(west.id, theirs.release, bundle).await.is_err());
    assert!(house.hub.bundle(west.id, mine.release, bundle).await.is_ok());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_about_an_older_want_changes_nothing() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    house.draft("web", everywhere()).await;
    house.publish("web").await;
    let old = east.one().await;
    let mut spec = house.hub.workload_view("web").await.unwrap().workload.draft;
    spec.namespace = "other".into();
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    house.hub.workload_edit(&house.actor, "web", edit, None).await.unwrap();
    house.publish("web").await;
    let new = east.until(|wants| wants.releases[0].generation > old.generation).await.releases.remove(0);
    east.send(obeyed(&old)).await;
    assert_eq!(state(&house, "web", "east").await, State::Queued);
    east.obey(&new).await;
    assert_eq!(state(&house, "web", "east").await, State::Healthy);
    house.close().await;
}
