//! Scopes, payloads and checks by example.

use serde_json::json;

use super::*;
use crate::kubernetes::id::IncidentId;
use crate::model::incident::{IncidentKind, IncidentState, PrecedingChange};

const fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn message(kind: MessageKind) -> IncidentMessage {
    let closed_at = (kind == MessageKind::Closed).then(|| at(200));
    let incident = IncidentSummary {
        id: IncidentId::from_parts(1, 1),
        workload: "web".into(),
        kind: IncidentKind::Failure,
        state: if closed_at.is_some() { IncidentState::Closed } else { IncidentState::Open },
        clusters: vec!["eu-1".into()],
        cluster_details: Vec::new(),
        cause: "Deployment shop/web: cannot pull image <web:9>".into(),
        reason: "ImagePullFailed".into(),
        object: "Deployment shop/web".into(),
        container: "app".into(),
        pod: "web-1".into(),
        hint: "Correct the image.".into(),
        preceding_change: Some(PrecedingChange {
            message: "Revision 2 was published.".into(),
            actor: "ana".into(),
            at: at(1),
            revision: Some(2),
            cluster: String::new(),
        }),
        since: at(10),
        opened_at: at(70),
        closed_at,
        duration_seconds: closed_at.map(|_| 190),
        acknowledged_by: None,
        acknowledged_at: None,
    };
    IncidentMessage { kind, incident, owners: vec!["team-shop".into()], at: at(70) }
}

fn body(kind: ChannelKind, message: &IncidentMessage) -> serde_json::Value {
    let id = DeliveryId::from_parts(1, 7);
    build_payload(kind, id, message, ("https://f.test/incidents/1", "key")).body
}

#[test]
fn a_webhook_is_a_cloud_event_whose_id_is_that_of_the_delivery() {
    let event = body(ChannelKind::Webhook, &message(MessageKind::Opened));
    assert_eq!(event["specversion"], "1.0");
    assert_eq!(event["id"], DeliveryId::from_parts(1, 7).to_string());
    assert_eq!(event["type"], "dev.flotilla.incident.opened");
    assert_eq!(event["data"]["incident"]["clusters"], json!(["eu-1"]));
    assert_eq!(event["data"]["owners"], json!(["team-shop"]));
}

#[test]
fn e12_chat_messages_name_cause_clusters_change_and_remedy_without_markup_of_the_cluster() {
    let text = body(ChannelKind::Slack, &message(MessageKind::Opened))["text"].as_str().unwrap().to_owned();
    for part in ["&lt;web:9&gt;", "eu-1", "Revision 2 was published.", "Correct the image.", "|web fails on"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let card = body(ChannelKind::Teams, &message(MessageKind::Opened));
    assert_eq!(card["attachments"][0]["content"]["type"], "AdaptiveCard");
}

#[test]
fn pagerduty_and_alertmanager_resolve_what_they_were_sent_by_the_same_key() {
    let (opened, closed) = (message(MessageKind::Opened), message(MessageKind::Closed));
    let of = |message| body(ChannelKind::Pagerduty, message);
    assert_eq!(
        (&of(&opened)["event_action"], &of(&closed)["event_action"]),
        (&json!("trigger"), &json!("resolve"))
    );
    assert_eq!(of(&opened)["dedup_key"], of(&closed)["dedup_key"]);
    assert_eq!(of(&opened)["routing_key"], "key");
    let of = |message| body(ChannelKind::Alertmanager, message)[0].clone();
    assert_eq!(of(&opened)["labels"], of(&closed)["labels"]);
    assert_eq!((of(&opened).get("endsAt").is_some(), of(&closed).get("endsAt").is_some()), (false, true));
    let mut acknowledged = message(MessageKind::Updated);
    acknowledged.incident.acknowledged_by = Some("ana".into());
    assert_eq!(body(ChannelKind::Pagerduty, &acknowledged)["event_action"], "acknowledge");
}

#[test]
fn s0_13_a_subscription_selects_by_workload_owner_or_labels_and_says_why_not() {
    let labels = [("team".to_owned(), "shop".to_owned())].into();
    let cluster_owners = vec!["team-edge".into()];
    let subject =
        IncidentSubject { workload: "web".into(), owners: vec!["ana".into()], labels, cluster_owners };
    let scope = |fields: NewSubscription| fields.scope().unwrap();
    let of = |key: &str, value: &str| -> NewSubscription {
        serde_json::from_value(json!({"channel": "ops", key: value})).unwrap()
    };
    for (key, matching, other) in
        [("workload", "web", "api"), ("owner", "ana", "ben"), ("selector", "team=shop", "team=other")]
    {
        assert_eq!(scope(of(key, matching)).explain_mismatch(&subject), None, "{key}");
        assert!(scope(of(key, other)).explain_mismatch(&subject).is_some(), "{key}");
    }
    assert_eq!(scope(of("project", "default")).explain_mismatch(&subject), None);
    assert_eq!(scope(of("owner", "team-edge")).explain_mismatch(&subject), None, "of a cluster");
    let findings = of("project", "shop").scope().unwrap_err();
    assert_eq!(findings[0].message, "There is no such project.");
    let two = NewSubscription { owner: Some("ana".into()), ..of("workload", "web") };
    assert!(two.scope().is_err() && NewSubscription::default().scope().is_err());
}

#[test]
fn a_channel_is_checked_by_its_kind() {
    let channel = |kind, url: &str, secret: Option<&str>| NewChannel {
        name: "ops".into(),
        kind,
        url: url.into(),
        secret: secret.map(str::to_owned),
    };
    let is_valid = |channel: NewChannel| channel.check().is_empty();
    assert!(is_valid(channel(ChannelKind::Webhook, "https://a.test/hook", None)));
    assert!(is_valid(channel(ChannelKind::Pagerduty, "", Some("k"))));
    assert_eq!(channel(ChannelKind::Pagerduty, "", Some("k")).target(), PAGERDUTY_URL);
    for url in ["", "a.test/hook", "ftp://a.test", "https://", "https://user@a.test/", "https://a.test/a b"] {
        assert!(!is_valid(channel(ChannelKind::Webhook, url, None)), "{url}");
    }
    assert!(!is_valid(channel(ChannelKind::Pagerduty, "", None)));
    assert!(!is_valid(channel(ChannelKind::Webhook, "https://a.test/", Some("short"))));
    assert!(!is_valid(channel(ChannelKind::Slack, "https://a.test/", Some("k"))));
    let debug = format!("{:?}", channel(ChannelKind::Webhook, "https://a.test/s3cret", Some("s3cret")));
    assert!(!debug.contains("s3cret"), "{debug}");
}

#[test]
fn the_pause_between_attempts_grows_up_to_an_hour() {
    assert_eq!([1, 2, 3].map(retry_pause_millis), [5_000, 10_000, 20_000]);
    assert_eq!(retry_pause_millis(50), 3_600_000);
}
