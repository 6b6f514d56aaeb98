//! A server that is killed while it renders: the renderer ends with it, and the next start deletes its files (P34).

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::api_token::NewApiToken;
use domain::chart::ChartSource;
use domain::role::Role;
use domain::workload::{Source, WorkloadSpec};
use flate2::Compression;
use flate2::write::GzEncoder;
use hub::{Actor, ActorKind, Clock, Hub, HubConfig};
use testkit::{RunningProcess, StartedServer, find_processes};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use wire::{Client, ValidateRequest, ValidationResult};

/// CPU time well below the limit at which the kernel would kill the renderer.
const LIMIT_SECONDS: u64 = 15;
/// More than the limit on CPU time, and little memory.
const BUSY: &str =
    "{{ range until 3000 }}{{ range until 3000 }}{{ range until 3000 }}{{ end }}{{ end }}{{ end }}";

/// What must exist before the server starts, because SQLite allows one server at a time; an API token.
async fn prepare_database(folder: &Path) -> String {
    let database = format!("sqlite://{}", folder.join("flotilla.db").display());
    let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
    let user = hub.ensure_user("ada", "correct horse battery").await.unwrap();
    let actor = Actor::new("ada", ActorKind::Session(user), Role::Admin);
    let token = hub.create_token(&actor, &NewApiToken::new("test", 1)).await.unwrap().secret;
    drop(hub);
    // Its connections close asynchronously.
    let lock = std::fs::File::open(folder.join("flotilla.db.lock")).unwrap();
    tokio::task::spawn_blocking(move || lock.lock().unwrap()).await.unwrap();
    token
}

/// Starts a server and returns it with its URL.
async fn start_server(folder: &Path) -> (Child, String) {
    let helm = std::env::var_os("FLOTILLA_HELM");
    let mut server = Command::new(env!("CARGO_BIN_EXE_flotilla-server"));
    server.args(["--log", "error", "serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder);
    server.arg("--helm").arg(helm.expect("FLOTILLA_HELM names helm; cargo xtask test sets it"));
    let started = StartedServer::spawn(&mut server).await.expect("the server starts");
    (started.child, started.url)
}

/// A chart whose rendering takes longer than it may.
fn busy_chart() -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let description = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
    for (path, text) in [("web/Chart.yaml", description), ("web/templates/a.yaml", BUSY)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// Everything below a folder.
fn list_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(list_below(&path));
        }
        found.push(path);
    }
    found
}

/// Waits until helm runs for this request, which must not be answered before.
async fn wait_for_helm(
    scratch: &Path,
    request: &JoinHandle<Result<ValidationResult, wire::Error>>,
) -> RunningProcess {
    let started = Instant::now();
    loop {
        assert!(!request.is_finished(), "the request has been answered");
        let found = find_processes(scratch.to_str().unwrap());
        if let Some(helm) = found.into_iter().find(|process| process.program().starts_with("helm")) {
            return helm;
        }
        assert!(started.elapsed() < testkit::patience(), "helm does not run");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p34_a_renderer_ends_with_its_server_and_the_next_start_deletes_its_files() {
    wire::tls::install_crypto_provider();
    let folder = tempfile::tempdir().unwrap();
    let token = prepare_database(folder.path()).await;
    let (mut server, url) = start_server(folder.path()).await;
    let client = Client::new(&url, &token).unwrap();
    client.upload_chart(busy_chart()).await.unwrap();
    let source = ChartSource {
        chart: "local/web".into(),
        version: "1.0.0".into(),
        values: "password: correct horse\n".into(),
        ..ChartSource::default()
    };
    // Without clusters it is rendered with samples in place of their facts.
    let spec =
        WorkloadSpec { namespace: "apps".into(), source: Source::Chart(source), ..WorkloadSpec::default() };
    let request = ValidateRequest { name: "web".into(), spec };
    let waiting = tokio::spawn(async move { client.validate_workload(&request).await });

    let scratch = folder.path().join("scratch");
    let helm = wait_for_helm(&scratch, &waiting).await;
    let is_rendering = |path: &PathBuf| path.ends_with("values.yaml");
    let files = list_below(&scratch);
    assert!(files.iter().any(is_rendering), "{files:?}");
    for path in [&scratch].into_iter().chain(&files) {
        let Ok(metadata) = std::fs::symlink_metadata(path) else { continue };
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.mode() & 0o777, expected, "{}", path.display());
    }

    server.kill().await.unwrap();
    let (started, mut used) = (Instant::now(), 0);
    while let Some(seconds) = helm.cpu_seconds() {
        used = seconds;
        assert!(started.elapsed() < testkit::patience(), "helm runs on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(used < LIMIT_SECONDS, "helm was not killed before its limit: {used} s");
    waiting.abort();
    assert!(list_below(&scratch).iter().any(is_rendering), "a killed server deletes nothing");

    let (mut again, _) = start_server(folder.path()).await;
    let left: Vec<PathBuf> = list_below(&scratch).into_iter().filter(|path| path.is_dir()).collect();
    assert_eq!(left.len(), 1, "only the empty folder of the new server: {left:?}");
    assert_eq!(list_below(&left[0]), Vec::<PathBuf>::new());
    again.kill().await.unwrap();
}
