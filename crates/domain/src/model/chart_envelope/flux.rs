//! `HelmRelease` of Flux, with the source objects that it names.

use serde_json::{Map, Value, json};

use super::address::{OCI_SCHEME, read_oci_url, read_version};
use super::object_list::ObjectList;
use super::object_reader::{ObjectReader, Reasons};
use super::values::{check_text, write_map};
use super::{ChartAddress, FieldNotCarried, UnwrappedChart, refuse};
use crate::kubernetes::digest::Digest;
use crate::text::finding::Finding;

/// The API group of the source objects.
const SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";

const RETRIES: &str = "A cluster that fails is retried without a limit, and a user rolls it back.";
const HEALTH: &str = "Health is observed in any case, and nothing is aborted after a time.";
const OTHER_HELM: &str = "Objects are applied by server-side apply, and Helm does not run on the cluster.";
const REASONS: &Reasons = &[
    (
        "/spec/valuesFrom",
        "Values are not read from objects of a cluster: write them in the values of the workload.",
    ),
    ("/spec/dependsOn", "Workloads have no order among each other."),
    ("/spec/suspend", "A draft reaches no cluster before a user publishes it."),
    (
        "/spec/interval",
        "A release is reconciled when an object changes, and the version of its chart is exact.",
    ),
    ("/spec/chart/spec/interval", "A version of a chart is fetched once."),
    ("/spec/chart/spec/reconcileStrategy", "The version of the chart is exact."),
    (
        "/spec/chart/spec/valuesFiles",
        "Only values.yaml of a chart is read: write the values of other files in those of the workload.",
    ),
    (
        "/spec/chart/spec/valuesFile",
        "Only values.yaml of a chart is read: write the values of other files in those of the workload.",
    ),
    (
        "/spec/chart/spec/ignoreMissingValuesFiles",
        "Only values.yaml of a chart is read: write the values of other files in those of the workload.",
    ),
    ("/spec/chart/spec/verify", "Signatures of charts are not verified."),
    ("/spec/chart/metadata", "It concerns an object of Flux."),
    ("/spec/kubeConfig", "The placement of the workload selects its clusters."),
    (
        "/spec/storageNamespace",
        "Helm's own record is kept in the namespace of the release, by the policy helmRelease.",
    ),
    ("/spec/maxHistory", "Revisions are deleted by their age."),
    ("/spec/postRenderers", "Write the changes as patches of an override."),
    ("/spec/commonMetadata", "Write the changes as patches of an override."),
    ("/spec/persistentClient", OTHER_HELM),
    ("/spec/timeout", HEALTH),
    ("/spec/test", "Hooks for tests do not run."),
    ("/spec/rollback", RETRIES),
    ("/spec/uninstall", "The policy deletion decides what a removal deletes."),
    ("/spec/install/remediation", RETRIES),
    ("/spec/install/strategy", RETRIES),
    ("/spec/upgrade/remediation", RETRIES),
    ("/spec/upgrade/strategy", RETRIES),
    ("/spec/upgrade/cleanupOnFail", RETRIES),
    ("/spec/upgrade/preserveValues", "The values of the workload are complete."),
    ("/spec/install/timeout", HEALTH),
    ("/spec/upgrade/timeout", HEALTH),
    ("/spec/install/disableWait", HEALTH),
    ("/spec/upgrade/disableWait", HEALTH),
    ("/spec/install/disableWaitForJobs", HEALTH),
    ("/spec/upgrade/disableWaitForJobs", HEALTH),
    ("/spec/waitStrategy", HEALTH),
    ("/spec/healthCheckExprs", HEALTH),
    ("/spec/install", OTHER_HELM),
    ("/spec/upgrade", OTHER_HELM),
];
const CREDENTIALS: &str = "Credentials belong to the repository of the project, not to its objects.";
const SOURCE_REASONS: &Reasons = &[
    ("/spec/interval", "The server decides when it reads a repository."),
    ("/spec/timeout", "The server decides how long it waits for a repository."),
    ("/spec/secretRef", CREDENTIALS),
    ("/spec/certSecretRef", CREDENTIALS),
    ("/spec/proxySecretRef", CREDENTIALS),
    ("/spec/passCredentials", CREDENTIALS),
    ("/spec/serviceAccountName", CREDENTIALS),
    ("/spec/provider", CREDENTIALS),
    ("/spec/insecure", "Plain HTTP is an option of the repository of charts."),
    ("/spec/verify", "Signatures are not verified."),
    ("/spec/suspend", "A draft reaches no cluster before a user publishes it."),
    (
        "/spec/valuesFiles",
        "Only values.yaml of a chart is read: write the values of other files in those of the workload.",
    ),
    ("/spec/reconcileStrategy", "The version of the chart is exact."),
    ("/spec/ignore", "The files of the chart decide, by .helmignore."),
];

/// The name of an object that another one refers to.
struct ObjectName<'a> {
    kind: &'a str,
    name: &'a str,
    namespace: &'a str,
}

pub(super) fn read(object: &Value, list: &mut ObjectList<'_>) -> Result<UnwrappedChart, Box<Finding>> {
    let mut reader = ObjectReader::new(object);
    let label = reader.describe();
    let own_namespace = reader.text("/metadata/namespace");
    let mut of_sources = Vec::new();
    let address = read_address(&mut reader, list, &mut of_sources)?;
    let (name, target) = (reader.text("/metadata/name"), reader.text("/spec/targetNamespace"));
    let release_name = match (reader.text("/spec/releaseName"), target) {
        ("", "") => name.to_owned(),
        ("", target) => format!("{target}-{name}"),
        (release, _) => release.to_owned(),
    };
    let release_name = shorten_release_name(release_name);
    let namespace = if target.is_empty() { own_namespace } else { target }.to_owned();
    let values = match reader.value("/spec/values") {
        None => String::new(),
        Some(map @ Value::Object(_)) => write_map(map),
        Some(_) => {
            return Err(refuse(format!("The values of {label} are not a map."), "Write keys and values."));
        }
    };
    check_text(&format!("The values of {label}"), &values)?;
    let policies = read_policies(&mut reader, own_namespace);
    let mut not_carried = reader.list_not_carried(REASONS);
    not_carried.extend(of_sources);
    Ok(UnwrappedChart { object: label, address, release_name, namespace, values, policies, not_carried })
}

/// The name under which Flux installs a release whose name is too long for Helm: its begin, and the begin of its SHA-256.
fn shorten_release_name(name: String) -> String {
    const MAX_LENGTH: usize = 53;
    const HASH_LENGTH: usize = 12;
    // Others are no names, and stay as they are written: the draft has a finding about them.
    if name.len() <= MAX_LENGTH || !name.is_ascii() {
        return name;
    }
    let digest = Digest::compute(name.as_bytes());
    let hash = &digest.as_str()["sha256:".len()..][..HASH_LENGTH];
    format!("{}-{hash}", &name[..MAX_LENGTH - HASH_LENGTH - 1])
}

fn read_address(
    reader: &mut ObjectReader<'_>,
    list: &mut ObjectList<'_>,
    left: &mut Vec<FieldNotCarried>,
) -> Result<ChartAddress, Box<Finding>> {
    let own_namespace = reader.text("/metadata/namespace");
    if reader.peek("/spec/chartRef").is_none() {
        return read_chart(reader, "/spec/chart/spec", list, left);
    }
    let named = read_name(reader, "/spec/chartRef", own_namespace);
    let mut referred = find(reader, list, &named)?;
    let address = match named.kind {
        "HelmChart" => read_chart(&mut referred, "/spec", list, left),
        "OCIRepository" => read_oci_repository(&mut referred),
        other => Err(refuse(
            format!("The kind {other:?} of chartRef is not known."),
            "Name a HelmChart or an OCIRepository.",
        )),
    }?;
    left.extend(referred.list_not_carried(SOURCE_REASONS));
    Ok(address)
}

fn read_name<'a>(reader: &mut ObjectReader<'a>, path: &str, own_namespace: &'a str) -> ObjectName<'a> {
    let kind = reader.text(&format!("{path}/kind"));
    let name = reader.text(&format!("{path}/name"));
    let namespace = reader.text(&format!("{path}/namespace"));
    // The version of the API does not change which object is meant.
    reader.value(&format!("{path}/apiVersion"));
    ObjectName { kind, name, namespace: if namespace.is_empty() { own_namespace } else { namespace } }
}

/// The object that this one names.
fn find<'a>(
    reader: &ObjectReader<'_>,
    list: &mut ObjectList<'a>,
    named: &ObjectName<'_>,
) -> Result<ObjectReader<'a>, Box<Finding>> {
    let (kind, name) = (named.kind, named.name);
    let found = list.find((SOURCE_GROUP, kind), (named.namespace, name));
    found.map(ObjectReader::new).ok_or_else(|| {
        let message = format!("{} names the {kind} {name:?}, which is not in the source.", reader.describe());
        refuse(message, "Add its manifest, which has the URL of the repository; then repeat this.")
    })
}

/// The chart that the fields at `path` name, of a `HelmRelease` or a `HelmChart` of Flux.
fn read_chart(
    reader: &mut ObjectReader<'_>,
    path: &str,
    list: &mut ObjectList<'_>,
    left: &mut Vec<FieldNotCarried>,
) -> Result<ChartAddress, Box<Finding>> {
    let own_namespace = reader.text("/metadata/namespace");
    let chart = reader.text(&format!("{path}/chart")).to_owned();
    let named = read_name(reader, &format!("{path}/sourceRef"), own_namespace);
    if chart.is_empty() {
        return Err(refuse(format!("{} names no chart.", reader.describe()), "Set its field chart."));
    }
    let version_path = format!("{path}/version");
    if named.kind == "GitRepository" {
        let mut referred = find(reader, list, &named)?;
        let address = read_git(&mut referred, chart)?;
        if reader.peek(&version_path).is_some() {
            reader.leave(&version_path, "A chart in Git has the version of its commit.");
        }
        left.extend(referred.list_not_carried(SOURCE_REASONS));
        return Ok(address);
    }
    if named.kind != "HelmRepository" {
        let message = format!("A chart in the kind {:?} can't be the source of a workload.", named.kind);
        return Err(refuse(message, "Upload the packed chart: flotilla chart push FILE.tgz"));
    }
    let version = read_version(reader, &version_path);
    let mut referred = find(reader, list, &named)?;
    let url = referred.text("/spec/url").to_owned();
    // The URL tells a registry as well.
    referred.value("/spec/type");
    if url.is_empty() {
        return Err(refuse(format!("{} has no URL.", referred.describe()), "Set spec.url."));
    }
    left.extend(referred.list_not_carried(SOURCE_REASONS));
    Ok(ChartAddress::Repository { url, chart, version })
}

fn read_oci_repository(referred: &mut ObjectReader<'_>) -> Result<ChartAddress, Box<Finding>> {
    let url = referred.text("/spec/url");
    if !url.starts_with(OCI_SCHEME) {
        return Err(refuse(format!("{} has no URL oci://….", referred.describe()), "Set spec.url."));
    }
    let range = referred.peek("/spec/ref/semver").is_some();
    let version = read_version(referred, if range { "/spec/ref/semver" } else { "/spec/ref/tag" });
    if version.is_empty() && referred.peek("/spec/ref/digest").is_some() {
        let message = format!("{} names its chart by a digest only.", referred.describe());
        return Err(refuse(message, "Add the version as spec.ref.tag."));
    }
    if referred.peek("/spec/ref/digest").is_some() {
        referred.leave("/spec/ref/digest", "The digest of a version is stored when the chart is fetched.");
    }
    let media_type = referred.text("/spec/layerSelector/mediaType");
    if !media_type.is_empty() && !media_type.contains("helm.chart") {
        referred.name("/spec/layerSelector/mediaType", "Only the layer of a chart is read.");
    }
    if referred.peek("/spec/layerSelector/operation").is_some() {
        referred.leave("/spec/layerSelector/operation", "A packed chart is read as it is.");
    }
    read_oci_url(url, version)
}

fn read_git(referred: &mut ObjectReader<'_>, chart: String) -> Result<ChartAddress, Box<Finding>> {
    let repository = referred.text("/spec/url").to_owned();
    if referred.peek("/spec/ref/semver").is_some() {
        let message = format!("{} follows a range of tags.", referred.describe());
        return Err(refuse(message, "Name a branch, a tag or a commit in spec.ref."));
    }
    // In the order in which Flux prefers them.
    let fields = ["/spec/ref/commit", "/spec/ref/name", "/spec/ref/tag", "/spec/ref/branch"];
    let named = fields.map(|field| referred.text(field).to_owned());
    let reference = named.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    let short = ["refs/heads/", "refs/tags/"].iter().find_map(|begin| reference.strip_prefix(begin));
    let reference = short.unwrap_or(&reference).to_owned();
    let path = chart.trim_start_matches("./").trim_matches('/');
    let path = if path == "." { String::new() } else { path.to_owned() };
    Ok(ChartAddress::Path { repository, reference, path })
}

fn read_policies(reader: &mut ObjectReader<'_>, own_namespace: &str) -> Map<String, Value> {
    let mut policies = Map::new();
    let mut set = |name: &str, value: Value| drop(policies.insert(name.to_owned(), value));
    if let Some(create) = reader.flag("/spec/install/createNamespace") {
        set("createNamespace", create.into());
    }
    match reader.text("/spec/install/crds") {
        "Skip" => set("skipCrds", true.into()),
        // Definitions are created first, and changed by the policy upgradeCrds only.
        "" | "Create" => {}
        _ => reader
            .name("/spec/install/crds", "Definitions that exist are changed by the policy upgradeCrds only."),
    }
    match reader.text("/spec/upgrade/crds") {
        "CreateReplace" => set("upgradeCrds", true.into()),
        "" | "Create" => {}
        _ => reader.name("/spec/upgrade/crds", "Definitions that the cluster does not have are created."),
    }
    for (name, field) in [("skipHooks", "disableHooks"), ("skipSchemaValidation", "disableSchemaValidation")]
    {
        let paths = ["install", "upgrade"].map(|phase| format!("/spec/{phase}/{field}"));
        let flags = paths.each_ref().map(|path| reader.flag(path) == Some(true));
        if flags == [true, true] {
            set(name, true.into());
        } else if let Some(at) = flags.iter().position(|flag| *flag) {
            reader.name(&paths[at], "The policy of a workload is the same for installations and upgrades.");
        }
    }
    let account = reader.text("/spec/serviceAccountName");
    if !account.is_empty() && own_namespace.is_empty() {
        reader.name(
            "/spec/serviceAccountName",
            "The namespace of the service account is not known: set the policy executor.",
        );
    } else if !account.is_empty() {
        set("executor", format!("{own_namespace}/{account}").into());
    }
    match reader.text("/spec/driftDetection/mode") {
        "enabled" => set("drift", "revert".into()),
        "warn" => set("drift", "notify".into()),
        "disabled" => {
            set("drift", "notify".into());
            reader.name(
                "/spec/driftDetection/mode",
                "Drift is always detected: it is reported, and not reverted.",
            );
        }
        "" => {}
        _ => reader.name("/spec/driftDetection/mode", "This version of Flotilla does not know the mode."),
    }
    let rules = read_ignore_rules(reader);
    if !rules.is_empty() {
        set("ignore", rules.into());
    }
    policies
}

fn read_ignore_rules(reader: &mut ObjectReader<'_>) -> Vec<Value> {
    let mut rules = Vec::new();
    for at in 0..reader.items("/spec/driftDetection/ignore").len() {
        let base = format!("/spec/driftDetection/ignore/{at}");
        let [kind, name, namespace] =
            ["kind", "name", "namespace"].map(|field| reader.text(&format!("{base}/target/{field}")));
        if [kind, name, namespace].into_iter().any(is_pattern) {
            reader.leave(&base, "Rules of a workload select objects by exact names, and not by a pattern.");
            continue;
        }
        let object = json!({"kind": kind, "name": name, "namespace": namespace});
        for field in ["group", "version", "labelSelector", "annotationSelector"] {
            let path = format!("{base}/target/{field}");
            if reader.peek(&path).is_some() {
                reader.leave(&path, "Rules of a workload select objects by kind, name and namespace: this one may select more.");
            }
        }
        if let Some(paths) = reader.value(&format!("{base}/paths")) {
            rules.push(json!({"object": object, "when": "onChange", "paths": paths}));
        } else {
            reader.name(&base, "It names no field.");
        }
    }
    rules
}

/// Whether a selector of Flux is an expression that no name of an object can be.
fn is_pattern(text: &str) -> bool {
    !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':' | b'_'))
}
