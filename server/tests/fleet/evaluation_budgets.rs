//! Expressions that expand without a bound are refused wherever they come from: what a chart writes, values, locked values of a
//! group, files of a repository.

use domain::page::ListQuery;
use domain::placement::ClusterGroup;
use domain::remote::OnNewCommit;
use domain::request::ClusterPatch;

use super::charts::{chart, chart_workload, cluster_named, fleet_with_helm, override_for};
use super::git_sources::{find_problems, git_fleet, git_workload, publish, repository};
use super::*;

const REFUSED: &str = "would produce more than 2 MiB";

/// A text whose value doubles with each of 40 filters: ten terabytes.
fn doubling() -> String {
    format!("${{{{ cluster.name{} }}}}", " | map('{}{}')".repeat(40).replace('\'', "\""))
}

async fn is_refused(fleet: &TestFleet, workload: &str) -> bool {
    let published = fleet.client.publish_workload(workload, &PublishRequest::default(), None).await;
    published.is_err_and(|refused| refused.to_string().contains(REFUSED))
}

#[tokio::test(flavor = "multi_thread")]
async fn g115_an_expression_that_doubles_its_value_is_refused_in_a_chart_and_its_values() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_helm().await;
        let written = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata:\n  key: '{{{{ `{}` }}}}'\n",
            doubling()
        );
        for (version, extra) in
            [("1.0.0", None), ("1.1.0", Some(("templates/config.yaml", written.as_str())))]
        {
            fleet.client.upload_chart(chart(version, extra.as_slice())).await.unwrap();
        }
        let hostile = format!("region: '{}'\n", doubling());
        let mut overridden = chart_workload("1.0.0", "");
        overridden.spec.overrides = vec![override_for("eu-2", cluster_named("eu-2"), &hostile)];
        let hostile_drafts = [
            ("written", chart_workload("1.1.0", "")),
            ("common", chart_workload("1.0.0", &hostile)),
            ("overridden", overridden),
        ];
        for (name, draft) in hostile_drafts {
            let new = NewWorkload { name: name.to_owned(), ..draft };
            fleet.client.create_workload(&new).await.unwrap();
            assert!(is_refused(&fleet, name).await, "{name}");
        }
        // Locked by the group of a cluster.
        let lock = |locked_values: String| ClusterGroup {
            name: "strict".to_owned(),
            members: vec!["eu-2".to_owned()],
            locked_values,
            ..ClusterGroup::default()
        };
        fleet.client.create_workload(&chart_workload("1.0.0", "")).await.unwrap();
        let locked = fleet.client.create_group(&lock(hostile.clone())).await.unwrap();
        assert!(is_refused(&fleet, "web").await);
        // The server and the workload live on.
        let harmless = lock("region: locked\n".to_owned());
        fleet.client.put_group("strict", &harmless.into(), locked.revision).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g115_an_expression_that_doubles_its_value_is_refused_in_a_new_commit_of_a_repository() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        let new = git_workload(&server, OnNewCommit::All);
        publish(&fleet, &new).await;
        let config = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: more}}\ndata:\n  key: '{}'\n",
            doubling()
        );
        server.commit("deploy/more.yaml", &config, "Double it");
        let problems = find_problems(&fleet, &new).await;
        assert!(problems.iter().any(|(code, text)| code == "G115" && text.contains(REFUSED)), "{problems:?}");
        let blocked = fleet.client.check_git_source("web").await.unwrap().follow.blocked.unwrap();
        assert!(blocked.message.contains(REFUSED), "{blocked:?}");
        let status = fleet.client.get_workload_status("web", None).await.unwrap();
        assert_eq!(status.counts.healthy(), 3, "the published commit continues to run");
        fleet.stop().await;
    }))
    .await;
}

/// Sets the value of the cluster `eu-1` that the workload expands.
async fn set_seed(hub: &Hub, bytes: usize) {
    let values = json!({ "seed": "x".repeat(bytes) }).as_object().cloned();
    let patch = ClusterPatch { values, ..ClusterPatch::default() };
    hub.edit_cluster(&Actor::system(), "eu-1", patch, None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn g115_a_value_of_a_cluster_that_expands_too_much_stops_its_workload_and_no_server_also_after_a_restart()
 {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start().await;
        set_seed(&fleet.hub, 1).await;
        // 256 times the value: little as it is published, and 7 MiB with the largest value of a cluster.
        let mut new = web_workload();
        let filters = " | map('{}{}')".repeat(8).replace('\'', "\"");
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata:\n  key: '${{{{ cluster.values.seed{filters} }}}}'\n"
        );
        new.spec.source = Source::Yaml { files: vec![SourceFile { name: "web.yaml".to_owned(), text }] };
        new.spec.placement.predicates[0].names = vec!["eu-1".to_owned()];
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 1).await;
        set_seed(&fleet.hub, 30_000).await;
        assert!(is_refused(&fleet, "web").await);

        // The revision stays published, and the next server places it again.
        let database = format!("sqlite://{}", fleet.folder.path().join("flotilla.db").display());
        fleet.stop.cancel();
        fleet.loops.stop().await;
        fleet.hub.close().await;
        let (hub, _folder) = (fleet.hub, fleet.folder);
        drop((hub, fleet.site));
        let restarted = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let loops = restarted.spawn_loops();
        // Every published workload is placed again after it.
        set_seed(&restarted, 30_001).await;
        let actor = Actor::system();
        let other = NewWorkload { name: "other".to_owned(), ..web_workload() };
        restarted.create_workload(&actor, other).await.unwrap();
        restarted.publish_workload(&actor, "other", "", hub::PublishOptions::default()).await.unwrap();
        while restarted.list_releases("other", &ListQuery::default()).await.unwrap().total < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(restarted.list_stopped_loops(), Vec::<&str>::new());
        let web = restarted.get_workload("web").await.unwrap().workload;
        assert_eq!(web.published, Some(1));
        assert_eq!(restarted.list_releases("web", &ListQuery::default()).await.unwrap().total, 1);
        loops.stop().await;
    }))
    .await;
}
