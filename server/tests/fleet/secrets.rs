//! Values of Secrets: they stand in clear text neither at rest nor in what is read, logged or counted.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sqlx::Executor as _;

use super::*;

/// A value that stands nowhere else.
fn random_secret() -> String {
    format!("Zq{}kV", hex::encode(rand::random::<[u8; 15]>()))
}

/// The secrets of the test, by where they are entered.
struct Secrets(Vec<(&'static str, String)>);

impl Secrets {
    fn new() -> Self {
        let places = [
            "stringData",
            "data",
            "override",
            "chart values",
            "locked values",
            "cluster values",
            "chart credentials",
            "git credentials",
            "webhook",
            "rejected",
            "draft",
            "list",
        ];
        Self(places.map(|place| (place, random_secret())).to_vec())
    }

    fn get(&self, place: &str) -> &str {
        &self.0.iter().find(|(name, _)| *name == place).unwrap().1
    }

    /// Which secrets a text contains, in clear text, hex, URL encoding (equal to clear text for these) or base64 at any offset.
    fn find_in(&self, bytes: &[u8]) -> Vec<&'static str> {
        let is_in = |secret: &str| forms_of(secret).iter().any(|form| contains(bytes, form.as_bytes()));
        self.0.iter().filter(|(_, secret)| is_in(secret)).map(|(place, _)| *place).collect()
    }
}

fn contains(bytes: &[u8], form: &[u8]) -> bool {
    bytes.windows(form.len()).any(|window| window == form)
}

fn forms_of(secret: &str) -> Vec<String> {
    let base64 = (0..3).map(|offset| {
        let bytes = [vec![b'-'; offset], secret.as_bytes().to_vec()].concat();
        STANDARD.encode(&bytes)[(8 * offset).div_ceil(6)..8 * bytes.len() / 6].to_owned()
    });
    [secret.to_owned(), hex::encode(secret)].into_iter().chain(base64).collect()
}

/// Everything that the server logs at the level debug.
#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn capture_logs() -> LogBuffer {
    let log = LogBuffer::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter("debug,h2=off,hyper_util=off")
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // Another test of this process may have set one; then its log is not searched.
    let _ = tracing::subscriber::set_global_default(subscriber);
    log
}

struct SecretServer {
    fleet: TestFleet,
    http: reqwest::Client,
    secrets: Secrets,
}

const PROJECT: &str = "/api/v1/projects/default";

impl SecretServer {
    async fn send(&self, method: &str, path: &str, body: Value) -> (u16, String) {
        let url = format!("{}{path}", self.fleet.url);
        let request = self.http.request(method.parse().unwrap(), url).bearer_auth(&self.fleet.token);
        let request = request.header("Idempotency-Key", format!("key-{}", rand::random::<u64>()));
        let request = match method {
            "PUT" => request.header("If-Match", "*"),
            _ => request,
        };
        let response =
            if body.is_null() { request.send() } else { request.json(&body).send() }.await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn succeed(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, text) = self.send(method, path, body).await;
        assert!(status < 300, "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// A workload with Secrets in its manifests and an override of them.
    fn workload(&self) -> Value {
        let encoded = STANDARD.encode(self.secrets.get("data"));
        let text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: one, namespace: apps}}\nstringData: {{password: {}}}\n---\n\
             apiVersion: v1\nkind: Secret\nmetadata: {{name: two, namespace: apps}}\ndata: {{password: {encoded}}}\n---\n\
             apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {{name: three, namespace: apps}}\n  \
             stringData: {{password: {}}}\n",
            self.secrets.get("stringData"),
            self.secrets.get("list"),
        );
        json!({
            "namespace": "apps",
            "source": { "type": "yaml", "files": [{ "name": "secrets.yaml", "text": text }] },
            "placement": { "predicates": [{ "names": ["eu-1", "eu-2", "us-1"] }] },
            "overrides": [{
                "id": domain::OverrideId::from_parts(1, 1), "name": "eu", "target": { "clusters": ["eu-1"] },
                "patches": [{
                    "object": { "kind": "Secret", "name": "one" }, "op": "merge",
                    "value": { "stringData": { "password": self.secrets.get("override") } }
                }]
            }]
        })
    }

    /// Enters every secret, publishes, changes the published one and fails once.
    async fn enter_secrets(&self) {
        let secrets = &self.secrets;
        let spec = self.workload();
        self.succeed("POST", &format!("{PROJECT}/workloads"), json!({ "name": "web", "spec": spec })).await;
        self.succeed("POST", &format!("{PROJECT}/workloads/web:plan?wait=20"), json!({})).await;
        self.succeed("POST", &format!("{PROJECT}/workloads/web:publish"), json!({})).await;
        self.fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let mut changed = spec.clone();
        let text = spec["source"]["files"][0]["text"].as_str().unwrap();
        changed["source"]["files"][0]["text"] =
            text.replace(secrets.get("stringData"), secrets.get("draft")).into();
        self.succeed("PUT", &format!("{PROJECT}/workloads/web"), json!({ "spec": changed })).await;
        self.succeed("POST", &format!("{PROJECT}/workloads/web:plan?wait=20"), json!({})).await;
        let rejected = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\ndata: {{password: '{}!'}}\n",
            secrets.get("rejected")
        );
        let mut invalid = spec.clone();
        invalid["source"]["files"][0]["text"] = rejected.into();
        self.succeed("POST", &format!("{PROJECT}/workloads"), json!({ "name": "bad", "spec": invalid }))
            .await;
        let (status, text) = self.send("POST", &format!("{PROJECT}/workloads/bad:publish"), json!({})).await;
        assert!(status >= 400, "{status} {text}");
        assert_eq!(secrets.find_in(text.as_bytes()), [""; 0], "{text}");
        let chart = json!({ "namespace": "apps", "source": { "type": "chart", "chart": "local/none", "version": "1.0.0",
            "values": format!("password: {}\n", secrets.get("chart values")) } });
        self.succeed("POST", &format!("{PROJECT}/workloads"), json!({ "name": "chart", "spec": chart }))
            .await;
        self.succeed(
            "POST",
            "/api/v1/cluster-groups",
            json!({ "name": "edge", "members": ["eu-1"],
            "lockedValues": format!("password: {}\n", secrets.get("locked values")) }),
        )
        .await;
        let values = json!({ "values": { "password": secrets.get("cluster values") } });
        self.succeed("PATCH", "/api/v1/clusters/eu-1", values).await;
        let credentials =
            json!({ "type": "basic", "userName": "ada", "password": secrets.get("chart credentials") });
        self.succeed(
            "POST",
            &format!("{PROJECT}/chart-repositories"),
            json!({ "name": "acme", "url": "https://charts.invalid/acme", "credentials": credentials }),
        )
        .await;
        self.succeed(
            "PUT",
            &format!("{PROJECT}/git-repositories/acme"),
            json!({ "url": "https://git.invalid/acme.git",
            "credentials": { "userName": "ada", "password": secrets.get("git credentials") },
            "webhookSecret": secrets.get("webhook") }),
        )
        .await;
    }

    /// What users read who do not edit the workload.
    async fn read_all(&self) -> Vec<(String, String)> {
        let plan = self.fleet.client.plan_workload("web", 20).await.unwrap().id;
        let workload = format!("{PROJECT}/workloads/web");
        let mut paths = vec![format!("/api/v1/plans/{plan}"), format!("{PROJECT}/workloads")];
        paths.extend(
            [
                "status",
                "revisions",
                "revisions/1",
                "releases",
                "releases/eu-1",
                "operations",
                "placement",
                "rollout",
                "manifests?cluster=eu-1",
            ]
            .map(|part| format!("{workload}/{part}")),
        );
        paths.extend(
            [
                "chart-repositories",
                "chart-repositories/acme",
                "git-repositories",
                "git-repositories/acme",
                "charts",
            ]
            .map(|part| format!("{PROJECT}/{part}")),
        );
        paths.extend(
            [
                "/api/v1/events",
                "/api/v1/fleet",
                "/api/v1/clusters/eu-1/releases",
                "/api/v1/tokens",
                "/metrics",
                "/readyz",
            ]
            .map(str::to_owned),
        );
        let mut read = Vec::new();
        for path in paths {
            let (status, text) = self.send("GET", &path, Value::Null).await;
            assert!(status == 200 || path.ends_with("rollout"), "{path}: {status} {text}");
            read.push((path, text));
        }
        read
    }
}

/// All files in a folder and its folders.
fn read_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => read_files(&path),
            false => vec![(path.display().to_string(), std::fs::read(&path).unwrap_or_default())],
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_secrets_stand_neither_in_the_data_folder_nor_in_what_is_read_or_logged() {
    with_timeout(async {
        let log = capture_logs();
        let server = SecretServer {
            fleet: TestFleet::start().await,
            http: reqwest::Client::new(),
            secrets: Secrets::new(),
        };
        server.enter_secrets().await;
        let applied = server.fleet.clusters[1].get(("v1", "Secret"), ("apps", "one")).unwrap();
        assert!(
            !server.secrets.find_in(applied.to_string().as_bytes()).is_empty(),
            "clusters get the values: {applied}"
        );
        for (path, text) in server.read_all().await {
            assert_eq!(server.secrets.find_in(text.as_bytes()), [""; 0], "{path}: {text}");
        }
        let folder = server.fleet.folder.path();
        let mut database = server.fleet.open_database().await;
        let backup = sqlx::query("VACUUM INTO $1").bind(folder.join("backup.db").display().to_string());
        database.execute(backup).await.unwrap();
        let files = read_files(folder);
        assert!(
            files.iter().any(|(path, _)| path.ends_with("backup.db")) && files.len() > 4,
            "{}",
            files.len()
        );
        for (path, bytes) in files {
            assert_eq!(server.secrets.find_in(&bytes), [""; 0], "{path}");
        }
        let log = log.0.lock().unwrap().clone();
        assert!(log.len() > 1000, "{}", log.len());
        assert_eq!(server.secrets.find_in(&log), [""; 0], "the log");
        // The draft is what editors edit; it is complete.
        let (_, draft) = server.send("GET", &format!("{PROJECT}/workloads/web"), Value::Null).await;
        assert!(server.secrets.find_in(draft.as_bytes()).contains(&"draft"));
        server.fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_the_schema_of_its_chart_marks_is_hidden_from_those_who_may_not_write_it() {
    with_timeout(async {
        let server = SecretServer {
            fleet: TestFleet::start().await,
            http: reqwest::Client::new(),
            secrets: Secrets::new(),
        };
        let schema =
            json!({"properties": {"login": {"properties": {"key": {"type": "string", "writeOnly": true}}}}});
        let archive = crate::charts::chart("1.0.0", &[("values.schema.json", &schema.to_string())]);
        server.fleet.client.upload_chart(archive).await.unwrap();
        let secret = server.secrets.get("chart values");
        let spec = json!({
            "namespace": "apps",
            "source": { "type": "chart", "chart": "local/web", "version": "1.0.0",
                "values": format!("login: {{key: {secret}}}\nregion: eu\n") },
            "placement": { "predicates": [{ "names": ["eu-1"] }] },
        });
        let workload = format!("{PROJECT}/workloads/schema");
        server
            .succeed("POST", &format!("{PROJECT}/workloads"), json!({ "name": "schema", "spec": spec }))
            .await;
        let token = json!({ "name": "reader", "role": "viewer", "days": 1 });
        let token = server.succeed("POST", "/api/v1/tokens", token).await;
        let viewer = wire::Client::new(&server.fleet.url, token["token"].as_str().unwrap()).unwrap();
        let shown = serde_json::to_string(&viewer.get_workload("schema").await.unwrap()).unwrap();
        assert_eq!(server.secrets.find_in(shown.as_bytes()), [""; 0], "{shown}");
        assert!(
            shown.contains("region: eu") && shown.contains("(hidden)"),
            "only the secret is hidden: {shown}"
        );
        let query = wire::ValuesQuery { cluster: "eu-1".to_owned(), source: true, revision: None };
        let values = serde_json::to_string(&viewer.get_values("schema", &query).await.unwrap()).unwrap();
        assert_eq!(server.secrets.find_in(values.as_bytes()), [""; 0], "{values}");
        let (_, draft) = server.send("GET", &workload, Value::Null).await;
        assert_eq!(
            server.secrets.find_in(draft.as_bytes()),
            ["chart values"],
            "editors read what they write"
        );
        server.fleet.stop().await;
    })
    .await;
}
