//! Publishes of one override.

use domain::cluster::{ClusterFacts, ConfirmedFacts};
use domain::overrides::{ClusterSelector, ObjectSelector, Patch, PatchOp};
use domain::request::OverridePut;
use domain::workload::WorkloadView;
use domain::{Finding, WorkloadId};
use hub::{Error, OverrideChange, PublishContent, PublishOptions};
use serde_json::{Value, json};

use crate::rendered_facts::{data, facts};
use crate::test_hub::{TestHub, everywhere, source, wait_until};

const FRONT: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: front}\nspec:\n  rules:\n  \
                     - host: front.example.com\n    http:\n      paths:\n      \
                     - {path: /, pathType: Prefix, backend: {service: {name: front, port: {number: 80}}}}\n";

fn set(kind: &str, path: &str, value: Value) -> OverrideChange {
    let object = ObjectSelector { kind: kind.into(), ..ObjectSelector::default() };
    let content = OverridePut {
        target: ClusterSelector { clusters: vec!["east".into()], ..ClusterSelector::default() },
        priority: 500,
        values: String::new(),
        patches: vec![Patch { object, op: PatchOp::Set { path: path.into(), value } }],
    };
    OverrideChange::Save { name: "east".into(), content }
}

fn options(content: PublishContent) -> PublishOptions {
    PublishOptions { content, ..PublishOptions::default() }
}

async fn view(test: &TestHub, name: &str) -> WorkloadView {
    test.hub.get_workload(name).await.unwrap()
}

async fn publish_source(test: &TestHub, name: &str, text: &str) -> WorkloadId {
    test.create_draft(name, everywhere()).await;
    test.edit_draft(name, |spec| spec.source = source(text)).await;
    test.publish(name).await;
    view(test, name).await.workload.id
}

#[tokio::test(flavor = "multi_thread")]
async fn g305_an_override_with_a_route_of_another_workload_is_rejected_and_its_own_routes_are_recorded() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[]).await;
    publish_source(&test, "web", FRONT).await;
    publish_source(&test, "api", &FRONT.replace("front.example.com", "api.example.com")).await;
    let host =
        |host: &str| options(PublishContent::Override(set("Ingress", "/spec/rules/0/host", json!(host))));

    let publish = async |name: &'static str, to: &str| {
        let result = test.hub.publish_workload(&test.actor, name, "", host(to)).await;
        result.map_err(|error| match error {
            Error::Invalid(findings) => {
                let blocking = findings.into_iter().filter(Finding::is_blocking);
                blocking.map(|finding| finding.code).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        })
    };
    let before = view(&test, "web").await.workload;
    assert_eq!(publish("web", "api.example.com").await, Err(vec!["G305".into()]));
    assert_eq!(view(&test, "web").await.workload, before);
    assert_eq!(publish("web", "new.example.com").await.unwrap().revision, 2);
    // Without waiting for the placer in between.
    assert_eq!(publish("api", "new.example.com").await, Err(vec!["G305".into()]));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_override_of_the_draft_is_published_alone_and_only_if_it_differs() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    test.edit_draft("web", |spec| spec.namespace = "other".into()).await;
    let change = set("ConfigMap", "/data/colour", json!("green"));
    test.hub.change_override(&test.actor, "web", change, None).await.unwrap();

    let publish = async || {
        let content = PublishContent::DraftOverride("east".into());
        test.hub
            .publish_workload(&test.actor, "web", "", options(content))
            .await
            .map(|result| result.revision)
    };
    assert_eq!(publish().await.unwrap(), 2);
    let after = view(&test, "web").await;
    let published = after.published_revision.unwrap();
    assert_eq!((&*published.spec.namespace, &*published.message), ("shop", "Override east of web was saved"));
    assert_eq!(published.spec.overrides, after.workload.draft.overrides);
    assert!(after.workload.draft_changed, "the namespace is not published");
    let again = publish().await.unwrap_err().to_string();
    assert!(again.contains("The override east of the draft is the same as in revision 2."), "{again}");

    // Removed in the draft, it is removed alone from what is published.
    let remove = OverrideChange::Remove { name: "east".into() };
    test.hub.change_override(&test.actor, "web", remove, None).await.unwrap();
    assert_eq!(publish().await.unwrap(), 3);
    let published = view(&test, "web").await.published_revision.unwrap();
    assert_eq!((published.spec.overrides.len(), &*published.spec.namespace), (0, "shop"));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_without_other_edits_is_unchanged_after_its_override_is_published() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let content = PublishContent::Override(set("ConfigMap", "/data/colour", json!("green")));
    test.hub.publish_workload(&test.actor, "web", "", options(content)).await.unwrap();
    let after = view(&test, "web").await;
    assert!(!after.workload.draft_changed);
    assert_eq!(after.workload.draft, after.published_revision.unwrap().spec);
    let messages = test.event_messages().await;
    let events =
        ["Override east of web was saved.", "web revision 2 was published: Override east of web was saved."];
    for event in events {
        assert!(messages.iter().any(|message| message.starts_with(event)), "{event}: {messages:?}");
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_7_an_override_by_facts_follows_what_a_user_confirms_and_not_what_the_cluster_reports() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let at = |provider: &str| ClusterFacts { provider: provider.into(), ..facts("v1.33.4", &[]) };
    east.send_facts(at("aws")).await;
    test.create_draft("web", everywhere()).await;
    for (provider, colour) in [("aws", "orange"), ("gce", "green")] {
        let object = ObjectSelector { kind: "ConfigMap".into(), ..ObjectSelector::default() };
        let op = PatchOp::Set { path: "/data/colour".into(), value: json!(colour) };
        let content = OverridePut {
            target: ClusterSelector {
                field_selector: format!("provider={provider}").parse().unwrap(),
                ..ClusterSelector::default()
            },
            priority: 500,
            values: String::new(),
            patches: vec![Patch { object, op }],
        };
        let change = OverrideChange::Save { name: provider.into(), content };
        test.hub.change_override(&test.actor, "web", change, None).await.unwrap();
    }
    test.publish("web").await;
    east.wait_for_release().await;
    assert_eq!(data(&test, &east, "east").await["colour"], "orange");

    // A report is not enough, whatever else makes the placer run.
    east.send_facts(at("gce")).await;
    test.run_placer().await;
    test.publish_new("other", everywhere()).await;
    east.wait_for_desired_state(|desired_state| desired_state.releases.len() == 2).await;
    assert_eq!(data(&test, &east, "east").await["colour"], "orange");

    let reported = ConfirmedFacts::from_reported(&at("gce"));
    test.hub.confirm_cluster_facts(&test.actor, "east", reported, None).await.unwrap();
    wait_until("the override for the confirmed provider is released", async || {
        data(&test, &east, "east").await["colour"] == "green"
    })
    .await;
    test.close().await;
}
