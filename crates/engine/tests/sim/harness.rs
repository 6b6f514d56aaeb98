//! A simulated cluster with an engine, and the received reports.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use domain::bundle::Bundle;
use domain::release::{StageName, StageState, SyncStatus};
use domain::report::{DesiredPhase, DesiredRelease, DriftReport, ReleaseReport};
use domain::workload::{DeletionPolicy, Policies};
use domain::{ReleaseId, Timestamp};
use engine::{Engine, Options, ReleaseInput};
use kubesim::SimCluster;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

/// Time limit of every wait; a test that reaches it fails. The clock is paused: it advances only while every task waits for
/// a timer, so that a loaded machine changes no order.
pub const TIMEOUT: Duration = Duration::from_secs(20);
/// Virtual time in which nothing may happen.
pub const QUIET_TIME: Duration = Duration::from_secs(60);

type ReceivedReports = Arc<Mutex<(HashMap<ReleaseId, Vec<ReleaseReport>>, Vec<DriftReport>)>>;

/// A running engine and its received reports.
pub struct TestAgent {
    pub engine: Engine,
    cancel: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
    received: ReceivedReports,
}

/// What becomes of a request on a connection that is not an ordinary one.
pub enum Interception {
    /// It is sent.
    Pass,
    /// The connection is refused.
    Refuse,
    /// It is never answered.
    Hang,
}

/// A client of the cluster that asks `intercept` about each request before it is sent.
pub fn intercepted_client(
    cluster: &SimCluster,
    intercept: impl Fn(&http::Request<kube::client::Body>) -> Interception + Send + 'static,
) -> kube::Client {
    let service = cluster.service();
    let send = move |request| {
        let (interception, mut service) = (intercept(&request), service.clone());
        async move {
            match interception {
                Interception::Pass => service.call(request).await,
                Interception::Refuse => Err(kubesim::ConnectionRefused),
                Interception::Hang => std::future::pending().await,
            }
        }
    };
    kube::Client::new(tower::service_fn(send), "default")
}

pub fn simulated_cluster() -> SimCluster {
    SimCluster::new(kubesim::SimOptions {
        pod_start: Duration::from_millis(10),
        ..kubesim::SimOptions::default()
    })
}

/// A cluster without simulated controllers.
pub fn cluster_without_controllers() -> SimCluster {
    SimCluster::new(kubesim::SimOptions { run_controllers: false, ..kubesim::SimOptions::default() })
}

thread_local! {
    /// The wall time and tokio's time at the first use in a test, from which its clock counts.
    static CLOCK_START: (Timestamp, tokio::time::Instant) = {
        let since = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
        (Timestamp::from_millis(i64::try_from(since).unwrap_or(0)), tokio::time::Instant::now())
    };
}

/// The clock of an agent: like that of the simulated cluster it follows tokio's time, which a test pauses. With real time a
/// timestamp of the cluster would stay in the future while tokio's time advances.
pub fn clock() -> impl Fn() -> Timestamp + Send + Sync + 'static {
    let (base, since) = CLOCK_START.with(|start| *start);
    move || base.plus_millis(i64::try_from(since.elapsed().as_millis()).unwrap_or(0))
}

pub fn now() -> Timestamp {
    clock()()
}

pub fn options() -> Options {
    Options {
        retry_first: Duration::from_millis(50),
        retry_max: Duration::from_millis(400),
        heal_first: Duration::from_millis(30),
        request_deadline: Duration::from_secs(5),
        ..Options::new(clock())
    }
}

pub async fn start_agent(cluster: &SimCluster) -> TestAgent {
    let client = kube::Client::new(cluster.service(), "default");
    TestAgent::start(Engine::connect(client, options()).await.unwrap())
}

impl TestAgent {
    pub fn start(engine: Engine) -> Self {
        let cancel = CancellationToken::new();
        let log = ReceivedReports::default();
        let (worker, stop) = (engine.clone(), cancel.clone());
        let work = tokio::spawn(async move { worker.run(stop).await });
        let (reports, received) = (engine.reports(), log.clone());
        let receiver = tokio::spawn(async move {
            loop {
                for mut report in reports.next().await {
                    let mut received = received.lock().unwrap();
                    received.1.append(&mut report.drift);
                    received.0.entry(report.release).or_default().push(report);
                }
            }
        });
        Self { engine, cancel, tasks: vec![work, receiver], received: log }
    }

    pub fn report(&self, release: ReleaseId) -> Option<ReleaseReport> {
        self.reports(release).pop()
    }

    /// All reports of a release so far.
    pub fn reports(&self, release: ReleaseId) -> Vec<ReleaseReport> {
        self.received.lock().unwrap().0.get(&release).cloned().unwrap_or_default()
    }

    pub fn drift(&self) -> Vec<DriftReport> {
        self.received.lock().unwrap().1.clone()
    }

    /// Waits until the latest report of a release matches.
    pub async fn wait_for_report(
        &self,
        release: ReleaseId,
        expected: &str,
        is_ok: impl Fn(&ReleaseReport) -> bool,
    ) -> ReleaseReport {
        let started_at = tokio::time::Instant::now();
        loop {
            if let Some(report) = self.report(release).filter(&is_ok) {
                return report;
            }
            assert!(started_at.elapsed() < TIMEOUT, "not {expected}: {:#?}", self.report(release));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub async fn until_operational(&self, want: &DesiredRelease) -> ReleaseReport {
        let generation = want.generation;
        self.wait_for_report(want.release, "operational", |report| {
            report.generation == generation
                && is_done(report, StageName::Operational)
                && report.sync == SyncStatus::Synced
        })
        .await
    }

    pub async fn until_applied(&self, want: &DesiredRelease) -> ReleaseReport {
        let generation = want.generation;
        let is_applied = |report: &ReleaseReport| report.generation == generation && report.applied.is_some();
        self.wait_for_report(want.release, "applied", is_applied).await
    }

    /// Waits until the engine has detected the outage, and long enough for a report about it.
    pub async fn until_unreachable(&self) {
        wait_until("unreachable", || !self.engine.is_reachable()).await;
        tokio::time::sleep(QUIET_TIME).await;
    }

    /// Waits until a stage has this reason; returns the report and the message.
    pub async fn until_stage_reason(
        &self,
        release: ReleaseId,
        stage: StageName,
        reason: &str,
    ) -> (ReleaseReport, String) {
        let found = |report: &ReleaseReport| {
            let actual = stage_state(report, stage)?.reason()?;
            (actual.reason.as_str() == reason).then(|| actual.message.clone())
        };
        let report = self.wait_for_report(release, reason, |report| found(report).is_some()).await;
        let message = found(&report).unwrap();
        (report, message)
    }

    pub async fn stop(self) {
        self.cancel.cancel();
        for work in self.tasks {
            work.abort();
            let _ = work.await;
        }
    }
}

pub async fn wait_until(expected: &str, is_ok: impl Fn() -> bool) {
    let started_at = tokio::time::Instant::now();
    while !is_ok() {
        assert!(started_at.elapsed() < TIMEOUT, "not {expected}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

pub fn stage_state(report: &ReleaseReport, stage: StageName) -> Option<&StageState> {
    report.stages.iter().find(|other| other.name == stage).map(|other| &other.state)
}

pub fn is_done(report: &ReleaseReport, stage: StageName) -> bool {
    stage_state(report, stage).is_some_and(StageState::is_finished)
}

pub fn release_id(number: u128) -> ReleaseId {
    ReleaseId::from_parts(1_700_000_000_000, number)
}

/// Input of a present release with its bundle.
pub fn present_input(
    number: u128,
    generation: i64,
    bundle: &Arc<Bundle>,
    policies: Policies,
) -> ReleaseInput {
    let phase = DesiredPhase::Present {
        bundle: bundle.digest(),
        revision: u32::try_from(generation).unwrap(),
        policies,
    };
    let want = DesiredRelease {
        release: release_id(number),
        workload: format!("shop{number}"),
        generation,
        sync_nonce: 0,
        phase,
    };
    ReleaseInput {
        desired: want,
        bundle: Some(bundle.clone()),
        pull_stage: StageState::Done,
        suspended: false,
        field_reverts: Vec::new(),
    }
}

/// A present phase for dry runs, which ignore digest and revision.
pub fn present_phase(policies: Policies) -> DesiredPhase {
    DesiredPhase::Present { bundle: domain::Digest::compute(b""), revision: 1, policies }
}

pub fn absent_input(number: u128, generation: i64, deletion: DeletionPolicy) -> ReleaseInput {
    let want = DesiredRelease {
        release: release_id(number),
        workload: format!("shop{number}"),
        generation,
        sync_nonce: 0,
        phase: DesiredPhase::Absent { deletion, policies: Policies::default() },
    };
    ReleaseInput {
        desired: want,
        bundle: None,
        pull_stage: StageState::Pending,
        suspended: false,
        field_reverts: Vec::new(),
    }
}

pub fn bundle(objects: Vec<Value>) -> Arc<Bundle> {
    Arc::new(Bundle::new(objects))
}

pub fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"key": value}})
}

pub fn deployment(name: &str, replicas: u32, image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "web", "image": image}]}}}})
}

pub fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}})
}

/// A workload with objects of several ranks.
pub fn shop(image: &str) -> Arc<Bundle> {
    bundle(vec![config_map("settings", "1"), service("web"), deployment("web", 2, image)])
}

pub const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");
pub const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");
pub const NAMESPACE: (&str, &str) = ("v1", "Namespace");
pub const RECORD: (&str, &str) = ("flotilla.dev/v1alpha1", "AppliedRelease");
