//! Renderings of charts are done in turns of the users, and those that nobody awaits any more are not done (P20).

use testkit::find_processes;
use wire::{ValidateRequest, ValidationResult};

use super::charts::{chart, chart_workload, fleet_with_helm};
use super::*;

/// More than the limit on CPU time of a rendering, and little memory.
const BUSY: &str =
    "{{ range until 3000 }}{{ range until 3000 }}{{ range until 3000 }}{{ end }}{{ end }}{{ end }}";

type PendingRequest = JoinHandle<Result<ValidationResult, wire::Error>>;

/// A fleet with a chart that renders at once (1.0.0) and one whose renderings take longer than they may (2.0.0).
async fn fleet_with_busy_chart() -> TestFleet {
    let fleet = fleet_with_helm().await;
    fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
    fleet.client.upload_chart(chart("2.0.0", &[("templates/busy.yaml", BUSY)])).await.unwrap();
    fleet
}

/// More renderings than any machine does at once.
fn many() -> usize {
    2 * std::thread::available_parallelism().unwrap().get() + 8
}

/// Requests renderings of the busy chart, each with other values and for another workload.
fn request_busy_renderings(fleet: &TestFleet, count: usize) -> Vec<PendingRequest> {
    let request = |n: usize| {
        let spec = chart_workload("2.0.0", &format!("replicas: {n}\n")).spec;
        let request = ValidateRequest { name: format!("busy-{n}"), spec };
        let client = fleet.client.clone();
        tokio::spawn(async move { client.validate_workload(&request).await })
    };
    (0..count).map(request).collect()
}

/// How many processes of Helm run for this fleet.
fn count_helm_processes(fleet: &TestFleet) -> usize {
    let scratch = fleet.folder.path().join("scratch");
    let found = find_processes(scratch.to_str().unwrap());
    found.into_iter().filter(|process| process.program().starts_with("helm")).count()
}

async fn wait_for_helm(fleet: &TestFleet, is_expected: impl Fn(usize) -> bool) {
    while !is_expected(count_helm_processes(fleet)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A client of another user.
pub async fn client_of(fleet: &TestFleet, name: &str) -> Client {
    let user = fleet.hub.ensure_user(name, "correct horse battery").await.unwrap();
    let actor = Actor::new(name, ActorKind::Session(user), Role::Admin);
    let token = fleet.hub.create_token(&actor, &NewApiToken::new("test", 1)).await.unwrap().secret;
    Client::new(&fleet.url, &token).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_p34_renderings_of_abandoned_requests_leave_the_queue_and_their_processes_end() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_busy_chart().await;
        let before = fleet.hub.count_renderings();
        let requests = request_busy_renderings(&fleet, many());
        wait_for_helm(&fleet, |count| count > 0).await;
        for request in requests {
            request.abort();
        }
        wait_for_helm(&fleet, |count| count == 0).await;
        let request = ValidateRequest { name: "web".into(), spec: chart_workload("1.0.0", "").spec };
        let checked = fleet.client.validate_workload(&request).await.unwrap();
        assert!(checked.findings.iter().all(|found| found.code != "G117"), "{:?}", checked.findings);
        let started = fleet.hub.count_renderings() - before;
        assert!(started < many() as u64, "renderings that nobody awaits were started: {started}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_a_chart_is_rendered_while_another_user_requests_more_renderings_than_run_at_once() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_busy_chart().await;
        let bob = client_of(&fleet, "bob").await;
        let requests = request_busy_renderings(&fleet, many());
        wait_for_helm(&fleet, |count| count > 0).await;
        let request = ValidateRequest { name: "web".into(), spec: chart_workload("1.0.0", "").spec };
        let checked = bob.validate_workload(&request).await.unwrap();
        assert!(checked.findings.iter().all(|found| found.code != "G117"), "{:?}", checked.findings);
        for request in requests {
            request.abort();
        }
        fleet.stop().await;
    }))
    .await;
}
