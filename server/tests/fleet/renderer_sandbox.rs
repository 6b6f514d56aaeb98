//! A server whose kernel does not close the sandbox of renderers (P33), and one without Helm (G117).

use source::helm::Helm;
use wire::ValidateRequest;

use super::charts::{chart, chart_workload, helm_program, set_helm};
use super::incidents::read_page;
use super::*;

/// The hint of every text about a missing protection.
const HINT: &str = "Run the server on Linux 5.13 or newer with Landlock and seccomp, or start it with --renderer-sandbox=best-effort to render without this protection.";

/// Sets helm with a command that reports that files are open, as a kernel without Landlock does.
async fn set_open_helm(fleet: &TestFleet, mode: SandboxMode) {
    // It runs the program without a sandbox.
    let script = "[ \"$1\" = --probe ] && echo files open, network closed && exit 0; while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"";
    let command = ["/bin/sh", "-c", script, "sh"].map(Into::into).into();
    let sandbox = Sandbox::measure(command, mode, fleet.scratch()).await;
    fleet.hub.set_renderer_sandbox(sandbox.clone());
    fleet.hub.set_helm(Helm::find(Some(&helm_program()), sandbox).await.unwrap());
}

async fn read(fleet: &TestFleet, path: &str) -> (u16, String) {
    let request = reqwest::Client::new().get(format!("{}{path}", fleet.url)).bearer_auth(&fleet.token);
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn p33_a_missing_protection_stops_charts_and_is_shown_everywhere() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        set_open_helm(&fleet, SandboxMode::Strict).await;
        fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        let new = chart_workload("1.0.0", "");
        fleet.client.create_workload(&new).await.unwrap();
        let request = ValidateRequest { name: "web".into(), spec: new.spec.clone() };
        let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
        let reason = "Nothing is rendered: the kernel of the server does not close the sandbox of renderers, so a chart could read files of the server.";
        let found: Vec<(&str, &str, &str)> =
            findings.iter().map(|one| (&*one.code, &*one.message, &*one.hint)).collect();
        assert_eq!(found, [("G117", reason, HINT)]);
        let refused = fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap_err();
        assert!(refused.to_string().contains("does not close the sandbox"), "{refused}");

        let state = "renderer sandbox: nothing is rendered (strict; files open, network closed)";
        assert_eq!(read(&fleet, "/readyz").await, (200, format!("ok\n{state}\n")));
        let metrics = read(&fleet, "/metrics").await.1;
        for line in [
            "flotilla_renderer_sandbox_mode{mode=\"strict\"} 1",
            "flotilla_renderer_sandbox_mode{mode=\"bestEffort\"} 0",
            "flotilla_renderer_sandbox_closed{protection=\"files\"} 0",
            "flotilla_renderer_sandbox_closed{protection=\"network\"} 1",
            "flotilla_renderers_blocked 1",
        ] {
            assert!(metrics.contains(line), "{line}: {metrics}");
        }
        let status = fleet.client.get_server_status().await.unwrap();
        assert_eq!(status.problems(), [format!("{reason} {HINT}")]);
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p33_an_operator_may_render_without_a_protection_and_sees_that() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        set_open_helm(&fleet, SandboxMode::BestEffort).await;
        fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        fleet.client.create_workload(&chart_workload("1.0.0", "")).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let state = "renderer sandbox: degraded (best effort; files open, network closed)";
        assert_eq!(read(&fleet, "/readyz").await, (200, format!("ok\n{state}\n")));
        let metrics = read(&fleet, "/metrics").await.1;
        assert!(metrics.contains("flotilla_renderers_blocked 0"), "{metrics}");
        assert_eq!(fleet.client.get_server_status().await.unwrap().problems(), Vec::<String>::new());
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p33_a_closed_sandbox_has_no_note() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        fleet.hub.set_renderer_sandbox(fleet.sandbox().await);
        assert_eq!(read(&fleet, "/readyz").await, (200, "ok\n".to_owned()));
        let status = fleet.client.get_server_status().await.unwrap();
        assert_eq!(status.renderer_sandbox.unwrap().describe(), "strict; files closed, network closed");
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g117_without_helm_the_console_shows_what_to_do_and_other_sources_are_published() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start().await;
        let missing = "Helm is not available on the server, so charts can't be rendered";
        // HTML escapes the apostrophe in some places.
        let is_shown = |page: &str| page.replace("&#x27;", "'").replace("&#39;", "'").contains(missing);
        let (status, page) = read_page(&fleet, "/charts").await;
        assert!(status == 200 && is_shown(&page), "{status} {page}");
        assert!(page.contains("Install helm 4.2.4 or newer"), "{page}");
        fleet.client.create_workload(&web_workload()).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;

        set_helm(&fleet).await;
        let (status, page) = read_page(&fleet, "/charts").await;
        assert!(status == 200 && !is_shown(&page), "{status} {page}");
        fleet.stop().await;
    }))
    .await;
}
