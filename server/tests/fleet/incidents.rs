//! Incidents end to end: a broken image on simulated clusters, and a webhook on the loopback address.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use domain::incident::{IncidentKind, IncidentQuery, IncidentState};
use domain::notification::{
    ChannelKind, Delivery, DeliveryState, IncidentDetails, NewChannel, NewSubscription,
};
use domain::remote::OnNewCommit;
use parking_lot::Mutex;
use reqwest::{Method, StatusCode};
use server::args::RepositoryArg;
use testkit::{SmtpMode, SmtpServer};

use super::emails::mail_channel;
use super::git_sources::{git_workload, manifest, publish, read_private_repositories, repository};
use super::*;

/// The requests that a receiver of webhooks got: headers and body.
pub(super) type Received = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// Starts a receiver; returns its address.
pub(super) async fn start_receiver(received: Received) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook?key=s3cret", listener.local_addr().unwrap());
    let receive = move |headers: HeaderMap, body: Bytes| async move {
        received.lock().push((headers, serde_json::from_slice(&body).unwrap()));
    };
    let router = Router::new().route("/hook", axum::routing::post(receive));
    tokio::spawn(axum::serve(listener, router).into_future());
    url
}

impl TestFleet {
    /// The newest incident in this state for which the condition holds, once there is one.
    pub(super) async fn wait_for_incident(
        &self,
        state: IncidentState,
        condition: impl Fn(&IncidentDetails) -> bool,
    ) -> IncidentDetails {
        let query = IncidentQuery { state: Some(state), workload: "web".into(), ..IncidentQuery::default() };
        loop {
            for found in self.client.list_incidents(&query).await.unwrap().items {
                let details = self.client.get_incident(found.id).await.unwrap();
                if condition(&details) {
                    return details;
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// A page of the console for the signed-in user of the fleet: its status and its text.
pub(super) async fn read_page(fleet: &TestFleet, path: &str) -> (u16, String) {
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let signed_in = http
        .post(format!("{}/api/fn/sign_in", fleet.url))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json")
        .header("sec-fetch-site", "same-origin")
        .body("name=ada&password=correct+horse+battery&next=")
        .send()
        .await
        .unwrap();
    let set = signed_in.headers().get_all("set-cookie").iter();
    let cookies: Vec<&str> = set.filter_map(|value| value.to_str().unwrap().split(';').next()).collect();
    let request = http.get(format!("{}{path}", fleet.url)).header("accept", "text/html");
    let page = request.header("cookie", cookies.join("; ")).send().await.unwrap();
    (page.status().as_u16(), page.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_an_incident_is_shown_if_its_workload_cannot_be_read() {
    with_timeout(async {
        let fleet = TestFleet::start_with_delay(Duration::from_secs(1)).await;
        fleet.client.create_workload(&web_workload()).await.unwrap();
        for cluster in &fleet.clusters {
            cluster.faults().fail_pulls_of("docker.io/library/nginx:1.29.3");
        }
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let on_all = |details: &IncidentDetails| details.incident.clusters.len() == 3;
        let open = fleet.wait_for_incident(IncidentState::Open, on_all).await;

        let mut database = fleet.open_database().await;
        let broken =
            sqlx::query("UPDATE workload SET draft = 'broken'").execute(&mut database).await.unwrap();
        assert_eq!(broken.rows_affected(), 1);
        assert!(fleet.client.get_workload("web").await.is_err());
        let (status, page) = read_page(&fleet, &format!("/incidents/{}", open.incident.id)).await;
        assert_eq!(status, 200, "{page}");
        assert!(page.contains("eu-1") && !page.contains("Roll back to r"), "{page}");
        fleet.stop().await;
    })
    .await;
}

pub(super) fn all_delivered(details: &IncidentDetails) -> bool {
    !details.deliveries.is_empty()
        && details.deliveries.iter().all(|delivery| delivery.state == DeliveryState::Delivered)
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_e12_a_bad_image_on_three_clusters_is_one_incident_that_its_owners_are_told_of_and_that_closes()
{
    let scenario = async {
        let fleet = TestFleet::start_with_delay(Duration::from_secs(1)).await;
        server::notifications::set_message_sender(&fleet.hub, RepositoryArg::PrivateHttp);
        let received = Received::default();
        let url = start_receiver(received.clone()).await;
        let secret = Some("a secret of 16 bytes or more".to_owned());
        let new = NewChannel {
            name: "ops".into(),
            kind: ChannelKind::Webhook,
            url,
            secret,
            ..NewChannel::default()
        };
        let channel = fleet.client.create_channel(&new).await.unwrap();
        assert!(channel.has_secret && !channel.url.contains("s3cret"), "{channel:?}");
        assert!(fleet.client.test_channel("ops").await.unwrap().delivered);
        let owned = NewSubscription {
            channel: "ops".into(),
            owner: Some("team-web".into()),
            ..NewSubscription::default()
        };
        fleet.client.create_subscription(&owned).await.unwrap();
        let quiet = |zone: &str| {
            let window = json!({"from": "22:00", "to": "06:00", "timeZone": zone, "days": ["sat"]});
            json!({"channel": "ops", "owner": "team-night", "quietHours": window})
        };
        let path = "/api/v1/subscriptions";
        let (status, stored) = fleet.send(Method::POST, path, quiet("Europe/Berlin")).await;
        assert_eq!(
            (status, &stored["quietHours"]["timeZone"]),
            (StatusCode::CREATED, &json!("Europe/Berlin"))
        );
        let (status, problem) = fleet.send(Method::POST, path, quiet("Europe/Berln")).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        assert_eq!(problem["findings"][0]["path"], "/quietHours/timeZone", "{problem}");

        let new = NewWorkload { owners: vec!["team-web".to_owned()], ..web_workload() };
        fleet.client.create_workload(&new).await.unwrap();
        for cluster in &fleet.clusters {
            cluster.faults().fail_pulls_of("docker.io/library/nginx:1.29.3");
        }
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let on_all =
            |details: &IncidentDetails| details.incident.clusters.len() == 3 && all_delivered(details);
        let open = fleet.wait_for_incident(IncidentState::Open, on_all).await;
        assert_eq!(open.incident.reason, "ImagePullFailed", "{open:#?}");
        assert_eq!(open.incident.preceding_change.as_ref().and_then(|change| change.revision), Some(1));
        assert_eq!(open.owners, ["team-web"]);
        let acknowledged = fleet.client.acknowledge_incident(open.incident.id).await.unwrap();
        assert_eq!(acknowledged.incident.acknowledged_by.as_deref(), Some("ada"));

        for cluster in &fleet.clusters {
            cluster.faults().restore_image("docker.io/library/nginx:1.29.3");
        }
        let closed = fleet.wait_for_incident(IncidentState::Closed, all_delivered).await;
        assert_eq!(closed.incident.id, open.incident.id);
        assert!(closed.incident.duration_seconds.is_some());
        let kinds: Vec<String> = received.lock().iter().map(|(_, event)| event["type"].to_string()).collect();
        let count = |kind: &str| kinds.iter().filter(|one| one.contains(kind)).count();
        assert_eq!((count("test"), count("opened"), count("closed")), (1, 1, 1), "{kinds:?}");
        let (headers, event) = received.lock().last().cloned().unwrap();
        assert_eq!(headers["webhook-id"], event["id"].as_str().unwrap());
        assert!(headers["webhook-signature"].to_str().unwrap().starts_with("v1,"));
        fleet.stop().await;
    };
    with_timeout(Box::pin(scenario)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_a_user_gets_one_message_when_the_own_publish_is_operational_everywhere() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start_with_delay(Duration::from_secs(1)).await;
        server::notifications::set_message_sender(&fleet.hub, RepositoryArg::PrivateHttp);
        let received = Received::default();
        let url = start_receiver(received.clone()).await;
        let template = Some("{{ workload }}: {{ reason }}".to_owned());
        let new = NewChannel { name: "mine".into(), url, template, ..NewChannel::default() };
        fleet.client.create_channel(&new).await.unwrap();
        let mail = SmtpServer::start(SmtpMode::Clear).await;
        fleet.client.create_channel(&mail_channel(&mail)).await.unwrap();
        let path = "/api/v1/subscriptions";
        let own = json!({"channel": "mine", "publisher": ""});
        let (status, stored) = fleet.send(Method::POST, path, own).await;
        assert_eq!((status, &stored["publisher"]), (StatusCode::CREATED, &json!("ada")), "{stored}");
        let (status, stored) =
            fleet.send(Method::POST, path, json!({"channel": "mail", "publisher": ""})).await;
        assert_eq!(status, StatusCode::CREATED, "{stored}");
        let other = json!({"channel": "mine", "publisher": "ben"});
        let (status, problem) = fleet.send(Method::POST, path, other).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");

        fleet.client.create_workload(&web_workload()).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let operations = fleet.client.list_operations("web", &domain::page::ListQuery::default()).await;
        let operation = operations.unwrap().items[0].id;
        let is_delivered = async || {
            let view = fleet.client.get_operation(operation).await.unwrap();
            let is_sent = |delivery: &Delivery| delivery.state == DeliveryState::Delivered;
            view.deliveries.len() == 2 && view.deliveries.iter().all(is_sent)
        };
        fleet.wait_until(is_delivered).await;
        let events: Vec<Value> = received.lock().iter().map(|(_, event)| event.clone()).collect();
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0]["type"], "dev.flotilla.publish.operational");
        assert_eq!(events[0]["data"]["publish"]["clusters"], 3);
        assert_eq!(events[0]["data"]["text"], "web: operational");
        let emails = mail.emails();
        assert_eq!(emails.len(), 1, "{emails:?}");
        let subject = emails[0].header("Subject");
        assert_eq!(subject.as_deref(), Some("[Flotilla] web r1 is operational on 3 clusters"));
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g204_a_message_is_not_sent_to_a_private_address_unless_an_administrator_allows_it() {
    with_timeout(async {
        let fleet = TestFleet::start_with(&[]).await;
        server::notifications::set_message_sender(&fleet.hub, RepositoryArg::Https);
        let received = Received::default();
        let url = start_receiver(received.clone()).await.replace("http://", "https://");
        for (name, url) in [("own", url.as_str()), ("metadata", "https://169.254.169.254/latest")] {
            let new = NewChannel { name: name.into(), url: url.into(), ..NewChannel::default() };
            fleet.client.create_channel(&new).await.unwrap();
            let test = fleet.client.test_channel(name).await.unwrap();
            assert!(!test.delivered && test.message.contains("not a public one"), "{}", test.message);
        }
        assert!(received.lock().is_empty());
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_a_source_that_is_blocked_or_cannot_be_read_is_an_incident_until_a_commit_is_used() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        // Ten times no delay: a cause is an incident at once.
        let fleet = read_private_repositories(TestFleet::start_with_delay(Duration::ZERO).await);
        publish(&fleet, &git_workload(&server, OnNewCommit::All)).await;
        let is_of = |details: &IncidentDetails, reason: &str| {
            details.incident.kind == IncidentKind::Source && details.incident.reason == reason
        };

        server.set_down(true);
        fleet.client.check_git_source("web").await.unwrap();
        let unreadable =
            fleet.wait_for_incident(IncidentState::Open, |details| is_of(details, "SourceUnreadable")).await;
        assert!(unreadable.incident.cause.contains("503"), "{unreadable:#?}");

        // It is back, without the path: another cause of the same source.
        server.set_down(false);
        server.git(&["mv", "deploy", "moved"]);
        server.commit_all("Move the folder");
        fleet.client.check_git_source("web").await.unwrap();
        let open =
            fleet.wait_for_incident(IncidentState::Open, |details| is_of(details, "CommitBlocked")).await;
        let ended = fleet
            .wait_for_incident(IncidentState::Closed, |details| is_of(details, "SourceUnreadable"))
            .await;
        assert_eq!(ended.incident.id, unreadable.incident.id);
        assert!(open.incident.cause.contains("has no \"deploy\""), "{open:#?}");
        assert!(open.incident.clusters.is_empty() && open.incident.cluster_details.is_empty(), "{open:#?}");
        let (status, page) = read_page(&fleet, &format!("/incidents/{}", open.incident.id)).await;
        assert_eq!(status, 200, "{page}");
        assert!(page.contains("The source of web is not followed"), "{page}");
        assert!(!page.contains("id=\"clusters\"") && !page.contains("Roll back to r"), "{page}");

        server.git(&["mv", "moved", "deploy"]);
        server.commit("deploy/web.yaml", &manifest(3), "Run three replicas");
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!((status.status.failure, status.follow.blocked), (None, None));
        let closed =
            fleet.wait_for_incident(IncidentState::Closed, |details| is_of(details, "CommitBlocked")).await;
        assert_eq!(closed.incident.id, open.incident.id);
        fleet.stop().await;
    }))
    .await;
}
