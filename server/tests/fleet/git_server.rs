//! A Git repository in a temporary folder, served over HTTP by `git http-backend`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use axum::routing::any;
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The repository and its server.
pub struct GitServer {
    folder: tempfile::TempDir,
    address: String,
    state: Arc<ServerState>,
    _stop: DropGuard,
}

struct ServerState {
    root: PathBuf,
    is_down: AtomicBool,
    /// Whether all refs are listed, whatever prefixes are requested: version 2 of the protocol allows it.
    lists_all_refs: AtomicBool,
    /// The `Authorization` that is required; empty for a public repository.
    authorization: parking_lot::Mutex<String>,
    /// What is sent in place of the pack of the repository.
    pack: parking_lot::Mutex<Option<Vec<u8>>>,
    /// Number of fetched packs.
    fetches: std::sync::atomic::AtomicUsize,
}

impl GitServer {
    /// A repository with an empty branch `main`.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("served");
        std::fs::create_dir_all(&root).unwrap();
        let state = Arc::new(ServerState {
            root,
            is_down: AtomicBool::new(false),
            lists_all_refs: AtomicBool::new(false),
            authorization: parking_lot::Mutex::default(),
            pack: parking_lot::Mutex::default(),
            fetches: std::sync::atomic::AtomicUsize::new(0),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stop = CancellationToken::new();
        let router = axum::Router::new().route("/{*path}", any(serve)).with_state(state.clone());
        let serving = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
        tokio::spawn(serving.into_future());
        let server = Self { folder, address, state, _stop: stop.drop_guard() };
        server.git(&["init", "--quiet", "-b", "main", "--separate-git-dir", "../served/deploy.git", "."]);
        for (key, value) in [
            ("user.name", "Ada"),
            ("user.email", "ada@example.com"),
            ("http.uploadpack", "true"),
            ("uploadpack.allowFilter", "true"),
            ("core.symlinks", "true"),
            ("gc.auto", "0"),
        ] {
            server.git(&["config", key, value]);
        }
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}/deploy.git", self.address)
    }

    /// The folder with the repository, as it is served.
    pub fn root(&self) -> &Path {
        &self.state.root
    }

    pub fn set_down(&self, is_down: bool) {
        self.state.is_down.store(is_down, SeqCst);
    }

    /// Lists all refs from now on, with this many branches of the current commit before `main`.
    pub fn list_all_refs(&self, count: usize) {
        self.state.lists_all_refs.store(true, SeqCst);
        let commit = self.git(&["rev-parse", "HEAD"]);
        let mut packed = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
        packed.extend((0..count).map(|n| format!("{commit} refs/heads/change-{n:06}-of-another-team\n")));
        std::fs::write(self.state.root.join("deploy.git/packed-refs"), packed).unwrap();
    }

    /// Requires user name and password.
    pub fn require(&self, authorization: &str) {
        authorization.clone_into(&mut self.state.authorization.lock());
    }

    /// Sends this pack from now on, whatever is fetched.
    pub fn send_pack(&self, pack: Vec<u8>) {
        *self.state.pack.lock() = Some(pack);
    }

    /// How many packs were requested.
    pub fn fetches(&self) -> usize {
        self.state.fetches.load(SeqCst)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// Runs `git` in the working tree; returns what it prints.
    pub fn git(&self, args: &[&str]) -> String {
        std::fs::create_dir_all(self.work()).unwrap();
        let run = Command::new("git").args(args).current_dir(self.work()).output().unwrap();
        assert!(run.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap().trim().to_owned()
    }

    /// Writes a file and commits everything; returns the commit.
    pub fn commit(&self, file: &str, text: &str, subject: &str) -> String {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self.commit_all(subject)
    }

    /// Commits the working tree; returns the commit.
    pub fn commit_all(&self, subject: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", subject]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }
}

async fn serve(State(state): State<Arc<ServerState>>, request: Request) -> Response<Body> {
    let respond = |status| Response::builder().status(status).body(Body::empty()).unwrap();
    if state.is_down.load(SeqCst) {
        return respond(StatusCode::SERVICE_UNAVAILABLE);
    }
    let (parts, body) = request.into_parts();
    let header = |name: &str| {
        parts.headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    };
    let required = state.authorization.lock().clone();
    if !required.is_empty() && header("authorization") != required {
        return respond(StatusCode::UNAUTHORIZED);
    }
    let (method, uri) = (parts.method.to_string(), parts.uri.clone());
    let (content_type, protocol) = (header("content-type"), header("git-protocol"));
    let mut body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    if state.lists_all_refs.load(SeqCst) {
        body = without_prefixes(&body);
    }
    if body.windows(13).any(|part| part == b"command=fetch") {
        state.fetches.fetch_add(1, SeqCst);
        if let Some(pack) = &*state.pack.lock() {
            let result = Response::builder().header("content-type", "application/x-git-upload-pack-result");
            return result.body(Body::from(encode_pack(pack))).unwrap();
        }
    }
    let mut backend = tokio::process::Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &state.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", uri.path())
        .env("QUERY_STRING", uri.query().unwrap_or_default())
        .env("REQUEST_METHOD", method)
        .env("CONTENT_TYPE", content_type)
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("GIT_PROTOCOL", protocol)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    backend.stdin.take().unwrap().write_all(&body).await.unwrap();
    let output = Bytes::from(backend.wait_with_output().await.unwrap().stdout);
    let end = output.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    let mut response = Response::builder();
    for line in std::str::from_utf8(&output[..end]).unwrap().lines() {
        let (name, value) = line.split_once(':').unwrap();
        response = match name {
            "Status" => response.status(value.trim().split(' ').next().unwrap().parse::<u16>().unwrap()),
            name => response.header(name, value.trim()),
        };
    }
    response.body(Body::from(output.slice(end + 4..))).unwrap()
}

/// The response to `fetch` with this pack.
fn encode_pack(pack: &[u8]) -> Vec<u8> {
    let mut response = b"000dpackfile\n".to_vec();
    // The first band is that of the pack.
    for part in pack.chunks(60_000) {
        response.extend(format!("{:04x}\u{1}", part.len() + 5).bytes());
        response.extend_from_slice(part);
    }
    response.extend_from_slice(b"0000");
    response
}

/// A request without its lines `ref-prefix`.
fn without_prefixes(body: &[u8]) -> Bytes {
    let (mut kept, mut rest) = (Vec::new(), body);
    while let Some((length, _)) = rest.split_first_chunk::<4>() {
        let length = usize::from_str_radix(std::str::from_utf8(length).unwrap(), 16).unwrap().max(4);
        let (line, after) = rest.split_at(length);
        if !line[4..].starts_with(b"ref-prefix ") {
            kept.extend_from_slice(line);
        }
        rest = after;
    }
    kept.into()
}

/// Whether a path is a link, so that a test is sure of what it commits.
pub fn is_link(path: &Path) -> bool {
    path.symlink_metadata().unwrap().is_symlink()
}
