//! Routes and node ports that another workload has already.

use domain::Finding;
use domain::placement::Placement;
use domain::report::Goal;
use hub::{Error, Removal, Terms, WorkloadEdit};

use crate::house::{House, everywhere, labelled, source};

const SHOP: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: front}\nspec:\n  rules:\n  \
                    - host: shop.example.com\n    http:\n      paths:\n      \
                    - {path: /, pathType: Prefix, backend: {service: {name: front, port: {number: 80}}}}\n";

const PORT: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: front}\nspec:\n  type: NodePort\n  \
                    selector: {app: front}\n  ports: [{port: 80, nodePort: 31000}]\n";

async fn draft(house: &House, name: &str, placement: Placement, text: &str) {
    house.draft(name, placement).await;
    rewrite(house, name, text).await;
}

async fn rewrite(house: &House, name: &str, text: &str) {
    let mut spec = house.hub.workload_view(name).await.unwrap().workload.draft;
    spec.source = source(text);
    let edit = WorkloadEdit { spec: Some(spec), ..WorkloadEdit::default() };
    house.hub.workload_edit(&house.actor, name, edit, None).await.unwrap();
}

async fn refusal(house: &House, name: &str) -> Vec<Finding> {
    match house.hub.workload_publish(&house.actor, name, "", Terms::default()).await {
        Err(Error::Invalid(findings)) => findings.into_iter().filter(Finding::blocks).collect(),
        other => panic!("{name} was not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g305_a_route_of_another_workload_is_refused_before_anything_is_published() {
    let house = House::open().await;
    for name in ["east", "north", "west"] {
        house.cluster(name, &[("env", if name == "west" { "dev" } else { "prod" })]).await;
    }
    draft(&house, "storefront", labelled("env=prod"), SHOP).await;
    draft(&house, "web", everywhere(), SHOP).await;
    // Nobody waits for the placer in between.
    house.publish("storefront").await;
    let refused = refusal(&house, "web").await;
    let [finding] = &refused[..] else { panic!("{refused:#?}") };
    assert_eq!((&*finding.code, &*finding.clusters), ("G305", &["east".to_owned(), "north".to_owned()][..]));
    assert_eq!(
        finding.message,
        "\"shop.example.com/\" already belongs to workload \"storefront\" on east, north; which of them is asked, only \
         the controller knows."
    );
    assert!(house.hub.workload_view("web").await.unwrap().workload.published.is_none());

    // The plan and the review say the same, once for both clusters.
    let plan = house.hub.plan_make(&house.actor, "web").await.unwrap();
    assert!(plan.blocks());
    assert_eq!(plan.findings.iter().filter(|found| *found == finding).count(), 1);
    let spec = house.hub.workload_view("web").await.unwrap().workload.draft;
    assert!(house.hub.workload_check("web", &spec).await.unwrap().findings.contains(finding));

    // Its own routes are in nobody's way, and neither are another path or another cluster.
    house.publish("storefront").await;
    rewrite(&house, "web", &SHOP.replace("path: /,", "path: /api,")).await;
    house.publish("web").await;
    draft(&house, "other", labelled("env=dev"), SHOP).await;
    house.publish("other").await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g303_a_node_port_is_free_again_once_its_workload_is_gone_from_the_cluster() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    draft(&house, "storefront", everywhere(), PORT).await;
    draft(&house, "web", everywhere(), PORT).await;
    house.publish("storefront").await;
    let want = east.one().await;
    east.obey(&want).await;
    let refused = refusal(&house, "web").await;
    assert_eq!(refused.len(), 1);
    assert_eq!(
        refused[0].message,
        "nodePort 31000 of Service shop/front is taken by workload \"storefront\" on east; a cluster gives it once."
    );

    // As long as it is being removed, it is taken.
    house.hub.workload_unpublish(&house.actor, "storefront", Removal::default()).await.unwrap();
    let leave = east.until(|wants| matches!(wants.releases[0].goal, Goal::Absent { .. })).await;
    assert_eq!(refusal(&house, "web").await.len(), 1);
    east.obey(&leave.releases[0]).await;
    house.publish("web").await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g303_a_port_that_the_next_revision_gives_up_is_free_once_it_is_placed() {
    let house = House::open().await;
    let mut east = house.cluster("east", &[]).await;
    draft(&house, "storefront", everywhere(), PORT).await;
    house.publish("storefront").await;
    let first = east.one().await;
    rewrite(&house, "storefront", &PORT.replace("31000", "31001")).await;
    house.publish("storefront").await;
    east.until(|wants| wants.releases[0].generation > first.generation).await;
    draft(&house, "web", everywhere(), PORT).await;
    house.publish("web").await;
    draft(&house, "late", everywhere(), &PORT.replace("31000", "31001")).await;
    assert_eq!(refusal(&house, "late").await.len(), 1);
    house.close().await;
}
