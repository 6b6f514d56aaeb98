//! Desired objects of a bundle: their marks, and what is left to scalers and others.

use domain::ReleaseId;
use domain::policy::{DeletionPolicy, Policies};
use domain::report::DesiredPhase;
use serde_json::json;

use super::*;

fn prepare(objects: Vec<Value>) -> PreparedBundle {
    let desired_release = DesiredRelease {
        release: ReleaseId::from_parts(1, 2),
        workload: "shop".into(),
        generation: 1,
        sync_nonce: 0,
        phase: DesiredPhase::Absent { deletion: DeletionPolicy::Foreground, policies: Policies::default() },
    };
    let bundle = Bundle::new(objects);
    PreparedBundle::new(&desired_release, bundle.digest(), &bundle)
}

fn deployment(replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop",
        "uid": "x", "managedFields": []}, "spec": {"replicas": replicas}, "status": {"replicas": 1}})
}

#[test]
fn only_the_objects_own_metadata_gets_release_label_and_hash() {
    let prepared = prepare(vec![deployment(2)]);
    let value = prepared.objects[0].value();
    let release = ReleaseId::from_parts(1, 2).to_string();
    assert_eq!(value["metadata"]["labels"][RELEASE_LABEL], release);
    assert_eq!(value["metadata"]["annotations"][HASH_ANNOTATION], prepared.objects[0].hash);
    assert_eq!(value["metadata"]["annotations"][WORKLOAD_ANNOTATION], "shop");
    assert_eq!(value["spec"], json!({"replicas": 2}));
    assert_eq!(value.get("status"), None);
    assert_eq!(value["metadata"].get("uid"), None);
}

#[test]
fn replicas_controlled_by_an_autoscaler_are_not_compared_and_keep_their_live_value() {
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let (two, three) = (prepare(vec![deployment(2), scaler.clone()]), prepare(vec![deployment(3), scaler]));
    assert_eq!(two.objects[0].hash, three.objects[0].hash);
    let compared = two.objects[0].comparable_value(&ObjectPolicy::default(), &deployment(7));
    assert_eq!(compared["spec"], json!({}));
    let body: Value = serde_json::from_slice(&two.objects[0].apply_body(
        Some(&deployment(7)),
        &ObjectPolicy::default(),
        false,
    ))
    .unwrap();
    assert_eq!(body["spec"]["replicas"], 7);
    let first: Value =
        serde_json::from_slice(&two.objects[0].apply_body(None, &ObjectPolicy::default(), false)).unwrap();
    assert_eq!(first["spec"]["replicas"], 2);
}

#[test]
fn p13_a_scaler_of_any_kind_in_the_bundle_sets_the_replicas_of_its_target() {
    let scaler = |target: Value| {
        json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": "web", "namespace": "shop"}, "spec": {"scaleTargetRef": target}})
    };
    let is_scaled = |target: Value| {
        let prepared = prepare(vec![deployment(2), scaler(target)]);
        prepared.objects.iter().any(|desired| desired.object.kind == "Deployment" && desired.autoscaled)
    };
    assert!(is_scaled(json!({"name": "web"})), "a Deployment without a kind");
    assert!(is_scaled(json!({"kind": "Deployment", "name": "web"})));
    assert!(!is_scaled(json!({"kind": "StatefulSet", "name": "web"})));
    assert!(!is_scaled(json!({"name": "other"})));
    assert!(!is_scaled(json!({})));
}

#[test]
fn p13_a_scaler_of_a_custom_kind_does_not_change_the_hash_of_its_target() {
    let scaler = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"scaleTargetRef": {"name": "web"}}});
    let hash = |objects: Vec<Value>| {
        let prepared = prepare(objects);
        let target = prepared.objects.iter().find(|desired| desired.object.kind == "Deployment");
        target.unwrap().hash.clone()
    };
    // Agents of earlier versions hash it like an object that nothing scales.
    assert_eq!(hash(vec![deployment(2), scaler.clone()]), hash(vec![deployment(2)]));
    assert_ne!(hash(vec![deployment(3), scaler]), hash(vec![deployment(2)]));
}

#[test]
fn p13_replicas_that_a_scaler_owns_are_neither_applied_nor_compared() {
    let prepared = prepare(vec![deployment(2)]);
    let mut live = deployment(7);
    live["metadata"]["managedFields"] = json!([{"manager": "keda", "operation": "Update", "subresource": "scale",
        "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
    let spec = |rule: &ObjectPolicy<'_>| {
        let body = prepared.objects[0].apply_body(Some(&live), rule, false);
        let body: Value = serde_json::from_slice(&body).unwrap();
        (body["spec"].clone(), prepared.objects[0].comparable_value(rule, &live)["spec"].clone())
    };
    assert_eq!(spec(&ObjectPolicy::default()), (json!({}), json!({})));
    let dropped = ObjectPolicy { was_scaled: true, ..ObjectPolicy::default() };
    let taken_back = json!({"replicas": 2});
    assert_eq!(spec(&dropped), (taken_back.clone(), taken_back), "the revision drops its scaler");
    // The number that is read here may have changed until it is applied.
    let autoscaled = ObjectPolicy { autoscaled: true, ..ObjectPolicy::default() };
    assert_eq!(spec(&autoscaled), (json!({}), json!({})), "what sets them owns them");
    let scaler = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"scaleTargetRef": {"name": "web"}}});
    let prepared = prepare(vec![deployment(2), scaler]);
    let target = prepared.objects.iter().find(|desired| desired.object.kind == "Deployment").unwrap();
    for heal in [true, false] {
        let body = target.apply_body(Some(&live), &ObjectPolicy::default(), heal);
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["spec"], json!({}), "a scaler of the bundle owns them");
    }
}

#[test]
fn a_claim_that_others_enlarged_keeps_its_size() {
    let claim = |size: &str, managers: Value| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "shop", "managedFields": managers},
            "spec": {"resources": {"requests": {"storage": size}}}})
    };
    let prepared = prepare(vec![claim("1Gi", json!([]))]);
    let owner = |manager: &str| {
        json!([{"manager": manager, "fieldsV1":
            {"f:spec": {"f:resources": {"f:requests": {"f:storage": {}}}}}}])
    };
    let requests = |live: &Value| {
        let body = prepared.objects[0].apply_body(Some(live), &ObjectPolicy::default(), false);
        let body: Value = serde_json::from_slice(&body).unwrap();
        body["spec"]["resources"]["requests"].clone()
    };
    assert_eq!(requests(&claim("2Gi", owner("kubectl-edit"))), json!({}));
    assert_eq!(requests(&claim("1024Mi", owner("kubectl-edit"))), json!({"storage": "1Gi"}));
    // A former revision requested it: the refusal of the server is reported.
    assert_eq!(requests(&claim("2Gi", owner("flotilla"))), json!({"storage": "1Gi"}));
}

/// The rows of the table in `docs/drift.md` under this heading.
fn documented_rows(heading: &str) -> Vec<String> {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/drift.md");
    let document = std::fs::read_to_string(document).unwrap();
    let section = document.split(&format!("## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    section.lines().filter(|line| line.starts_with('|')).skip(2).map(str::to_owned).collect()
}

#[test]
fn the_document_lists_the_fields_whose_live_value_stays_with_their_sources() {
    let dotted = |pointer: &str| pointer[1..].replace('/', ".");
    let metadata = SERVER_METADATA.map(|field| format!("`metadata.{field}`")).join(", ");
    let assigned = domain::plan::SERVER_ASSIGNED.map(|(field, request)| (field, format!("`{request}`")));
    let mut expected = vec![
        format!(
            "| what the `scaleTargetRef` of a HorizontalPodAutoscaler, or of any object of the same bundle, names | `{}` | any | applied with the live value, not compared | the controller of autoscalers, KEDA included ([HorizontalPodAutoscaler](https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#migrating-deployments-and-statefulsets-to-horizontal-autoscaling)) |",
            dotted(REPLICAS)
        ),
        format!(
            "| every kind | `{}`, or what the definition names `specReplicasPath` | any, while a scaler wrote the live one | neither applied nor compared, reported once | the controller that wrote it last through the subresource `scale` ([scale subresource](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource)) |",
            dotted(REPLICAS)
        ),
        format!(
            "| PersistentVolumeClaim | `{}` | less than the live one, if another manager enlarged it | neither applied nor compared | people and operators; the server refuses to shrink a claim ([expanding claims](https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims)) |",
            dotted(CLAIM_SIZE)
        ),
    ];
    let services = [
        "the allocator of service addresses ([choosing an address](https://kubernetes.io/docs/concepts/services-networking/cluster-ip-allocation/))",
        "the allocator of node ports ([type NodePort](https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport))",
    ];
    for ((field, request), source) in assigned.iter().zip(services) {
        expected.push(format!(
            "| Service | `{field}` | {request} | the assigned value is no difference | {source} |"
        ));
    }
    expected.extend([
        format!("| every kind | `{STATUS_FIELD}` | any | neither applied nor compared | controllers ([spec and status](https://kubernetes.io/docs/concepts/overview/working-with-objects/#object-spec-and-status)) |"),
        format!("| every kind | {metadata} | any | neither applied nor compared | the API server ([ObjectMeta](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/), read-only) |"),
        "| every kind | a field that Flotilla still owns with another value | any except `spec.replicas` | no difference | the API server, which writes a quantity in another form, and mutating webhooks on every apply ([field management](https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management)) |".to_owned(),
        "| every kind | a field that the live object does not have | null, an empty list or map, and `0`, `false` or `\"\"` where the API server stores none | its absence is no difference | the API server ([optional fields](https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#optional-vs-required)) |".to_owned(),
    ]);
    assert_eq!(documented_rows("Fields whose live value stays"), expected);
}

#[test]
fn of_duplicate_objects_the_first_counts() {
    let prepared = prepare(vec![deployment(2), deployment(3)]);
    assert_eq!(prepared.objects.len(), 1);
    assert_eq!(prepared.objects[0].value()["spec"]["replicas"], 2);
}
