//! A cluster whose agent reports what the run decides, through any of the servers.

use std::time::Duration;

use domain::ClusterId;
use domain::cluster::{ApiResource, ClusterFacts, ClusterKind};
use domain::failure_cause::FailureCause;
use domain::health::{Health, HealthStatus};
use domain::object::ObjectRef;
use domain::release::{StageName, StageState, SyncStatus};
use domain::report::{
    DesiredPhase, DesiredRelease, DesiredState, ReleaseReport, ReportAck, ReportBatch, ResourceStatus,
    StageReport,
};
use hub::{Actor, Error, Hub, NewCluster};

/// The agent of one cluster.
pub struct ReportingAgent {
    /// Its cluster.
    pub id: ClusterId,
    incarnation: i64,
    seq: i64,
}

impl ReportingAgent {
    /// Registers a cluster, begins its session and reports its facts.
    pub async fn register(hub: &Hub, name: &str) -> Result<Self, Error> {
        let new = NewCluster { lease_seconds: 600, ..NewCluster::new(name, ClusterKind::Agent) };
        let id = hub.register_cluster(&Actor::system(), new).await?.id;
        let incarnation = hub.begin_agent_incarnation(id).await?;
        hub.record_heartbeat(id).await?;
        let mut agent = Self { id, incarnation, seq: 0 };
        let batch = agent.next_batch(Some(facts(0)), Vec::new());
        hub.record_reports(id, batch).await?;
        Ok(agent)
    }

    /// The desired state as it is now.
    pub async fn get_desired_state(&self, hub: &Hub) -> Result<DesiredState, Error> {
        hub.get_desired_state(self.id, -1, Duration::ZERO).await
    }

    /// The next batch of reports.
    pub fn next_batch(&mut self, facts: Option<ClusterFacts>, releases: Vec<ReleaseReport>) -> ReportBatch {
        self.seq += 1;
        ReportBatch {
            incarnation: self.incarnation,
            seq: self.seq,
            facts,
            schema: None,
            leftovers: None,
            releases,
        }
    }

    /// Reports everything that is desired: applied, and healthy or failing.
    pub async fn report_all(&mut self, hub: &Hub, is_failing: bool) -> Result<ReportAck, Error> {
        let state = self.get_desired_state(hub).await?;
        let reports = state.releases.iter().map(|desired| report_release(desired, is_failing)).collect();
        let batch = self.next_batch(None, reports);
        hub.record_reports(self.id, batch).await
    }
}

/// Facts of a cluster that serves ConfigMaps, Namespaces and Services; the version differs between even and odd rounds.
pub fn facts(round: usize) -> ClusterFacts {
    let api = |kind: &str, namespaced: bool| ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespaced,
        denied: false,
    };
    ClusterFacts {
        kubernetes_version: format!("v1.33.{}", round % 2),
        apis: vec![api("ConfigMap", true), api("Namespace", false), api("Service", true)],
        ..ClusterFacts::default()
    }
}

/// The report of an agent that has applied this release, which fails or not.
pub fn report_release(desired: &DesiredRelease, is_failing: bool) -> ReleaseReport {
    let applied = match &desired.phase {
        DesiredPhase::Present { bundle, .. } => Some(bundle.clone()),
        DesiredPhase::Absent { .. } => None,
    };
    let stages = StageName::ALL.iter().copied().filter(|name| name.is_reported_by_agent());
    let report = ReleaseReport {
        release: desired.release,
        generation: desired.generation,
        stages: stages.map(|name| StageReport { name, state: StageState::Done }).collect(),
        sync: if applied.is_some() { SyncStatus::Synced } else { SyncStatus::Removed },
        health: Health::healthy(),
        resources: Vec::new(),
        drift: Vec::new(),
        drift_omitted: 0,
        removed: applied.is_none(),
        applied,
    };
    if is_failing && report.applied.is_some() { fail_report(report) } else { report }
}

/// The same release whose image can't be pulled.
fn fail_report(mut report: ReleaseReport) -> ReleaseReport {
    for stage in report.stages.iter_mut().filter(|stage| stage.name == StageName::Operational) {
        stage.state = StageState::Running { message: String::new() };
    }
    report.health = Health::new(HealthStatus::Degraded, "ImagePullFailed", "cannot pull image nginx:9.9");
    report.resources = vec![ResourceStatus {
        object: ObjectRef {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            namespace: "shop".into(),
            name: "web".into(),
        },
        applied: true,
        available: Some(true),
        health: report.health.clone(),
        failure_causes: vec![FailureCause {
            reason: "ImagePullFailed".into(),
            status: HealthStatus::Degraded,
            summary: "cannot pull image nginx:9.9".into(),
            pod: "web-7f9c-x1".into(),
            container: "web".into(),
            pods: 1,
            ..FailureCause::default()
        }],
        ..ResourceStatus::default()
    }];
    report
}
