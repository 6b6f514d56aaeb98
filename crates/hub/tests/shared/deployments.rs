//! Deployments that are created while their group changes: on SQLite, and on PostgreSQL with one and with two servers. Charts are rendered
//! by the real helm.

use std::time::Duration;

use domain::chart::ChartSource;
use domain::cluster::{ApiResource, ClusterFacts, ClusterKind};
use domain::deployment::{DeploymentRequest, DeploymentResult};
use domain::page::ListQuery;
use domain::placement::{ClusterGroup, Placement, Predicate};
use domain::report::ReportBatch;
use domain::workload::{Intent, NewWorkload, PublishResult, Source, WorkloadOrder, WorkloadSpec};
use hub::{Actor, Error, Hub, NewCluster, PublishOptions};
use source::scratch::ScratchFolder;
use tokio::time::Instant;

use crate::RACE_ROUNDS;
use crate::helm_chart::{pack_chart, set_helm};
use crate::races::for_each_setup;

/// An object with the name of the release.
pub(crate) const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n";

/// Lets both servers render charts, stores the chart once, and registers a cluster with facts.
async fn prepare(servers: [&Hub; 2], scratch: &ScratchFolder, cluster: &str, is_first: bool) {
    for server in servers {
        set_helm(server, scratch).await;
    }
    let (hub, actor) = (servers[0], Actor::system());
    if is_first {
        hub.upload_chart(&actor, pack_chart(TEMPLATE)).await.unwrap();
    }
    let api = |kind: &str, namespaced| ApiResource {
        group: String::new(),
        version: "v1".into(),
        kind: kind.into(),
        namespaced,
        denied: false,
    };
    let facts = ClusterFacts {
        kubernetes_version: "v1.33.4".into(),
        apis: vec![api("ConfigMap", true), api("Namespace", false)],
        ..ClusterFacts::default()
    };
    let id = hub.register_cluster(&actor, NewCluster::new(cluster, ClusterKind::Simulated)).await.unwrap().id;
    let incarnation = hub.begin_agent_incarnation(id).await.unwrap();
    hub.record_heartbeat(id).await.unwrap();
    let batch = ReportBatch {
        incarnation,
        seq: 1,
        facts: Some(facts),
        schema: None,
        leftovers: None,
        releases: Vec::new(),
    };
    assert!(hub.record_reports(id, batch).await.unwrap().accepted);
}

async fn create_group(hub: &Hub, name: &str, cluster: &str) {
    let members = vec![cluster.to_owned()];
    let group = ClusterGroup { name: name.to_owned(), members, ..ClusterGroup::default() };
    hub.create_group(&Actor::system(), group).await.unwrap();
}

async fn create_deployment(hub: &Hub, group: &str, name: &str) -> Result<DeploymentResult, Error> {
    let request = DeploymentRequest {
        name: "local/web".into(),
        version: "1.0.0".into(),
        release_name: name.into(),
        namespace: "shop".into(),
        ..DeploymentRequest::default()
    };
    Box::pin(hub.create_deployment(&Actor::system(), group, request, Instant::now())).await
}

/// Later in each round: before, while and after the chart is rendered.
fn delay(round: usize) -> Duration {
    Duration::from_millis(15 * (round % RACE_ROUNDS) as u64)
}

/// A deployment that was created is being deleted; of one that was refused, nothing is stored.
async fn check_removed(hub: &Hub, round: usize, name: &str, created: Result<DeploymentResult, Error>) {
    let stored = hub.get_workload(name).await;
    match created {
        Ok(_) => assert_eq!(stored.unwrap().workload.intent, Intent::Deleting, "round {round}"),
        Err(Error::NotFound { .. } | Error::FailedPrecondition(_) | Error::Invalid(_)) => {
            assert!(matches!(stored, Err(Error::NotFound { .. })), "round {round}: {stored:?}");
        }
        Err(error) => panic!("round {round}: {error:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_a_feature_that_is_disabled_while_a_deployment_is_created_leaves_none_published() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = ScratchFolder::open(&folder.path().join("scratch")).unwrap();
    for_each_setup("disabled_feature", async |one, other, rounds| {
        let cluster = format!("eu-{}", rounds.start);
        prepare([one, other], &scratch, &cluster, rounds.start == 0).await;
        for round in rounds {
            let (group, name) = (format!("group-{round}"), format!("web-{round}"));
            create_group(one, &group, &cluster).await;
            let disable = async {
                tokio::time::sleep(delay(round)).await;
                other.disable_group_feature(&Actor::system(), &group, "deployment").await
            };
            let (created, disabled) = tokio::join!(create_deployment(one, &group, &name), disable);
            assert!(!disabled.unwrap().feature.enabled);
            check_removed(one, round, &name, created).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_a_group_that_is_deleted_while_a_deployment_is_created_leaves_none_published() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = ScratchFolder::open(&folder.path().join("scratch")).unwrap();
    for_each_setup("deleted_deployments", async |one, other, rounds| {
        let cluster = format!("eu-{}", rounds.start);
        prepare([one, other], &scratch, &cluster, rounds.start == 0).await;
        for round in rounds {
            let (group, name) = (format!("group-{round}"), format!("web-{round}"));
            create_group(one, &group, &cluster).await;
            let delete = async {
                tokio::time::sleep(delay(round)).await;
                other.delete_group_with_deployments(&Actor::system(), &group, None).await
            };
            let (created, deleted) = tokio::join!(create_deployment(one, &group, &name), delete);
            deleted.unwrap();
            check_removed(one, round, &name, created).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_two_deployments_that_are_created_at_once_with_one_name_on_one_cluster_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = ScratchFolder::open(&folder.path().join("scratch")).unwrap();
    for_each_setup("release_names", async |one, other, rounds| {
        let cluster = format!("eu-{}", rounds.start);
        prepare([one, other], &scratch, &cluster, rounds.start == 0).await;
        for round in rounds {
            let (a, b, name) = (format!("a-{round}"), format!("b-{round}"), format!("web-{round:02}"));
            create_group(one, &a, &cluster).await;
            create_group(one, &b, &cluster).await;
            let (first, second) =
                tokio::join!(create_deployment(one, &a, &name), create_deployment(other, &b, &name));
            let refused: Vec<Error> = [first, second].into_iter().filter_map(Result::err).collect();
            match refused.as_slice() {
                // Both had chosen the name of the release as that of the workload.
                [Error::NameTaken(_)] => {}
                [Error::Invalid(findings)] => assert_eq!(findings[0].code, "G105", "round {round}"),
                other => panic!("round {round}: {other:?}"),
            }
            let query = ListQuery { limit: Some(500), ..ListQuery::default() };
            let stored = one.list_workloads(&query, WorkloadOrder::Name).await.unwrap().items;
            let of_round = stored.iter().filter(|one| one.name.starts_with(&name)).count();
            assert_eq!(of_round, 1, "round {round}: nothing is left of the refused one");
        }
    })
    .await;
}

/// Creates a draft of the chart with a release name of its own.
async fn create_chart_draft(hub: &Hub, name: &str, release: &str, cluster: &str) {
    let predicate = Predicate { names: vec![cluster.to_owned()], ..Predicate::default() };
    let source = ChartSource {
        chart: "local/web".into(),
        version: "1.0.0".into(),
        release_name: release.into(),
        ..ChartSource::default()
    };
    let mut spec = WorkloadSpec {
        namespace: "shop".into(),
        source: Source::Chart(source),
        placement: Placement { predicates: vec![predicate], ..Placement::default() },
        ..WorkloadSpec::default()
    };
    spec.policies.create_namespace = true;
    let new = NewWorkload { name: name.to_owned(), spec, ..NewWorkload::default() };
    hub.create_workload(&Actor::system(), new).await.unwrap();
}

async fn publish(hub: &Hub, name: &str) -> Result<PublishResult, Error> {
    Box::pin(hub.publish_workload(&Actor::system(), name, "", PublishOptions::default())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_of_two_publishes_with_one_release_name_on_one_cluster_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = ScratchFolder::open(&folder.path().join("scratch")).unwrap();
    for_each_setup("published_releases", async |one, other, rounds| {
        let cluster = format!("eu-{}", rounds.start);
        prepare([one, other], &scratch, &cluster, rounds.start == 0).await;
        for round in rounds {
            let (a, b, release) = (format!("a-{round}"), format!("b-{round}"), format!("web-{round:02}"));
            create_chart_draft(one, &a, &release, &cluster).await;
            create_chart_draft(one, &b, &release, &cluster).await;
            let (first, second) = tokio::join!(publish(one, &a), publish(other, &b));
            let refused: Vec<Error> = [first, second].into_iter().filter_map(Result::err).collect();
            match refused.as_slice() {
                [Error::Invalid(findings)] => {
                    assert!(findings.iter().any(|found| found.code == "G105"), "round {round}: {findings:?}");
                }
                other => panic!("round {round}: {other:?}"),
            }
            let mut published = 0;
            for name in [&a, &b] {
                let workload = one.get_workload(name).await.unwrap().workload;
                published += usize::from(workload.intent == Intent::Published);
            }
            assert_eq!(published, 1, "round {round}");
        }
    })
    .await;
}
