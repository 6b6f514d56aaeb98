//! Routes and node ports that another workload uses.

use domain::Finding;
use domain::placement::Placement;
use domain::request::RemovalOptions;
use hub::{Error, PublishOptions, WorkloadEdit};

use crate::test_hub::{TestHub, by_label, everywhere, source};

const SHOP: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: front}\nspec:\n  rules:\n  \
                    - host: shop.example.com\n    http:\n      paths:\n      \
                    - {path: /, pathType: Prefix, backend: {service: {name: front, port: {number: 80}}}}\n";

const PORT: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: front}\nspec:\n  type: NodePort\n  \
                    selector: {app: front}\n  ports: [{port: 80, nodePort: 31000}]\n";

async fn create_draft(test: &TestHub, name: &str, placement: Placement, text: &str) {
    test.create_draft(name, placement).await;
    edit_source(test, name, text).await;
}

async fn edit_source(test: &TestHub, name: &str, text: &str) {
    let mut spec = test.hub.get_workload(name).await.unwrap().workload.draft;
    spec.source = source(text);
    let edit = WorkloadEdit { spec: Some(spec), ..WorkloadEdit::default() };
    test.hub.edit_workload(&test.actor, name, edit, None).await.unwrap();
}

async fn publish_findings(test: &TestHub, name: &str) -> Vec<Finding> {
    match test.hub.publish_workload(&test.actor, name, "", PublishOptions::default()).await {
        Err(Error::Invalid(findings)) => findings.into_iter().filter(Finding::is_blocking).collect(),
        other => panic!("{name} was not rejected: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g305_a_publish_with_a_route_of_another_workload_is_rejected() {
    let test = TestHub::open().await;
    for name in ["east", "north", "west"] {
        test.register_cluster(name, &[("env", if name == "west" { "dev" } else { "prod" })]).await;
    }
    create_draft(&test, "storefront", by_label("env=prod"), SHOP).await;
    create_draft(&test, "web", everywhere(), SHOP).await;
    // Without waiting for the placer in between.
    test.publish("storefront").await;
    let findings = publish_findings(&test, "web").await;
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!((&*finding.code, &*finding.clusters), ("G305", &["east".to_owned(), "north".to_owned()][..]));
    assert_eq!(
        finding.message,
        "\"shop.example.com/\" is already routed to workload \"storefront\" on east, north; the ingress controller decides \
         which of them receives the requests."
    );
    assert!(test.hub.get_workload("web").await.unwrap().workload.published.is_none());

    // The plan and the check have the same finding, once for both clusters.
    let plan = test.hub.create_plan(&test.actor, "web", &PublishOptions::default()).await.unwrap();
    assert!(plan.is_blocked());
    assert_eq!(plan.findings.iter().filter(|found| *found == finding).count(), 1);
    let spec = test.hub.get_workload("web").await.unwrap().workload.draft;
    assert!(test.hub.check_workload(&test.actor, "web", &spec).await.unwrap().findings.contains(finding));

    // Its own routes, another path and another cluster are no conflict.
    test.publish("storefront").await;
    edit_source(&test, "web", &SHOP.replace("path: /,", "path: /api,")).await;
    test.publish("web").await;
    create_draft(&test, "other", by_label("env=dev"), SHOP).await;
    test.publish("other").await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g303_a_node_port_is_free_again_once_its_workload_is_removed_from_the_cluster() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    create_draft(&test, "storefront", everywhere(), PORT).await;
    create_draft(&test, "web", everywhere(), PORT).await;
    test.publish("storefront").await;
    east.apply_release().await;
    let findings = publish_findings(&test, "web").await;
    assert_eq!(findings.len(), 1);
    assert_eq!(
        findings[0].message,
        "nodePort 31000 of Service shop/front is already used by workload \"storefront\" on east; a node port can be used \
         once per cluster."
    );

    // Taken until the removal is complete.
    test.hub.unpublish_workload(&test.actor, "storefront", RemovalOptions::default()).await.unwrap();
    let leave = east.wait_for_removal().await;
    assert_eq!(publish_findings(&test, "web").await.len(), 1);
    east.report_applied(&leave).await;
    test.publish("web").await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g303_a_node_port_that_the_next_revision_drops_is_free_once_that_is_placed() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    create_draft(&test, "storefront", everywhere(), PORT).await;
    test.publish("storefront").await;
    let first = east.wait_for_release().await;
    edit_source(&test, "storefront", &PORT.replace("31000", "31001")).await;
    test.publish("storefront").await;
    east.wait_for_desired_state(|desired_state| desired_state.releases[0].generation > first.generation)
        .await;
    create_draft(&test, "web", everywhere(), PORT).await;
    test.publish("web").await;
    create_draft(&test, "late", everywhere(), &PORT.replace("31000", "31001")).await;
    assert_eq!(publish_findings(&test, "late").await.len(), 1);
    test.close().await;
}
