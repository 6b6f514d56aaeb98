//! The demo of the real binary: startup, fault injection, restart.

use std::path::Path;
use std::time::Duration;

use domain::release::ReleaseState;
use testkit::StartedServer;
use tokio::process::{Child, Command};
use wire::{Client, ClusterFault, FaultRequest};

struct DemoServer {
    child: Child,
    client: Client,
}

impl DemoServer {
    async fn start(folder: &Path) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_flotilla-server"));
        server.args(["--log", "error", "demo", "--no-outages", "--port", "0", "--data"]).arg(folder);
        let StartedServer { child, url, output, .. } =
            StartedServer::spawn(&mut server).await.expect("the server starts");
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        let output = output.join("\n");
        assert!(output.contains("Sign in as \"demo\"") && output.contains("cli.env"), "{output}");
        let env = std::fs::read_to_string(folder.join("cli.env")).unwrap();
        let value =
            |name: &str| env.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap();
        Self { child, client: Client::new(value("FLOTILLA_SERVER"), value("FLOTILLA_TOKEN")).unwrap() }
    }

    async fn wait_for_healthy(&self) {
        while self.client.get_workload_status("lighthouse", None).await.unwrap().counts.healthy() != 4 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn stop(mut self) {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
        assert!(self.child.wait().await.unwrap().success());
    }
}

async fn run_scenario(folder: &Path) {
    let demo = DemoServer::start(folder).await;
    demo.wait_for_healthy().await;
    let break_it = async |cluster: &str, breakage| {
        demo.client.inject_fault(cluster, &FaultRequest { workload: String::new(), fault: breakage }).await
    };
    let done = break_it("eu-west-2", ClusterFault::ChangeReplicas).await.unwrap();
    assert_eq!(
        done,
        "Deployment harbor/lighthouse on eu-west-2: replicas were changed from 2 to 5 by hand. Flotilla detects it, and reverts it unless the drift policy says to notify only."
    );
    let none = break_it("eu-west-3", ClusterFault::DeleteObject).await.unwrap_err();
    assert_eq!(
        (none.code(), &*none.to_string()),
        ("FailedPrecondition", "eu-west-3 has no objects that Flotilla applied.")
    );
    assert!(break_it("nowhere", ClusterFault::Offline).await.unwrap_err().is_not_found());
    break_it("us-east-2", ClusterFault::Offline).await.unwrap();
    let unknown = async || demo.client.get_release("lighthouse", "us-east-2").await.unwrap().state;
    while unknown().await != ReleaseState::Unknown {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    break_it("us-east-2", ClusterFault::Online).await.unwrap();
    demo.wait_for_healthy().await;
    let revisions = demo.client.list_revisions("lighthouse", &Default::default()).await.unwrap().total;
    demo.stop().await;

    let again = DemoServer::start(folder).await;
    again.wait_for_healthy().await;
    let after = again.client.list_revisions("lighthouse", &Default::default()).await.unwrap().total;
    assert_eq!((revisions, after), (1, 1), "a restart publishes nothing");
    again.stop().await;
}

#[tokio::test]
async fn the_demo_starts_healthy_accepts_faults_and_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let life = tokio::time::timeout(testkit::patience(), run_scenario(folder.path())).await;
    life.expect("the scenario completes in 180 s");
}

#[cfg(unix)]
#[tokio::test]
async fn the_credentials_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let demo = DemoServer::start(folder.path()).await;
    for file in ["cli.env", "password", "flotilla.db"] {
        let mode = std::fs::metadata(folder.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    demo.stop().await;
}
