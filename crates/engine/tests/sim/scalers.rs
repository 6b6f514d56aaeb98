//! A scaler that writes between the observation of an object and its apply.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use domain::release::StageName;
use domain::report::ReleaseReport;
use domain::workload::Policies;
use http::{Method, Request};
use tower::Service;

use crate::harness::*;

/// A connection over which a scaler sets the replicas of the Deployment `web` immediately before it is written.
#[derive(Clone)]
struct ScaledBeforeWrite {
    inner: kubesim::ApiService,
    cluster: kubesim::SimCluster,
    /// The number that is set before the next write; 0 for none.
    next: Arc<AtomicU64>,
}

impl Service<Request<kube::client::Body>> for ScaledBeforeWrite {
    type Response = <kubesim::ApiService as Service<Request<kube::client::Body>>>::Response;
    type Error = kubesim::ConnectionRefused;
    type Future = <kubesim::ApiService as Service<Request<kube::client::Body>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let is_dry_run = request.uri().query().unwrap_or_default().contains("dryRun");
        let is_write = request.method() == Method::PATCH && !is_dry_run;
        if is_write && request.uri().path().ends_with("/deployments/web") {
            let replicas = self.next.swap(0, Ordering::SeqCst);
            if replicas > 0 {
                self.cluster.scale(DEPLOYMENT, ("default", "web"), "keda-operator", replicas).unwrap();
            }
        }
        self.inner.call(request)
    }
}

#[tokio::test(start_paused = true)]
async fn p13_an_update_leaves_replicas_to_a_scaler_that_is_not_observed_yet() {
    let cluster = cluster_without_controllers();
    let next = Arc::new(AtomicU64::new(0));
    let service =
        ScaledBeforeWrite { inner: cluster.service(), cluster: cluster.clone(), next: next.clone() };
    let client = kube::Client::new(service, "default");
    let agent = TestAgent::start(engine::Engine::connect(client, options()).await.unwrap());
    let revision = |generation: i64, image: &str| {
        let content = bundle(vec![deployment("web", 2, image)]);
        present_input(1, generation, &content, Policies::default())
    };
    let first = revision(1, "nginx:1");
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_applied(&first.desired).await;
    next.store(7, Ordering::SeqCst);
    let second = revision(2, "nginx:2");
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_applied(&second.desired).await;
    let live = cluster.get(DEPLOYMENT, ("default", "web")).unwrap();
    assert_eq!(next.load(Ordering::SeqCst), 0, "the scaler has written");
    assert_eq!(live["spec"]["replicas"], 7);
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    let is_conflict = |report: &ReleaseReport| {
        let reason = stage_state(report, StageName::Applied).and_then(|state| state.reason());
        reason.is_some_and(|reason| reason.reason.as_str() == "ApplyConflict")
    };
    let reports = agent.reports(release_id(1));
    assert!(!reports.iter().any(is_conflict), "{reports:#?}");
    agent.stop().await;
}
