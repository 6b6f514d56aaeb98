//! Fetching bundles against a link that counts concurrent requests.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use domain::PlanId;
use domain::helm_release::{HelmReleaseReading, HelmReleaseRequest};
use domain::plan::ClusterPlan;
use domain::report::{DesiredPhase, ReportAck, ReportBatch};
use domain::schema::EncodedSchema;
use domain::workload::{DeletionPolicy, Policies};
use engine::Engine;
use kubesim::{SimCluster, SimOptions};

use super::*;
use crate::link::LinkError;
use crate::options::AgentOptions;

/// A hub whose responses each take a second.
#[derive(Default)]
struct SlowHub {
    concurrent: AtomicUsize,
    most_concurrent: AtomicUsize,
}

impl Link for SlowHub {
    async fn fetch_bundle(&self, _: ReleaseId, _: &Digest) -> Result<Vec<u8>, LinkError> {
        let concurrent = self.concurrent.fetch_add(1, SeqCst) + 1;
        self.most_concurrent.fetch_max(concurrent, SeqCst);
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.concurrent.fetch_sub(1, SeqCst);
        Err(LinkError::RetryAfter { message: String::new(), delay: Duration::from_secs(3_600) })
    }

    async fn start_session(&self) -> Result<i64, LinkError> {
        std::future::pending().await
    }

    async fn fetch_desired_state(&self, _: i64) -> Result<DesiredState, LinkError> {
        std::future::pending().await
    }

    async fn fetch_planned_bundle(&self, _: PlanId, _: &Digest) -> Result<Vec<u8>, LinkError> {
        std::future::pending().await
    }

    async fn submit_cluster_plan(&self, _: PlanId, _: ClusterPlan) -> Result<(), LinkError> {
        std::future::pending().await
    }

    async fn submit_helm_release(
        &self,
        _: &HelmReleaseRequest,
        _: HelmReleaseReading,
    ) -> Result<(), LinkError> {
        std::future::pending().await
    }

    async fn send_reports(&self, _: ReportBatch) -> Result<ReportAck, LinkError> {
        std::future::pending().await
    }

    async fn upload_schema(&self, _: &EncodedSchema) -> Result<(), LinkError> {
        std::future::pending().await
    }

    async fn send_heartbeat(&self, _: domain::report::Heartbeat) -> Result<(), LinkError> {
        std::future::pending().await
    }
}

fn desired_release(number: u128) -> DesiredRelease {
    let policies = Policies { deletion: DeletionPolicy::Orphan, ..Policies::default() };
    let bundle = Digest::compute(&number.to_be_bytes());
    DesiredRelease {
        release: ReleaseId::from_parts(1, number),
        workload: format!("w{number}"),
        generation: 1,
        sync_nonce: 0,
        phase: DesiredPhase::Present { bundle, revision: 1, policies },
    }
}

/// The clock is paused: it advances only while every task waits for a timer, so that all requests that the bound allows
/// are open before the first one ends.
#[tokio::test(start_paused = true)]
async fn few_bundles_are_fetched_at_the_same_time_and_every_one_is_requested() {
    let cluster = SimCluster::new(SimOptions { run_controllers: false, ..SimOptions::default() });
    let client = kube::Client::new(cluster.service(), "default");
    let options = AgentOptions::new(engine::Options::new(|| Timestamp::from_millis(1)));
    let agent = Arc::new(AgentContext {
        link: SlowHub::default(),
        engine: Engine::connect(client, options.engine.clone()).await.unwrap(),
        options,
        desired_state_version: (-1).into(),
        newer_desired_state: tokio::sync::Notify::new(),
        leftovers: tokio::sync::watch::Sender::default(),
    });
    let list = DesiredState { releases: (0..30).map(desired_release).collect(), ..DesiredState::default() };

    let (sender, mut results) = mpsc::channel(RESULT_CHANNEL_CAPACITY);
    let mut bundles = BundleFetcher::new(&CachedState::default(), sender);
    bundles.update_fetches(&agent, &list);
    // Every request failed once and waits for an hour.
    for _ in &list.releases {
        let (digest, state) = results.recv().await.unwrap();
        bundles.set_state(digest, state);
    }

    assert_eq!(agent.link.most_concurrent.load(SeqCst), MAX_CONCURRENT_FETCHES);
    let waits = |state: &BundleState| matches!(state, BundleState::Unavailable(StageState::Waiting(_)));
    assert!(bundles.states.values().all(waits));
}

#[test]
fn e9_a_revert_of_fields_is_given_to_its_release_and_is_not_cached() {
    let request = domain::report::FieldRevertRequest {
        id: "one".to_owned(),
        release: desired_release(1).release,
        object: domain::object::ObjectRef::default(),
        paths: vec!["/data/key".to_owned()],
    };
    let list = DesiredState {
        releases: (0..2).map(desired_release).collect(),
        field_reverts: vec![request.clone()],
        ..DesiredState::default()
    };
    let (sender, _results) = mpsc::channel(RESULT_CHANNEL_CAPACITY);
    let inputs = BundleFetcher::new(&CachedState::default(), sender).desired_releases(&list);
    let requests: Vec<_> = inputs.into_iter().map(|input| input.field_reverts).collect();
    assert_eq!(requests, [Vec::new(), vec![request]]);
    // After a restart the hub says whether it still waits for an answer.
    let cached = CachedState::with_fetched_bundles(&list, |_| None, &CachedState::default());
    assert!(cached.desired_state.field_reverts.is_empty());
}

#[test]
fn s2_11_a_suspended_release_is_suspended_after_a_restart_too_until_the_hub_resumes_it() {
    let bundle = Arc::new(Bundle::new(Vec::new()));
    let list = DesiredState { suspended: vec![desired_release(1)], ..DesiredState::default() };
    let cached = CachedState::with_fetched_bundles(&list, |_| Some(bundle.clone()), &CachedState::default());
    assert_eq!((cached.desired_state.releases.len(), &cached.desired_state.suspended), (0, &list.suspended));
    let (sender, _results) = mpsc::channel(RESULT_CHANNEL_CAPACITY);
    let inputs = BundleFetcher::new(&cached, sender).desired_releases(&cached.desired_state);
    assert!(inputs.iter().all(|input| input.suspended && input.bundle.is_some()), "{}", inputs.len());
    let resumed = DesiredState { releases: list.suspended.clone(), ..DesiredState::default() };
    let after = CachedState::with_fetched_bundles(&resumed, |_| None, &cached);
    assert_eq!((&after.desired_state.releases, after.desired_state.suspended.len()), (&list.suspended, 0));
}
