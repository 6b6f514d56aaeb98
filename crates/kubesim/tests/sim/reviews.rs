//! Reviews of the client's own permissions.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SelfSubjectRulesReview,
    SelfSubjectRulesReviewSpec,
};
use kube::Api;
use kube::api::PostParams;

use crate::support::{api_error, start_cluster};

fn rules_review(namespace: &str) -> SelfSubjectRulesReview {
    let spec = SelfSubjectRulesReviewSpec { namespace: Some(namespace.to_owned()) };
    SelfSubjectRulesReview { spec, ..Default::default() }
}

#[tokio::test]
async fn a_review_of_the_own_rules_lists_every_permission_and_is_complete() {
    let (cluster, client) = start_cluster();
    let api: Api<SelfSubjectRulesReview> = Api::all(client);
    let written = cluster.stats().client_writes;
    let review = api.create(&PostParams::default(), &rules_review("default")).await.unwrap();
    let status = review.status.unwrap();
    assert!(!status.incomplete);
    let rule = &status.resource_rules[0];
    let all = Some(vec!["*".to_owned()]);
    assert_eq!((&rule.verbs, &rule.api_groups, &rule.resources), (&vec!["*".to_owned()], &all, &all));
    assert_eq!(cluster.stats().client_writes, written, "a review is not stored");
    let refusal = api_error(api.create(&PostParams::default(), &rules_review("")).await);
    assert_eq!((refusal.code, &*refusal.message), (400, "no namespace on request"));
}

#[tokio::test]
async fn a_review_of_the_own_access_allows_it() {
    let (_, client) = start_cluster();
    let api: Api<SelfSubjectAccessReview> = Api::all(client);
    let attributes = ResourceAttributes {
        verb: Some("list".to_owned()),
        resource: Some("secrets".to_owned()),
        ..Default::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..Default::default() };
    let review = api.create(&PostParams::default(), &review).await.unwrap();
    assert!(review.status.unwrap().allowed);
}
