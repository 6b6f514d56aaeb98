//! Values that a chart generates stay what they are on a cluster, whatever renders the chart again: charts rendered by the real helm.

use domain::cluster::{ApiResource, ClusterFacts};
use domain::placement::ClusterGroup;
use domain::request::ClusterPatch;
use domain::workload::WorkloadSpec;
use hub::PublishOptions;
use serde_json::{Value, json};

use crate::rendered_facts::{chart_spec, publish_chart, release, wait_for_bundle};
use crate::test_hub::{TestAgent, TestHub, wait_for, wait_until};

/// A password in a Secret, and a ConfigMap with a value of the user.
const PASSWORD: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\ndata:\n  \
                        password: {{ randAlphaNum 20 | b64enc | quote }}\n  \
                        url: {{ printf \"db://app:%s@%s\" (randAlphaNum 20) (.Values.host | default \"east\") | b64enc | quote }}\n---\n\
                        apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {size: {{ .Values.size | default \"s\" | quote }}}\n";

/// A certificate authority, a certificate that it signed, and a webhook that trusts it.
const CERTIFICATE: &str = "{{- $ca := genCA \"web\" 365 }}\n{{- $cert := genSignedCert \"web\" nil (list \"web.shop.svc\") 365 $ca }}\n\
                           apiVersion: v1\nkind: Secret\nmetadata: {name: web}\ndata:\n  ca.crt: {{ $ca.Cert | b64enc }}\n  \
                           tls.crt: {{ $cert.Cert | b64enc }}\n  tls.key: {{ $cert.Key | b64enc }}\n---\n\
                           apiVersion: v1\nkind: ConfigMap\nmetadata: {name: trust}\ndata:\n  size: {{ .Values.size | default \"s\" | quote }}\n  \
                           bundle: {{ $ca.Cert | quote }}\n\
                           {{- if .Values.more }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata:\n  \
                           bundle: {{ $ca.Cert | quote }}\n{{- end }}\n";

/// Facts of a cluster that serves Secrets too.
fn facts(version: &str) -> ClusterFacts {
    let mut facts = crate::rendered_facts::facts(version, &[]);
    let config_map = facts.apis[0].clone();
    facts.apis.push(ApiResource { kind: "Secret".into(), ..config_map });
    facts
}

/// The data of the object of this kind and name that is released to the cluster.
async fn data_of(test: &TestHub, agent: &TestAgent, cluster: &str, (kind, name): (&str, &str)) -> Value {
    wait_for("the bundle is served", async || {
        let release = release(test, cluster).await;
        let bytes = test.hub.get_bundle(agent.id, release.id(), release.released()?).await.ok()?;
        let objects = domain::bundle::Bundle::from_bytes(&bytes).ok()?.objects;
        let found = objects.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name)?;
        Some(found["data"].clone())
    })
    .await
}

const SECRET: (&str, &str) = ("Secret", "web");
const CONFIG: (&str, &str) = ("ConfigMap", "web");

async fn set_values(test: &TestHub, values: &str) {
    let source = chart_spec(values).source;
    test.edit_draft("web", |spec: &mut WorkloadSpec| spec.source = source).await;
}

/// A hub with a cluster that has this chart; with the data of its Secret there.
async fn publish_on_east(template: &str, values: &str) -> (TestHub, TestAgent, Value) {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("size", "m")]).await;
    east.send_facts(facts("v1.33.4")).await;
    publish_chart(&test, template, chart_spec(values)).await;
    wait_for_bundle(&test, "east", 1).await;
    let data = data_of(&test, &east, "east", SECRET).await;
    (test, east, data)
}

/// Changes a label that is a value of the chart, which renders it again without a publish.
async fn change_label(test: &TestHub) {
    let labels = [("size".to_owned(), Some("xl".to_owned()))].into();
    let edit = ClusterPatch { labels, ..ClusterPatch::default() };
    test.hub.edit_cluster(&test.actor, "east", edit, None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_password_stays_over_publishes_labels_and_new_facts() {
    let (test, mut east, first) = publish_on_east(PASSWORD, "size: ${{ cluster.labels.size }}\n").await;
    assert_eq!(data_of(&test, &east, "east", CONFIG).await["size"], "m");

    change_label(&test).await;
    wait_until("the label is rendered", async || data_of(&test, &east, "east", CONFIG).await["size"] == "xl")
        .await;
    assert_eq!(data_of(&test, &east, "east", SECRET).await, first);

    // A publish with other values and with a new version of the cluster. The plan shows what it does.
    east.send_facts(facts("v1.34.0")).await;
    set_values(&test, "size: l\n").await;
    let plan = test.hub.create_plan(&test.actor, "web", &PublishOptions::default()).await.unwrap();
    let planned = plan.targets[0].bundle.clone();
    test.publish("web").await;
    let published = wait_for_bundle(&test, "east", 2).await;
    assert_eq!(planned, Some(published), "the plan shows what is published");
    assert_eq!(data_of(&test, &east, "east", CONFIG).await["size"], "l");
    assert_eq!(data_of(&test, &east, "east", SECRET).await, first);

    // A cluster that joins has no values yet.
    let mut west = test.register_cluster("west", &[]).await;
    west.send_facts(facts("v1.34.0")).await;
    test.publish("web").await;
    wait_for_bundle(&test, "west", 3).await;
    assert_ne!(data_of(&test, &west, "west", SECRET).await, first);
    wait_for_bundle(&test, "east", 3).await;
    assert_eq!(data_of(&test, &east, "east", SECRET).await, first);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_certificates_stay_with_the_authority_that_signed_them() {
    let (test, east, first) = publish_on_east(CERTIFICATE, "").await;
    let trusted = data_of(&test, &east, "east", ("ConfigMap", "trust")).await["bundle"].clone();
    assert!(trusted.as_str().unwrap().contains("BEGIN CERTIFICATE"), "{trusted}");

    set_values(&test, "size: l\nmore: true\n").await;
    test.publish("web").await;
    wait_for_bundle(&test, "east", 2).await;
    assert_eq!(data_of(&test, &east, "east", SECRET).await, first);
    let after = data_of(&test, &east, "east", ("ConfigMap", "trust")).await;
    assert_eq!(after, json!({"size": "l", "bundle": trusted}));
    // A new object trusts the authority that the others have.
    assert_eq!(data_of(&test, &east, "east", ("ConfigMap", "more")).await["bundle"], trusted);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_authority_stays_over_an_upgrade_of_the_cluster_and_the_publish_after_it() {
    let (test, mut east, first) = publish_on_east(CERTIFICATE, "").await;
    let trust = ("ConfigMap", "trust");
    let trusted = data_of(&test, &east, "east", trust).await["bundle"].clone();
    let before = release(&test, "east").await;

    east.send_facts(facts("v1.33.5")).await;
    wait_until("the upgrade is compared", async || release(&test, "east").await.facts_comparison().is_some())
        .await;
    let after = release(&test, "east").await;
    assert_eq!(
        (after.released(), after.generation()),
        (before.released(), before.generation()),
        "nothing changes without a publish"
    );
    assert_eq!(data_of(&test, &east, "east", SECRET).await, first);

    // A publish renders with the new version, and retains authority, certificate and key.
    set_values(&test, "size: l\n").await;
    test.publish("web").await;
    wait_for_bundle(&test, "east", 2).await;
    assert_eq!(data_of(&test, &east, "east", SECRET).await, first);
    assert_eq!(data_of(&test, &east, "east", trust).await, json!({"size": "l", "bundle": trusted}));
    test.close().await;
}

/// Options that force the replacement of generated values.
fn force_replacement() -> PublishOptions {
    PublishOptions { force: vec!["G125".to_owned()], ..PublishOptions::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn g125_a_publish_that_would_replace_a_generated_value_is_held_until_it_is_forced() {
    let (test, east, first) = publish_on_east(PASSWORD, "").await;
    set_values(&test, "host: west\n").await;
    let plan = test.hub.create_plan(&test.actor, "web", &PublishOptions::default()).await.unwrap();
    let lost = plan.findings.iter().find(|finding| finding.message.contains("anew")).expect("a finding");
    assert_eq!((&*lost.code, lost.clusters.as_slice()), ("G125", &["east".to_owned()][..]));
    assert!(lost.is_blocking() && lost.message.contains("/data/url of Secret web"), "{}", lost.message);

    let publish = async |options| test.hub.publish_workload(&test.actor, "web", "", options).await;
    let refused = publish(PublishOptions::default()).await.unwrap_err();
    assert_eq!((refused.code(), &*refused.findings()[0].code), ("PlanRejected", "G125"));
    assert!(refused.to_string().contains("/data/url of Secret web"), "{refused}");
    assert_eq!(data_of(&test, &east, "east", SECRET).await, first);

    assert_eq!(publish(force_replacement()).await.unwrap().revision, 2);
    wait_for_bundle(&test, "east", 2).await;
    let after = data_of(&test, &east, "east", SECRET).await;
    assert_eq!(after["password"], first["password"]);
    assert_ne!(after["url"], first["url"]);
    assert!(test.event_messages().await.iter().any(|message| message.contains("G125")));

    // The next publish has nothing to decide.
    set_values(&test, "host: west\nsize: l\n").await;
    test.publish("web").await;
    wait_for_bundle(&test, "east", 3).await;
    assert_eq!(data_of(&test, &east, "east", SECRET).await, after);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g125_a_label_that_would_replace_a_generated_value_changes_nothing_until_a_publish_is_forced() {
    let (test, east, first) = publish_on_east(PASSWORD, "host: ${{ cluster.labels.size }}\n").await;
    let bundle = release(&test, "east").await.released().cloned();
    change_label(&test).await;
    wait_until("the release says which value would be replaced", async || {
        let release = release(&test, "east").await;
        let reason = release.stages().current().and_then(|stage| stage.state.reason());
        reason.is_some_and(|reason| {
            reason.message.contains("/data/url of Secret web") && reason.message.contains("force G125")
        })
    })
    .await;
    assert_eq!(release(&test, "east").await.released().cloned(), bundle, "the cluster keeps what it runs");

    let options = force_replacement();
    test.hub.publish_workload(&test.actor, "web", "", options).await.unwrap();
    wait_for_bundle(&test, "east", 2).await;
    let after = data_of(&test, &east, "east", SECRET).await;
    assert_eq!(after["password"], first["password"]);
    assert_ne!(after["url"], first["url"]);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g125_a_lock_of_a_group_retains_generated_values_and_changes_nothing_where_it_can_not() {
    let (test, east, first) = publish_on_east(PASSWORD, "").await;
    let lock = async |values: &str| {
        let (name, members) = ("eu".to_owned(), vec!["east".to_owned()]);
        let group =
            ClusterGroup { name, members, locked_values: values.to_owned(), ..ClusterGroup::default() };
        test.hub.save_group(&test.actor, group, None).await.unwrap();
    };
    lock("size: l\n").await;
    wait_until("the lock is rendered", async || data_of(&test, &east, "east", CONFIG).await["size"] == "l")
        .await;
    assert_eq!(data_of(&test, &east, "east", SECRET).await, first);

    lock("size: xl\nhost: west\n").await;
    wait_until("the release says which value would be replaced", async || {
        let release = release(&test, "east").await;
        let reason = release.stages().current().and_then(|stage| stage.state.reason());
        reason.is_some_and(|reason| reason.message.contains("/data/url of Secret web"))
    })
    .await;
    assert_eq!(data_of(&test, &east, "east", CONFIG).await["size"], "l");
    assert_eq!(data_of(&test, &east, "east", SECRET).await, first);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_values_are_not_replaced_when_the_bundle_that_has_them_is_lost() {
    let (test, _east, _) = publish_on_east(PASSWORD, "size: ${{ cluster.labels.size }}\n").await;
    let bundle = release(&test, "east").await.released().cloned();
    test.execute_sql("DELETE FROM artifact WHERE digest IN (SELECT released FROM release)").await;
    change_label(&test).await;
    wait_until("the release says that its values are lost", async || {
        let release = release(&test, "east").await;
        let reason = release.stages().current().and_then(|stage| stage.state.reason());
        reason.is_some_and(|reason| reason.message.contains("is lost or can't be read"))
    })
    .await;
    assert_eq!(release(&test, "east").await.released().cloned(), bundle, "the cluster keeps what it runs");
    test.close().await;
}
