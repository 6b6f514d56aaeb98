//! The conversation of a client of the original multi-cluster deployment API, replayed over REST. Its requests and responses are those
//! of the article that describes that API, with the rules that this product states where code and article differ.
//!
//! In `recorded/deployments.json` `{name}` is the id of a cluster, and `*` in a text of a response is any text. A response may have more
//! fields than are recorded, but no more items of a list.

use std::collections::BTreeMap;

use reqwest::{Method, StatusCode};
use serde::Deserialize;

use super::deployments::fleet_of;
use super::*;

const CONVERSATION: &str = include_str!("recorded/deployments.json");
const CLUSTERS: [&str; 3] = ["pke-demo", "gke-demo", "aws-demo"];

/// One request with its response.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConversationStep {
    /// What it shows, as a sentence.
    about: String,
    /// What happens to a cluster before.
    given: Option<GivenCluster>,
    request: ConversationRequest,
    response: ConversationResponse,
    /// Whether the request is repeated until it gets the response.
    #[serde(default)]
    until: bool,
    /// What the object of the deployment contains then, by cluster; null if there is none.
    #[serde(default)]
    applied: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenCluster {
    cluster: String,
    is: GivenState,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum GivenState {
    /// It rejects the object of the deployment.
    Rejecting,
    /// It rejects nothing.
    Accepting,
    /// Its agent has stopped.
    Unreachable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConversationRequest {
    method: String,
    path: String,
    #[serde(default)]
    body: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConversationResponse {
    status: u16,
    /// Null if only the status is recorded.
    #[serde(default)]
    body: Value,
}

/// Whether a text has the parts of a pattern between its stars, in order, and begins and ends with the outer ones.
fn is_matching_text(text: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(last)
}

/// Whether a response has everything that is recorded of it.
fn is_matching(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (_, Value::Null) => true,
        (Value::Object(actual), Value::Object(expected)) => {
            expected.iter().all(|(key, value)| actual.get(key).is_some_and(|found| is_matching(found, value)))
        }
        (Value::Array(actual), Value::Array(expected)) => {
            actual.len() == expected.len()
                && actual.iter().zip(expected).all(|(found, value)| is_matching(found, value))
        }
        (Value::String(actual), Value::String(expected)) => is_matching_text(actual, expected),
        _ => actual == expected,
    }
}

fn index_of(cluster: &str) -> usize {
    CLUSTERS.iter().position(|name| *name == cluster).unwrap_or_else(|| panic!("no cluster {cluster}"))
}

async fn apply_condition(fleet: &mut TestFleet, GivenCluster { cluster, is }: &GivenCluster) {
    let index = index_of(cluster);
    match is {
        GivenState::Rejecting => {
            fleet.clusters[index].faults().set_admission_rules(vec![kubesim::AdmissionRule {
                webhook: "policy.example.com".to_owned(),
                kind: "ConfigMap".to_owned(),
                name: "cockroach".to_owned(),
                message: format!("not on {cluster}"),
                ..kubesim::AdmissionRule::default()
            }]);
        }
        GivenState::Accepting => fleet.clusters[index].faults().clear(),
        GivenState::Unreachable => fleet.stop_agent(index, cluster).await,
    }
}

/// Sends the request of a step; returns the response if it is another one than is recorded.
async fn find_difference(fleet: &TestFleet, step: &ConversationStep) -> Option<String> {
    let ConversationRequest { method, path, body } = &step.request;
    let method: Method = method.parse().unwrap();
    let (status, response) = fleet.send(method, path, body.clone()).await;
    if status.as_u16() != step.response.status || !is_matching(&response, &step.response.body) {
        return Some(format!("{status} {response}"));
    }
    let applied = step.applied.iter().map(|(cluster, data)| (cluster, data, index_of(cluster)));
    let mut different = applied.filter(|(_, data, index)| fleet.data(*index, "cockroach") != **data);
    different.next().map(|(cluster, _, index)| format!("{cluster}: {}", fleet.data(index, "cockroach")))
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_9_s1_10_s1_15_s1_18_s1_21_s1_22_s1_23_the_conversation_of_a_client_of_the_original_api_is_replayed()
 {
    with_timeout(Box::pin(async {
        let mut fleet = fleet_of(&CLUSTERS).await;
        let ids = fleet.ids(&[0, 1, 2]);
        let text = CLUSTERS
            .iter()
            .zip(&ids)
            .fold(CONVERSATION.to_owned(), |text, (name, id)| text.replace(&format!("{{{name}}}"), id));
        let steps: Vec<ConversationStep> = serde_json::from_str(&text).unwrap();
        for status in [200, 201, 202, 207, 400, 404, 409] {
            assert!(steps.iter().any(|step| step.response.status == status), "no {status} is recorded");
        }
        for step in &steps {
            if let Some(condition) = &step.given {
                apply_condition(&mut fleet, condition).await;
            }
            if step.until {
                fleet.wait_until(async || find_difference(&fleet, step).await.is_none()).await;
            }
            let difference = find_difference(&fleet, step).await.filter(|_| !step.until);
            assert_eq!(difference, None, "{}: expected {}", step.about, step.response.body);
        }
        let (status, _) = fleet.send(Method::GET, "/api/v1/orgs/other/clustergroups", Value::Null).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "there is one organization");
        fleet.stop().await;
    }))
    .await;
}

#[test]
fn a_recorded_text_with_stars_is_a_pattern() {
    assert!(is_matching_text("a CAUSE: b", "a CAUSE: *") && is_matching_text("x CAUSE: b", "*CAUSE: *"));
    assert!(!is_matching_text("a CAUSE", "a CAUSE: *") && !is_matching_text("ab", "a"));
    assert!(!is_matching(&json!({"a": [1, 2]}), &json!({"a": [1]})), "a list has no more items");
}
