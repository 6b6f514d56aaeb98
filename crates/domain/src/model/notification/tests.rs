//! Scopes, payloads and checks by example.

use serde_json::json;

use super::*;
use crate::kubernetes::id::{IncidentId, OperationId};
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

fn content(message: &IncidentMessage) -> MessageContent {
    MessageContent::Incident(Box::new(message.clone()))
}

fn body(kind: ChannelKind, message: &IncidentMessage) -> serde_json::Value {
    let id = DeliveryId::from_parts(1, 7);
    build_payload(kind, id, &content(message), ("https://f.test/incidents/1", "key")).body
}

#[test]
fn the_end_of_a_publish_is_a_cloud_event_a_chat_message_or_an_e_mail_and_has_values_for_a_template() {
    let content = MessageContent::Publish(PublishMessage {
        outcome: PublishOutcome::Failed,
        operation: OperationId::from_parts(1, 3),
        workload: "web".into(),
        revision: 2,
        publisher: "ana".into(),
        clusters: 2,
        operational: 1,
        affected: vec!["eu-1".into()],
        affected_count: 1,
        cause: "cannot pull image <web:9>".into(),
        started_at: at(1),
        at: at(70),
    });
    let build = |kind| {
        let id = DeliveryId::from_parts(1, 7);
        build_payload(kind, id, &content, ("https://f.test/workloads/web", "")).body
    };
    let event = build(ChannelKind::Webhook);
    assert_eq!(event["type"], "dev.flotilla.publish.failed");
    assert_eq!(event["data"]["publish"]["affected"], json!(["eu-1"]));
    assert_eq!(event["data"]["message"], "web r2 fails on 1 of 2 clusters");
    let text = build(ChannelKind::Slack)["text"].as_str().unwrap().to_owned();
    for part in ["|web r2 fails on 1 of 2 clusters>", "&lt;web:9&gt;", "eu-1", "ana"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(build(ChannelKind::Teams)["attachments"][0]["content"]["type"], "AdaptiveCard");
    let email = build_email(&content, "https://f.test/workloads/web");
    assert_eq!(email.subject, "[Flotilla] web r2 fails on 1 of 2 clusters");
    assert!(email.text.contains("Published by: ana") && email.html.contains("Open the publish"), "{email:?}");
    let values = MessageValues::of_message(&content, "");
    let of = |name: &str| {
        TEMPLATE_TEXTS.iter().position(|one| *one == name).map(|index| values.texts[index].as_str())
    };
    assert_eq!((of("event"), of("kind")), (Some("publishEnded"), Some("publish")));
    assert_eq!((of("reason"), of("cluster_count"), of("hint")), (Some("failed"), Some("1"), Some("")));
    assert_eq!(values.lists, [vec!["eu-1".to_owned()], vec!["ana".to_owned()]]);
    let accepting = ChannelKind::ALL.iter().filter(|kind| kind.accepts_publishes());
    let accepting: Vec<&str> = accepting.map(|kind| kind.as_str()).collect();
    assert_eq!(accepting, ["webhook", "slack", "teams", "email"]);
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
    let of_publishes = scope(of("publisher", "ana"));
    assert_eq!(of_publishes, SubscriptionScope::Publisher("ana".into()));
    assert!(of_publishes.explain_mismatch(&subject).is_some(), "it is not for incidents");
    assert!(of("publisher", "").scope().is_err());
    let mixed = NewSubscription { publisher: Some("ana".into()), ..of("workload", "web") };
    assert_eq!(mixed.scope().unwrap_err()[0].path, "/publisher");
    let findings = of("project", "shop").scope().unwrap_err();
    assert_eq!(findings[0].message, "There is no such project.");
    let two = NewSubscription { owner: Some("ana".into()), ..of("workload", "web") };
    assert!(two.scope().is_err() && NewSubscription::default().scope().is_err());
}

#[test]
fn quiet_hours_are_a_window_that_ends() {
    let paths = |text: &str| -> Vec<String> {
        let quiet_hours = Some(text.parse().unwrap());
        let new = NewSubscription { quiet_hours, ..NewSubscription::default() };
        new.check_quiet_hours().into_iter().map(|finding| finding.path).collect()
    };
    assert_eq!(paths("22:00-06:00 Europe/Berlin"), [""; 0]);
    assert_eq!(paths("00:00-24:00 sat,sun"), [""; 0]);
    assert_eq!(paths("00:00-24:00"), ["/quietHours/to"]);
    assert_eq!(paths("25:00-06:00"), ["/quietHours/from"]);
    assert_eq!(NewSubscription::default().check_quiet_hours(), []);
}

#[test]
fn a_channel_is_checked_by_its_kind() {
    let channel = |kind, url: &str, secret: Option<&str>| NewChannel {
        name: "ops".into(),
        kind,
        url: url.into(),
        secret: secret.map(str::to_owned),
        ..NewChannel::default()
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

fn mail_channel(change: impl FnOnce(&mut EmailSettings, &mut Option<String>)) -> NewChannel {
    let mut email = EmailSettings {
        host: "mail.example.com".into(),
        from: "flotilla@example.com".into(),
        to: vec!["ops@example.com".into()],
        ..EmailSettings::default()
    };
    let mut secret = None;
    change(&mut email, &mut secret);
    let email = Some(email);
    NewChannel { name: "mail".into(), kind: ChannelKind::Email, secret, email, ..NewChannel::default() }
}

#[test]
fn a_channel_for_e_mail_is_checked_for_server_addresses_and_a_password_without_tls() {
    assert!(mail_channel(|_, _| ()).check().is_empty());
    assert_eq!(mail_channel(|_, _| ()).target(), "smtp://mail.example.com:587");
    assert_eq!(
        mail_channel(|email, _| email.security = EmailSecurity::Tls).target(),
        "smtps://mail.example.com:465"
    );
    assert_eq!(mail_channel(|email, _| email.host = "::1".into()).target(), "smtp://[::1]:587");
    let path_of = |channel: NewChannel| {
        let findings = channel.check();
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings[0].path.clone()
    };
    let with_login = |email: &mut EmailSettings, secret: &mut Option<String>| {
        email.username = "flotilla".into();
        *secret = Some("s3cret".into());
    };
    assert!(mail_channel(with_login).check().is_empty());
    for (path, channel) in [
        ("/email/host", mail_channel(|email, _| email.host = "mail example".into())),
        ("/email/host", mail_channel(|email, _| email.host = "a.test\r\nMAIL".into())),
        ("/email/port", mail_channel(|email, _| email.port = Some(0))),
        ("/email/to", mail_channel(|email, _| email.to.clear())),
        ("/email/to", mail_channel(|email, _| email.to = vec!["a@b.test".into(); MAX_RECIPIENTS + 1])),
        ("/email/to/1", mail_channel(|email, _| email.to.push("Ops <ops@example.com>".into()))),
        ("/email/username", mail_channel(|_, secret| *secret = Some("s3cret".into()))),
        ("/secret", mail_channel(|email, _| email.username = "flotilla".into())),
        ("/url", NewChannel { url: "https://a.test/".into(), ..mail_channel(|_, _| ()) }),
        ("/email", NewChannel { email: None, ..mail_channel(|_, _| ()) }),
    ] {
        assert_eq!(path_of(channel), path);
    }
    let in_clear = mail_channel(|email, secret| {
        with_login(email, secret);
        email.security = EmailSecurity::Plain;
    });
    assert_eq!(path_of(in_clear), "/email/security");
    let webhook =
        NewChannel { kind: ChannelKind::Webhook, url: "https://a.test/".into(), ..mail_channel(|_, _| ()) };
    assert_eq!(path_of(webhook), "/email");
}

#[test]
fn an_address_of_e_mail_contains_nothing_that_begins_another_header_or_command() {
    for address in [
        "",
        "ops",
        "@example.com",
        "ops@",
        "a b@example.com",
        "ops@example.com\r\nBcc: all@example.com",
        "ops@example.com, all@example.com",
        "<ops@example.com>",
        "\"a b\"@example.com",
        "ops@example..com",
        ".ops@example.com",
        "ops@[127.0.0.1]",
        "\u{fc}@example.com",
    ] {
        for channel in [
            mail_channel(|email, _| email.from = address.into()),
            mail_channel(|email, _| email.to = vec![address.into()]),
        ] {
            assert_eq!(channel.check().len(), 1, "{address:?}");
        }
    }
    let label = format!("ops@{}.example.com", "a".repeat(64));
    assert_eq!(mail_channel(|email, _| email.to = vec![label]).check().len(), 1, "no client sends to it");
    let longest = format!("{}@example.com", "a".repeat(64));
    assert!(mail_channel(|email, _| email.to = vec![longest.clone()]).check().is_empty());
    assert_eq!(mail_channel(|email, _| email.to = vec![format!("a{longest}")]).check().len(), 1);
}

#[test]
fn e12_an_e_mail_says_the_same_as_text_and_as_html_without_markup_or_lines_of_the_cluster() {
    let mut opened = message(MessageKind::Opened);
    opened.incident.reason = "Failed\r\nBcc: all@example.com".into();
    opened.incident.hint = "Run <script>alert('x')</script>\u{7}.".into();
    let email = build_email(&content(&opened), "https://f.test/incidents/1?a=\"b\"");
    assert_eq!(email.subject, "[Flotilla] web: Failed  Bcc: all@example.com");
    for part in
        ["Cause: Deployment shop/web", "Clusters: eu-1", "Revision 2 was published.", "<script>alert('x')"]
    {
        assert!(email.text.contains(part), "{part}: {}", email.text);
    }
    assert!(!email.text.contains('\u{7}') && !email.html.contains("<script"), "{}", email.html);
    assert!(email.html.contains("&lt;script&gt;alert(&#39;x&#39;)"), "{}", email.html);
    assert!(email.html.contains("href=\"https://f.test/incidents/1?a=&quot;b&quot;\""), "{}", email.html);
    assert_eq!(
        build_email(&content(&message(MessageKind::Closed)), "").subject,
        "Re: [Flotilla] web: ImagePullFailed"
    );
    let own = build_email_of_text(&content(&opened), "a < b\nc", "");
    assert!(own.html.contains("a &lt; b\nc") && own.text == "a < b\nc\n", "{own:?}");
}

#[test]
fn a_text_of_a_template_is_where_the_receiver_shows_it_and_a_string_in_json() {
    let text = "line \"1\"\n{\\";
    let id = DeliveryId::from_parts(1, 7);
    let opened = content(&message(MessageKind::Opened));
    for (kind, pointer) in [
        (ChannelKind::Webhook, "/data/text"),
        (ChannelKind::Slack, "/text"),
        (ChannelKind::Teams, "/attachments/0/content/body/0/text"),
        (ChannelKind::Alertmanager, "/0/annotations/description"),
        (ChannelKind::Pagerduty, "/payload/summary"),
    ] {
        let payload = build_payload(kind, id, &opened, ("", "key")).with_text(kind, text);
        let sent = serde_json::to_string(&payload.body).unwrap();
        let read: serde_json::Value = serde_json::from_str(&sent).unwrap();
        assert_eq!(read.pointer(pointer), Some(&json!(text)), "{kind:?}: {sent}");
    }
}

#[test]
fn the_lists_of_a_template_are_bounded_and_count_the_rest() {
    let mut many = message(MessageKind::Opened);
    many.incident.clusters = (0..1_000).map(|n| format!("c-{n}")).collect();
    let values = MessageValues::of_message(&content(&many), "https://f.test/");
    assert_eq!(values.lists[0].len(), MAX_TEMPLATE_ITEMS + 1);
    assert_eq!(values.lists[0].last().unwrap(), "… 900 more");
    let of =
        |name: &str| TEMPLATE_TEXTS.iter().position(|one| *one == name).map(|at| values.texts[at].as_str());
    assert_eq!((of("cluster_count"), of("reason")), (Some("1000"), Some("ImagePullFailed")));
    assert_eq!((of("event"), of("link")), (Some("opened"), Some("https://f.test/")));
    assert_eq!(
        (of("closed_at"), of("change").map(|text| text.contains("Revision 2"))),
        (Some(""), Some(true))
    );
}
