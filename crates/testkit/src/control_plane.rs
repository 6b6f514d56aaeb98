//! One control plane: started, asked, interrupted, ended.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Node, ServiceAccount};
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::etcd::Etcd;
use crate::guard::Guard;
use crate::program::Program;
use crate::{flags, kubeconfig, pki, tell};

/// Longer than a start takes on a machine that is busy with everything else.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks at something that is waited for.
const LOOK: Duration = Duration::from_millis(25);
/// Another program may take a port between the choice and its use.
const TRIES: u32 = 3;
/// More starts at once only wait for each other's processor.
static STARTS: Semaphore = Semaphore::const_new(2);

/// What is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether workloads come alive: controller manager, scheduler, and kwok with `nodes` nodes. Without them nothing
    /// deletes namespaces or dependants, there are no default ServiceAccounts, and Deployments stay empty.
    pub workloads: bool,
    /// Number of nodes; only used with `workloads`.
    pub nodes: u32,
}

impl Options {
    /// A cluster on which workloads come alive, with three nodes.
    pub fn full() -> Options {
        Options { workloads: true, nodes: 3 }
    }
}

/// A running control plane. It ends when this is dropped, or with the test program, however that ends.
pub struct ControlPlane {
    config: kube::Config,
    kubeconfig: String,
    ca: String,
    ports: Ports,
    home: PathBuf,
    version: String,
    workloads: bool,
    running: Mutex<Running>,
}

#[derive(Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) api: u16,
    pub(crate) etcd: u16,
    pub(crate) etcd_peer: u16,
    pub(crate) kwok: u16,
}

struct Running {
    api_server: Option<Program>,
    others: Vec<Program>,
    guard: Guard,
}

impl ControlPlane {
    /// Starts a control plane and waits until it answers and, with `workloads`, until its nodes are ready.
    ///
    /// # Panics
    /// When it does not come up: with the end of the log of the program that failed.
    pub async fn start(options: Options) -> ControlPlane {
        let _turn = STARTS.acquire().await.expect("the semaphore is never closed");
        let mut why = String::new();
        for _ in 0..TRIES {
            let begun = Instant::now();
            match ControlPlane::begin(&options).await {
                Ok(plane) => {
                    let parts = if options.workloads { "with workloads" } else { "API only" };
                    tell(&format!(
                        "control plane up in {:.1} s: Kubernetes {}, {parts}",
                        begun.elapsed().as_secs_f64(),
                        plane.version
                    ));
                    return plane;
                }
                Err(error) => why = error,
            }
        }
        panic!("no control plane after {TRIES} tries: {why}")
    }

    async fn begin(options: &Options) -> Result<ControlPlane, String> {
        let home = tempfile::Builder::new().prefix("testkit-").tempdir().expect("a temporary folder").keep();
        let mut guard = Guard::of(&home);
        let ports = Ports::free();
        let ca = pki::write(&home);
        let token = format!("{:032x}", rand::random::<u128>());
        let url = format!("https://127.0.0.1:{}", ports.api);
        let kubeconfig = kubeconfig::text(&url, &ca, &token);
        let tokens = format!("{token},admin,admin,\"system:masters\"\n");
        for (name, text) in
            [("kubeconfig", &*kubeconfig), ("tokens.csv", &*tokens), ("kwok.yaml", include_str!("kwok.yaml"))]
        {
            fs::write(home.join(name), text).expect("the folder can be written");
        }
        let etcd = Program::start("etcd", &flags::etcd(ports), &home, &mut guard);
        let api = Program::start("kube-apiserver", &flags::api_server(ports), &home, &mut guard);
        let running = Mutex::new(Running { api_server: Some(api), others: vec![etcd], guard });
        let mut plane = ControlPlane {
            config: config(&kubeconfig).await,
            kubeconfig,
            ca,
            ports,
            home,
            version: String::new(),
            workloads: options.workloads,
            running,
        };
        plane.until_ready().await?;
        plane.version =
            plane.client().apiserver_version().await.map_err(|error| error.to_string())?.git_version;
        if options.workloads {
            plane.start_workloads(options.nodes).await?;
        }
        Ok(plane)
    }

    async fn start_workloads(&self, nodes: u32) -> Result<(), String> {
        self.with(|running| {
            for (name, flags) in [
                ("kube-controller-manager", flags::controller_manager()),
                ("kube-scheduler", flags::scheduler()),
                ("kwok", flags::kwok(self.ports)),
            ] {
                let program = Program::start(name, &flags, &self.home, &mut running.guard);
                running.others.push(program);
            }
        });
        let api: Api<Node> = Api::all(self.client());
        for number in 1..=nodes {
            let node = node(number);
            api.create(&PostParams::default(), &node).await.map_err(|error| error.to_string())?;
        }
        let ready = async || {
            let list = api.list(&ListParams::default()).await;
            let free = |node: &Node| node.spec.as_ref().is_none_or(|spec| spec.taints.is_none());
            list.is_ok_and(|list| {
                list.iter().filter(|node| is_ready(node) && free(node)).count() == nodes as usize
            })
        };
        self.until("its nodes are ready", ready).await?;
        self.until_served_accounts("default").await
    }

    /// A client as the administrator; without kube's own retries. To be made on the runtime that uses it.
    pub fn client(&self) -> kube::Client {
        kube::Client::try_from(self.config()).expect("a client of our own configuration")
    }

    /// The configuration of [`ControlPlane::client`].
    pub fn config(&self) -> kube::Config {
        self.config.clone()
    }

    /// A client as somebody else, who may do what RBAC allows.
    pub fn client_as(&self, user: &str) -> kube::Client {
        let mut config = self.config();
        config.auth_info.impersonate = Some(user.to_owned());
        kube::Client::try_from(config).expect("a client of our own configuration")
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// The same, as a file: for programs.
    pub fn kubeconfig_file(&self) -> PathBuf {
        self.home.join("kubeconfig")
    }

    /// A program from the same folder, to be run on this control plane: `kubectl`.
    pub fn program(&self, name: &str) -> std::process::Command {
        let mut program = crate::program(name);
        // kubectl keeps a cache of what is served below the home folder.
        program.env("KUBECONFIG", self.kubeconfig_file()).env("HOME", &self.home);
        program
    }

    /// Where the API server listens, like `https://127.0.0.1:41234`.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api)
    }

    /// The running programs by name, with the number of each one's process: for who measures.
    pub fn processes(&self) -> Vec<(&'static str, u32)> {
        self.with(|running| running.api_server.iter().chain(&running.others).map(Program::identity).collect())
    }

    /// The certificate of the authority that signed the API server's own, in PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// What the API server says it is, like `v1.36.3`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Makes a namespace and waits until pods can be made in it.
    ///
    /// # Panics
    /// When there is one of this name.
    pub async fn namespace(&self, name: &str) {
        let api: Api<Namespace> = Api::all(self.client());
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).expect("a namespace");
        api.create(&PostParams::default(), &namespace).await.expect("the namespace is free");
        if self.workloads {
            self.until_served_accounts(name).await.expect("every namespace gets an account");
        }
    }

    /// Ends the API server with `kill -9`; data and the other programs stay.
    pub fn stop(&self) {
        self.with(|running| {
            if let Some(api_server) = running.api_server.take() {
                api_server.kill(&mut running.guard);
            }
        });
    }

    /// Starts the API server again, on the same port and data, and waits until it answers.
    ///
    /// # Panics
    /// When it does not come up.
    pub async fn restart(&self) {
        self.stop();
        self.with(|running| {
            let flags = flags::api_server(self.ports);
            running.api_server =
                Some(Program::start("kube-apiserver", &flags, &self.home, &mut running.guard));
        });
        if let Err(error) = self.until_ready().await {
            panic!("the API server does not come back: {error}");
        }
    }

    /// Lets the API server hang: connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.with(|running| running.api_server.iter().for_each(Program::pause));
    }

    /// Lets a paused API server go on.
    pub fn resume(&self) {
        self.with(|running| running.api_server.iter().for_each(|server| server.signal("CONT")));
    }

    /// Deletes an object from etcd, behind the API server's back: `registry/configmaps/shop/settings`.
    ///
    /// # Panics
    /// When it is not there.
    pub async fn delete_stored(&self, key: &str) {
        self.etcd().delete(&format!("/{key}")).await;
    }

    /// Lets etcd forget its history. The API server also remembers some by itself until it is restarted: only then are
    /// watches from an older version refused with 410.
    pub async fn compact(&self) {
        self.etcd().compact().await;
    }

    fn etcd(&self) -> Etcd {
        Etcd::at(&format!("http://127.0.0.1:{}", self.ports.etcd))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Running) -> T) -> T {
        let mut running: MutexGuard<'_, Running> =
            self.running.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut running)
    }

    async fn until_ready(&self) -> Result<(), String> {
        let client = self.client();
        let ready = async || {
            let request = http::Request::get("/readyz").body(Vec::new()).expect("a request");
            client.request_text(request).await.is_ok()
        };
        self.until("the API server is ready", ready).await
    }

    async fn until_served_accounts(&self, namespace: &str) -> Result<(), String> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client(), namespace);
        self.until("the default ServiceAccount is there", async || api.get("default").await.is_ok()).await
    }

    async fn until(&self, what: &str, ok: impl AsyncFn() -> bool) -> Result<(), String> {
        let begun = Instant::now();
        while !ok().await {
            let ended = self.with(|running| {
                running.api_server.iter_mut().chain(&mut running.others).find_map(Program::ended)
            });
            if let Some(ended) = ended {
                return Err(ended);
            }
            if begun.elapsed() > PATIENCE {
                let logs = self.with(|running| {
                    let all = running.api_server.iter().chain(&running.others);
                    all.map(Program::last_words).collect::<Vec<_>>().join("\n---\n")
                });
                return Err(format!("waited {PATIENCE:?} until {what}:\n{logs}"));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        self.with(|running| {
            let api_server = running.api_server.take();
            // The API server first: it would complain about the loss of etcd for as long as it takes.
            for program in api_server.into_iter().chain(running.others.drain(..).rev()) {
                program.kill(&mut running.guard);
            }
        });
    }
}

impl Ports {
    /// Free now, and different from each other.
    fn free() -> Ports {
        let held = [(); 4].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [api, etcd, etcd_peer, kwok] =
            held.each_ref().map(|socket| socket.local_addr().expect("a bound socket has a port").port());
        Ports { api, etcd, etcd_peer, kwok }
    }
}

async fn config(kubeconfig: &str) -> kube::Config {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig of our own");
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.expect("a kubeconfig of our own");
    config.default_retry = false;
    config
}

fn node(number: u32) -> Node {
    let name = format!("node-{number}");
    let offer = json!({"cpu": "16", "memory": "64Gi", "pods": "500", "ephemeral-storage": "500Gi"});
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}},
        "status": {"capacity": offer, "allocatable": offer},
    }))
    .expect("a node")
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
}
