//! A real control plane, and the real agent as a process with the RBAC rules of the printed manifest.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::Ingress;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use testkit::ControlPlane;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio_util::task::AbortOnDropHandle;

use crate::test_hub::{TestHub, WAIT_TIMEOUT, wait_until};

/// The agent's own namespace, and the name of everything in it.
const AGENT_NAMESPACE: &str = "flotilla-agent";

/// A cluster and its agent.
pub struct TestCluster {
    pub name: &'static str,
    pub plane: ControlPlane,
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
    agent: Mutex<Option<Child>>,
    _provider: AbortOnDropHandle<()>,
}

impl TestCluster {
    /// Starts a control plane that runs workloads.
    pub async fn start(name: &'static str) -> Self {
        let plane = ControlPlane::start(testkit::ControlPlaneOptions::with_workloads()).await;
        let provider = AbortOnDropHandle::new(tokio::spawn(assign_ingress_addresses(plane.client())));
        Self {
            name,
            plane,
            folder: tempfile::tempdir().unwrap(),
            environment: Vec::new(),
            agent: Mutex::default(),
            _provider: provider,
        }
    }

    /// Applies the output of `flotilla cluster install-manifest`, and starts the agent with the printed Deployment's service
    /// account and environment.
    pub async fn join_hub(&mut self, hub: &TestHub, options: &[&str]) {
        let args = [&["cluster", "install-manifest", self.name, "--auto-accept"], options].concat();
        let manifest = hub.run_cli_ok(&args).await;
        self.apply_manifest(&manifest).await;
        let account = self.kubectl(&["create", "token", AGENT_NAMESPACE, "-n", AGENT_NAMESPACE]).await;
        let mut config: Value = serde_json::from_str(self.plane.kubeconfig()).unwrap();
        config["users"][0]["user"] = json!({"token": account.trim()});
        std::fs::write(self.kubeconfig_path(), config.to_string()).unwrap();
        let secret = ["get", "secret", "join-token", "-n", AGENT_NAMESPACE, "-o"];
        let token =
            self.kubectl(&[&secret[..], &["go-template={{.data.token | base64decode}}"]].concat()).await;
        let file = self.folder.path().join("join-token");
        std::fs::write(&file, token).unwrap();
        let deployment =
            self.kubectl_json(&["get", "deployment", AGENT_NAMESPACE, "-n", AGENT_NAMESPACE]).await;
        let variables =
            deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap().clone();
        let text = |variable: &Value, field: &str| variable[field].as_str().unwrap().to_owned();
        self.environment = variables.iter().map(|one| (text(one, "name"), text(one, "value"))).collect();
        let token_file = self.environment.iter_mut().find(|(name, _)| name == "FLOTILLA_JOIN_TOKEN_FILE");
        token_file.unwrap().1 = file.display().to_string();
        self.start_agent();
    }

    /// Starts the agent.
    pub fn start_agent(&self) {
        let log = std::fs::OpenOptions::new().append(true).create(true).open(self.log_path()).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_flotilla-agent"))
            .args([
                "--log",
                "info,engine=debug",
                "run",
                "--registries",
                "off",
                "--namespace",
                AGENT_NAMESPACE,
                "--kubeconfig",
            ])
            .arg(self.kubeconfig_path())
            .env_clear()
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        *self.agent.lock().unwrap() = Some(child);
    }

    /// Stops the agent with SIGTERM, and waits until it has exited successfully.
    pub async fn stop_agent(&self) {
        let agent = self.agent.lock().unwrap().take();
        let mut agent = agent.expect("an agent is running");
        let pid = agent.id().expect("it has not exited").to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
        let status = tokio::time::timeout(WAIT_TIMEOUT, agent.wait()).await.expect("it exits").unwrap();
        assert!(status.success(), "{status}\n{}", self.log_tail());
    }

    /// Kills the agent with SIGKILL.
    pub async fn kill_agent(&self) {
        let agent = self.agent.lock().unwrap().take();
        agent.expect("an agent is running").kill().await.unwrap();
    }

    /// Number of the agent's open file descriptors.
    pub fn open_file_count(&self) -> usize {
        let agent = self.agent.lock().unwrap();
        let pid = agent.as_ref().and_then(Child::id).expect("an agent is running");
        std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
    }

    fn kubeconfig_path(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("agent.log")
    }

    /// The end of the agent's log.
    pub fn log_tail(&self) -> String {
        let log = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        format!("log of the agent of {}:\n{}", self.name, lines[lines.len().saturating_sub(40)..].join("\n"))
    }
}

/// Actions of other users on the cluster.
impl TestCluster {
    /// Runs kubectl as the administrator; returns its standard output.
    pub async fn kubectl(&self, args: &[&str]) -> String {
        self.kubectl_with(args, "").await
    }

    /// `kubectl apply -f -`
    pub async fn apply_manifest(&self, manifest: &str) {
        self.kubectl_with(&["apply", "-f", "-"], manifest).await;
    }

    /// Runs kubectl with `-o json` and parses its output.
    pub async fn kubectl_json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.kubectl(&[args, &["-o", "json"]].concat()).await).unwrap()
    }

    async fn kubectl_with(&self, args: &[&str], input: &str) -> String {
        let mut command = Command::from(self.plane.command("kubectl"));
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
        let output = tokio::time::timeout(WAIT_TIMEOUT, child.wait_with_output()).await;
        let output = output.unwrap_or_else(|_| panic!("kubectl {args:?} does not end")).unwrap();
        assert!(output.status.success(), "kubectl {args:?} on {}: {output:?}", self.name);
        String::from_utf8(output.stdout).unwrap()
    }

    /// A field of an object, as kubectl's `jsonpath` prints it; empty if the object does not exist.
    pub async fn field(&self, namespace: &str, object: &str, path: &str) -> String {
        let path = format!("jsonpath={{{path}}}");
        self.kubectl(&["get", object, "-n", namespace, "--ignore-not-found", "-o", &path]).await
    }

    /// Waits until `ok` holds for a field of an object.
    pub async fn wait_for_field(
        &self,
        (namespace, object, path): (&str, &str, &str),
        ok: impl Fn(&str) -> bool,
    ) {
        let what = || async {
            let now = self.field(namespace, object, path).await;
            format!("{object} {path} on {} is {now:?}\n{}", self.name, self.log_tail())
        };
        wait_until(what, async || ok(&self.field(namespace, object, path).await)).await;
    }

    /// Number of ready pods in a namespace.
    pub async fn ready_pod_count(&self, namespace: &str) -> usize {
        let api: Api<Pod> = Api::namespaced(self.plane.client(), namespace);
        let is_ready = |pod: &Pod| {
            let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
            conditions.is_some_and(|all| {
                all.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
            })
        };
        api.list(&ListParams::default()).await.unwrap().iter().filter(|pod| is_ready(pod)).count()
    }

    /// The API server's metrics of unauthorized requests; empty if there was none.
    pub async fn forbidden_requests(&self) -> Vec<String> {
        let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
        let metrics = self.plane.client().request_text(request).await.unwrap();
        let attempts = || metrics.lines().filter(|line| line.starts_with("authorization_attempts_total{"));
        assert!(attempts().any(|line| line.contains("result=\"allowed\"")), "the metric's name has changed");
        // RBAC reports a request without a matching rule as `no-opinion`, not as `denied`.
        attempts().filter(|line| !line.contains("result=\"allowed\"")).map(str::to_owned).collect()
    }

    /// A client with the agent's service account.
    pub async fn agent_client(&self) -> kube::Client {
        let read = Kubeconfig::read_from(self.kubeconfig_path()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
        agent::kube_client(config).unwrap()
    }

    /// Whether the agent's account is authorized: verb, resource with its group, namespace and name, such as
    /// `patch apps/deployments shop` or `get secrets kube-system`; `-` for none.
    pub async fn is_authorized(&self, what: &str) -> bool {
        let mut words = what.split(' ');
        let mut word = || words.next().filter(|word| *word != "-").unwrap_or_default().to_owned();
        let (verb, resource, namespace, name) = (word(), word(), word(), word());
        let (group, resource) = resource.split_once('/').unwrap_or(("", &resource));
        let attributes = ResourceAttributes {
            verb: Some(verb),
            group: Some(group.to_owned()),
            resource: Some(resource.to_owned()),
            namespace: Some(namespace),
            name: Some(name),
            ..ResourceAttributes::default()
        };
        let spec =
            SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let api: Api<SelfSubjectAccessReview> = Api::all(self.agent_client().await);
        api.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
    }
}

/// Simulates a load balancer controller: gives every Ingress an address.
async fn assign_ingress_addresses(client: kube::Client) {
    let ingresses: Api<Ingress> = Api::all(client.clone());
    let address = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
    let has_address = |ingress: &Ingress| {
        let balancer = ingress.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        balancer.is_some_and(|balancer| balancer.ingress.is_some())
    };
    loop {
        // The API server may be unreachable for a while.
        let items = ingresses.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
        for ingress in items.iter().filter(|ingress| !has_address(ingress)) {
            let (Some(namespace), Some(name)) = (&ingress.metadata.namespace, &ingress.metadata.name) else {
                continue;
            };
            let api: Api<Ingress> = Api::namespaced(client.clone(), namespace);
            let _ = api.patch_status(name, &PatchParams::default(), &Patch::Merge(&address)).await;
        }
        // The polling interval of a simulated controller: no test depends on its length.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
