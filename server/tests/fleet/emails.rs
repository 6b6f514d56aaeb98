//! A mail server and a receiver of webhooks, over TCP, that are down for an hour.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use domain::IncidentId;
use domain::incident::IncidentState;
use domain::notification::{
    ChannelKind, EmailSecurity, EmailSettings, IncidentDetails, NewChannel, NewSubscription,
};
use server::args::RepositoryArg;
use testkit::{ReceivedEmail, SmtpMode, SmtpServer};

use super::incidents::{Received, all_delivered};
use super::*;

/// Starts a receiver of webhooks that answers 503 while it is down; returns its address.
async fn start_failing_receiver(received: Received, is_down: Arc<AtomicBool>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let receive = move |headers: HeaderMap, body: Bytes| async move {
        if is_down.load(SeqCst) {
            return StatusCode::SERVICE_UNAVAILABLE;
        }
        received.lock().push((headers, serde_json::from_slice(&body).unwrap()));
        StatusCode::NO_CONTENT
    };
    let router = Router::new().route("/hook", axum::routing::post(receive));
    tokio::spawn(axum::serve(listener, router).into_future());
    url
}

pub(super) fn mail_channel(server: &SmtpServer) -> NewChannel {
    let email = EmailSettings {
        host: "127.0.0.1".into(),
        port: Some(server.port()),
        security: EmailSecurity::Plain,
        from: "flotilla@example.com".into(),
        to: vec!["ops@example.com".into()],
        ..EmailSettings::default()
    };
    NewChannel { name: "mail".into(), kind: ChannelKind::Email, email: Some(email), ..NewChannel::default() }
}

/// Moves the clock by an hour while every cluster is heard.
async fn pass_an_hour(fleet: &TestFleet) {
    let step = i64::from(DEFAULT_LEASE_SECONDS) * 1_000 / 3;
    for _ in 0..=3_600_000 / step {
        fleet.clock_offset.fetch_add(step, Ordering::SeqCst);
        for agent in &fleet.agents {
            fleet.hub.record_heartbeat(agent.cluster).await.unwrap();
        }
    }
}

fn failed_everywhere(details: &IncidentDetails) -> bool {
    ["mail", "hook"].iter().all(|channel| {
        let of_channel = |one: &&domain::notification::Delivery| one.channel == *channel;
        details.deliveries.iter().filter(of_channel).any(|one| one.last_error.is_some())
    })
}

/// Creates the channels `mail` and `hook`, and sends both all incidents.
async fn subscribe_both(fleet: &TestFleet, mail: &SmtpServer, url: String) {
    let hook = NewChannel { name: "hook".into(), url, ..NewChannel::default() };
    for channel in [mail_channel(mail), hook] {
        fleet.client.create_channel(&channel).await.unwrap();
        let all = NewSubscription {
            channel: channel.name,
            project: Some("default".into()),
            ..NewSubscription::default()
        };
        fleet.client.create_subscription(&all).await.unwrap();
    }
}

/// Checks that the messages about an incident are one conversation, which is opened and closed once.
fn check_conversation(all: &[ReceivedEmail], incident: IncidentId) {
    let first = format!("<{incident}.mail@example.com>");
    let is_about = |email: &&ReceivedEmail| {
        [email.header("Message-ID"), email.header("In-Reply-To")].contains(&Some(first.clone()))
    };
    let emails: Vec<ReceivedEmail> = all.iter().filter(is_about).cloned().collect();
    assert_eq!(emails[0].header("Message-ID").as_ref(), Some(&first));
    assert_eq!(emails[0].header("In-Reply-To"), None);
    assert!(emails[0].data.contains("web fails on"), "{}", emails[0].data);
    for later in &emails[1..] {
        assert_eq!(later.header("In-Reply-To").as_ref(), Some(&first), "{}", later.data);
        assert_eq!(later.header("References").as_ref(), Some(&first), "{}", later.data);
        assert_eq!(later.header("Subject").unwrap(), format!("Re: {}", emails[0].header("Subject").unwrap()));
    }
    let closed = emails.iter().filter(|email| email.data.contains("web recovered on")).count();
    assert_eq!((closed, emails.last().unwrap().data.contains("web recovered on")), (1, true));
    let ids: BTreeSet<_> = emails.iter().map(|email| email.header("Message-ID")).collect();
    assert_eq!(ids.len(), emails.len(), "no message twice");
    assert!(emails.iter().all(|email| email.to == ["ops@example.com"]), "{emails:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_e12_p27_receivers_that_are_down_for_an_hour_get_each_step_of_an_incident_once() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start_with_delay(Duration::from_secs(1)).await;
        server::notifications::set_message_sender(&fleet.hub, RepositoryArg::PrivateHttp);
        let mail = SmtpServer::start(SmtpMode::Clear).await;
        mail.set_down(true);
        let (received, is_down) = (Received::default(), Arc::new(AtomicBool::new(true)));
        let url = start_failing_receiver(received.clone(), is_down.clone()).await;
        subscribe_both(&fleet, &mail, url).await;

        fleet.client.create_workload(&web_workload()).await.unwrap();
        for cluster in &fleet.clusters {
            cluster.faults().fail_pulls_of("docker.io/library/nginx:1.29.3");
        }
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let open = fleet
            .wait_for_incident(IncidentState::Open, |details| {
                details.incident.clusters.len() == 3 && failed_everywhere(details)
            })
            .await;
        fleet.client.acknowledge_incident(open.incident.id).await.unwrap();
        let before = mail.connections();
        pass_an_hour(&fleet).await;
        while mail.connections() == before {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(mail.emails().is_empty() && received.lock().is_empty());

        mail.set_down(false);
        is_down.store(false, SeqCst);
        // The longest pause of a channel is an hour.
        pass_an_hour(&fleet).await;
        let is_told =
            |details: &IncidentDetails| details.incident.id == open.incident.id && all_delivered(details);
        fleet.wait_for_incident(IncidentState::Open, is_told).await;
        for cluster in &fleet.clusters {
            cluster.faults().restore_image("docker.io/library/nginx:1.29.3");
        }
        let id = open.incident.id;
        let is_over = |details: &IncidentDetails| details.incident.id == id && all_delivered(details);
        fleet.wait_for_incident(IncidentState::Closed, is_over).await;

        check_conversation(&mail.emails(), id);
        let source = format!("/flotilla/incidents/{id}");
        let events: Vec<Value> = received.lock().iter().map(|(_, event)| event.clone()).collect();
        let events: Vec<Value> = events.into_iter().filter(|event| event["source"] == source).collect();
        let count = |kind: &str| {
            events.iter().filter(|event| event["type"] == format!("dev.flotilla.incident.{kind}")).count()
        };
        assert_eq!((count("opened"), count("closed")), (1, 1), "{events:?}");
        let ids: BTreeSet<String> = events.iter().map(|event| event["id"].to_string()).collect();
        assert_eq!(ids.len(), events.len(), "no message twice");
        fleet.stop().await;
    }))
    .await;
}
