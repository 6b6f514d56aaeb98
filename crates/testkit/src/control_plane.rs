//! A control plane: start, clients, interruption, shutdown.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Node, ServiceAccount};
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use nix::sys::statvfs::statvfs;
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::etcd::EtcdClient;
use crate::guard::ProcessGuard;
use crate::program::Program;
use crate::reserved_port::ReservedPort;
use crate::{flags, kubeconfig, pki, print_line};

/// Time limit of a start, long enough for a heavily loaded machine.
const START_TIMEOUT: Duration = crate::patience();
/// Polling interval of a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// Free space from which control planes keep their data in memory.
const MIN_SHARED_MEMORY: u64 = 4 << 30;
/// Limits concurrent starts: more of them only compete for the CPU.
static START_PERMITS: Semaphore = Semaphore::const_new(2);

/// What to start.
#[derive(Clone, Debug, Default)]
pub struct ControlPlaneOptions {
    /// Whether to run the controller manager, the scheduler, and kwok with `nodes` nodes. Without them namespaces and
    /// dependants are not deleted, there are no default ServiceAccounts, and Deployments get no pods.
    pub workloads: bool,
    /// Number of nodes; only used with `workloads`.
    pub nodes: u32,
}

impl ControlPlaneOptions {
    /// A control plane that runs workloads, with three nodes.
    pub fn with_workloads() -> ControlPlaneOptions {
        ControlPlaneOptions { workloads: true, nodes: 3 }
    }
}

/// A running control plane. It is stopped when this is dropped, or when the test process ends for any reason.
pub struct ControlPlane {
    config: kube::Config,
    kubeconfig: String,
    ports: Ports,
    directory: PathBuf,
    version: String,
    workloads: bool,
    running: Mutex<RunningPrograms>,
}

/// The ports of the programs. The programs can't choose them: the flags of one contain the ports of others, the certificates
/// and the kubeconfig the URL of the API server, and the API server is restarted on the same port.
pub(crate) struct Ports {
    pub(crate) api: ReservedPort,
    pub(crate) etcd: ReservedPort,
    pub(crate) etcd_peer: ReservedPort,
    pub(crate) kwok: ReservedPort,
}

struct RunningPrograms {
    api_server: Option<Program>,
    other_programs: Vec<Program>,
    guard: ProcessGuard,
}

impl ControlPlane {
    /// Starts a control plane and waits until it is ready and, with `workloads`, until its nodes are ready.
    ///
    /// # Panics
    /// It does not become ready. The message contains the end of the failed program's log.
    pub async fn start(options: ControlPlaneOptions) -> ControlPlane {
        let _permit = START_PERMITS.acquire().await.expect("the semaphore is never closed");
        let started = Instant::now();
        let plane = ControlPlane::try_start(&options).await;
        let plane = plane.unwrap_or_else(|error| panic!("the control plane did not start: {error}"));
        let mode = if options.workloads { "with workloads" } else { "API only" };
        print_line(&format!(
            "control plane up in {:.1} s: Kubernetes {}, {mode}",
            started.elapsed().as_secs_f64(),
            plane.version
        ));
        plane
    }

    async fn try_start(options: &ControlPlaneOptions) -> Result<ControlPlane, String> {
        let home = create_directory();
        let mut guard = ProcessGuard::start(&home);
        let ports = Ports::reserve();
        let ca = pki::write_certificates(&home);
        let token = format!("{:032x}", rand::random::<u128>());
        let url = format!("https://{}", ports.api.address());
        let kubeconfig = kubeconfig::to_json(&url, &ca, &token);
        let tokens = format!("{token},admin,admin,\"system:masters\"\n");
        for (name, text) in
            [("kubeconfig", &*kubeconfig), ("tokens.csv", &*tokens), ("kwok.yaml", include_str!("kwok.yaml"))]
        {
            fs::write(home.join(name), text).expect("the directory is writable");
        }
        let etcd = Program::start("etcd", &flags::etcd(&ports), &home, &mut guard);
        let api = Program::start("kube-apiserver", &flags::api_server(&ports), &home, &mut guard);
        let running =
            Mutex::new(RunningPrograms { api_server: Some(api), other_programs: vec![etcd], guard });
        let mut plane = ControlPlane {
            config: kube_config(&kubeconfig).await,
            kubeconfig,
            ports,
            directory: home,
            version: String::new(),
            workloads: options.workloads,
            running,
        };
        plane.wait_until_ready().await?;
        plane.version =
            plane.client().apiserver_version().await.map_err(|error| error.to_string())?.git_version;
        if options.workloads {
            plane.start_workloads(options.nodes).await?;
        }
        Ok(plane)
    }

    async fn start_workloads(&self, nodes: u32) -> Result<(), String> {
        self.with_running(|running| {
            for (name, flags) in [
                ("kube-controller-manager", flags::controller_manager()),
                ("kube-scheduler", flags::scheduler()),
                ("kwok", flags::kwok(&self.ports)),
            ] {
                let program = Program::start(name, &flags, &self.directory, &mut running.guard);
                running.other_programs.push(program);
            }
        });
        let api: Api<Node> = Api::all(self.client());
        for number in 1..=nodes {
            let node = node(number);
            api.create(&PostParams::default(), &node).await.map_err(|error| error.to_string())?;
        }
        let ready = async || {
            let list = api.list(&ListParams::default()).await;
            let untainted = |node: &Node| node.spec.as_ref().is_none_or(|spec| spec.taints.is_none());
            list.is_ok_and(|list| {
                list.iter().filter(|node| is_ready(node) && untainted(node)).count() == nodes as usize
            })
        };
        self.wait_until("its nodes are ready", ready).await?;
        self.wait_for_default_account("default").await
    }

    /// A client of the administrator, without kube's retries. Must be created on the runtime that uses it.
    pub fn client(&self) -> kube::Client {
        kube::Client::try_from(self.config()).expect("a client of our own configuration")
    }

    /// The configuration of [`ControlPlane::client`].
    pub fn config(&self) -> kube::Config {
        self.config.clone()
    }

    /// A client that impersonates this user, with the user's RBAC permissions.
    pub fn impersonating_client(&self, user: &str) -> kube::Client {
        let mut config = self.config();
        config.auth_info.impersonate = Some(user.to_owned());
        kube::Client::try_from(config).expect("a client of our own configuration")
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// Path of the administrator's kubeconfig, for programs.
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// A command such as `kubectl`, configured for this control plane.
    pub fn command(&self, name: &str) -> std::process::Command {
        let mut program = crate::command(name);
        // kubectl caches API discovery below HOME.
        program.env("KUBECONFIG", self.kubeconfig_path()).env("HOME", &self.directory);
        program
    }

    /// URL of the API server, like `https://127.0.0.1:41234`.
    pub fn url(&self) -> String {
        format!("https://{}", self.ports.api.address())
    }

    /// Names and process ids of the running programs, for measurements.
    pub fn processes(&self) -> Vec<(&'static str, u32)> {
        self.with_running(|running| {
            running.api_server.iter().chain(&running.other_programs).map(Program::name_and_pid).collect()
        })
    }

    /// Kubernetes version of the API server, like `v1.36.3`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Creates a namespace and waits until pods can be created in it.
    ///
    /// # Panics
    /// The namespace exists already.
    pub async fn create_namespace(&self, name: &str) {
        let api: Api<Namespace> = Api::all(self.client());
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).expect("a namespace");
        api.create(&PostParams::default(), &namespace).await.expect("the namespace does not exist yet");
        if self.workloads {
            self.wait_for_default_account(name).await.expect("every namespace gets a default ServiceAccount");
        }
    }

    /// Kills the API server with `kill -9`; its data and the other programs stay.
    pub fn kill_api_server(&self) {
        self.with_running(|running| {
            if let Some(api_server) = running.api_server.take() {
                api_server.kill(&mut running.guard);
            }
        });
    }

    /// Restarts the API server with the same port and data, and waits until it is ready.
    ///
    /// # Panics
    /// It does not become ready.
    pub async fn restart_api_server(&self) {
        self.kill_api_server();
        self.with_running(|running| {
            let flags = flags::api_server(&self.ports);
            running.api_server =
                Some(Program::start("kube-apiserver", &flags, &self.directory, &mut running.guard));
        });
        if let Err(error) = self.wait_until_ready().await {
            panic!("the API server did not restart: {error}");
        }
    }

    /// Suspends the API server: connections stay open without responses.
    pub fn pause_api_server(&self) {
        self.with_running(|running| running.api_server.iter().for_each(Program::pause));
    }

    /// Resumes a paused API server.
    pub fn resume_api_server(&self) {
        self.with_running(|running| running.api_server.iter().for_each(|server| server.send_signal("CONT")));
    }

    /// Deletes an object directly from etcd, such as `registry/configmaps/shop/config_map`.
    ///
    /// # Panics
    /// The key does not exist.
    pub async fn delete_from_etcd(&self, key: &str) {
        self.etcd_client().delete_key(&format!("/{key}")).await;
    }

    /// Compacts etcd's history. The API server's watch cache retains some of it until a restart: only then are watches from
    /// an older version rejected with 410.
    pub async fn compact_etcd(&self) {
        self.etcd_client().compact_history().await;
    }

    fn etcd_client(&self) -> EtcdClient {
        EtcdClient::connect(&format!("http://{}", self.ports.etcd.address()))
    }

    fn with_running<T>(&self, act: impl FnOnce(&mut RunningPrograms) -> T) -> T {
        let mut running: MutexGuard<'_, RunningPrograms> = self.running.lock();
        act(&mut running)
    }

    async fn wait_until_ready(&self) -> Result<(), String> {
        let client = self.client();
        let ready = async || {
            let request = http::Request::get("/readyz").body(Vec::new()).expect("a request");
            client.request_text(request).await.is_ok()
        };
        self.wait_until("the API server is ready", ready).await
    }

    async fn wait_for_default_account(&self, namespace: &str) -> Result<(), String> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client(), namespace);
        self.wait_until("the default ServiceAccount is there", async || api.get("default").await.is_ok())
            .await
    }

    async fn wait_until(&self, what: &str, ok: impl AsyncFn() -> bool) -> Result<(), String> {
        let started = Instant::now();
        while !ok().await {
            let exit = self.with_running(|running| {
                running
                    .api_server
                    .iter_mut()
                    .chain(&mut running.other_programs)
                    .find_map(Program::exit_message)
            });
            if let Some(exit) = exit {
                return Err(exit);
            }
            if started.elapsed() > START_TIMEOUT {
                let logs = self.with_running(|running| {
                    let programs = running.api_server.iter().chain(&running.other_programs);
                    programs.map(Program::log_tail).collect::<Vec<_>>().join("\n---\n")
                });
                return Err(format!("waited {START_TIMEOUT:?} until {what}:\n{logs}"));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }
}

/// Creates the directory of a control plane, in shared memory if there is enough: each etcd allocates up to 128 MB for its log in
/// advance, whatever is stored, and the tests of one package run up to eleven of them.
fn create_directory() -> PathBuf {
    let shared_memory = Path::new("/dev/shm");
    let has_space = statvfs(shared_memory)
        .is_ok_and(|found| found.blocks_available() * found.fragment_size() >= MIN_SHARED_MEMORY);
    let parent = if has_space { shared_memory.to_owned() } else { std::env::temp_dir() };
    let directory = tempfile::Builder::new().prefix("testkit-").tempdir_in(parent);
    directory.expect("a temporary directory can be created").keep()
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        self.with_running(|running| {
            let api_server = running.api_server.take();
            // The API server first: without etcd it only logs errors.
            for program in api_server.into_iter().chain(running.other_programs.drain(..).rev()) {
                program.kill(&mut running.guard);
            }
        });
    }
}

impl Ports {
    fn reserve() -> Ports {
        let [api, etcd, etcd_peer, kwok] = [(); 4].map(|()| ReservedPort::reserve());
        Ports { api, etcd, etcd_peer, kwok }
    }
}

async fn kube_config(kubeconfig: &str) -> kube::Config {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("the generated kubeconfig is valid");
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.expect("the generated kubeconfig is valid");
    config.default_retry = false;
    config
}

fn node(number: u32) -> Node {
    let name = format!("node-{number}");
    let capacity = json!({"cpu": "16", "memory": "64Gi", "pods": "500", "ephemeral-storage": "500Gi"});
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}},
        "status": {"capacity": capacity, "allocatable": capacity},
    }))
    .expect("a node")
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| {
        all.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    })
}
