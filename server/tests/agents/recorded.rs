//! Messages that an agent and a hub of version 0.1.0 exchanged, replayed against the hub and the agent of today (P23): as they
//! were, with fields that no version knows, and without the fields that a version may omit.
//!
//! `recorded/0.1.0.json` is never edited. A release that changes a message adds a file:
//! `FLOTILLA_RECORD_PROTOCOL=server/tests/agents/recorded/X.Y.Z.json cargo test -p server --test agents recorded`.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::{HttpLink, Link, LinkError};
use domain::event::{Event, EventKind};
use domain::health::HealthStatus;
use domain::helm_release::{HelmReleaseReading, HelmReleaseRequest};
use domain::plan::ClusterPlan;
use domain::release::ReleaseState;
use domain::report::{DesiredPhase, DesiredRelease, DesiredState, Heartbeat, ReportAck, ReportBatch};
use domain::schema::EncodedSchema;
use domain::{Digest, PlanId, ReleaseId};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::raw_agent::RawAgent;
use crate::test_server::{CONFIG_MAP, MemberCluster, TestServer, wait_until};
use crate::versions::add_unknown_fields;

const RECORDED: &str = include_str!("recorded/0.1.0.json");
/// Environment variable: the file that the exchange of today is written to.
const RECORD_TO: &str = "FLOTILLA_RECORD_PROTOCOL";
const CLUSTER: &str = "eu-1";
const WORKLOAD: &str = "web";

/// What agent and hub sent while a workload with one ConfigMap was applied, drifted, was reverted and was removed.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exchange {
    heartbeat: Value,
    bundle: String,
    /// While the release was desired.
    present: ExchangePhase,
    /// While its removal was.
    absent: ExchangePhase,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExchangePhase {
    desired_state: Value,
    /// Batches of reports, in order.
    reports: Vec<Value>,
    ack: Value,
}

/// How the messages of a recording are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    AddUnknownFields,
    RemoveOptionalFields,
}

const CHANGES: [Change; 3] = [Change::None, Change::AddUnknownFields, Change::RemoveOptionalFields];

/// Fields that an agent or a hub may omit, wherever they stand.
const OPTIONAL_FIELDS: [&str; 14] = [
    "facts",
    "schema",
    "leftovers",
    "drift",
    "resource",
    "available",
    "drifted",
    "causes",
    "feedback",
    "since",
    "conditions",
    "createNamespace",
    "prune",
    "conflict",
];

impl Exchange {
    fn read(change: Change) -> Self {
        let mut exchange: Self = serde_json::from_str(RECORDED).unwrap();
        let before = exchange.clone();
        let Self { heartbeat, present, absent, .. } = &mut exchange;
        let phases = [present, absent].into_iter();
        let messages = phases
            .flat_map(|phase| phase.reports.iter_mut().chain([&mut phase.desired_state, &mut phase.ack]));
        for message in messages.chain([heartbeat]) {
            match change {
                Change::None => {}
                Change::AddUnknownFields => add_unknown_fields(message),
                Change::RemoveOptionalFields => remove_optional_fields(message),
            }
        }
        let is_changed = serde_json::to_value(&exchange).unwrap() != serde_json::to_value(&before).unwrap();
        assert_eq!(is_changed, change != Change::None);
        exchange
    }

    fn release(&self) -> &Value {
        &self.present.desired_state["releases"][0]
    }
}

fn remove_optional_fields(message: &mut Value) {
    match message {
        Value::Array(items) => items.iter_mut().for_each(remove_optional_fields),
        Value::Object(fields) => {
            fields.retain(|name, _| !OPTIONAL_FIELDS.contains(&name.as_str()));
            fields.values_mut().for_each(remove_optional_fields);
        }
        _ => {}
    }
}

/// A link that records what passes over it.
struct RecordingLink {
    inner: HttpLink,
    exchange: Arc<Mutex<Exchange>>,
}

impl RecordingLink {
    fn record(&self, change: impl FnOnce(&mut Exchange)) {
        change(&mut self.exchange.lock());
    }
}

/// The part of the exchange in which the release is desired, or its removal is.
fn phase_mut(exchange: &mut Exchange) -> &mut ExchangePhase {
    if exchange.absent.desired_state.is_null() { &mut exchange.present } else { &mut exchange.absent }
}

impl Link for RecordingLink {
    async fn start_session(&self) -> Result<i64, LinkError> {
        self.inner.start_session().await
    }

    async fn fetch_desired_state(&self, since: i64) -> Result<DesiredState, LinkError> {
        let state = self.inner.fetch_desired_state(since).await?;
        let message = serde_json::to_value(&state).unwrap();
        self.record(|exchange| match state.releases.first().map(|release| &release.phase) {
            Some(DesiredPhase::Present { .. }) => exchange.present.desired_state = message,
            Some(DesiredPhase::Absent { .. }) => exchange.absent.desired_state = message,
            None => {}
        });
        Ok(state)
    }

    async fn fetch_bundle(&self, release: ReleaseId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        let bundle = self.inner.fetch_bundle(release, digest).await?;
        let text = String::from_utf8(bundle.clone()).unwrap();
        self.record(|exchange| exchange.bundle = text);
        Ok(bundle)
    }

    async fn fetch_planned_bundle(&self, plan: PlanId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.inner.fetch_planned_bundle(plan, digest).await
    }

    async fn submit_cluster_plan(&self, plan: PlanId, cluster_plan: ClusterPlan) -> Result<(), LinkError> {
        self.inner.submit_cluster_plan(plan, cluster_plan).await
    }

    async fn submit_helm_release(
        &self,
        request: &HelmReleaseRequest,
        reading: HelmReleaseReading,
    ) -> Result<(), LinkError> {
        self.inner.submit_helm_release(request, reading).await
    }

    async fn send_reports(&self, batch: ReportBatch) -> Result<ReportAck, LinkError> {
        let message = serde_json::to_value(&batch).unwrap();
        let ack = self.inner.send_reports(batch).await?;
        self.record(|exchange| {
            let phase = phase_mut(exchange);
            phase.reports.push(message);
            phase.ack = serde_json::to_value(ack).unwrap();
        });
        Ok(ack)
    }

    async fn upload_schema(&self, schema: &EncodedSchema) -> Result<(), LinkError> {
        self.inner.upload_schema(schema).await
    }

    async fn send_heartbeat(&self, heartbeat: Heartbeat) -> Result<(), LinkError> {
        let message = serde_json::to_value(&heartbeat).unwrap();
        self.record(|exchange| exchange.heartbeat = message);
        self.inner.send_heartbeat(heartbeat).await
    }

    async fn wait_until_reachable(&self) {
        self.inner.wait_until_reachable().await;
    }
}

/// The exchange of the hub and the agent of today.
async fn record_exchange() -> Exchange {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let member = MemberCluster::new(CLUSTER);
    let exchange = Arc::new(Mutex::new(Exchange::default()));
    let recorded = exchange.clone();
    let join_config = server.join_config(CLUSTER, &token);
    member.start_over_link(Some(join_config), |inner| RecordingLink { inner, exchange: recorded });
    server.wait_for_condition(CLUSTER, "AgentConnected").await;
    server.publish(WORKLOAD, "1", &[CLUSTER]).await;
    server.wait_for_state(WORKLOAD, CLUSTER, ReleaseState::Healthy).await;
    let change = |object: &mut Value| object["data"]["value"] = "by hand".into();
    member.cluster.edit(CONFIG_MAP, ("default", WORKLOAD), "kubectl-edit", change).unwrap();
    server.wait_for_event(EventKind::DriftHealed).await;
    server.hub.unpublish_workload(&server.actor, WORKLOAD, Default::default()).await.unwrap();
    server.wait_for_state(WORKLOAD, CLUSTER, ReleaseState::Removed).await;
    member.stop().await;
    exchange.lock().clone()
}

/// The JSON type of every field by its path; items of a list have the path of the list.
fn collect_field_types(path: &str, message: &Value, into: &mut BTreeMap<String, &'static str>) {
    let name = match message {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(items) => {
            items.iter().for_each(|item| collect_field_types(&format!("{path}[]"), item, into));
            "list"
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                collect_field_types(&format!("{path}.{name}"), value, into);
            }
            "object"
        }
    };
    into.insert(path.to_owned(), name);
}

#[tokio::test(flavor = "multi_thread")]
async fn p23_messages_of_today_have_every_field_of_the_recorded_ones() {
    let today = serde_json::to_value(record_exchange().await).unwrap();
    if let Ok(path) = std::env::var(RECORD_TO) {
        std::fs::write(path, serde_json::to_string_pretty(&today).unwrap() + "\n").unwrap();
    }
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let (mut expected, mut actual) = (BTreeMap::new(), BTreeMap::new());
    collect_field_types("", &recorded, &mut expected);
    collect_field_types("", &today, &mut actual);
    let missing: Vec<_> = expected.iter().filter(|(path, name)| actual.get(*path) != Some(name)).collect();
    assert_eq!(missing, [] as [(&String, &&str); 0], "an agent or a hub of version 0.1.0 reads them");
}

/// An agent that sends what was recorded.
struct RecordedAgent {
    raw: RawAgent,
    exchange: Exchange,
    incarnation: i64,
    /// Sequence of the last batch.
    seq: i64,
}

impl RecordedAgent {
    async fn join(server: &TestServer, cluster: &str, exchange: Exchange) -> Self {
        let token = server.create_auto_accept_token().await;
        let raw = RawAgent::join(server, cluster, &token).await;
        let incarnation = raw.start_session().await;
        raw.post("heartbeat", &exchange.heartbeat).await;
        Self { raw, exchange, incarnation, seq: 0 }
    }

    /// Sends recorded batches, with the ids, the generation and the digest of this release.
    async fn send_reports(&mut self, reports: &[Value], desired: &DesiredRelease, bundle: &str) {
        let release = self.exchange.release().clone();
        let text = |at: &str| release.pointer(at).unwrap().as_str().unwrap();
        for report in reports {
            let report = report.to_string().replace(text("/release"), &desired.release.to_string());
            let mut batch: Value =
                serde_json::from_str(&report.replace(text("/phase/bundle"), bundle)).unwrap();
            self.seq += 1;
            batch["incarnation"] = json!(self.incarnation);
            batch["seq"] = json!(self.seq);
            for release in batch["releases"].as_array_mut().unwrap() {
                release["generation"] = json!(desired.generation);
            }
            let ack = self.raw.post("reports", &batch).await;
            assert_eq!(ack["accepted"], true, "{batch:#}: {ack}");
        }
    }

    async fn fetch_removal(&self) -> DesiredRelease {
        let state = self.raw.client.fetch_desired_state(-1, false).await.unwrap().unwrap();
        let [removal] = &state.releases[..] else { panic!("{state:?}") };
        assert!(matches!(removal.phase, DesiredPhase::Absent { .. }), "{removal:?}");
        removal.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p23_the_recorded_reports_of_an_older_agent_are_accepted() {
    let server = TestServer::open().await;
    for change in CHANGES {
        let exchange = Exchange::read(change);
        let name = format!("{change:?}").to_lowercase();
        let mut agent = RecordedAgent::join(&server, &name, exchange.clone()).await;
        server.publish(&name, "1", &[&name]).await;
        let (desired, bundle) = agent.raw.wait_for_release().await;
        agent.send_reports(&exchange.present.reports, &desired, &bundle).await;
        server.wait_for_state(&name, &name, ReleaseState::Healthy).await;
        let events = server.hub.list_events_after(0, 500).await.unwrap();
        let is_drift = |event: &Event| event.kind == EventKind::DriftHealed && event.message.contains(&name);
        assert_eq!(events.iter().any(is_drift), change != Change::RemoveOptionalFields, "{name}");
        server.hub.unpublish_workload(&server.actor, &name, Default::default()).await.unwrap();
        let removal = agent.fetch_removal().await;
        agent.send_reports(&exchange.absent.reports, &removal, &bundle).await;
        server.wait_for_state(&name, &name, ReleaseState::Removed).await;
    }
}

/// A hub that sends what was recorded.
struct RecordedHub {
    exchange: Exchange,
    /// Whether the removal is desired.
    is_absent: watch::Receiver<bool>,
    received: Arc<Mutex<Vec<ReportBatch>>>,
}

impl RecordedHub {
    fn phase(&self) -> &ExchangePhase {
        if *self.is_absent.borrow() { &self.exchange.absent } else { &self.exchange.present }
    }
}

/// What the client of an agent reads from a response with this body.
fn parse<T: serde::de::DeserializeOwned>(message: &Value) -> T {
    serde_json::from_str(&message.to_string()).unwrap()
}

impl Link for RecordedHub {
    async fn start_session(&self) -> Result<i64, LinkError> {
        Ok(7)
    }

    async fn fetch_desired_state(&self, since: i64) -> Result<DesiredState, LinkError> {
        let mut is_absent = self.is_absent.clone();
        loop {
            let state: DesiredState = parse(&self.phase().desired_state);
            if state.version > since {
                return Ok(state);
            }
            if is_absent.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    async fn fetch_bundle(&self, _release: ReleaseId, _digest: &Digest) -> Result<Vec<u8>, LinkError> {
        Ok(self.exchange.bundle.clone().into_bytes())
    }

    async fn fetch_planned_bundle(&self, _plan: PlanId, _digest: &Digest) -> Result<Vec<u8>, LinkError> {
        Err(LinkError::Unreachable("nothing was planned".to_owned()))
    }

    async fn submit_cluster_plan(&self, _plan: PlanId, _result: ClusterPlan) -> Result<(), LinkError> {
        Err(LinkError::Unreachable("nothing was planned".to_owned()))
    }

    async fn submit_helm_release(
        &self,
        _request: &HelmReleaseRequest,
        _reading: HelmReleaseReading,
    ) -> Result<(), LinkError> {
        Err(LinkError::Unreachable("nothing was requested".to_owned()))
    }

    async fn send_reports(&self, batch: ReportBatch) -> Result<ReportAck, LinkError> {
        self.received.lock().push(batch);
        Ok(parse(&self.phase().ack))
    }

    async fn upload_schema(&self, _schema: &EncodedSchema) -> Result<(), LinkError> {
        Ok(())
    }

    async fn send_heartbeat(&self, _heartbeat: Heartbeat) -> Result<(), LinkError> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p23_the_recorded_desired_states_of_an_older_hub_are_applied_and_reported() {
    for change in CHANGES {
        let member = MemberCluster::new(CLUSTER);
        let received = Arc::new(Mutex::new(Vec::new()));
        let (send_absent, is_absent) = watch::channel(false);
        let exchange = Exchange::read(change);
        let release: ReleaseId = parse(&exchange.release()["release"]);
        let link = RecordedHub { exchange, is_absent, received: received.clone() };
        let client = kube::Client::new(member.cluster.service(), "default");
        let stop = CancellationToken::new();
        let running = tokio::spawn(agent::run(link, client, member.options(), stop.clone()));
        let is_reported = |is_removed: bool| {
            let received = received.lock();
            let mut reports = received.iter().flat_map(|batch: &ReportBatch| &batch.releases);
            reports.any(|report| {
                let is_healthy = report.applied.is_some() && report.health.status == HealthStatus::Healthy;
                report.release == release && if is_removed { report.removed } else { is_healthy }
            })
        };
        member.wait_for_value(WORKLOAD, Some("1")).await;
        wait_until("it is reported as healthy", async || is_reported(false)).await;
        send_absent.send(true).unwrap();
        member.wait_for_value(WORKLOAD, None).await;
        wait_until("it is reported as removed", async || is_reported(true)).await;
        stop.cancel();
        tokio::time::timeout(testkit::patience(), running).await.unwrap().unwrap();
    }
}
