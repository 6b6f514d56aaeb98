//! Values that the project locks for the charts of all its workloads (S2-8).

use domain::placement::ClusterGroup;
use wire::{ProjectPut, ValidateRequest, ValuesQuery};

use super::charts::{
    chart, chart_workload, cluster_named, fleet_with_helm, override_for, update_chart, values_of,
};
use super::deployments::fleet_of;
use super::draft_sources::viewer_of;
use super::*;

fn lock(text: &str) -> ProjectPut {
    ProjectPut { locked_values: text.to_owned(), ..ProjectPut::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_8_g119_a_value_that_the_project_locks_is_set_everywhere_and_can_not_be_overridden() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        let project = fleet.client.get_project().await.unwrap();
        assert_eq!((&*project.name, &*project.locked_values), ("default", ""));
        let put = lock("region: locked # by the platform team\n");
        let locked = fleet.client.put_project(&put, project.revision).await.unwrap();
        assert_eq!(fleet.client.get_project().await.unwrap(), locked);
        let stale = fleet.client.put_project(&lock(""), project.revision).await.unwrap_err();
        assert_eq!(stale.code(), "RevisionConflict");
        let invalid = fleet.client.put_project(&lock("- a\n"), locked.revision).await.unwrap_err();
        assert_eq!(invalid.code(), "Invalid");

        let mut new = chart_workload("1.0.0", "replicas: 2\n");
        new.spec.placement.predicates[0].names = vec!["eu-1".to_owned(), "eu-2".to_owned()];
        new.spec.overrides = vec![override_for("eu-2", cluster_named("eu-2"), "region: own\n")];
        fleet.client.create_workload(&new).await.unwrap();
        let publish = fleet.client.publish_workload("web", &PublishRequest::default(), None).await;
        let refused = publish.unwrap_err().to_string();
        assert!(
            refused.contains("Project default locks the value /region to \"locked\"")
                && refused.contains("(cluster eu-2)"),
            "{refused}"
        );

        update_chart(&fleet, |spec| spec.overrides.clear()).await;
        fleet.wait_for_web(|status| status.counts.healthy() == 2).await;
        let regions = || [0, 1].map(|cluster| values_of(&fleet, cluster)["region"].clone());
        assert_eq!(regions(), [json!("locked"), json!("locked")]);
        let query = ValuesQuery { cluster: "eu-2".into(), source: true, revision: Some(1) };
        let values = fleet.client.get_values("web", &query).await.unwrap();
        let region = values.provenance.iter().find(|leaf| leaf.path == "/region").unwrap();
        let layers: Vec<String> = region.settings.iter().map(|one| one.layer.to_string()).collect();
        assert_eq!(layers, ["locked by project default", "chart default"]);

        // A changed lock reaches the clusters without a publish, and is an event.
        let moved = fleet.client.put_project(&lock("region: moved\n"), locked.revision).await.unwrap();
        fleet.wait_until(async || regions() == [json!("moved"), json!("moved")]).await;
        let events = fleet.client.list_events(&EventQuery::default()).await.unwrap().items;
        assert!(events.iter().any(|event| event.kind == EventKind::ProjectEdited));
        fleet.client.put_project(&lock(""), moved.revision).await.unwrap();
        fleet.wait_until(async || regions() == [json!("none"), json!("none")]).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_8_g119_a_lock_against_published_values_stops_their_release_and_changes_nothing_there() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        let mut new = chart_workload("1.0.0", "replicas: 2\n");
        new.spec.placement.predicates[0].names = vec!["eu-1".to_owned(), "eu-2".to_owned()];
        new.spec.overrides = vec![override_for("eu-2", cluster_named("eu-2"), "region: own\n")];
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 2).await;

        let project = fleet.client.get_project().await.unwrap();
        fleet.client.put_project(&lock("region: locked\n"), project.revision).await.unwrap();
        let is_stopped = |status: &WorkloadStatus| {
            let target = status.target_clusters.iter().find(|target| target.cluster_name == "eu-2");
            target.is_some_and(|target| target.message.contains("Project default locks the value /region"))
        };
        let is_locked = || values_of(&fleet, 0)["region"] == "locked";
        fleet.wait_for_web(|status| is_stopped(status) && is_locked()).await;
        assert_eq!(values_of(&fleet, 1)["region"], "own");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_8_g119_locks_are_checked_while_common_values_are_edited() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        let project = fleet.client.get_project().await.unwrap();
        fleet.client.put_project(&lock("replicas: 3\n"), project.revision).await.unwrap();
        for (name, member) in [("strict", "eu-2"), ("elsewhere", "eu-1")] {
            let group = ClusterGroup {
                name: name.to_owned(),
                members: vec![member.to_owned()],
                locked_values: format!("region: {name}\n"),
                ..ClusterGroup::default()
            };
            fleet.client.create_group(&group).await.unwrap();
        }
        let check = async |values: &str| {
            let Source::Chart(source) = chart_workload("1.0.0", values).spec.source else { unreachable!() };
            let found =
                fleet.hub.check_chart_values(&hub::Actor::system(), "web", "apps", source).await.unwrap();
            let owner = |message: &str| message.split(" locks").next().unwrap().to_owned();
            found
                .iter()
                .map(|one| (one.code.clone(), one.path.clone(), owner(&one.message)))
                .collect::<Vec<_>>()
        };
        let violation = |path: &str, owner: &str| ("G119".to_owned(), path.to_owned(), owner.to_owned());
        let of_project = violation("/source/values/replicas", "Project default");
        let own = "replicas: 2\nregion: own\n";
        // A workload that is not stored has no clusters yet, so no group concerns it.
        assert_eq!(check(own).await, std::slice::from_ref(&of_project));
        let mut new = chart_workload("1.0.0", "");
        new.spec.placement.predicates[0].names = vec!["eu-2".to_owned()];
        fleet.client.create_workload(&new).await.unwrap();
        assert_eq!(check(own).await, [violation("/source/values/region", "Group strict"), of_project]);
        assert_eq!(check("replicas: 3\nregion: strict\n").await, []);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_reads_no_locked_secret_in_the_check_of_a_draft_with_a_chart() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_helm().await;
        let project = fleet.client.get_project().await.unwrap();
        let put = lock("queue: {password: Canary_Hunter2}\n");
        fleet.client.put_project(&put, project.revision).await.unwrap();
        let named =
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.queue.password | quote }}}\n";
        fleet.client.upload_chart(chart("1.0.0", &[("templates/named.yaml", named)])).await.unwrap();
        let viewer = viewer_of(&fleet).await;
        let request = ValidateRequest { name: "web".into(), spec: chart_workload("1.0.0", "").spec };
        let invalid_names = async |client: &Client| {
            let findings = client.validate_workload(&request).await.unwrap().findings;
            let of_names = findings.into_iter().filter(|found| found.code == "G101");
            of_names.map(|found| found.message).collect::<Vec<_>>()
        };
        // A chart of those who may write drafts reads what is locked.
        let of_admin = invalid_names(&fleet.client).await;
        assert!(of_admin.iter().any(|message| message.contains("Canary_Hunter2")), "{of_admin:?}");
        let of_viewer = invalid_names(&viewer).await;
        assert!(of_viewer.iter().any(|message| message.contains("(hidden)")), "{of_viewer:?}");
        assert!(!of_viewer.iter().any(|message| message.contains("Canary_Hunter2")), "{of_viewer:?}");
        fleet.stop().await;
    }))
    .await;
}
