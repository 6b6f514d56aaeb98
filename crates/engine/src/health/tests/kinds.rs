//! Kinds that run no containers, and the rules of all kinds.

use super::*;

#[test]
fn rules_of_all_kinds_are_evaluated_first() {
    let stalled = json!({"status": {"conditions": [condition("Stalled", "True", "Broken", "no way")]}});
    let reconciling =
        json!({"status": {"conditions": [condition("Reconciling", "True", "Working", "soon")]}});
    assert_health(
        "example.com/v1",
        "Widget",
        &json!({}),
        &[
            (
                json!({"metadata": {"deletionTimestamp": NOW, "finalizers": ["a/b", "c/d"]}}),
                Progressing,
                "PendingDeletion is being deleted; waiting for finalizers a/b, c/d",
            ),
            (
                json!({"status": {"observedGeneration": 1}}),
                Progressing,
                "LatestGenerationNotObserved generation is 2, observed 1",
            ),
            (stalled, Degraded, "Stalled no way"),
            (reconciling, Progressing, "Working soon"),
        ],
    );
}

#[test]
fn load_balancer_services_and_ingresses_wait_for_an_address() {
    let address = json!({"status": {"loadBalancer": {"ingress": [{"hostname": "a.example.com"}]}}});
    assert_health(
        "v1",
        "Service",
        &json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1"}}),
        &[
            (json!({}), Progressing, "waiting for load balancer address"),
            (address.clone(), Healthy, ""),
            (json!({"status": {"loadBalancer": {"ingress": [{"ip": ""}]}}}), Progressing, "address"),
            (json!({"spec": {"clusterIP": ""}}), Progressing, "NoClusterIp"),
            (json!({"spec": {"type": "ClusterIP"}}), Healthy, ""),
            (json!({"spec": {"type": "ExternalName", "clusterIP": ""}}), Healthy, ""),
        ],
    );
    let rows = [(json!({}), Progressing, "NoIngressAddress"), (address, Healthy, "")];
    assert_health("networking.k8s.io/v1", "Ingress", &json!({}), &rows);
}

#[test]
fn volumes_and_claims_follow_their_phase() {
    let phase = |phase: &str| json!({"status": {"phase": phase}});
    assert_health(
        "v1",
        "PersistentVolumeClaim",
        &json!({}),
        &[
            (phase("Bound"), Healthy, ""),
            (phase("Pending"), Progressing, "waiting for a volume"),
            (phase("Lost"), Degraded, "ClaimLost"),
            (phase("Odd"), Unknown, "Odd"),
        ],
    );
    assert_health(
        "v1",
        "PersistentVolume",
        &json!({}),
        &[
            (phase("Available"), Healthy, ""),
            (phase("Pending"), Progressing, ""),
            (phase("Released"), Progressing, "its claim is gone"),
            (phase("Failed"), Degraded, ""),
        ],
    );
}

#[test]
fn autoscalers_without_metrics_are_degraded_after_a_grace_period() {
    let failed = condition("ScalingActive", "False", "FailedGetResourceMetric", "no metrics");
    let annotation = json!([failed]).to_string();
    assert_health(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        &json!({}),
        &[
            (json!({}), Progressing, "Waiting to Autoscale"),
            (json!({"status": {"conditions": [condition("AbleToScale", "True", "", "")]}}), Healthy, ""),
            (json!({"status": {"conditions": [failed]}}), Degraded, "FailedGetResourceMetric no metrics"),
            (
                json!({"metadata": {"creationTimestamp": JUST_NOW}, "status": {"conditions": [failed]}}),
                Progressing,
                "no metrics",
            ),
            (
                json!({"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/conditions": annotation}}}),
                Degraded,
                "no metrics",
            ),
        ],
    );
}

#[test]
fn disruption_budgets_and_api_services_are_degraded_after_a_grace_period() {
    let base = json!({"status": {"observedGeneration": 2, "currentHealthy": 3, "desiredHealthy": 2,
        "disruptionsAllowed": 1}});
    assert_health(
        "policy/v1",
        "PodDisruptionBudget",
        &base,
        &[
            (json!({}), Healthy, ""),
            (json!({"status": {"disruptionsAllowed": 0}}), Healthy, "allows no disruption now"),
            (
                json!({"status": {"currentHealthy": 0, "desiredHealthy": 1, "expectedPods": 0}}),
                Healthy,
                "covers no pods",
            ),
            (json!({"status": {"currentHealthy": 1}}), Degraded, "1 healthy pods of 2 desired"),
            (
                json!({"metadata": {"creationTimestamp": JUST_NOW}, "status": {"currentHealthy": 1}}),
                Progressing,
                "",
            ),
        ],
    );
    let zeros = json!({"status": {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}});
    let rows = [(json!({}), Progressing, "waiting"), (zeros, Progressing, "StatusNotReportedYet")];
    assert_health("policy/v1", "PodDisruptionBudget", &json!({}), &rows);
    let unavailable = condition("Available", "False", "MissingEndpoints", "none");
    let mut fresh = unavailable.clone();
    fresh["lastTransitionTime"] = JUST_NOW.into();
    assert_health(
        "apiregistration.k8s.io/v1",
        "APIService",
        &json!({}),
        &[
            (json!({}), Progressing, "Waiting to be processed"),
            (
                json!({"status": {"conditions": [condition("Available", "True", "Passed", "all checks passed")]}}),
                Healthy,
                "Passed: all checks passed",
            ),
            (json!({"status": {"conditions": [unavailable]}}), Degraded, "MissingEndpoints: none"),
            (json!({"status": {"conditions": [fresh]}}), Progressing, "MissingEndpoints"),
        ],
    );
}

#[test]
fn definitions_must_be_established() {
    let with = |all: Value| json!({"status": {"conditions": all}});
    let established = || condition("Established", "True", "", "");
    assert_health(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &json!({}),
        &[
            (json!({}), Progressing, "waiting to be established"),
            (with(json!([established()])), Healthy, ""),
            (
                with(json!([established(), condition("NamesAccepted", "False", "", "name conflict")])),
                Degraded,
                "name conflict",
            ),
            (
                with(json!([established(), condition("NonStructuralSchema", "True", "", "bad schema")])),
                Degraded,
                "bad schema",
            ),
            (with(json!([condition("Established", "False", "Installing", "")])), Progressing, "Installing"),
            (with(json!([condition("Established", "False", "Other", "")])), Degraded, "not established"),
            (with(json!([condition("Terminating", "True", "", "")])), Progressing, "Terminating"),
        ],
    );
}

#[test]
fn terminating_namespaces_report_what_blocks_their_deletion() {
    let blocked =
        condition("NamespaceContentRemaining", "True", "", "Some resources are remaining: pods. has 1.");
    assert_health(
        "v1",
        "Namespace",
        &json!({"status": {"phase": "Active"}}),
        &[
            (json!({}), Healthy, ""),
            (
                json!({"status": {"phase": "Terminating", "conditions": [blocked]}}),
                Progressing,
                "remaining: pods",
            ),
        ],
    );
}

#[test]
fn gateways_and_routes_follow_their_conditions() {
    let with = |c: Value| json!({"status": {"conditions": [c]}});
    assert_health(
        "gateway.networking.k8s.io/v1",
        "Gateway",
        &json!({}),
        &[
            (with(condition("Programmed", "True", "", "")), Healthy, ""),
            (with(condition("Accepted", "False", "Invalid", "no class")), Degraded, "no class"),
            (json!({}), Progressing, "NotProgrammed"),
        ],
    );
    let parent = |refs: &str| {
        json!({"status": {"parents": [{"parentRef": {"name": "gw"}, "conditions": [
            condition("Accepted", "True", "", ""), condition("ResolvedRefs", refs, "BackendNotFound", "no backend")]}]}})
    };
    assert_health(
        "gateway.networking.k8s.io/v1",
        "HTTPRoute",
        &json!({}),
        &[
            (parent("True"), Healthy, ""),
            (parent("False"), Degraded, "BackendNotFound no backend"),
            (parent("Unknown"), Progressing, "gateway gw"),
            (json!({}), Progressing, "NoParents"),
        ],
    );
}

#[test]
fn static_kinds_are_healthy_once_they_exist() {
    for (version, kind) in [
        ("v1", "ConfigMap"),
        ("v1", "ServiceAccount"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        ("storage.k8s.io/v1", "StorageClass"),
        ("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration"),
    ] {
        assert_health(
            version,
            kind,
            &json!({"metadata": {"creationTimestamp": JUST_NOW}}),
            &[(json!({}), Healthy, "")],
        );
    }
    let token = json!({"type": "kubernetes.io/service-account-token"});
    let rows = [(json!({}), Progressing, "token"), (json!({"data": {"token": "eA=="}}), Healthy, "")];
    assert_health("v1", "Secret", &token, &rows);
    let quota = |used: &str| json!({"status": {"hard": {"memory": "1Gi"}, "used": {"memory": used}}});
    let rows = [(quota("512Mi"), Healthy, ""), (quota("1000Mi"), Healthy, "QuotaNearlyFull")];
    assert_health("v1", "ResourceQuota", &json!({}), &rows);
    let dangling =
        |status| json!({"status": {"conditions": [condition("Dangling", status, "NotFound", "no level")]}});
    let rows = [
        (json!({}), NotAssessed, "NoStatus"),
        (dangling("False"), Healthy, ""),
        (dangling("True"), Degraded, "NotFound"),
    ];
    assert_health("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", &json!({}), &rows);
}

#[test]
fn unknown_kinds_follow_the_condition_conventions() {
    let with = |c: Value| json!({"status": {"conditions": [c]}});
    let mut fresh = condition("Ready", "False", "Waiting", "not yet");
    fresh["lastTransitionTime"] = JUST_NOW.into();
    let mut broken = fresh.clone();
    broken["reason"] = "InvalidSpec".into();
    assert_health(
        "example.com/v1",
        "Widget",
        &json!({}),
        &[
            (json!({}), NotAssessed, "NoStatus"),
            (json!({"status": {}}), NotAssessed, "NoStatus"),
            (json!({"metadata": {"creationTimestamp": JUST_NOW}}), Progressing, "StatusNotReportedYet"),
            (with(condition("Degraded", "True", "Disk", "full")), Degraded, "Disk full"),
            (with(fresh), Progressing, "not yet"),
            (with(condition("Ready", "False", "Waiting", "not yet")), Degraded, "not yet"),
            (with(broken), Degraded, "InvalidSpec"),
            (with(condition("Ready", "Unknown", "", "")), Progressing, "Ready is Unknown"),
            (with(condition("Synced", "True", "", "")), Healthy, ""),
            (with(condition("Installing", "True", "", "step 2")), Progressing, "step 2"),
            (json!({"status": {"phase": "Deployed"}}), Healthy, ""),
            (json!({"status": {"phase": "Provisioning"}}), Progressing, ""),
            (json!({"status": {"state": "Error"}}), Degraded, ""),
            (json!({"status": {"state": "Paused"}}), Suspended, ""),
            (json!({"status": {"phase": "suspended"}}), Suspended, "phase is Suspended"),
            (json!({"status": {"phase": "Running", "state": "paused"}}), Suspended, "phase is Paused"),
            (json!({"status": {"phase": "Blue"}}), NotAssessed, "UnknownPhase"),
            (json!({"status": {"replicas": 1}}), NotAssessed, "NoHealthRule"),
            (with(condition("ResolvedRefs", "False", "InvalidRef", "no backend")), Degraded, "no backend"),
        ],
    );
}

#[test]
fn a_pause_counts_beside_conditions_of_success_and_not_beside_failures() {
    let with =
        |phase: &str, conditions: Vec<Value>| json!({"status": {"phase": phase, "conditions": conditions}});
    let ready = || condition("Ready", "True", "", "");
    let outdated = |kind: &str| {
        let mut condition = condition(kind, "True", "", "");
        condition["observedGeneration"] = 1.into();
        condition
    };
    let mut rows = Vec::new();
    for kind in ["Paused", "Suspended", "ReconciliationPaused"] {
        let paused = |status: &str| condition(kind, status, "ByUser", "by hand");
        rows.push((with("Running", vec![ready(), paused("True")]), Suspended, "is True"));
        rows.push((with("Running", vec![ready(), paused("False")]), Healthy, ""));
        rows.push((with("Running", vec![ready(), outdated(kind)]), Healthy, ""));
        let failed = condition("Failed", "True", "Disk", "full");
        rows.push((with("Running", vec![paused("True"), failed]), Degraded, "Disk full"));
    }
    for phase in ["Paused", "Suspended", "paused"] {
        rows.push((with(phase, vec![ready()]), Suspended, "phase is"));
        let broken = condition("Ready", "False", "InvalidSpec", "");
        rows.push((with(phase, vec![broken]), Degraded, "InvalidSpec"));
    }
    assert_health("example.com/v1", "Widget", &json!({"metadata": {"generation": 2}}), &rows);
}

#[test]
fn a_kind_without_a_status_subresource_is_healthy_at_once() {
    let new = object("example.com/v1", "Widget", json!({"metadata": {"creationTimestamp": JUST_NOW}}));
    assert_eq!(assess(&new, false, now()).status, Healthy);
    assert_eq!(assess(&new, true, now()).reason, "StatusNotReportedYet");
}

#[test]
fn a_status_of_an_older_generation_is_progressing_also_as_text_and_per_condition() {
    let ready = |observed: Value| {
        let mut ready = condition("Ready", "True", "", "");
        ready["observedGeneration"] = observed;
        json!({"status": {"conditions": [ready]}})
    };
    let mut stalled = condition("Stalled", "True", "", "old");
    stalled["observedGeneration"] = 1.into();
    let mut progressing = condition("Degraded", "True", "", "old");
    progressing["observedGeneration"] = 1.into();
    assert_health(
        "example.com/v1",
        "Widget",
        &json!({}),
        &[
            (
                json!({"status": {"observedGeneration": 1, "phase": "Ready"}}),
                Progressing,
                "generation is 2, observed 1",
            ),
            (json!({"status": {"observedGeneration": "1", "phase": "Ready"}}), Progressing, "observed 1"),
            (json!({"status": {"observedGeneration": "2", "phase": "Ready"}}), Healthy, ""),
            (json!({"status": {"observedGeneration": "5f4b9c", "phase": "Ready"}}), Healthy, ""),
            (ready(1.into()), Progressing, "LatestGenerationNotObserved"),
            (ready("1".into()), Progressing, "LatestGenerationNotObserved"),
            (ready(2.into()), Healthy, ""),
            (json!({"status": {"conditions": [stalled, condition("Ready", "True", "", "")]}}), Healthy, ""),
            (json!({"status": {"conditions": [progressing]}}), Progressing, "LatestGenerationNotObserved"),
        ],
    );
}

#[test]
fn malformed_objects_are_assessed_without_a_panic() {
    for malformed in [
        json!(null),
        json!([]),
        json!({"kind": 3}),
        json!({"kind": "Pod", "apiVersion": "v1", "status": 7}),
        json!({"kind": "Deployment", "apiVersion": "apps/v1", "status": {"conditions": "no", "replicas": "x"}}),
    ] {
        let health = assess(&malformed, true, now());
        assert_ne!(health.status, Missing);
        let _ = diagnose([&malformed], NO_WARNINGS, now());
    }
}
