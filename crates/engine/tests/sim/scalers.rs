//! A scaler that writes between the observation of an object and its apply.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::release::StageName;
use domain::report::ReleaseReport;
use domain::workload::Policies;
use http::Method;

use crate::harness::*;

#[tokio::test(start_paused = true)]
async fn p13_an_update_leaves_replicas_to_a_scaler_that_is_not_observed_yet() {
    let cluster = cluster_without_controllers();
    // The number that is set before the next write; 0 for none.
    let next = Arc::new(AtomicU64::new(0));
    let (scaled, number) = (cluster.clone(), next.clone());
    // Immediately before the Deployment is written.
    let client = intercepted_client(&cluster, move |request| {
        let is_dry_run = request.uri().query().unwrap_or_default().contains("dryRun");
        let is_write = request.method() == Method::PATCH && !is_dry_run;
        if is_write && request.uri().path().ends_with("/deployments/web") {
            let replicas = number.swap(0, Ordering::SeqCst);
            if replicas > 0 {
                scaled.scale(DEPLOYMENT, ("default", "web"), "keda-operator", replicas).unwrap();
            }
        }
        Interception::Pass
    });
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
