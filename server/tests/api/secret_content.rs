//! Secrets in what users read: shown to those who may write them, and to nobody below them. A viewer reads every address.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use domain::authorization::UserAction;
use domain::cluster::ClusterFacts;
use domain::report::ReportBatch;
use domain::role::Role;
use serde_json::{Value, json};

use crate::roles::RoleUser;
use crate::sessions::form;
use crate::test_server::{TestServer, WORKLOADS, new_workload};

/// Where a secret is entered, and the least role that may write it. The secret itself is `canary-` and its name.
const PLACES: [(&str, Role); 8] = [
    ("manifest", Role::Editor),
    ("override", Role::Editor),
    ("values", Role::Editor),
    ("override-values", Role::Editor),
    ("deployment", Role::Editor),
    ("group", Role::Publisher),
    ("project", Role::Admin),
    ("cluster", Role::Admin),
];

fn canary(place: &str) -> String {
    format!("canary-{place}-hunter2")
}

/// The places whose secrets are in a text.
fn find_canaries(text: &str) -> BTreeSet<&'static str> {
    PLACES.iter().map(|(place, _)| *place).filter(|place| text.contains(&canary(place))).collect()
}

async fn succeed(server: &TestServer, method: Method, path: &str, body: &Value) {
    let headers = if method == Method::PUT { vec![("if-match", "*")] } else { Vec::new() };
    let answer = server.send_json(method, path, &headers, body).await;
    assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text);
}

fn secret_manifest(value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: web, namespace: apps}}\nstringData: {{password: {value}}}\n"
    )
}

fn chart_values(value: &str) -> String {
    format!("db:\n  password: {value} # of the database\nreplicas: 2\n")
}

/// Enters a secret in every place. The workload web has it also in its published revision.
async fn enter_secrets(server: &TestServer) {
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    let locked = format!("queue: {{password: {}}}\n", canary("group"));
    let group = json!({"name": "edge", "members": ["eu-1"], "lockedValues": locked});
    succeed(server, Method::POST, "/api/v1/cluster-groups", &group).await;
    let project = json!({"lockedValues": format!("smtp: {{token: {}}}\n", canary("project"))});
    succeed(server, Method::PUT, "/api/v1/projects/default", &project).await;
    let cluster = json!({"values": {"password": canary("cluster")}});
    succeed(server, Method::PATCH, "/api/v1/clusters/eu-1", &cluster).await;

    let mut web = new_workload("web");
    let text = format!(
        "{}---\n{}",
        web["spec"]["source"]["files"][0]["text"].as_str().unwrap(),
        secret_manifest(&canary("manifest"))
    );
    web["spec"]["source"]["files"][0]["text"] = text.into();
    succeed(server, Method::POST, WORKLOADS, &web).await;
    let patch = json!({"object": {"kind": "Secret", "name": "web"}, "op": "set", "path": "/stringData/password",
        "value": canary("override")});
    let put = json!({"target": {"clusters": ["eu-1"]}, "patches": [patch]});
    succeed(server, Method::PUT, &format!("{WORKLOADS}/web/overrides/eu"), &put).await;
    succeed(server, Method::POST, &format!("{WORKLOADS}/web:publish"), &json!({})).await;

    for (name, place, placement) in [
        ("chart", "values", json!({"predicates": [{"names": ["eu-1"]}]})),
        ("deployed", "deployment", json!({"predicates": [{"groups": ["edge"]}]})),
    ] {
        let source = json!({"type": "chart", "chart": "local/none", "version": "1.0.0",
            "values": format!("{}mail: {{token: {}}}\n", chart_values(&canary(place)), canary(place))});
        let overrides = json!([{"id": domain::OverrideId::from_parts(1, 1), "name": "eu",
            "target": {"clusters": ["eu-1"]}, "values": chart_values(&canary("override-values"))}]);
        let spec =
            json!({"namespace": "apps", "source": source, "placement": placement, "overrides": overrides});
        succeed(server, Method::POST, WORKLOADS, &json!({"name": name, "spec": spec})).await;
    }
}

/// The address with names of what exists.
fn fill_path(path: &str, workload: &str) -> String {
    let mut filled = String::new();
    let mut parts = path.split('{');
    filled.push_str(parts.next().unwrap());
    for part in parts {
        let (parameter, rest) = part.split_once('}').unwrap();
        filled.push_str(match parameter {
            "project" | "org" => "default",
            "workload" => workload,
            "cluster" | "release" => "eu-1",
            "group" | "clustergroup" => "edge",
            "name" => "eu",
            "revision" => "1",
            "releaseName" => "deployed",
            _ => "x",
        });
        filled.push_str(rest);
    }
    if path.ends_with("/values") || path.ends_with("/manifests") {
        filled.push_str("?cluster=eu-1");
    }
    if path.ends_with("/values") {
        filled.push_str("&source=true");
    }
    filled
}

/// Everything that a user reads: each address of the API and each query of the console, for each workload.
async fn read_everything(server: &TestServer, user: &RoleUser) -> Vec<(String, StatusCode, String)> {
    let mut read = Vec::new();
    for (method, path, _) in server.app.actions.iter() {
        // The stream has no end; it contains no values.
        if method != Method::GET || path == "/api/v1/watch" {
            continue;
        }
        if let Some(name) = path.strip_prefix("/api/fn/") {
            for subject in ["web", "chart", "deployed", "edge", "eu-1"] {
                let query = "q=&labels=&group=&order=name&open=&number=1&is_whole=true&with_lookup=true&chart=&version=";
                let path = format!("/api/fn/{name}?name={subject}&{query}");
                let answer = user.call(server, &Method::GET, &path).await;
                read.push((path, answer.status, answer.text));
            }
            continue;
        }
        for workload in ["web", "chart", "deployed"] {
            let path = fill_path(path, workload);
            let answer = user.send(server, &Method::GET, &path, "").await;
            read.push((path, answer.status, answer.text));
        }
    }
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_reads_no_secret_at_any_address() {
    let server = TestServer::start().await;
    enter_secrets(&server).await;
    let viewer = RoleUser::create(&server, Role::Viewer).await;
    let read = read_everything(&server, &viewer).await;
    for (path, _, text) in &read {
        assert_eq!(find_canaries(text), BTreeSet::new(), "{path}: {text}");
    }
    let succeeded: BTreeSet<&str> = read
        .iter()
        .filter(|(_, status, _)| status.is_success())
        .map(|(path, ..)| path.split('?').next().unwrap())
        .collect();
    let of_workloads = [
        "web",
        "web/overrides",
        "web/overrides/eu",
        "web/revisions",
        "web/revisions/1",
        "chart",
        "chart/values",
    ];
    let others = [
        "/api/v1/projects/default",
        "/api/v1/cluster-groups",
        "/api/v1/cluster-groups/edge",
        "/api/v1/clusters",
        "/api/v1/clusters/eu-1",
        "/api/v1/orgs/default/clustergroups/edge/deployments/deployed",
        "/api/fn/draft_read",
        "/api/fn/source_read",
        "/api/fn/overrides_read",
        "/api/fn/placement_read",
        "/api/fn/review_read",
        "/api/fn/revision_read",
        "/api/fn/group_read",
        "/api/fn/project_read",
        "/api/fn/cluster_values_read",
    ];
    let of_workloads = of_workloads.map(|part| format!("{WORKLOADS}/{part}"));
    for expected in of_workloads.iter().map(String::as_str).chain(others) {
        let answer = read.iter().find(|(path, ..)| path.split('?').next() == Some(expected));
        assert!(succeeded.contains(expected), "{expected} was not read: {answer:?}");
    }
    let (_, _, draft) = read.iter().find(|(path, ..)| *path == format!("{WORKLOADS}/web")).unwrap();
    assert!(draft.contains("(hidden)") && draft.contains("key: value"), "only secrets are hidden: {draft}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_read_by_the_roles_that_may_write_it() {
    let server = TestServer::start().await;
    enter_secrets(&server).await;
    for role in [Role::Editor, Role::Publisher, Role::Admin] {
        let user = RoleUser::create(&server, role).await;
        let mut found = BTreeSet::new();
        for (_, _, text) in read_everything(&server, &user).await {
            found.extend(find_canaries(&text));
        }
        let expected: BTreeSet<&str> =
            PLACES.iter().filter(|(_, least)| role >= *least).map(|(place, _)| *place).collect();
        assert_eq!(found, expected, "{role}");
    }
}

/// Reports the classes of a cluster, so that findings name the classes that it does not have.
async fn report_classes(server: &TestServer, cluster: &str) {
    let id = server.hub.get_cluster(cluster).await.unwrap().cluster.id;
    let incarnation = server.hub.begin_agent_incarnation(id).await.unwrap();
    let facts = ClusterFacts {
        kubernetes_version: "v1.36.3".to_owned(),
        storage_classes: vec!["standard".to_owned()],
        ingress_classes: vec!["nginx".to_owned()],
        ..ClusterFacts::default()
    };
    let batch = ReportBatch {
        incarnation,
        seq: 1,
        facts: Some(facts),
        schema: None,
        leftovers: None,
        releases: Vec::new(),
    };
    assert!(server.hub.record_reports(id, batch).await.unwrap().accepted);
}

/// A spec whose findings quote the password of the cluster.
fn probing_spec() -> Value {
    let text = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: apps}\nspec:\n  \
        accessModes: [ReadWriteOnce]\n  storageClassName: \"${{ cluster.values.password }}\"\n  \
        resources: {requests: {storage: 1Gi}}\n---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, \
        namespace: apps}\nspec:\n  ingressClassName: \"x-${{ cluster.values.password }}\"\n  \
        defaultBackend: {service: {name: web, port: {number: 80}}}\n";
    json!({"namespace": "apps", "source": {"type": "yaml", "files": [{"name": "all.yaml", "text": text}]},
        "placement": {"predicates": [{"names": ["eu-1"]}]}})
}

/// Actions of a viewer on what belongs to the viewer.
const OWN_ACTIONS: [UserAction; 3] =
    [UserAction::ManageOwnTokens, UserAction::ManageOwnSessions, UserAction::ChangeOwnPassword];
/// Settings of the browser.
const BROWSER_SETTINGS: [&str; 2] = ["/api/fn/set_shortcuts", "/api/fn/set_theme"];

/// What a user sends to an operation that changes nothing, to read what the user may not read.
fn probing_body(path: &str) -> String {
    let chart = "workload=deployed&namespace=apps&source[chart]=local/none&source[version]=1.0.0";
    let placement = json!({"predicates": [{"groups": ["edge"]}]});
    let body = match path.rsplit(['/', ':']).next().unwrap() {
        "validate" => json!({"name": "web", "spec": probing_spec()}),
        "preview" if path.contains("/placements") => json!({"workload": "web", "placement": placement}),
        "preview" if path.contains("/clusters/") => {
            json!({"values": {"password": 1}, "labels": {"env": null}})
        }
        "preview" if path.contains("/channels") => json!({"kind": "slack", "template": "{{ title }}"}),
        "preview" => json!({"members": [], "lockedValues": "queue: {password: other}\n"}),
        "chart_values_check" => return chart.to_owned(),
        "previewUnwrapping" => return String::new(),
        _ => panic!("{path} has no body in this test"),
    };
    body.to_string()
}

/// The responses to everything that a viewer may send, sent by this user.
async fn send_everything(server: &TestServer, user: &RoleUser) -> Vec<(String, StatusCode, String)> {
    let mut responses = Vec::new();
    for (method, path, action) in server.app.actions.iter() {
        let action = action.unwrap();
        let is_sent = method != Method::GET && action.required_role() == Role::Viewer;
        if !is_sent || OWN_ACTIONS.contains(&action) || BROWSER_SETTINGS.contains(&path) {
            continue;
        }
        let body = probing_body(path);
        let answer = match path.starts_with("/api/fn/") {
            true => server.send_raw(form(path, &body, &[("cookie", user.cookie.as_str())])).await,
            false => user.send(server, method, &fill_path(path, "web"), &body).await,
        };
        responses.push((path.to_owned(), answer.status, answer.text));
    }
    responses
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_reads_no_secret_in_the_response_to_a_draft_or_a_change_that_is_only_checked() {
    let server = TestServer::start().await;
    enter_secrets(&server).await;
    report_classes(&server, "eu-1").await;
    let validate = "/api/v1/projects/default/workloads:validate";
    let validate_as = async |role: Role| {
        let user = RoleUser::create(&server, role).await;
        let answer = user.send(&server, &Method::POST, validate, &probing_body(validate)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        (user, answer.text)
    };
    // The same draft of an editor, whose templates may read these values, shows that it is a probe.
    let (_, of_editor) = validate_as(Role::Editor).await;
    assert!(of_editor.contains("G306"), "{of_editor}");
    assert_eq!(find_canaries(&of_editor), BTreeSet::from(["cluster"]), "{of_editor}");
    let (viewer, of_viewer) = validate_as(Role::Viewer).await;
    assert_eq!(find_canaries(&of_viewer), BTreeSet::new(), "{of_viewer}");
    assert!(of_viewer.contains("G306") && of_viewer.contains("(hidden)"), "it is evaluated: {of_viewer}");
    let responses = send_everything(&server, &viewer).await;
    for (path, status, text) in &responses {
        assert!(status.is_success(), "{path}: {status} {text}");
        assert_eq!(find_canaries(text), BTreeSet::new(), "{path}: {text}");
    }
    assert!(responses.len() >= 5, "{responses:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_shows_its_secrets_to_nobody() {
    let server = TestServer::start().await;
    enter_secrets(&server).await;
    for path in ["revisions", "revisions/1"] {
        let answer = server.get(&format!("{WORKLOADS}/web/{path}")).await;
        assert_eq!((answer.status, find_canaries(&answer.text)), (StatusCode::OK, BTreeSet::new()), "{path}");
    }
    let view = server.get(&format!("{WORKLOADS}/web")).await.json();
    assert_eq!(find_canaries(&view["publishedRevision"].to_string()), BTreeSet::new());
    assert_eq!(find_canaries(&view["draft"].to_string()), BTreeSet::from(["manifest", "override"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_were_copied_as_a_viewer_reads_them_are_rejected() {
    let server = TestServer::start().await;
    enter_secrets(&server).await;
    let viewer = RoleUser::create(&server, Role::Viewer).await;
    let path = "/api/v1/projects/default";
    let shown = viewer.send(&server, &Method::GET, path, "").await.json();
    let copied = json!({"lockedValues": shown["lockedValues"]});
    let rejected = server.send_json(Method::PUT, path, &[("if-match", "*")], &copied).await;
    assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", rejected.text);
    assert!(rejected.text.contains("G124") && rejected.text.contains("/smtp/token"), "{}", rejected.text);
    let stored = server.get(path).await;
    assert_eq!(find_canaries(&stored.text), BTreeSet::from(["project"]));
}

/// Manifests of Secrets that do not stand alone. The first one is valid; the others are drafts of which the parser rejects something.
const CONTAINED_SECRETS: [(&str, &str); 3] = [
    (
        "web",
        "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: web, namespace: apps}\n  stringData: {password: VALUE}\n",
    ),
    (
        "chart",
        "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: all}\nspec:\n  workload:\n    \
         manifests:\n    - apiVersion: v1\n      kind: SecretList\n      items:\n      - kind: ConfigMap\n        \
         metadata: {name: web}\n        data: {password: VALUE}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \
         all}\ndata:\n  all.yaml: |\n    apiVersion: v1\n    kind: Secret\n    stringData: {password: VALUE}\n",
    ),
    (
        "deployed",
        "kind: SecretList\nitems: {password: VALUE}\n---\napiVersion: x.test/v1\nkind: Template\nmetadata: {name: web}\nspec: \
         {template: {kind: Secret, data: {password: VALUE}}}\n",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_sees_no_value_of_a_secret_list_or_of_a_secret_in_another_object() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    for (name, text) in CONTAINED_SECRETS {
        let mut new = new_workload(name);
        new["spec"]["source"]["files"][0]["text"] = text.replace("VALUE", &canary("manifest")).into();
        succeed(&server, Method::POST, WORKLOADS, &new).await;
    }
    succeed(&server, Method::POST, &format!("{WORKLOADS}/web:publish"), &json!({})).await;
    let viewer = RoleUser::create(&server, Role::Viewer).await;
    let read = read_everything(&server, &viewer).await;
    for (path, _, text) in &read {
        assert_eq!(find_canaries(text), BTreeSet::new(), "{path}: {text}");
    }
    let is_shown = |path: String| {
        let (_, status, text) = read.iter().find(|(read, ..)| *read == path).unwrap();
        assert!(status.is_success() && text.contains("(hidden"), "{path}: {status} {text}");
    };
    for (name, _) in CONTAINED_SECRETS {
        is_shown(format!("{WORKLOADS}/{name}"));
        let of_editor = server.get(&format!("{WORKLOADS}/{name}")).await;
        assert_eq!(find_canaries(&of_editor.text), BTreeSet::from(["manifest"]), "{name}");
    }
    is_shown(format!("{WORKLOADS}/web/revisions/1"));
    is_shown(format!("{WORKLOADS}/web/manifests?cluster=eu-1"));
}
