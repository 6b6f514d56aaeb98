//! Any two revisions compared: chart, values with their comments, settings, and the objects with and without a cluster.

use domain::overrides::ClusterSelector;
use domain::plan::{PlannedAction, RevisionView};
use wire::{RestoreRevisionRequest, RevisionQuery};

use super::charts::{chart, chart_workload, cluster_named, fleet_with_helm, override_for, update_chart};
use super::*;

fn chart_spec(version: &str, values: &str) -> WorkloadSpec {
    chart_workload(version, values).spec
}

impl TestFleet {
    async fn compare(&self, number: u32, against: Option<u32>, cluster: Option<&str>) -> RevisionView {
        let query = RevisionQuery { against, cluster: cluster.map(str::to_owned) };
        self.client.get_revision("web", number, &query).await.unwrap()
    }
}

/// The changed fields of the objects, as `path: desired`.
fn changed_fields(view: &RevisionView) -> Vec<String> {
    let objects = &view.changes.as_ref().expect("the objects are compared").objects;
    let fields = objects.iter().filter_map(|object| match &object.action {
        PlannedAction::Change { fields, .. } => Some(fields),
        _ => None,
    });
    let text = |field: &domain::plan::FieldChange| {
        format!("{}: {}", field.path, field.desired.as_ref().and_then(Value::as_str).unwrap_or_default())
    };
    let mut all: Vec<String> = fields.flatten().map(text).collect();
    all.sort();
    all
}

fn parts(view: &RevisionView) -> Vec<&str> {
    view.changed_parts.iter().map(|changed| changed.part.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn any_two_revisions_of_a_chart_are_compared_as_source_values_and_objects() {
    let scenario = async {
        let fleet = fleet_with_helm().await;
        for version in ["1.0.0", "1.1.0"] {
            fleet.client.upload_chart(chart(version, &[])).await.unwrap();
        }
        let mut new = web_workload();
        new.spec = chart_spec("1.0.0", "# The peak is in December.\nreplicas: 2\n");
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        update_chart(&fleet, |spec| *spec = chart_spec("1.1.0", "# The peak is in December.\nreplicas: 2\n"))
            .await;
        update_chart(&fleet, |spec| {
            *spec = chart_spec("1.1.0", "# The peak is in December.\nreplicas: 5\n");
            spec.policies.prune = false;
            spec.overrides.push(override_for("us-1", cluster_named("us-1"), "replicas: 9\n"));
        })
        .await;

        // With the previous one, if nothing is said.
        let newest = fleet.compare(3, None, None).await;
        assert_eq!((newest.against, parts(&newest)), (Some(2), vec!["values", "overrides", "policies"]));
        assert_eq!(changed_fields(&newest), ["/data/replicas: 5"]);
        assert_eq!(
            newest.changed_parts[0].diff,
            "@@ -1,2 +1,2 @@\n # The peak is in December.\n-replicas: 2\n+replicas: 5\n"
        );

        // With any other one, also as it is on one cluster.
        let first = fleet.compare(3, Some(1), None).await;
        assert_eq!(parts(&first), ["source", "values", "overrides", "policies"]);
        assert!(first.changed_parts[0].diff.contains("-version: 1.0.0\n+version: 1.1.0\n"), "{first:?}");
        assert_eq!(changed_fields(&first), ["/data/chart: 1.1.0", "/data/replicas: 5"]);
        let on_cluster = fleet.compare(3, Some(1), Some("us-1")).await;
        assert_eq!(on_cluster.cluster, "us-1");
        assert_eq!(changed_fields(&on_cluster), ["/data/chart: 1.1.0", "/data/replicas: 9"]);
        let back = fleet.compare(1, Some(3), None).await;
        assert_eq!(changed_fields(&back), ["/data/chart: 1.0.0", "/data/replicas: 2"]);

        // The first revision creates everything; what does not exist is named.
        let created = fleet.compare(1, None, None).await;
        assert_eq!((created.against, created.changes.unwrap().counts().create), (None, 1));
        let unknown = RevisionQuery { against: Some(7), cluster: None };
        let error = fleet.client.get_revision("web", 3, &unknown).await.unwrap_err();
        assert!(error.is_not_found() && error.to_string().contains('7'), "{error}");
        let unknown = RevisionQuery { against: None, cluster: Some("mars".into()) };
        let error = fleet.client.get_revision("web", 3, &unknown).await.unwrap_err();
        assert!(error.is_not_found() && error.to_string().contains("mars"), "{error}");
        fleet.stop().await;
    };
    with_timeout(Box::pin(scenario)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_revision_whose_chart_can_not_be_rendered_are_unknown_and_not_the_same() {
    let scenario = async {
        let fleet = fleet_with_helm().await;
        fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        let broken = "{{ if eq (int .Values.replicas) 3 }}{{ fail \"three is not allowed\" }}{{ end }}";
        fleet.client.upload_chart(chart("2.0.0", &[("templates/check.yaml", broken)])).await.unwrap();
        let mut new = web_workload();
        new.spec = chart_spec("1.0.0", "replicas: 3\n");
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        // The clusters have other values, so that it can be published.
        let names = ["eu-1", "eu-2", "us-1"].map(str::to_owned);
        let every = ClusterSelector { clusters: names.to_vec(), ..ClusterSelector::default() };
        update_chart(&fleet, |spec| {
            *spec = chart_spec("2.0.0", "replicas: 3\n");
            spec.overrides.push(override_for("two", every, "replicas: 2\n"));
        })
        .await;
        let view = fleet.compare(2, None, None).await;
        assert_eq!(view.changes, None);
        assert!(
            view.findings.iter().any(|finding| finding.message.contains("three is not allowed")),
            "{view:?}"
        );
        assert_eq!(
            changed_fields(&fleet.compare(2, None, Some("eu-1")).await),
            ["/data/chart: 2.0.0", "/data/replicas: 2"]
        );
        fleet.stop().await;
    };
    with_timeout(Box::pin(scenario)).await;
}

/// The draft of `web` with this number of replicas, not published.
async fn save_replicas(fleet: &TestFleet, replicas: u32) -> i64 {
    let current = fleet.client.get_workload("web").await.unwrap().workload;
    let mut spec = current.draft;
    let Source::Yaml { files } = &mut spec.source else { panic!("{spec:?}") };
    files[0].text = MANIFESTS.replace("replicas: 2", &format!("replicas: {replicas}"));
    let put = WorkloadPut { spec, ..WorkloadPut::default() };
    fleet.client.put_workload("web", &put, current.revision).await.unwrap().revision
}

async fn wait_for_replicas(fleet: &TestFleet, replicas: u32) {
    fleet
        .wait_for_web(|status| {
            let runs = |at| fleet.deployment(at).is_some_and(|found| found["spec"]["replicas"] == replicas);
            status.counts.healthy() == 3 && (0..3).all(runs)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_publishes_an_earlier_revision_as_planned_and_leaves_the_draft_as_it_is() {
    let scenario = async {
        let fleet = TestFleet::start().await;
        fleet.client.create_workload(&web_workload()).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        save_replicas(&fleet, 3).await;
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        wait_for_replicas(&fleet, 3).await;
        save_replicas(&fleet, 4).await;
        let before = fleet.client.get_workload("web").await.unwrap().workload;

        // The plan is that of the revision, and its hash is that of no other content.
        let draft = fleet.client.plan_workload("web", 20).await.unwrap();
        let plan = fleet.client.plan_publish("web", Some(1), 20).await.unwrap();
        assert_eq!((plan.restored_revision, plan.revision, draft.restored_revision), (Some(1), 3, None));
        let text = serde_json::to_string(&plan.cluster_plans).unwrap();
        assert!(text.contains("/spec/replicas") && !text.contains("\"desired\":4"), "{text}");
        let with = |plan: &domain::plan::Plan, revision| PublishRequest {
            plan_hash: Some(plan.hash.clone()),
            revision,
            ..PublishRequest::default()
        };
        let error = fleet.client.publish_workload("web", &with(&draft, Some(1)), None).await.unwrap_err();
        assert_eq!(error.code(), "PlanStale");
        let published = fleet.client.publish_workload("web", &with(&plan, Some(1)), None).await.unwrap();
        assert_eq!(published.revision, 3);
        wait_for_replicas(&fleet, 2).await;

        let after = fleet.client.get_workload("web").await.unwrap();
        assert_eq!(after.workload.draft, before.draft);
        assert!(after.workload.draft_changed);
        assert_eq!(after.published_revision.unwrap().message, "Roll back to revision 1");

        // What does not exist is named; nothing changes.
        let unknown = PublishRequest { revision: Some(9), ..PublishRequest::default() };
        let error = fleet.client.publish_workload("web", &unknown, None).await.unwrap_err();
        assert!(error.to_string().contains("revision 9"), "{error}");

        // A revision is copied to the draft under the revision of the draft that was read.
        let copy = RestoreRevisionRequest { revision: 2 };
        let stale = after.workload.revision - 1;
        let error = fleet.client.restore_revision_if("web", &copy, stale).await.unwrap_err();
        assert_eq!(error.code(), "RevisionConflict");
        let copied = fleet.client.restore_revision_if("web", &copy, after.workload.revision).await.unwrap();
        assert_ne!(copied.draft, before.draft);
        fleet.stop().await;
    };
    with_timeout(Box::pin(scenario)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_that_takes_clusters_away_has_to_be_confirmed() {
    let scenario = async {
        let fleet = TestFleet::start().await;
        let mut new = web_workload();
        new.spec.placement = Placement {
            predicates: vec![Predicate { names: vec!["eu-1".to_owned()], ..Predicate::default() }],
            ..Placement::default()
        };
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        let put = WorkloadPut { spec: web_workload().spec, ..WorkloadPut::default() };
        fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;

        let back = PublishRequest { revision: Some(1), ..PublishRequest::default() };
        let error = fleet.client.publish_workload("web", &back, None).await.unwrap_err();
        assert!(error.to_string().contains('2'), "{error}");
        let confirmed = PublishRequest { confirm: Some(2), ..back };
        fleet.client.publish_workload("web", &confirmed, None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 1 && status.counts.targeted() == 1).await;
        fleet.stop().await;
    };
    with_timeout(Box::pin(scenario)).await;
}
