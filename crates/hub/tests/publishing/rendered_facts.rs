//! A published revision stays as it is while the facts of clusters change: charts with random values, rendered by the real helm.

use domain::bundle::Bundle;
use domain::chart::ChartSource;
use domain::cluster::{ApiResource, ClusterFacts};
use domain::overrides::{ClusterSelector, DEFAULT_PRIORITY, Override};
use domain::release::Release;
use domain::request::ClusterPatch;
use domain::workload::{NewWorkload, Source, WorkloadSpec};
use domain::{Digest, OverrideId};
use hub::{PublishOptions, RevisionComparison};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::helm_chart::{pack_chart, set_helm};
use crate::test_hub::{TestAgent, TestHub, everywhere, source, wait_for, wait_until};

/// Without `.Capabilities`: the version of the cluster is an input nevertheless, and makes a new rendering.
const RANDOM: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  \
                      password: {{ randAlphaNum 20 | quote }}\n  size: {{ .Values.size | default \"s\" | quote }}\n";
/// The same with what the templates know of the cluster.
const CAPABILITIES: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  \
                            password: {{ randAlphaNum 20 | quote }}\n  size: {{ .Values.size | default \"s\" | quote }}\n  \
                            version: {{ .Capabilities.KubeVersion.Version | quote }}\n  \
                            widgets: {{ .Capabilities.APIVersions.Has \"example.com/v1/Widget\" | quote }}\n";

/// Facts of a cluster that serves ConfigMaps and these kinds of a group of its own.
pub fn facts(version: &str, kinds: &[&str]) -> ClusterFacts {
    let api = |group: &str, kind: &str| ApiResource {
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
        namespaced: true,
        denied: false,
    };
    let own = kinds.iter().map(|kind| api("example.com", kind));
    ClusterFacts {
        kubernetes_version: version.into(),
        apis: [api("", "ConfigMap")].into_iter().chain(own).collect(),
        ..ClusterFacts::default()
    }
}

pub fn chart_spec(values: &str) -> WorkloadSpec {
    let source = ChartSource {
        chart: "local/web".into(),
        version: "1.0.0".into(),
        values: values.into(),
        ..ChartSource::default()
    };
    WorkloadSpec {
        namespace: "shop".into(),
        source: Source::Chart(source),
        placement: everywhere(),
        ..WorkloadSpec::default()
    }
}

/// A hub with a published chart that has this template.
pub async fn publish_chart(test: &TestHub, template: &str, spec: WorkloadSpec) {
    set_helm(&test.hub, &test.scratch()).await;
    test.hub.upload_chart(&test.actor, pack_chart(template)).await.unwrap();
    publish_spec(test, spec).await;
}

pub async fn publish_spec(test: &TestHub, spec: WorkloadSpec) {
    let new = NewWorkload { name: "web".into(), spec, ..NewWorkload::default() };
    test.hub.create_workload(&test.actor, new).await.unwrap();
    test.publish("web").await;
}

pub async fn release(test: &TestHub, cluster: &str) -> Release {
    test.hub.get_release("web", cluster).await.unwrap().release
}

/// Waits until this revision is released to the cluster; returns the digest of its bundle.
pub async fn wait_for_bundle(test: &TestHub, cluster: &str, revision: u32) -> Digest {
    wait_for(&format!("revision {revision} is released to {cluster}"), async || {
        let release = test.hub.get_release("web", cluster).await.ok()?.release;
        (release.released_revision() == Some(revision)).then(|| release.released().cloned()).flatten()
    })
    .await
}

async fn wait_for_notice(test: &TestHub, cluster: &str, notice: &str) {
    wait_until(&format!("{cluster} has the notice {notice:?}"), async || {
        let release = release(test, cluster).await;
        release.facts_notice() == notice && release.facts_comparison().is_some()
    })
    .await;
}

/// The notice of a release that would be rendered differently because of this.
pub fn changed(what: &str) -> String {
    format!(
        "It would render differently since the cluster's facts changed ({what}). It stays as it was published until the next publish."
    )
}

/// The data of the first object that is released to the cluster.
pub async fn data(test: &TestHub, agent: &TestAgent, cluster: &str) -> Value {
    // Another bundle may be released between both reads.
    wait_for("the bundle is served", async || {
        let release = release(test, cluster).await;
        let bytes = test.hub.get_bundle(agent.id, release.id(), release.released()?).await.ok()?;
        Some(Bundle::from_bytes(&bytes).ok()?.objects[0]["data"].clone())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_of_a_cluster_changes_no_random_value_that_was_published_and_is_noted() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let mut west = test.register_cluster("west", &[]).await;
    for agent in [&mut east, &mut west] {
        agent.send_facts(facts("v1.33.4", &[])).await;
    }
    publish_chart(&test, CAPABILITIES, chart_spec("")).await;
    let bundle = wait_for_bundle(&test, "east", 1).await;
    let published = east.apply_release().await;
    let password = data(&test, &east, "east").await["password"].clone();

    east.send_facts(facts("v1.33.5", &[])).await;
    let notice = changed("Kubernetes v1.33.4 → v1.33.5");
    wait_for_notice(&test, "east", &notice).await;
    let after = release(&test, "east").await;
    assert_eq!((after.released(), after.desired()), (Some(&bundle), Some(&bundle)));
    assert_eq!(after.generation(), published.generation, "the agent gets nothing");
    assert_eq!(data(&test, &east, "east").await["password"], password);
    assert_eq!(release(&test, "west").await.facts_notice(), "");
    let messages = test.event_messages().await;
    assert!(messages.contains(&format!("web on 1 cluster: {notice}")), "{messages:?}");

    // Equal facts share the rendering that is compared, and those of the publish need none.
    let renderings = test.hub.count_renderings();
    west.send_facts(facts("v1.33.5", &[])).await;
    wait_for_notice(&test, "west", &notice).await;
    assert_eq!(test.hub.count_renderings(), renderings);
    east.send_facts(facts("v1.33.4", &[])).await;
    wait_until("the notice is gone", async || release(&test, "east").await.facts_comparison().is_none())
        .await;
    assert_eq!(release(&test, "east").await.released(), Some(&bundle));
    test.close().await;
}

/// What a cluster may report: its version, whether it has the kind that the chart asks for, and what has changed since the first.
const REPORTED: [(&str, bool, &str); 4] = [
    ("v1.33.4", false, ""),
    ("v1.33.5", false, "Kubernetes v1.33.4 → v1.33.5"),
    ("v1.33.4", true, "new: example.com/v1 Widget"),
    ("v1.34.1", true, "Kubernetes v1.33.4 → v1.34.1, new: example.com/v1 Widget"),
];

/// Reports these facts, and waits until they are compared with those of the publish.
async fn report_and_compare(
    test: &TestHub,
    east: &mut TestAgent,
    (version, has_kind, what): (&str, bool, &str),
) {
    let kinds: &[&str] = if has_kind { &["Widget"] } else { &[] };
    east.send_facts(facts(version, kinds)).await;
    let notice = if what.is_empty() { String::new() } else { changed(what) };
    wait_until(&format!("{version} with {kinds:?} is compared"), async || {
        let release = release(test, "east").await;
        release.facts_notice() == notice && release.facts_comparison().is_none() == what.is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_any_two_changes_of_the_facts_a_revision_is_as_it_was_published() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    east.send_facts(facts("v1.33.4", &[])).await;
    publish_chart(&test, CAPABILITIES, chart_spec("")).await;
    wait_for_bundle(&test, "east", 1).await;
    let published = release(&test, "east").await;
    let content = data(&test, &east, "east").await;
    for first in REPORTED {
        for second in REPORTED {
            // So many changes at once would wait for their turn.
            test.advance_clock(20);
            for reported in [first, second] {
                report_and_compare(&test, &mut east, reported).await;
                let now = release(&test, "east").await;
                assert_eq!(
                    (now.released(), now.generation()),
                    (published.released(), published.generation()),
                    "{first:?}, {second:?}"
                );
            }
        }
        assert_eq!(data(&test, &east, "east").await, content, "{first:?}");
    }
    // The next publish decides with what was reported last.
    test.publish("web").await;
    wait_for_bundle(&test, "east", 2).await;
    let after = data(&test, &east, "east").await;
    assert_eq!((&after["version"], &after["widgets"]), (&json!("v1.34.1"), &json!("true")));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_kind_on_a_cluster_changes_nothing_until_the_next_publish_which_renders_with_it() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    east.send_facts(facts("v1.33.4", &["Anvil"])).await;
    publish_chart(&test, CAPABILITIES, chart_spec("")).await;
    let bundle = wait_for_bundle(&test, "east", 1).await;
    let before = data(&test, &east, "east").await;
    assert_eq!((&before["version"], &before["widgets"]), (&json!("v1.33.4"), &json!("false")));

    east.send_facts(facts("v1.33.5", &["Anvil", "Widget"])).await;
    let notice = changed("Kubernetes v1.33.4 → v1.33.5, new: example.com/v1 Widget");
    wait_for_notice(&test, "east", &notice).await;
    assert_eq!(release(&test, "east").await.released(), Some(&bundle));
    assert_eq!(data(&test, &east, "east").await, before);
    // What is shown of the revision is what runs.
    let shown = test.hub.render_workload("web", "east", Some(1)).await.unwrap();
    let shown = serde_json::to_string(&shown).unwrap();
    assert!(shown.contains(before["password"].as_str().unwrap()), "{shown}");

    // The same definition once more.
    assert_eq!(test.publish("web").await, 2);
    let second = wait_for_bundle(&test, "east", 2).await;
    assert_ne!(second, bundle);
    let after = data(&test, &east, "east").await;
    assert_eq!((&after["version"], &after["widgets"]), (&json!("v1.33.5"), &json!("true")));
    let published = release(&test, "east").await;
    assert_eq!((published.facts_notice(), published.facts_comparison()), ("", None));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_of_an_unchanged_draft_is_what_the_notice_announces() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    east.send_facts(facts("v1.33.4", &[])).await;
    publish_chart(&test, CAPABILITIES, chart_spec("")).await;
    let bundle = wait_for_bundle(&test, "east", 1).await;
    let plan_of_draft = async || {
        let plan = test.hub.create_plan(&test.actor, "web", &PublishOptions::default()).await.unwrap();
        plan.targets[0].bundle.clone().expect("a bundle is planned")
    };
    assert_eq!(plan_of_draft().await, bundle, "nothing changes with the same facts");

    let before = data(&test, &east, "east").await;
    east.send_facts(facts("v1.33.5", &["Widget"])).await;
    wait_for_notice(&test, "east", &changed("Kubernetes v1.33.4 → v1.33.5, new: example.com/v1 Widget"))
        .await;
    let planned = plan_of_draft().await;
    assert_ne!(planned, bundle);
    test.publish("web").await;
    assert_eq!(wait_for_bundle(&test, "east", 2).await, planned);
    let mut expected = before;
    expected["version"] = "v1.33.5".into();
    expected["widgets"] = "true".into();
    assert_eq!(data(&test, &east, "east").await, expected, "the password stays");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_facts_that_changes_no_bundle_has_no_notice() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    east.send_facts(facts("v1.33.4", &[])).await;
    publish_chart(&test, RANDOM, chart_spec("")).await;
    let bundle = wait_for_bundle(&test, "east", 1).await;
    east.send_facts(facts("v1.33.5", &["Widget"])).await;
    wait_for_notice(&test, "east", "").await;
    assert_eq!(release(&test, "east").await.released(), Some(&bundle));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_that_a_user_changes_is_rendered_with_the_facts_of_the_publish() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("size", "m")]).await;
    east.send_facts(facts("v1.33.4", &[])).await;
    publish_chart(&test, CAPABILITIES, chart_spec("size: ${{ cluster.labels.size }}\n")).await;
    wait_for_bundle(&test, "east", 1).await;
    east.send_facts(facts("v1.33.5", &["Widget"])).await;
    let notice = changed("Kubernetes v1.33.4 → v1.33.5, new: example.com/v1 Widget");
    wait_for_notice(&test, "east", &notice).await;

    let labels = [("size".to_owned(), Some("xl".to_owned()))].into();
    let edit = ClusterPatch { labels, ..ClusterPatch::default() };
    test.hub.edit_cluster(&test.actor, "east", edit, None).await.unwrap();
    wait_until("the label is rendered", async || data(&test, &east, "east").await["size"] == "xl").await;
    let after = data(&test, &east, "east").await;
    assert_eq!((&after["version"], &after["widgets"]), (&json!("v1.33.4"), &json!("false")));
    wait_for_notice(&test, "east", &notice).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_override_is_rendered_with_the_present_facts() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    east.send_facts(facts("v1.33.4", &[])).await;
    publish_chart(&test, CAPABILITIES, chart_spec("")).await;
    wait_for_bundle(&test, "east", 1).await;
    east.send_facts(facts("v1.33.5", &[])).await;
    wait_for_notice(&test, "east", &changed("Kubernetes v1.33.4 → v1.33.5")).await;
    let over = Override {
        id: OverrideId::from_parts(1, 1),
        name: "east".into(),
        target: ClusterSelector { clusters: vec!["east".into()], ..ClusterSelector::default() },
        priority: DEFAULT_PRIORITY,
        values: "size: l\n".into(),
        patches: Vec::new(),
    };
    test.edit_draft("web", |spec| spec.overrides = vec![over]).await;
    test.publish("web").await;
    wait_for_bundle(&test, "east", 2).await;
    let after = data(&test, &east, "east").await;
    assert_eq!((&after["size"], &after["version"]), (&json!("l"), &json!("v1.33.5")));
    assert_eq!(release(&test, "east").await.facts_comparison(), None);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_joins_later_is_rendered_with_its_own_facts() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    east.send_facts(facts("v1.33.4", &[])).await;
    publish_chart(&test, CAPABILITIES, WorkloadSpec { addon: true, ..chart_spec("") }).await;
    let bundle = wait_for_bundle(&test, "east", 1).await;
    east.send_facts(facts("v1.33.5", &[])).await;
    let mut west = test.register_cluster("west", &[]).await;
    west.send_facts(facts("v1.34.1", &["Widget"])).await;
    wait_for_bundle(&test, "west", 1).await;
    let joined = data(&test, &west, "west").await;
    assert_eq!((&joined["version"], &joined["widgets"]), (&json!("v1.34.1"), &json!("true")));
    wait_for_notice(&test, "east", &changed("Kubernetes v1.33.4 → v1.33.5")).await;
    assert_eq!(release(&test, "east").await.released(), Some(&bundle));
    assert_eq!(release(&test, "west").await.facts_comparison(), None);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_stays_as_it_was_published_after_retention_and_a_restart() {
    let mut test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    east.send_facts(facts("v1.33.4", &[])).await;
    publish_chart(&test, CAPABILITIES, chart_spec("")).await;
    let bundle = wait_for_bundle(&test, "east", 1).await;
    let before = data(&test, &east, "east").await;
    east.send_facts(facts("v1.33.5", &[])).await;
    let notice = changed("Kubernetes v1.33.4 → v1.33.5");
    wait_for_notice(&test, "east", &notice).await;

    test.advance_clock(20 * 86_400);
    test.stop_loops().await;
    test.hub.delete_expired_rows(&CancellationToken::new()).await;
    drop(east);
    let test = test.restart().await;
    set_helm(&test.hub, &test.scratch()).await;
    let mut east = test.reconnect_agent("east").await;
    east.send_facts(facts("v1.33.5", &["Widget"])).await;
    let notice = notice.replace("v1.33.5)", "v1.33.5, new: example.com/v1 Widget)");
    wait_for_notice(&test, "east", &notice).await;
    assert_eq!(release(&test, "east").await.released(), Some(&bundle));
    assert_eq!(data(&test, &east, "east").await, before);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_keeps_reported_facts_and_an_object_gets_the_scope_of_a_kind_that_is_served_later() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    // The kinds of the cluster are not known yet.
    east.send_facts(ClusterFacts { apis: Vec::new(), ..facts("v1.33.4", &[]) }).await;
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {version: \"${{ cluster.kubernetesVersion }}\"}\n---\n\
                apiVersion: example.com/v1\nkind: Planet\nmetadata: {name: mars}\n";
    publish_spec(&test, WorkloadSpec { source: source(text), ..chart_spec("") }).await;
    wait_for_bundle(&test, "east", 1).await;
    let id = east.id;
    let objects = async || {
        let release = release(&test, "east").await;
        let bytes = test.hub.get_bundle(id, release.id(), release.released().unwrap()).await.unwrap();
        let objects = Bundle::from_bytes(&bytes).unwrap().objects;
        let planet = objects.iter().find(|object| object["kind"] == "Planet").unwrap();
        let config = objects.iter().find(|object| object["kind"] == "ConfigMap").unwrap();
        (config["data"]["version"].clone(), planet["metadata"]["namespace"].clone())
    };
    assert_eq!(objects().await, (json!("v1.33.4"), json!("shop")));
    let mut upgraded = facts("v1.33.5", &["Planet"]);
    upgraded.apis[1].namespaced = false;
    east.send_facts(upgraded).await;
    wait_for_notice(
        &test,
        "east",
        &changed("Kubernetes v1.33.4 → v1.33.5, new: v1 ConfigMap, example.com/v1 Planet"),
    )
    .await;
    assert_eq!(objects().await, (json!("v1.33.4"), Value::Null));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_whose_facts_are_lost_is_not_rendered_with_others_until_the_next_publish() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("size", "m")]).await;
    east.send_facts(facts("v1.33.4", &[])).await;
    publish_chart(&test, CAPABILITIES, chart_spec("size: ${{ cluster.labels.size }}\n")).await;
    let bundle = wait_for_bundle(&test, "east", 1).await;
    east.send_facts(facts("v1.33.5", &[])).await;
    wait_for_notice(&test, "east", &changed("Kubernetes v1.33.4 → v1.33.5")).await;

    test.execute_sql("DELETE FROM artifact WHERE digest IN (SELECT rendered_facts FROM release)").await;
    let labels = [("size".to_owned(), Some("xl".to_owned()))].into();
    let edit = ClusterPatch { labels, ..ClusterPatch::default() };
    test.hub.edit_cluster(&test.actor, "east", edit, None).await.unwrap();
    let lost = wait_for("the release says that its facts are lost", async || {
        let release = release(&test, "east").await;
        let reason = release.stages().current()?.state.reason()?.message.clone();
        reason.contains("lost").then_some((release, reason))
    });
    let (release_of_lost, reason) = lost.await;
    assert!(reason.contains("r1") && reason.contains("east"), "{reason}");
    assert!(reason.ends_with("Publish the workload again."), "{reason}");
    assert_eq!(release_of_lost.released(), Some(&bundle), "the cluster keeps what it runs");
    for shown in [
        test.hub.render_workload("web", "east", Some(1)).await.map(drop),
        test.hub.get_values("web", "east", Some(1)).await.map(drop),
    ] {
        let error = shown.unwrap_err().to_string();
        assert!(error.contains("is lost or can't be read"), "{error}");
    }

    test.publish("web").await;
    wait_for_bundle(&test, "east", 2).await;
    let after = data(&test, &east, "east").await;
    assert_eq!((&after["version"], &after["size"]), (&json!("v1.33.5"), &json!("xl")));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_has_the_versions_of_helm_that_rendered_it_for_its_clusters() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    east.send_facts(facts("v1.33.4", &[])).await;
    publish_chart(&test, RANDOM, WorkloadSpec { addon: true, ..chart_spec("") }).await;
    let versions = async || {
        let comparison = RevisionComparison::default();
        test.hub.get_revision(&test.actor, "web", 1, &comparison).await.unwrap().revision.helm_versions
    };
    let installed = test.hub.helm_version().unwrap().to_owned();
    assert_eq!(versions().await, std::slice::from_ref(&installed));
    wait_for_bundle(&test, "east", 1).await;

    // As if Helm had been upgraded since that rendering, and a cluster joins that needs another one.
    test.execute_sql("UPDATE chart_rendering SET helm_version = 'v4.2.0'").await;
    let mut west = test.register_cluster("west", &[]).await;
    west.send_facts(facts("v1.34.1", &[])).await;
    wait_for_bundle(&test, "west", 1).await;
    let both = ["v4.2.0".to_owned(), installed];
    wait_until("both versions are recorded", async || versions().await == both).await;
    test.publish_new("files", everywhere()).await;
    let files = test.hub.get_revision(&test.actor, "files", 1, &RevisionComparison::default()).await.unwrap();
    assert_eq!(files.revision.renderer(), None);
    test.close().await;
}
