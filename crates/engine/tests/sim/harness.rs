//! A simulated cluster with an engine on it, and a memory of what the engine reported last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use domain::bundle::Bundle;
use domain::release::{StageName, StageState, Sync};
use domain::report::{DriftNote, Goal, ReleaseReport, Want};
use domain::workload::{DeletionPolicy, Policies};
use domain::{ReleaseId, Timestamp};
use engine::{Desired, Engine, Options};
use kubesim::Cluster;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than anything here may take; a test that waits so long has failed.
pub const PATIENCE: Duration = Duration::from_secs(20);

type Told = Arc<Mutex<(HashMap<ReleaseId, Vec<ReleaseReport>>, Vec<DriftNote>)>>;

/// One engine at work.
pub struct Agent {
    pub engine: Engine,
    cancel: CancellationToken,
    work: Vec<JoinHandle<()>>,
    told: Told,
}

pub fn cluster() -> Cluster {
    Cluster::new(kubesim::Options { pod_start: Duration::from_millis(10), ..kubesim::Options::default() })
}

/// A cluster on which nothing moves by itself.
pub fn still_cluster() -> Cluster {
    Cluster::new(kubesim::Options { clockwork: false, ..kubesim::Options::default() })
}

pub fn now() -> Timestamp {
    // Elapsed time of the process clock would do; the simulated cluster stamps objects with the real one.
    let since = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
    Timestamp::from_millis(i64::try_from(since).unwrap_or(0))
}

pub fn options() -> Options {
    Options {
        retry_first: Duration::from_millis(50),
        retry_max: Duration::from_millis(400),
        heal_first: Duration::from_millis(30),
        request_deadline: Duration::from_secs(5),
        ..Options::new(now)
    }
}

pub async fn agent(cluster: &Cluster) -> Agent {
    let client = kube::Client::new(cluster.service(), "default");
    Agent::start(Engine::connect(client, options()).await.unwrap())
}

impl Agent {
    pub fn start(engine: Engine) -> Self {
        let cancel = CancellationToken::new();
        let told = Told::default();
        let (worker, stop) = (engine.clone(), cancel.clone());
        let work = tokio::spawn(async move { worker.run(stop).await });
        let (reports, keep) = (engine.reports(), told.clone());
        let listen = tokio::spawn(async move {
            loop {
                for mut report in reports.next().await {
                    let mut told = keep.lock().unwrap();
                    told.1.append(&mut report.drift);
                    told.0.entry(report.release).or_default().push(report);
                }
            }
        });
        Self { engine, cancel, work: vec![work, listen], told }
    }

    pub fn report(&self, release: ReleaseId) -> Option<ReleaseReport> {
        self.reports(release).pop()
    }

    /// Every report about a release so far.
    pub fn reports(&self, release: ReleaseId) -> Vec<ReleaseReport> {
        self.told.lock().unwrap().0.get(&release).cloned().unwrap_or_default()
    }

    pub fn drift(&self) -> Vec<DriftNote> {
        self.told.lock().unwrap().1.clone()
    }

    /// Waits until the latest report about a release is as asked.
    pub async fn until(
        &self,
        release: ReleaseId,
        what: &str,
        ok: impl Fn(&ReleaseReport) -> bool,
    ) -> ReleaseReport {
        let begun = tokio::time::Instant::now();
        loop {
            if let Some(report) = self.report(release).filter(&ok) {
                return report;
            }
            assert!(begun.elapsed() < PATIENCE, "not {what}: {:#?}", self.report(release));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub async fn until_operational(&self, want: &Want) -> ReleaseReport {
        let generation = want.generation;
        self.until(want.release, "operational", |report| {
            report.generation == generation
                && is_done(report, StageName::Operational)
                && report.sync == Sync::Synced
        })
        .await
    }

    pub async fn until_applied(&self, want: &Want) -> ReleaseReport {
        let generation = want.generation;
        let applied = |report: &ReleaseReport| report.generation == generation && report.applied.is_some();
        self.until(want.release, "applied", applied).await
    }

    /// Waits until the engine knows that its API server is silent, and has had the time to say something about it.
    pub async fn until_silent(&self) {
        until("silent", || !self.engine.is_reachable()).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    /// Waits until a stage is in trouble for this reason.
    pub async fn until_trouble(
        &self,
        release: ReleaseId,
        stage: StageName,
        reason: &str,
    ) -> (ReleaseReport, String) {
        let found = |report: &ReleaseReport| {
            let trouble = state(report, stage)?.trouble()?;
            (trouble.reason == reason).then(|| trouble.message.clone())
        };
        let report = self.until(release, reason, |report| found(report).is_some()).await;
        let message = found(&report).unwrap();
        (report, message)
    }

    pub async fn stop(self) {
        self.cancel.cancel();
        for work in self.work {
            work.abort();
            let _ = work.await;
        }
    }
}

pub async fn until(what: &str, ok: impl Fn() -> bool) {
    let begun = tokio::time::Instant::now();
    while !ok() {
        assert!(begun.elapsed() < PATIENCE, "not {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

pub fn state(report: &ReleaseReport, stage: StageName) -> Option<&StageState> {
    report.stages.iter().find(|said| said.name == stage).map(|said| &said.state)
}

pub fn is_done(report: &ReleaseReport, stage: StageName) -> bool {
    state(report, stage).is_some_and(StageState::is_over)
}

pub fn release(number: u128) -> ReleaseId {
    ReleaseId::from_parts(1_700_000_000_000, number)
}

/// A want for a bundle, with what it needs.
pub fn desired(number: u128, generation: i64, bundle: &Arc<Bundle>, policies: Policies) -> Desired {
    let goal =
        Goal::Present { bundle: bundle.digest(), revision: u32::try_from(generation).unwrap(), policies };
    let want =
        Want { release: release(number), workload: format!("shop{number}"), generation, sync_nonce: 0, goal };
    Desired { want, bundle: Some(bundle.clone()), pulled: StageState::Done }
}

/// A goal for questions; its digest and revision play no part in them.
pub fn present(policies: Policies) -> Goal {
    Goal::Present { bundle: domain::Digest::of(b""), revision: 1, policies }
}

pub fn absent(number: u128, generation: i64, deletion: DeletionPolicy) -> Desired {
    let want = Want {
        release: release(number),
        workload: format!("shop{number}"),
        generation,
        sync_nonce: 0,
        goal: Goal::Absent { deletion, policies: Policies::default() },
    };
    Desired { want, bundle: None, pulled: StageState::Pending }
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

/// A workload with something of several ranks.
pub fn shop(image: &str) -> Arc<Bundle> {
    bundle(vec![config_map("settings", "1"), service("web"), deployment("web", 2, image)])
}

pub const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");
pub const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");
pub const NAMESPACE: (&str, &str) = ("v1", "Namespace");
pub const RECORD: (&str, &str) = ("flotilla.dev/v1alpha1", "AppliedRelease");
