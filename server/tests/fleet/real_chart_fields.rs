//! Every field of the objects that `helm template` prints for real charts is in the objects on a real control plane.
//!
//! What Helm prints is read by kubectl, not by the parser of this product. Objects may have more fields: defaults of the API server, and what
//! controllers write. Fields that differ are named in [`NAMED_DIFFERENCES`], with the reason.

use std::collections::BTreeMap;
use std::path::Path;

use domain::quantity::Quantity;
use domain::release::SyncStatus;
use testkit::{ControlPlane, ControlPlaneOptions};

use super::charts::{corpus_chart, helm_program, set_helm};
use super::real_charts::chart_workload;
use super::*;

/// Every chart of the corpus, with values by which it needs no storage.
const REAL_CHARTS: [(&str, &str, &str); 8] = [
    ("alertmanager", "1.42.0", "persistence: {enabled: false}\n"),
    (
        "app-template",
        "4.1.1",
        "controllers: {main: {containers: {main: {image: {repository: nginx, tag: '1.29'}}}}}\n",
    ),
    ("cockroachdb", "21.0.1", "tls: {enabled: false}\nstorage: {persistentVolume: {enabled: false}}\n"),
    ("ingress-nginx", "4.15.1", "controller: {service: {type: ClusterIP}}\n"),
    ("podinfo", "6.14.1", "ui: {message: hello}\n"),
    (
        "prometheus",
        "29.27.0",
        "server: {persistentVolume: {enabled: false}}\nalertmanager: {persistence: {enabled: false}}\n",
    ),
    ("prometheus-node-exporter", "4.56.1", "resources: {limits: {memory: 64Mi}}\n"),
    ("prometheus-operator-crds", "31.0.1", "crds: {annotations: {example.com/owner: ops}}\n"),
];

/// What charts ask for of the APIs of a cluster and Helm does not assume.
const SERVED_CRON_JOB: &str = "batch/v1/CronJob";

/// A field that Helm prints and that is another one on the cluster.
struct FieldDifference<'a> {
    kind: &'a str,
    /// Such as `/spec/ports/0/port`.
    path: String,
    printed: &'a Value,
    /// `None` if the object has no such field.
    live: Option<&'a Value>,
}

/// A difference that is none of the content, with the reason.
struct NamedDifference {
    reason: &'static str,
    is_it: fn(&FieldDifference<'_>) -> bool,
}

const NAMED_DIFFERENCES: [NamedDifference; 5] = [
    NamedDifference {
        reason: "Kubernetes omits a null, an empty map, list or text, and the zero of a type: it is what the field has without a value.",
        is_it: |field| field.live.is_none() && is_zero(field.printed),
    },
    NamedDifference {
        reason: "A null is no value: the API server sets its default.",
        is_it: |field| field.printed.is_null(),
    },
    NamedDifference {
        reason: "An empty text of these fields asks the API server for a value.",
        is_it: |field| {
            let asks = ["/spec/clusterIP", "/spec/externalTrafficPolicy", "/spec/sessionAffinity"];
            field.kind == "Service" && field.printed == "" && asks.contains(&field.path.as_str())
        },
    },
    NamedDifference {
        reason: "A quantity is stored in its canonical form, such as 100m for 0.1.",
        is_it: |field| {
            let live = field.live.filter(|value| value.is_string()).and_then(Quantity::from_json);
            live.is_some() && live == Quantity::from_json(field.printed)
        },
    },
    NamedDifference {
        reason: "The status is written by the API server and controllers, whatever a manifest contains.",
        is_it: |field| field.path == "/status" || field.path.starts_with("/status/"),
    },
];

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_zero),
    }
}

/// Adds the fields of `printed` that `live` does not have, or has otherwise. Lists have the same items in the same order.
fn compare<'a>(
    (kind, path): (&'a str, &str),
    printed: &'a Value,
    live: Option<&'a Value>,
    found: &mut Vec<FieldDifference<'a>>,
) {
    match (printed, live) {
        (Value::Object(fields), Some(Value::Object(others))) => {
            for (name, value) in fields {
                let path = format!("{path}/{}", domain::field_path::escape_pointer_token(name));
                compare((kind, &path), value, others.get(name), found);
            }
        }
        (Value::Array(items), Some(Value::Array(others))) if items.len() == others.len() => {
            for (at, (item, other)) in items.iter().zip(others).enumerate() {
                compare((kind, &format!("{path}/{at}")), item, Some(other), found);
            }
        }
        (Value::Number(one), Some(Value::Number(other))) if one.as_f64() == other.as_f64() => {}
        _ if live == Some(printed) => {}
        _ => found.push(FieldDifference { kind, path: path.to_owned(), printed, live }),
    }
}

/// The objects that a command of kubectl prints as JSON, one after the other or in a list, by kind, namespace and name.
fn read_objects(kubectl: &mut std::process::Command) -> BTreeMap<String, Value> {
    let output = kubectl.output().unwrap();
    assert!(output.status.success(), "{kubectl:?}: {}", String::from_utf8_lossy(&output.stderr));
    let mut objects = BTreeMap::new();
    for document in serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>() {
        let mut document = document.unwrap();
        let items = match document["kind"].as_str() {
            Some("List") => serde_json::from_value(document["items"].take()).unwrap(),
            _ => vec![document],
        };
        for object in items {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let name = format!(
                "{} {} {}/{}",
                text("/apiVersion"),
                text("/kind"),
                text("/metadata/namespace"),
                text("/metadata/name")
            );
            assert!(objects.insert(name.clone(), object).is_none(), "{name} is printed twice");
        }
    }
    objects
}

/// What `helm template` prints for a chart, without hooks and tests.
fn print_template(
    plane: &ControlPlane,
    (name, values): (&str, &str),
    archive: &[u8],
    folder: &Path,
) -> Vec<u8> {
    let (chart, file) = (folder.join("chart.tgz"), folder.join("values.yaml"));
    std::fs::write(&chart, archive).unwrap();
    std::fs::write(&file, values).unwrap();
    let mut template = std::process::Command::new(helm_program());
    template.args(["template", name]).arg(chart).arg("-f").arg(file);
    template.args(["-n", name, "--include-crds", "--no-hooks", "--skip-tests", "--skip-schema-validation"]);
    template.args(["--kube-version", plane.version(), "--api-versions", SERVED_CRON_JOB]);
    let printed = template.output().unwrap();
    assert!(printed.status.success(), "{name}: {}", String::from_utf8_lossy(&printed.stderr));
    printed.stdout
}

/// Compares the objects that Helm prints with those of the cluster; returns their number, and what differs without a name.
fn compare_with_helm(
    plane: &ControlPlane,
    (name, values): (&str, &str),
    archive: &[u8],
) -> (usize, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objects.yaml");
    std::fs::write(&file, print_template(plane, (name, values), archive, folder.path())).unwrap();
    let kubectl = |arguments: &[&str]| {
        let mut kubectl = plane.command("kubectl");
        kubectl.args(arguments).args(["-n", name, "-o", "json", "-f"]).arg(&file);
        read_objects(&mut kubectl)
    };
    let printed = kubectl(&["create", "--dry-run=client", "--validate=false"]);
    let live = kubectl(&["get"]);
    let mut unnamed = Vec::new();
    for (object, printed) in &printed {
        let Some(live) = live.get(object) else {
            unnamed.push(format!("{name}: {object} is not on the cluster"));
            continue;
        };
        let mut found = Vec::new();
        compare((printed["kind"].as_str().unwrap(), ""), printed, Some(live), &mut found);
        found.retain(|field| !NAMED_DIFFERENCES.iter().any(|named| (named.is_it)(field)));
        unnamed.extend(found.iter().map(|FieldDifference { path, printed, live, .. }| {
            let live = live.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            format!("{name}: {object} {path}: Helm prints {printed}, the cluster has {live}")
        }));
    }
    (printed.len(), unnamed)
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_4_every_field_that_helm_prints_for_a_real_chart_is_on_a_real_cluster() {
    let test = "s4_4_every_field_that_helm_prints_for_a_real_chart_is_on_a_real_cluster";
    if testkit::find_corpus(test).is_none() || !testkit::is_available(test) {
        return;
    }
    with_timeout(Box::pin(async {
        let plane = ControlPlane::start(ControlPlaneOptions::with_workloads()).await;
        let mut fleet = TestFleet::start_with(&[]).await;
        set_helm(&fleet).await;
        fleet.join_cluster("real", plane.client()).await;
        fleet.wait_for_connectivity("real", Connectivity::Online).await;
        let (mut counts, mut unnamed) = (Vec::new(), Vec::new());
        for (name, version, values) in REAL_CHARTS {
            let archive = corpus_chart(test, &format!("{name}-{version}")).unwrap();
            fleet.client.upload_chart(archive.clone()).await.unwrap();
            let mut new = chart_workload((name, version), values, &["real"]);
            (new.name, new.spec.namespace) = (name.to_owned(), name.to_owned());
            fleet.client.create_workload(&new).await.unwrap();
            fleet.client.publish_workload(name, &PublishRequest::default(), None).await.unwrap();
            // Some can't be healthy beside the others: two of them use the same port of every node.
            let is_synced = |status: &WorkloadStatus| {
                let mut targets = status.target_clusters.iter();
                targets.next().is_some_and(|target| target.sync == SyncStatus::Synced)
            };
            fleet.wait_for_status(name, is_synced).await;
            let (count, found) = compare_with_helm(&plane, (name, values), &archive);
            counts.push((name, count));
            unnamed.extend(found);
        }
        assert!(counts.iter().all(|(_, count)| *count > 0), "{counts:?}");
        let definitions = counts.iter().find(|(name, _)| *name == "prometheus-operator-crds");
        assert_eq!(definitions.map(|(_, count)| *count), Some(10), "{counts:?}");
        assert!(unnamed.is_empty(), "{} differences:\n{}", unnamed.len(), unnamed.join("\n"));
        fleet.stop().await;
    }))
    .await;
}

/// What differs between two values, without what is named.
fn list_unnamed(printed: &Value, live: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(("Service", ""), printed, Some(live), &mut found);
    found.retain(|field| !NAMED_DIFFERENCES.iter().any(|named| (named.is_it)(field)));
    found.into_iter().map(|field| field.path).collect()
}

#[test]
fn a_field_that_is_missing_changed_or_longer_is_a_difference_unless_it_is_named() {
    for named in NAMED_DIFFERENCES {
        assert!(named.reason.ends_with('.'), "{}", named.reason);
    }
    let live =
        json!({"spec": {"clusterIP": "10.0.0.1", "cpu": "100m", "ports": [{"port": 80, "protocol": "TCP"}]}});
    let same = json!({"spec": {"clusterIP": "", "cpu": 0.1, "paused": false, "ports": [{"port": 80, "name": null}]}});
    assert_eq!(list_unnamed(&same, &live), [""; 0]);
    let other =
        json!({"spec": {"clusterIP": "None", "cpu": "200m", "paused": true, "ports": [{"port": 81}]}});
    assert_eq!(
        list_unnamed(&other, &live),
        ["/spec/clusterIP", "/spec/cpu", "/spec/paused", "/spec/ports/0/port"]
    );
    assert_eq!(list_unnamed(&json!({"spec": {"ports": []}}), &live), ["/spec/ports"]);
}
