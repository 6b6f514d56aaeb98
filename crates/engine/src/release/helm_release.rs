//! Helm's record of a release, written after its objects are applied and pruned: a Secret for every applied bundle, as Helm
//! itself keeps one for every revision, so that `helm list`, `helm history` and `helm get` show it.
//!
//! An existing release is continued with the next revision if the policy is to adopt it. The Secrets are in the inventory, so
//! they are deleted with the release.

use std::io::{Read, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::ReleaseId;
use domain::helm_release::{HelmChart, HelmRelease, HelmReleaseReading, InstalledHelmRelease, SECRET_TYPE};
use domain::manifest::yaml_value;
use domain::object::{ObjectRef, object_ref};
use domain::policy::HelmReleasePolicy;
use domain::release::StageName;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::preflight::PreflightFailure;
use super::reconciliation::{ReconcileFlow, Reconciliation};
use super::report;
use super::retry::RetryState;
use crate::api::{ApiClient, encode_query};
use crate::applied_release::InventoryEntry;
use crate::desired_object::{HASH_ANNOTATION, RELEASE_LABEL, WORKLOAD_ANNOTATION};
use crate::error::Error;
use crate::observe::LiveObject;

/// Revisions that are kept, as Helm's `--history-max`.
const MAX_REVISIONS: usize = 10;
/// Most bytes of the payload of a Secret; Kubernetes allows 1 MiB with metadata. Above it the record has no manifest.
const MAX_PAYLOAD_BYTES: usize = 1_000_000;
/// Most bytes of an unpacked payload that is changed.
const MAX_RELEASE_BYTES: u64 = 32 << 20;
/// Most bytes of the values of a release that is read, as JSON: what a source may have.
const MAX_VALUES_BYTES: usize = 1 << 20;
const PLURAL: &str = "secrets";

/// The Secret of one revision on the cluster.
struct StoredRevision {
    object: ObjectRef,
    uid: String,
    revision: u32,
    status: String,
    /// The release that wrote it. Helm copies the labels of a revision to the next one, so a label alone proves nothing.
    owner: Option<ReleaseId>,
    bundle: String,
    secret: Value,
}

impl StoredRevision {
    fn from_secret(mut secret: Value) -> Option<Self> {
        // Items of a list have neither.
        secret["apiVersion"] = "v1".into();
        secret["kind"] = "Secret".into();
        let text =
            |pointer: &str| secret.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let label = |key: &str| secret["metadata"]["labels"][key].as_str().unwrap_or_default().to_owned();
        let revision = label("version").parse().ok()?;
        Some(Self {
            object: object_ref(&secret),
            uid: text("/metadata/uid"),
            revision,
            status: label("status"),
            owner: LiveObject::from_value(&secret).applied_release(),
            bundle: secret["metadata"]["annotations"][HASH_ANNOTATION]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            secret,
        })
    }
}

/// Stops before anything is written if Helm or another tool has a release of this name that is not adopted (G105).
pub(super) async fn check_name(pass: &Reconciliation<'_>) -> Result<(), PreflightFailure> {
    let prepared = Arc::clone(&pass.prepared);
    let Some(release) = &prepared.helm_release else { return Ok(()) };
    if pass.policies.helm_release != HelmReleasePolicy::Record || is_recorded(pass) {
        return Ok(());
    }
    let subject = || format!("Helm release {}", release.name);
    let revisions = list_revisions(&pass.api(), release).await.map_err(|error| (error, subject()))?;
    let is_own = |found: &StoredRevision| found.owner == Some(pass.release());
    match revisions.last() {
        Some(last) if !revisions.iter().any(is_own) => {
            Err((Error::ReleaseConflict { revision: last.revision, status: last.status.clone() }, subject()))
        }
        _ => Ok(()),
    }
}

/// What the cluster has of a release: its newest deployed revision, or the newest one if none is deployed.
pub(crate) async fn read_installed(api: &ApiClient, namespace: &str, name: &str) -> HelmReleaseReading {
    let unreadable = |message: String| HelmReleaseReading::Unreadable { message };
    let revisions = match list_named_revisions(api, namespace, name).await {
        Ok(revisions) => revisions,
        Err(Error::NotFound(_)) => return HelmReleaseReading::Missing,
        Err(error) => {
            return unreadable(format!("The Secrets of the namespace {namespace} can't be read: {error}."));
        }
    };
    let deployed = revisions.iter().rfind(|found| found.status == "deployed");
    let Some(found) = deployed.or(revisions.last()) else { return HelmReleaseReading::Missing };
    let payload = found.secret.pointer("/data/release").and_then(Value::as_str);
    let Some(content) = payload.and_then(decode) else {
        return unreadable(format!("The record of revision {} is damaged or too large.", found.revision));
    };
    let text =
        |pointer: &str| content.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let values = content.get("config").cloned().unwrap_or_default();
    if serde_json::to_vec(&values).map_or(usize::MAX, |bytes| bytes.len()) > MAX_VALUES_BYTES {
        return unreadable(format!("The values of revision {} exceed 1 MiB.", found.revision));
    }
    HelmReleaseReading::Found(InstalledHelmRelease {
        revision: found.revision,
        status: found.status.clone(),
        chart: HelmChart {
            name: text("/chart/metadata/name"),
            version: text("/chart/metadata/version"),
            app_version: text("/chart/metadata/appVersion"),
            description: text("/chart/metadata/description"),
        },
        values,
    })
}

/// Records the applied bundle, unless that is done.
pub(super) async fn run(pass: &mut Reconciliation<'_>) -> ReconcileFlow {
    let prepared = Arc::clone(&pass.prepared);
    let Some(release) = &prepared.helm_release else { return ReconcileFlow::Continue };
    if is_recorded(pass) {
        return ReconcileFlow::Continue;
    }
    let pending = pass.state.helm_failure.clone().filter(|failure| !failure.is_due());
    let failure = match pending {
        Some(failure) => failure,
        None => match record(pass, release).await {
            Ok(()) => {
                pass.state.helm_failure = None;
                pass.state.recorded_bundle = Some(prepared.digest.clone());
                return ReconcileFlow::Continue;
            }
            Err(error) => RetryState::after(pass.state.helm_failure.as_ref(), error, &pass.cx.options),
        },
    };
    pass.wake_at(failure.due);
    let subject = format!("Record of Helm release {}", release.name);
    pass.set_stage(StageName::Applied, failure.stage_state(&subject));
    pass.state.helm_failure = Some(failure);
    ReconcileFlow::Stop
}

fn is_recorded(pass: &Reconciliation<'_>) -> bool {
    pass.state.recorded_bundle.as_ref() == Some(&pass.prepared.digest)
}

async fn record(pass: &mut Reconciliation<'_>, release: &HelmRelease) -> Result<(), Error> {
    let api = pass.api();
    let mut revisions = list_revisions(&api, release).await?;
    let digest = pass.prepared.digest.as_str().to_owned();
    let is_current = |found: &StoredRevision| {
        found.owner == Some(pass.release()) && found.bundle == digest && found.status == "deployed"
    };
    // Also after a crash between the creation of the Secret and the write of the inventory.
    let current = revisions.pop_if(|newest| is_current(newest));
    let current = match current {
        Some(current) => current,
        None => {
            let revision = revisions.last().map_or(1, |newest| newest.revision.saturating_add(1));
            let first_deployed = revisions.first().and_then(first_deployed);
            let secret = build_secret(pass, release, revision, first_deployed)?;
            let created = api.create(&collection_path(release), &secret).await?;
            StoredRevision::from_secret(created)
                .ok_or_else(|| Error::Unreadable("the created Secret has no labels".to_owned()))?
        }
    };
    add_to_inventory(pass, &current);
    for older in revisions.iter().filter(|older| older.status == "deployed") {
        let patch = supersede(older, pass.release(), &pass.request.desired.workload);
        api.merge_patch(&secret_path(older), &patch).await?;
        add_to_inventory(pass, older);
    }
    let own = revisions.iter().filter(|older| older.owner == Some(pass.release()));
    let own: Vec<&StoredRevision> = own.collect();
    let expired = own.len().saturating_sub(MAX_REVISIONS - 1);
    for older in own.into_iter().take(expired) {
        match api.delete(&secret_path(older), &older.uid, "Background").await {
            Ok(()) | Err(Error::NotFound(_)) => {
                pass.inventory.retain(|entry| !entry.object.is_same_object(&older.object));
            }
            Err(error) => return Err(error),
        }
    }
    report::write_record(pass).await;
    Ok(())
}

/// The stored revisions, oldest first.
async fn list_revisions(api: &ApiClient, release: &HelmRelease) -> Result<Vec<StoredRevision>, Error> {
    list_named_revisions(api, &release.namespace, &release.name).await
}

/// As [`list_revisions`], by namespace and name of the release.
async fn list_named_revisions(
    api: &ApiClient,
    namespace: &str,
    name: &str,
) -> Result<Vec<StoredRevision>, Error> {
    let selector = encode_query(&format!("owner=helm,name={name}"));
    let list = api.get(&format!("/api/v1/namespaces/{namespace}/{PLURAL}?labelSelector={selector}")).await?;
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let mut revisions: Vec<StoredRevision> =
        items.into_iter().filter_map(StoredRevision::from_secret).collect();
    revisions.sort_by_key(|found| found.revision);
    Ok(revisions)
}

fn collection_path(release: &HelmRelease) -> String {
    format!("/api/v1/namespaces/{}/{PLURAL}", release.namespace)
}

fn secret_path(found: &StoredRevision) -> String {
    format!("/api/v1/namespaces/{}/{PLURAL}/{}", found.object.namespace, found.object.name)
}

fn add_to_inventory(pass: &mut Reconciliation<'_>, found: &StoredRevision) {
    let entry = InventoryEntry {
        object: found.object.clone(),
        resource: PLURAL.to_owned(),
        uid: found.uid.clone(),
        ..InventoryEntry::default()
    };
    pass.inventory.retain(|other| !other.object.is_same_object(&entry.object));
    pass.inventory.push(entry);
}

/// The Secret of the revision that is applied now.
fn build_secret(
    pass: &Reconciliation<'_>,
    release: &HelmRelease,
    revision: u32,
    first_deployed: Option<String>,
) -> Result<Value, Error> {
    let documents = pass.prepared.objects.iter();
    let documents = documents.map(|desired| format!("---\n{}", yaml_value::write(&desired.source_value())));
    let mut content = describe_release(pass, release, (revision, first_deployed), documents.collect());
    let mut payload = encode(&content)?;
    if payload.len() > MAX_PAYLOAD_BYTES {
        content["manifest"] = "# The manifest is too large for this record.\n".into();
        payload = encode(&content)?;
    }
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": SECRET_TYPE,
        "metadata": {
            "name": release.secret_name(revision),
            "namespace": release.namespace,
            "labels": {
                "owner": "helm",
                "name": release.name,
                "status": "deployed",
                "version": revision.to_string(),
                RELEASE_LABEL: pass.release().to_string(),
            },
            "annotations": {
                WORKLOAD_ANNOTATION: pass.request.desired.workload,
                HASH_ANNOTATION: pass.prepared.digest.as_str(),
            },
        },
        "data": {"release": payload},
    }))
}

/// The release in Helm's format.
fn describe_release(
    pass: &Reconciliation<'_>,
    release: &HelmRelease,
    (revision, first_deployed): (u32, Option<String>),
    manifest: String,
) -> Value {
    let now = pass.now.to_string();
    let chart = &release.chart;
    json!({
        "name": release.name,
        "namespace": release.namespace,
        "version": revision,
        "info": {
            "first_deployed": first_deployed.unwrap_or_else(|| now.clone()),
            "last_deployed": now,
            "status": "deployed",
            "description": format!("Revision {} of Flotilla workload {}", pass.revision, pass.request.desired.workload),
        },
        "chart": {
            "metadata": {
                "apiVersion": "v2",
                "name": chart.name,
                "version": chart.version,
                "appVersion": chart.app_version,
                "description": chart.description,
            },
        },
        "config": release.values,
        "manifest": manifest,
    })
}

/// When the release was installed, as its oldest revision says.
fn first_deployed(oldest: &StoredRevision) -> Option<String> {
    let content = decode(oldest.secret.pointer("/data/release")?.as_str()?)?;
    Some(content.pointer("/info/first_deployed")?.as_str()?.to_owned())
}

/// The patch that marks a revision as replaced and as part of this release. A payload that can't be read stays.
fn supersede(found: &StoredRevision, release: ReleaseId, workload: &str) -> Value {
    let payload = found.secret.pointer("/data/release").and_then(Value::as_str);
    let replaced = payload.and_then(decode).and_then(|mut content| {
        content["info"]["status"] = "superseded".into();
        encode(&content).ok()
    });
    let mut patch = json!({"metadata": {
        "labels": {"status": "superseded", RELEASE_LABEL: release.to_string()},
        "annotations": {WORKLOAD_ANNOTATION: workload},
    }});
    if let Some(payload) = replaced {
        patch["data"] = json!({"release": payload});
    }
    patch
}

/// Helm's encoding in a Secret: JSON, gzip and base64, and base64 again for the Secret.
fn encode(content: &Value) -> Result<String, Error> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let packed = serde_json::to_writer(&mut gzip, content)
        .map_err(std::io::Error::from)
        .and_then(|()| gzip.flush())
        .and_then(|()| gzip.finish());
    let packed = packed.map_err(|error| Error::Invalid(error.to_string()))?;
    Ok(STANDARD.encode(STANDARD.encode(packed)))
}

fn decode(payload: &str) -> Option<Value> {
    let packed = STANDARD.decode(STANDARD.decode(payload).ok()?).ok()?;
    let mut json = Vec::new();
    GzDecoder::new(packed.as_slice()).take(MAX_RELEASE_BYTES).read_to_end(&mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_reads_back_as_it_was_encoded_and_other_payloads_are_left_alone() {
        let content = json!({"name": "web", "info": {"status": "deployed"}, "manifest": "---\n".repeat(9)});
        assert_eq!(decode(&encode(&content).unwrap()), Some(content));
        for payload in ["", "%", "aGVsbG8=", "YUdWc2JHOD0="] {
            assert_eq!(decode(payload), None, "{payload}");
        }
    }

    #[test]
    fn i5_a_revision_that_helm_wrote_with_copied_labels_is_not_owned() {
        let release = ReleaseId::from_parts(1, 1);
        let written_by = |manager: &str| {
            let labels =
                json!({"owner": "helm", "name": "web", "version": "5", RELEASE_LABEL: release.to_string()});
            let label = format!("f:{RELEASE_LABEL}");
            let managers = json!([{"manager": manager, "operation": "Update",
                "fieldsV1": {"f:metadata": {"f:labels": {label: {}}}}}]);
            let metadata = json!({"name": "sh.helm.release.v1.web.v5", "namespace": "shop", "labels": labels,
                "managedFields": managers});
            StoredRevision::from_secret(json!({"metadata": metadata})).unwrap().owner
        };
        assert_eq!(written_by("flotilla"), Some(release));
        assert_eq!(written_by("helm"), None);
    }

    #[test]
    fn a_replaced_revision_is_superseded_in_label_and_payload() {
        let payload = encode(&json!({"info": {"status": "deployed"}, "version": 4})).unwrap();
        let secret = |payload: &str| {
            let labels = json!({"owner": "helm", "name": "web", "status": "deployed", "version": "4"});
            let metadata =
                json!({"name": "sh.helm.release.v1.web.v4", "namespace": "shop", "labels": labels});
            StoredRevision::from_secret(json!({"metadata": metadata, "data": {"release": payload}})).unwrap()
        };
        let release = ReleaseId::from_parts(1, 1);
        let patch = supersede(&secret(&payload), release, "shop");
        assert_eq!(patch["metadata"]["labels"]["status"], "superseded");
        assert_eq!(patch["metadata"]["labels"][RELEASE_LABEL], release.to_string());
        let content = decode(patch["data"]["release"].as_str().unwrap()).unwrap();
        assert_eq!(content, json!({"info": {"status": "superseded"}, "version": 4}));
        assert_eq!(supersede(&secret("unreadable"), release, "shop").get("data"), None);
    }
}
