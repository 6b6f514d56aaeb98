//! The drift inbox: what is reported becomes an entry, and each decision does what it says and no more.

use domain::drift::{
    AdoptTarget, DriftAdoptRequest, DriftIgnoreRequest, DriftItem, DriftQuery, DriftSnoozeRequest,
    DriftState, DriftVerb, MAX_SNOOZE_MILLIS,
};
use domain::object::ObjectRef;
use domain::overrides::PatchOp;
use domain::release::SyncStatus;
use domain::report::{DesiredRelease, DriftedField, ResourceStatus};
use domain::workload::{Source, Workload};
use hub::Error;
use serde_json::{Value, json};

use crate::test_hub::{CONFIG, TestAgent, TestHub, applied_report, everywhere};

fn colour(live: Option<Value>) -> DriftedField {
    DriftedField {
        path: "/data/colour".to_owned(),
        applied: Some(json!("blue")),
        live,
        manager: "kubectl-edit".to_owned(),
        operation: "Update".to_owned(),
        ..DriftedField::default()
    }
}

/// A cluster whose ConfigMap `settings` drifts, and its entry.
struct DriftingCluster {
    test: TestHub,
    agent: TestAgent,
    desired: DesiredRelease,
}

impl DriftingCluster {
    async fn start() -> Self {
        let test = TestHub::open().await;
        let mut agent = test.register_cluster("east", &[]).await;
        test.publish_new("web", everywhere()).await;
        let desired = agent.apply_release().await;
        let mut drifting = Self { test, agent, desired };
        drifting.report(&[colour(Some(json!("red")))]).await;
        drifting
    }

    /// Reports the fields that drift.
    async fn report(&mut self, fields: &[DriftedField]) {
        let object = ObjectRef {
            version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: "shop".to_owned(),
            name: "settings".to_owned(),
            ..ObjectRef::default()
        };
        let mut report = applied_report(&self.desired);
        report.sync = if fields.is_empty() { SyncStatus::Synced } else { SyncStatus::Drifted };
        report.resources = vec![ResourceStatus {
            object,
            applied: true,
            available: Some(true),
            drifted: fields.iter().map(|field| field.path.clone()).collect(),
            drifted_fields: fields.to_vec(),
            ..ResourceStatus::default()
        }];
        assert!(self.agent.send_report(report).await.accepted);
    }

    async fn list(&self, state: DriftState) -> Vec<DriftItem> {
        let query = DriftQuery { state: Some(state), ..DriftQuery::default() };
        self.test.hub.list_drift(&self.test.actor, &query).await.unwrap().items
    }

    async fn entry(&self) -> DriftItem {
        self.list(DriftState::Open).await.remove(0)
    }

    async fn workload(&self) -> Workload {
        self.test.hub.get_workload("web").await.unwrap().workload
    }

    async fn adopt(
        &self,
        into: AdoptTarget,
        item: &DriftItem,
        revision: Option<i64>,
    ) -> Result<Workload, Error> {
        let request = DriftAdoptRequest { into, fields: Vec::new(), digest: Some(item.digest.clone()) };
        self.test.hub.adopt_drift(&self.test.actor, item.id, &request, revision).await
    }
}

fn text_of(workload: &Workload) -> &str {
    let Source::Yaml { files } = &workload.draft.source else { panic!() };
    &files[0].text
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_a_reported_field_is_an_entry_until_a_report_does_not_name_it() {
    let mut drifting = DriftingCluster::start().await;
    let item = drifting.entry().await;
    assert_eq!((item.workload.as_str(), item.cluster.as_str()), ("web", "east"));
    let field = &item.fields[0];
    assert_eq!((field.manager.as_str(), field.operation.as_str()), ("kubectl-edit", "Update"));
    assert_eq!((&field.applied, &field.live), (&Some(json!("blue")), &Some(json!("red"))));
    assert_eq!((field.desired_known, &field.desired), (true, &Some(json!("blue"))));
    assert!(DriftVerb::ALL.iter().all(|verb| item.why_not(*verb).is_none()), "{:?}", item.can);
    assert_eq!(drifting.test.hub.get_drift(&drifting.test.actor, item.id).await.unwrap(), item);
    assert_eq!(drifting.test.hub.count_open_drift().await.unwrap(), 1);

    drifting.report(&[]).await;
    assert_eq!(drifting.list(DriftState::Open).await, []);
    let gone = drifting.test.hub.get_drift(&drifting.test.actor, item.id).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
    drifting.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_a_revert_syncs_the_cluster_of_the_entry() {
    let mut drifting = DriftingCluster::start().await;
    let item = drifting.entry().await;
    drifting.test.hub.revert_drift(&drifting.test.actor, item.id).await.unwrap();
    let nonce = drifting.desired.sync_nonce;
    let synced = drifting.agent.wait_for_desired_state(|state| state.releases[0].sync_nonce > nonce).await;
    assert_eq!(synced.releases[0].phase, drifting.desired.phase, "nothing else is desired");
    drifting.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_an_adopted_value_is_in_the_draft_and_on_no_cluster() {
    let drifting = DriftingCluster::start().await;
    let (item, before) = (drifting.entry().await, drifting.workload().await);
    let adopted = drifting.adopt(AdoptTarget::Base, &item, Some(before.revision)).await.unwrap();
    assert_eq!(text_of(&adopted), CONFIG.replace("colour: blue", "colour: red"));
    assert_eq!((adopted.published, adopted.draft_changed), (before.published, true));
    assert_eq!(drifting.entry().await.fields[0].live, Some(json!("red")), "it drifts until the publish");

    let stale = drifting.adopt(AdoptTarget::Override, &item, Some(before.revision)).await;
    assert!(matches!(stale, Err(Error::RevisionConflict { .. })), "{stale:?}");
    let adopted = drifting.adopt(AdoptTarget::Override, &item, Some(adopted.revision)).await.unwrap();
    let over = &adopted.draft.overrides[0];
    assert_eq!((over.name.as_str(), &over.target.clusters), ("east", &vec!["east".to_owned()]));
    let set = PatchOp::Set { path: "/data/colour".to_owned(), value: json!("red") };
    assert_eq!((over.patches.len(), &over.patches[0].op), (1, &set));
    let again = drifting.adopt(AdoptTarget::Override, &item, None).await.unwrap();
    assert_eq!(again.revision, adopted.revision, "an override that has the value is not written again");
    let without_effect = drifting.adopt(AdoptTarget::Base, &item, None).await.unwrap_err();
    assert!(
        matches!(&without_effect, Error::FailedPrecondition(why) if why.0.contains("The override east sets"))
    );
    drifting.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_a_decision_about_other_values_than_the_present_ones_is_refused() {
    let mut drifting = DriftingCluster::start().await;
    let (item, before) = (drifting.entry().await, drifting.workload().await);
    drifting.report(&[colour(Some(json!("green")))]).await;
    let refused = drifting.adopt(AdoptTarget::Base, &item, None).await.unwrap_err();
    assert!(matches!(&refused, Error::FailedPrecondition(why) if why.0.contains("has changed again")));
    let unknown = DriftIgnoreRequest { fields: vec!["/data/size".to_owned()], digest: None };
    let refused = drifting.test.hub.ignore_drift_of(&drifting.test.actor, item.id, &unknown, None).await;
    assert!(matches!(&refused, Err(Error::FailedPrecondition(why)) if why.0.contains("does not drift")));
    assert_eq!(drifting.workload().await, before, "nothing is half written");
    drifting.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_an_ignored_field_is_a_rule_of_the_draft() {
    let drifting = DriftingCluster::start().await;
    let (item, before) = (drifting.entry().await, drifting.workload().await);
    let request = DriftIgnoreRequest::default();
    let ignore = async |revision| {
        drifting.test.hub.ignore_drift_of(&drifting.test.actor, item.id, &request, Some(revision)).await
    };
    let ignored = ignore(before.revision).await.unwrap();
    let rules = &ignored.draft.policies.ignore;
    assert_eq!((rules.len(), &rules[0].paths), (1, &vec!["/data/colour".to_owned()]));
    assert_eq!((rules[0].object.kind.as_str(), rules[0].object.name.as_str()), ("ConfigMap", "settings"));
    assert_eq!(ignored.published, before.published);
    assert!(matches!(ignore(before.revision).await, Err(Error::RevisionConflict { .. })));
    drifting.test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_a_snoozed_entry_comes_back_with_its_end_and_with_other_values() {
    let mut drifting = DriftingCluster::start().await;
    let item = drifting.entry().await;
    let now = drifting.test.hub.clock().now();
    let snooze = async |drifting: &DriftingCluster, millis: Option<i64>| {
        let until = millis.map(|millis| now.plus_millis(millis));
        let request = DriftSnoozeRequest { until, digest: None };
        drifting.test.hub.snooze_drift(&drifting.test.actor, item.id, &request).await
    };
    for refused in [0, -1, MAX_SNOOZE_MILLIS + 1] {
        let refused = snooze(&drifting, Some(refused)).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    let snoozed = snooze(&drifting, Some(60_000)).await.unwrap();
    assert_eq!((snoozed.state, snoozed.snooze.unwrap().by), (DriftState::Snoozed, "flotilla".to_owned()));
    assert_eq!(
        (drifting.list(DriftState::Open).await.len(), drifting.list(DriftState::Snoozed).await.len()),
        (0, 1)
    );
    drifting.report(&[colour(Some(json!("green")))]).await;
    assert_eq!(drifting.list(DriftState::Open).await.len(), 1, "its fields have changed");
    drifting.report(&[colour(Some(json!("red")))]).await;
    assert_eq!(drifting.list(DriftState::Open).await.len(), 0);
    drifting.test.advance_clock(61);
    assert_eq!(drifting.list(DriftState::Open).await.len(), 1);
    let messages = drifting.test.event_messages().await;
    assert!(messages.iter().any(|message| message.contains("ConfigMap shop/settings was snoozed until")));
    drifting.test.close().await;
}
