//! Restarts: nothing is written that is so already, nothing is lost whenever the engine dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use domain::health::HealthStatus;
use domain::release::stage::Trouble;
use domain::release::{StageName, StageState};
use domain::report::ReleaseReport;
use domain::workload::{DeletionPolicy, Policies};
use http::{Method, Request, Response};
use tower::Service;

use crate::harness::*;

#[tokio::test]
async fn p26_a_restart_over_unchanged_objects_writes_nothing() {
    let cluster = cluster();
    let first = agent(&cluster).await;
    let wanted = desired(1, 1, &shop("nginx"), Policies::default());
    first.engine.set_desired(vec![wanted.clone()]);
    first.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    first.stop().await;
    let before = cluster.stats();
    let second = agent(&cluster).await;
    let recorded = second.engine.records();
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0].release, release(1));
    assert_eq!(recorded[0].workload, "shop1");
    second.engine.set_desired(vec![wanted.clone()]);
    second.until_operational(&wanted.want).await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let after = cluster.stats();
    let writes = |stats: kubesim::Stats| stats.creates + stats.updates + stats.patches + stats.deletes;
    assert_eq!(writes(after), writes(before));
    second.stop().await;
}

#[tokio::test]
async fn p15_after_a_restart_no_report_steps_back_behind_what_the_record_proves() {
    let cluster = cluster();
    let first = agent(&cluster).await;
    let wanted = desired(1, 1, &shop("nginx"), Policies::default());
    first.engine.set_desired(vec![wanted.clone()]);
    first.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    first.stop().await;
    let second = agent(&cluster).await;
    // Every answer takes longer than a pass may take without telling how far it is.
    cluster.faults().set_delay(std::time::Duration::from_millis(300));
    let fetching = StageState::Running { message: "Fetching the bundle.".into() };
    let without = engine::Desired { bundle: None, pulled: fetching, ..wanted.clone() };
    second.engine.set_desired(vec![without]);
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(second.reports(release(1)).is_empty(), "nothing was looked at yet");
    second.engine.set_desired(vec![wanted.clone()]);
    second.until_operational(&wanted.want).await;
    let well = |report: &ReleaseReport| {
        is_done(report, StageName::Operational) && report.health.status == HealthStatus::Healthy
    };
    assert!(second.reports(release(1)).iter().all(well), "{:#?}", second.reports(release(1)));
    second.stop().await;
}

#[tokio::test]
async fn a_bundle_that_cannot_be_pulled_again_after_a_restart_is_told() {
    let cluster = cluster();
    let first = agent(&cluster).await;
    let wanted = desired(1, 1, &shop("nginx"), Policies::default());
    first.engine.set_desired(vec![wanted.clone()]);
    first.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    first.stop().await;
    let second = agent(&cluster).await;
    let trouble =
        Trouble { reason: "BundleRefused".into(), message: "no".into(), attempts: 1, next_retry: None };
    let without = engine::Desired { bundle: None, pulled: StageState::Failed(trouble), ..wanted.clone() };
    second.engine.set_desired(vec![without]);
    let (report, _) = second.until_trouble(release(1), StageName::Pulled, "BundleRefused").await;
    assert!(report.applied.is_some(), "what is applied stays applied");
    second.stop().await;
}

#[tokio::test]
async fn p26_at_rest_nothing_is_read_or_written() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &shop("nginx"), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let before = cluster.stats();
    tokio::time::sleep(std::time::Duration::from_millis(1_000)).await;
    let after = cluster.stats();
    assert_eq!(after.requests(), before.requests());
    agent.stop().await;
}

/// A connection that breaks for good after so many writes, as if the engine had been killed between two of them.
#[derive(Clone)]
struct DiesAfter {
    inner: kubesim::ApiService,
    writes: Arc<AtomicI64>,
}

impl Service<Request<kube::client::Body>> for DiesAfter {
    type Response = <kubesim::ApiService as Service<Request<kube::client::Body>>>::Response;
    type Error = kubesim::Unreachable;
    type Future = <kubesim::ApiService as Service<Request<kube::client::Body>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let is_write = request.method() != Method::GET;
        if is_write && self.writes.fetch_sub(1, Ordering::SeqCst) <= 0 {
            return Box::pin(async { Err::<Response<_>, _>(kubesim::Unreachable) });
        }
        self.inner.call(request)
    }
}

#[tokio::test]
async fn p15_killed_between_any_two_writes_the_next_engine_converges_and_removes_all() {
    // CRD, record, three objects, record: one more than there are writes, so that every place is met.
    for writes in 0..7 {
        let cluster = cluster();
        let service = DiesAfter { inner: cluster.service(), writes: Arc::new(AtomicI64::new(writes)) };
        let client = kube::Client::new(service, "default");
        let wanted = desired(1, 1, &shop("nginx"), Policies::default());
        if let Ok(engine) = engine::Engine::connect(client, options()).await {
            let doomed = Agent::start(engine);
            doomed.engine.set_desired(vec![wanted.clone()]);
            tokio::time::sleep(std::time::Duration::from_millis(60)).await;
            doomed.stop().await;
        }
        let heir = agent(&cluster).await;
        // What the dead engine made is known, even when the bundle has changed since.
        let changed = desired(1, 2, &bundle(vec![config_map("settings", "1")]), Policies::default());
        heir.engine.set_desired(vec![changed.clone()]);
        heir.until_operational(&changed.want).await;
        assert!(cluster.get(DEPLOYMENT, ("default", "web")).is_none(), "after {writes} writes");
        assert!(cluster.get(("v1", "Service"), ("default", "web")).is_none(), "after {writes} writes");
        heir.engine.set_desired(vec![absent(1, 3, DeletionPolicy::Foreground)]);
        heir.until(release(1), "gone", |report| report.gone).await;
        assert!(cluster.get(CONFIG_MAP, ("default", "settings")).is_none(), "after {writes} writes");
        assert!(cluster.list(RECORD, None).is_empty(), "after {writes} writes");
        heir.stop().await;
    }
}

#[tokio::test]
async fn p15_killed_between_any_two_steps_of_a_removal_the_next_engine_finishes_it() {
    // The record's mark, three objects, the record's finalizer: one more than there are writes.
    for writes in 0..6 {
        let cluster = cluster();
        let first = agent(&cluster).await;
        let wanted = desired(1, 1, &shop("nginx"), Policies::default());
        first.engine.set_desired(vec![wanted.clone()]);
        first.until_operational(&wanted.want).await;
        until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
        first.stop().await;
        let service = DiesAfter { inner: cluster.service(), writes: Arc::new(AtomicI64::new(writes)) };
        let engine = engine::Engine::connect(kube::Client::new(service, "default"), options()).await.unwrap();
        let doomed = Agent::start(engine);
        doomed.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        doomed.stop().await;
        let heir = agent(&cluster).await;
        heir.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
        heir.until(release(1), "gone", |report| report.gone).await;
        assert!(cluster.list(RECORD, None).is_empty(), "after {writes} writes");
        assert!(cluster.get(CONFIG_MAP, ("default", "settings")).is_none(), "after {writes} writes");
        assert!(cluster.get(DEPLOYMENT, ("default", "web")).is_none(), "after {writes} writes");
        heir.stop().await;
    }
}

#[tokio::test]
async fn p15_a_half_applied_bundle_is_never_called_applied() {
    let cluster = cluster();
    let service = DiesAfter { inner: cluster.service(), writes: Arc::new(AtomicI64::new(4)) };
    let engine = engine::Engine::connect(kube::Client::new(service, "default"), options()).await.unwrap();
    let doomed = Agent::start(engine);
    let wanted = desired(1, 1, &shop("nginx"), Policies::default());
    doomed.engine.set_desired(vec![wanted.clone()]);
    until("half applied", || cluster.get(("v1", "Service"), ("default", "web")).is_some()).await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(doomed.report(release(1)).is_none_or(|report| report.applied.is_none()));
    doomed.stop().await;
    let heir = agent(&cluster).await;
    assert_eq!(heir.engine.records()[0].applied, None);
    heir.engine.set_desired(vec![wanted.clone()]);
    heir.until_operational(&wanted.want).await;
    heir.stop().await;
}

#[tokio::test]
async fn a_bundle_need_not_be_given_twice() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let content = bundle(vec![config_map("settings", "1")]);
    let wanted = desired(1, 1, &content, Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    assert!(agent.engine.holds(release(1), &content.digest()));
    let mut again = desired(1, 2, &content, Policies::default());
    again.bundle = None;
    agent.engine.set_desired(vec![again.clone()]);
    agent.until_applied(&again.want).await;
    agent.stop().await;
}
