//! The real binary's demo: it comes up alive, can be broken, and is as it was after a restart.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use domain::release::State;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use wire::{BreakRequest, Breakage, Client};

struct Demo {
    child: Child,
    client: Client,
}

impl Demo {
    async fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_flotilla-server"))
            .args(["--log", "error", "demo", "--steady", "--port", "0", "--data"])
            .arg(folder)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = Vec::new();
        loop {
            let line = lines.next_line().await.unwrap().expect("it says that it is ready");
            if line.starts_with("Flotilla is ready at http://127.0.0.1:") {
                break;
            }
            said.push(line);
        }
        let said = said.join("\n");
        assert!(said.contains("Sign in as \"demo\"") && said.contains("cli.env"), "{said}");
        let env = std::fs::read_to_string(folder.join("cli.env")).unwrap();
        let value =
            |name: &str| env.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap();
        Self { child, client: Client::new(value("FLOTILLA_SERVER"), value("FLOTILLA_TOKEN")).unwrap() }
    }

    async fn all_healthy(&self) {
        while self.client.workload_status("lighthouse", None).await.unwrap().counts.healthy() != 4 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn end(mut self) {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
        assert!(self.child.wait().await.unwrap().success());
    }
}

async fn whole_life(folder: &Path) {
    let demo = Demo::start(folder).await;
    demo.all_healthy().await;
    let break_it = async |cluster: &str, breakage| {
        demo.client.cluster_break(cluster, &BreakRequest { workload: String::new(), breakage }).await
    };
    let done = break_it("eu-west-2", Breakage::ChangeReplicas).await.unwrap();
    assert_eq!(done, "Deployment harbor/lighthouse on eu-west-2: replicas were changed from 2 to 5 by hand.");
    let none = break_it("eu-west-3", Breakage::DeleteObject).await.unwrap_err();
    assert_eq!((none.code(), &*none.to_string()), ("NotNow", "Nothing of Flotilla's runs on eu-west-3 yet."));
    assert!(break_it("nowhere", Breakage::Offline).await.unwrap_err().is_not_found());
    break_it("us-east-2", Breakage::Offline).await.unwrap();
    let unknown = async || demo.client.release_get("lighthouse", "us-east-2").await.unwrap().state;
    while unknown().await != State::Unknown {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    break_it("us-east-2", Breakage::Online).await.unwrap();
    demo.all_healthy().await;
    let revisions = demo.client.workload_revisions("lighthouse", &Default::default()).await.unwrap().total;
    demo.end().await;

    let again = Demo::start(folder).await;
    again.all_healthy().await;
    let kept = again.client.workload_revisions("lighthouse", &Default::default()).await.unwrap().total;
    assert_eq!((revisions, kept), (1, 1), "a restart publishes nothing");
    again.end().await;
}

#[tokio::test]
async fn the_demo_comes_up_alive_can_be_broken_and_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let life = tokio::time::timeout(Duration::from_secs(180), whole_life(folder.path())).await;
    life.expect("the demo gets there");
}

#[cfg(unix)]
#[tokio::test]
async fn what_lets_one_in_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path()).await;
    for file in ["cli.env", "password", "flotilla.db"] {
        let mode = std::fs::metadata(folder.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    demo.end().await;
}
