//! The stock kubectl against a served cluster.

use std::path::PathBuf;
use std::process::Stdio;

use crate::support::{deployment, wait_until};
use kubesim::{ServerHandle, SimCluster};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// A served cluster and its kubeconfig file.
struct KubectlFixture {
    cluster: SimCluster,
    _server: ServerHandle,
    config: PathBuf,
}

impl Drop for KubectlFixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.config);
    }
}

/// Serves a cluster; `None`, with a message, if kubectl is not available.
async fn serve_cluster(name: &str) -> Option<KubectlFixture> {
    if !testkit::is_available(&format!("kubectl on a served cluster: {name}")) {
        return None;
    }
    let (cluster, _) = crate::support::start_cluster();
    let server = cluster.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let config = std::env::temp_dir().join(format!("kubesim-{name}-{}", server.addr.port()));
    std::fs::write(&config, cluster.kubeconfig(&server.url())).unwrap();
    Some(KubectlFixture { cluster, _server: server, config })
}

impl KubectlFixture {
    async fn run(&self, arguments: &[&str], input: &str) -> (bool, String) {
        let cache = format!("{}-cache", self.config.display());
        let mut child = Command::from(testkit::command("kubectl"))
            .arg(format!("--kubeconfig={}", self.config.display()))
            .arg(format!("--cache-dir={cache}"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        let done =
            tokio::time::timeout(testkit::patience(), child.wait_with_output()).await.unwrap().unwrap();
        let _ = std::fs::remove_dir_all(cache);
        let text =
            String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        (done.status.success(), text)
    }

    async fn run_ok(&self, arguments: &[&str], input: &str) -> String {
        let (good, text) = self.run(arguments, input).await;
        assert!(good, "kubectl {arguments:?}: {text}");
        text
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_applies_gets_edits_and_deletes() {
    let Some(bench) = serve_cluster("verbs").await else { return };
    let web = deployment("web", 2, "nginx:1").to_string();
    let output = bench.run_ok(&["apply", "--server-side", "-f", "-"], &web).await;
    assert_eq!(output.trim(), "deployment.apps/web serverside-applied");
    wait_until(&bench.cluster, ("apps/v1", "Deployment"), ("default", "web"), |d| {
        d["status"]["readyReplicas"] == 2
    })
    .await;
    let shown = bench.run_ok(&["get", "deploy,po"], "").await;
    assert!(shown.contains("READY") && shown.contains("2/2") && shown.contains("Running"), "{shown}");
    bench.run_ok(&["rollout", "status", "deploy/web", "--timeout=20s"], "").await;
    bench.run_ok(&["scale", "deploy/web", "--replicas=3"], "").await;
    bench.run_ok(&["label", "deploy/web", "team=x"], "").await;
    bench.run_ok(&["annotate", "deploy/web", "note=y"], "").await;
    bench.run_ok(&["patch", "deploy/web", "-p", r#"{"spec":{"minReadySeconds":1}}"#], "").await;
    bench.run_ok(&["set", "image", "deploy/web", "web=nginx:2"], "").await;
    let described = bench.run_ok(&["describe", "deploy/web"], "").await;
    assert!(described.contains("nginx:2") && described.contains("3 desired"), "{described}");
    let (good, refused) = bench.run(&["apply", "--server-side", "-f", "-"], &web).await;
    assert!(
        !good
            && refused.contains(
                "conflicts with \"kubectl\" with subresource \"scale\" using apps/v1:\n- .spec.replicas"
            ),
        "{refused}"
    );
    bench.run_ok(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &web).await;
    bench.run_ok(&["delete", "deploy/web", "--timeout=20s"], "").await;
    assert!(bench.cluster.get(("apps/v1", "Deployment"), ("default", "web")).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_applies_client_side() {
    let Some(bench) = serve_cluster("client").await else { return };
    let web = deployment("web", 1, "nginx:1").to_string();
    assert!(bench.run_ok(&["apply", "-f", "-"], &web).await.contains("created"));
    assert!(bench.run_ok(&["apply", "-f", "-"], &web).await.contains("unchanged"));
    let web = deployment("web", 1, "nginx:2").to_string();
    assert!(bench.run_ok(&["apply", "-f", "-"], &web).await.contains("configured"));
    assert!(bench.run_ok(&["explain", "deploy.spec.replicas"], "").await.contains("replicas"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_reports_unknown_fields_and_removed_versions() {
    let Some(bench) = serve_cluster("refusals").await else { return };
    let mut web = deployment("web", 1, "nginx:1");
    web["spec"]["replica"] = 2.into();
    let (good, text) = bench.run(&["create", "-f", "-"], &web.to_string()).await;
    assert!(!good && text.contains("strict decoding error: unknown field \"spec.replica\""), "{text}");
    let budget = r#"{"apiVersion":"policy/v1beta1","kind":"PodDisruptionBudget","metadata":{"name":"b"}}"#;
    let (good, text) = bench.run(&["apply", "--server-side", "-f", "-"], budget).await;
    assert!(!good, "{text}");
    assert!(
        text.contains("no matches for kind \"PodDisruptionBudget\" in version \"policy/v1beta1\""),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offline_cluster_drops_its_connections() {
    let Some(bench) = serve_cluster("offline").await else { return };
    bench.cluster.faults().set_offline(true);
    let (good, text) = bench.run(&["get", "ns", "--request-timeout=3s"], "").await;
    assert!(!good, "{text}");
    bench.cluster.faults().set_offline(false);
    bench.run_ok(&["get", "ns"], "").await;
}
