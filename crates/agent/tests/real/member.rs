//! A real control plane and the real agent as a process, with the rights that the printed manifest gives it.

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

use crate::house::{House, PATIENCE, until};

/// The agent's own namespace, and the name of everything in it.
const OWN: &str = "flotilla-agent";

/// A cluster and its agent.
pub struct Member {
    pub name: &'static str,
    pub plane: ControlPlane,
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
    agent: Mutex<Option<Child>>,
    _provider: AbortOnDropHandle<()>,
}

impl Member {
    /// Starts a control plane on which workloads come alive.
    pub async fn start(name: &'static str) -> Self {
        let plane = ControlPlane::start(testkit::Options::full()).await;
        let provider = AbortOnDropHandle::new(tokio::spawn(give_addresses(plane.client())));
        Self {
            name,
            plane,
            folder: tempfile::tempdir().unwrap(),
            environment: Vec::new(),
            agent: Mutex::default(),
            _provider: provider,
        }
    }

    /// Installs what `flotilla cluster install-manifest` prints, and starts the agent as the printed Deployment says: with
    /// the token of its own account and the printed environment.
    pub async fn join(&mut self, house: &House, how: &[&str]) {
        let args = [&["cluster", "install-manifest", self.name, "--auto-accept"], how].concat();
        let manifest = house.flotilla(&args).await;
        self.apply(&manifest).await;
        let account = self.kubectl(&["create", "token", OWN, "-n", OWN]).await;
        let mut config: Value = serde_json::from_str(self.plane.kubeconfig()).unwrap();
        config["users"][0]["user"] = json!({"token": account.trim()});
        std::fs::write(self.kubeconfig(), config.to_string()).unwrap();
        let secret = ["get", "secret", "join-token", "-n", OWN, "-o"];
        let token =
            self.kubectl(&[&secret[..], &["go-template={{.data.token | base64decode}}"]].concat()).await;
        let file = self.folder.path().join("join-token");
        std::fs::write(&file, token).unwrap();
        let deployment = self.json(&["get", "deployment", OWN, "-n", OWN]).await;
        let printed =
            deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap().clone();
        let text = |variable: &Value, field: &str| variable[field].as_str().unwrap().to_owned();
        self.environment = printed.iter().map(|one| (text(one, "name"), text(one, "value"))).collect();
        let mounted = self.environment.iter_mut().find(|(name, _)| name == "FLOTILLA_JOIN_TOKEN_FILE");
        mounted.unwrap().1 = file.display().to_string();
        self.run_agent();
    }

    /// Starts the agent.
    pub fn run_agent(&self) {
        let log = std::fs::OpenOptions::new().append(true).create(true).open(self.log()).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_flotilla-agent"))
            .args([
                "--log",
                "info,engine=debug",
                "run",
                "--registries",
                "off",
                "--namespace",
                OWN,
                "--kubeconfig",
            ])
            .arg(self.kubeconfig())
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

    /// Tells the agent to end, and waits until it has ended in order.
    pub async fn stop_agent(&self) {
        let agent = self.agent.lock().unwrap().take();
        let mut agent = agent.expect("an agent runs");
        let pid = agent.id().expect("it has not ended by itself").to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
        let ended = tokio::time::timeout(PATIENCE, agent.wait()).await.expect("it ends").unwrap();
        assert!(ended.success(), "{ended}\n{}", self.last_words());
    }

    /// Kills the agent as a power cut would.
    pub async fn kill_agent(&self) {
        let agent = self.agent.lock().unwrap().take();
        agent.expect("an agent runs").kill().await.unwrap();
    }

    /// How many files and connections the agent has open.
    pub fn open_files(&self) -> usize {
        let agent = self.agent.lock().unwrap();
        let pid = agent.as_ref().and_then(Child::id).expect("an agent runs");
        std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("agent.log")
    }

    /// The end of the agent's log.
    pub fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        format!("the agent of {} said:\n{}", self.name, lines[lines.len().saturating_sub(40)..].join("\n"))
    }
}

/// What somebody else does on the cluster.
impl Member {
    /// Runs kubectl as the administrator; returns what it printed.
    pub async fn kubectl(&self, args: &[&str]) -> String {
        self.kubectl_with(args, "").await
    }

    /// `kubectl apply -f -`
    pub async fn apply(&self, manifest: &str) {
        self.kubectl_with(&["apply", "-f", "-"], manifest).await;
    }

    /// The answer as JSON.
    pub async fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.kubectl(&[args, &["-o", "json"]].concat()).await).unwrap()
    }

    async fn kubectl_with(&self, args: &[&str], input: &str) -> String {
        let mut command = Command::from(self.plane.program("kubectl"));
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
        let ended = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
        let ended = ended.unwrap_or_else(|_| panic!("kubectl {args:?} does not end")).unwrap();
        assert!(ended.status.success(), "kubectl {args:?} on {}: {ended:?}", self.name);
        String::from_utf8(ended.stdout).unwrap()
    }

    /// A field of an object, as kubectl's `jsonpath` prints it; nothing if the object is not there.
    pub async fn field(&self, namespace: &str, object: &str, path: &str) -> String {
        let path = format!("jsonpath={{{path}}}");
        self.kubectl(&["get", object, "-n", namespace, "--ignore-not-found", "-o", &path]).await
    }

    /// Waits until a field of an object is so.
    pub async fn until_field(
        &self,
        (namespace, object, path): (&str, &str, &str),
        ok: impl Fn(&str) -> bool,
    ) {
        let what = || async {
            let now = self.field(namespace, object, path).await;
            format!("{object} {path} on {} is {now:?}\n{}", self.name, self.last_words())
        };
        until(what, async || ok(&self.field(namespace, object, path).await)).await;
    }

    /// How many pods of a namespace are ready.
    pub async fn ready_pods(&self, namespace: &str) -> usize {
        let api: Api<Pod> = Api::namespaced(self.plane.client(), namespace);
        let is_ready = |pod: &Pod| {
            let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
            conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
        };
        api.list(&ListParams::default()).await.unwrap().iter().filter(|pod| is_ready(pod)).count()
    }

    /// What the API server counted of requests to which nobody had given a right; nothing if there was none.
    pub async fn forbidden(&self) -> Vec<String> {
        let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
        let metrics = self.plane.client().request_text(request).await.unwrap();
        let counted = || metrics.lines().filter(|line| line.starts_with("authorization_attempts_total{"));
        assert!(counted().any(|line| line.contains("result=\"allowed\"")), "it counts by another name now");
        // Of RBAC, a request without a right is one that nobody has an opinion on.
        counted().filter(|line| !line.contains("result=\"allowed\"")).map(str::to_owned).collect()
    }

    /// A client with the agent's own account.
    pub async fn client_of_agent(&self) -> kube::Client {
        let read = Kubeconfig::read_from(self.kubeconfig()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
        agent::kube_client(config).unwrap()
    }

    /// Whether the agent's account may do this: a verb, a resource with its group, and where, such as
    /// `patch apps/deployments shop` or `get secrets kube-system`; `-` for nowhere in particular.
    pub async fn may(&self, what: &str) -> bool {
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
        let api: Api<SelfSubjectAccessReview> = Api::all(self.client_of_agent().await);
        api.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
    }
}

/// What a cloud does on a real cluster: every Ingress gets an address.
async fn give_addresses(client: kube::Client) {
    let all: Api<Ingress> = Api::all(client.clone());
    let address = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
    let has_address = |ingress: &Ingress| {
        let balancer = ingress.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        balancer.is_some_and(|balancer| balancer.ingress.is_some())
    };
    loop {
        // The API server may be away for a while.
        let found = all.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
        for ingress in found.iter().filter(|ingress| !has_address(ingress)) {
            let (Some(namespace), Some(name)) = (&ingress.metadata.namespace, &ingress.metadata.name) else {
                continue;
            };
            let api: Api<Ingress> = Api::namespaced(client.clone(), namespace);
            let _ = api.patch_status(name, &PatchParams::default(), &Patch::Merge(&address)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
