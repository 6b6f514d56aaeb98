//! Rejections by the API server, and how the engine reports them.

use domain::health::HealthStatus;
use domain::plan::PlannedAction;
use domain::release::StageName;
use domain::workload::Policies;
use serde_json::{Value, json};

use crate::test_env::*;
use crate::workloads::{create_overdue_cron_job, cron_job, with_spec_fields};

/// Rejects ConfigMaps named `bad`, with an admission policy on a real API server.
pub async fn reject_bad_names(env: &TestEnv) {
    let refused = Refused { kind: "ConfigMap", group: "", resource: "configmaps", name: "bad" };
    refused.reject(env, "names must be good").await;
    if env.control_plane().is_some() {
        // A policy takes effect with a delay.
        env.wait_until("in effect", async || !can_create_bad(env).await).await;
    }
}

/// The objects that admission refuses in the namespace of the scenario.
struct Refused {
    kind: &'static str,
    group: &'static str,
    resource: &'static str,
    /// Empty for every name.
    name: &'static str,
}

impl Refused {
    async fn reject(&self, env: &TestEnv, message: &str) {
        if let Some(cluster) = env.simulated_cluster() {
            cluster.faults().set_admission_rules(vec![kubesim::AdmissionRule {
                webhook: "policy.example.com".into(),
                kind: self.kind.into(),
                name: self.name.into(),
                message: message.into(),
                ..Default::default()
            }]);
            return;
        }
        let expression = match self.name {
            "" => "false".to_owned(),
            name => format!("object.metadata.name != '{name}'"),
        };
        let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": env.namespace}});
        let version = "admissionregistration.k8s.io/v1";
        let policy = json!({"apiVersion": version, "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": env.namespace}, "spec": {"failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{"apiGroups": [self.group], "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"], "resources": [self.resource]}]},
                "validations": [{"expression": expression, "message": message}]}});
        let binding = json!({"apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": env.namespace}, "spec": {"policyName": env.namespace,
                "validationActions": ["Deny"], "matchResources": {"namespaceSelector": selector}}});
        env.create(policy, "test").await;
        env.create(binding, "test").await;
    }

    /// Waits until an object like this one, of the kind that it refuses, is refused with the message.
    async fn until_in_effect(&self, env: &TestEnv, message: &str, mut probe: Value) {
        probe["metadata"]["name"] = "probe".into();
        let version = if self.group.is_empty() { "v1" } else { "batch/v1" };
        let api = env.api((version, self.kind));
        let dry_run = kube::api::PostParams { dry_run: true, ..Default::default() };
        let probe: kube::api::DynamicObject = serde_json::from_value(probe).unwrap();
        let is_refused = async || match api.create(&dry_run, &probe).await {
            Ok(_) => false,
            Err(error) => error.to_string().contains(message),
        };
        env.wait_until("in effect", is_refused).await;
    }
}

async fn can_create_bad(env: &TestEnv) -> bool {
    use k8s_openapi::api::core::v1::ConfigMap;
    let api: kube::Api<ConfigMap> = kube::Api::namespaced(env.client(), &env.namespace);
    let object = serde_json::from_value(json!({"metadata": {"name": "bad"}})).unwrap();
    let dry_run = kube::api::PostParams { dry_run: true, ..Default::default() };
    api.create(&dry_run, &object).await.is_ok()
}

pub async fn p14_an_admission_rejection_is_reported_with_its_message(env: TestEnv) {
    reject_bad_names(&env).await;
    env.set_present(vec![config_map("bad", "1"), config_map("good", "1")], Policies::default());
    let (report, message) = env.until_stage_reason(StageName::Applied, "AdmissionRejected").await;
    assert!(message.contains("names must be good"), "{message}");
    let applied: Vec<bool> = report.resources.iter().map(|resource| resource.applied).collect();
    assert_eq!(applied, [false, true]);
    assert!(env.get(CONFIG_MAP, "bad").await.is_none());
}

pub async fn p14_a_dry_run_includes_admission(env: TestEnv) {
    reject_bad_names(&env).await;
    let bundle = env.bundle(vec![config_map("bad", "1"), config_map("good", "1")]);
    let plan = env.agent.engine.dry_run("shop", None, &present_phase(Policies::default()), &bundle).await;
    let finding = plan.findings().next().unwrap();
    assert_eq!(finding.code, "G404");
    assert!(finding.message.contains("names must be good"), "{}", finding.message);
    assert_eq!(plan.objects[1].action, PlannedAction::Create);
    assert!(env.get(CONFIG_MAP, "good").await.is_none(), "a dry run writes nothing");
}

pub async fn p14_an_immutable_field_is_reported(env: TestEnv) {
    let service = |ip: Value| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"clusterIP": ip, "selector": {"app": "web"}, "ports": [{"port": 80}]}})
    };
    let deployment = workload("Deployment", "front", None);
    let claims = workload("StatefulSet", "base", None);
    let before = vec![service("None".into()), deployment.clone(), claims.clone()];
    env.set_present(before, Policies::default());
    env.until_operational().await;
    let mut moved = deployment;
    moved["spec"]["selector"]["matchLabels"] = json!({"app": "other"});
    moved["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    let mut renamed = claims;
    renamed["spec"]["serviceName"] = "other".into();
    for object in [service("10.96.77.77".into()), moved, renamed] {
        let kind = object["kind"].as_str().unwrap().to_owned();
        let plan = env.dry_run(vec![object], Policies::default()).await;
        let finding = plan.findings().next().unwrap();
        assert_eq!(finding.code, "G406", "{kind}: {}", finding.message);
    }
}

/// Budgets, roles, bindings and CronJobs that the server refuses, each with a part of the reason.
fn invalid_policies() -> Vec<(Value, &'static str)> {
    let object = |version: &str, kind: &str, rest: Value| {
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "wrong"}});
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        object
    };
    let budget = |mut spec: Value| {
        spec["selector"] = json!({"matchLabels": {"app": "web"}});
        object("policy/v1", "PodDisruptionBudget", json!({ "spec": spec }))
    };
    let rbac = "rbac.authorization.k8s.io/v1";
    let role = |rule: Value| object(rbac, "Role", json!({"rules": [rule]}));
    let binding = |subject: Value| {
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"});
        object(rbac, "RoleBinding", json!({"roleRef": role, "subjects": [subject]}))
    };
    let nightly = |field: &str, value: &str| with_spec_fields(cron_job("wrong"), json!({ field: value }));
    vec![
        (budget(json!({"minAvailable": 1, "maxUnavailable": 1})), "cannot be both set"),
        (budget(json!({"maxUnavailable": "most"})), "spec.maxUnavailable"),
        (budget(json!({"minAvailable": -1})), "spec.minAvailable"),
        (role(json!({"resources": ["pods"], "verbs": ["get"]})), "rules[0].apiGroups"),
        (role(json!({"apiGroups": [""], "verbs": ["get"]})), "rules[0].resources"),
        (role(json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]})), "rules[0].nonResourceURLs"),
        (binding(json!({"kind": "Robot", "name": "web"})), "subjects[0].kind"),
        (nightly("schedule", "never"), "spec.schedule"),
        (nightly("concurrencyPolicy", "Sometimes"), "spec.concurrencyPolicy"),
    ]
}

pub async fn p14_an_invalid_object_is_reported_with_its_cause(env: TestEnv) {
    let mut negative = workload("Deployment", "web", None);
    negative["spec"]["replicas"] = (-1).into();
    let mut nameless = workload("Deployment", "web", None);
    nameless["spec"]["template"]["spec"]["containers"][0].as_object_mut().unwrap().remove("image");
    let mut unmatched = workload("Deployment", "web", None);
    unmatched["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    let mut mistyped = workload("Deployment", "web", None);
    mistyped["spec"]["replicas"] = "two".into();
    let mut misspelt = workload("Deployment", "web", None);
    misspelt["spec"]["replikas"] = 2.into();
    let mut duplicate = workload("Deployment", "web", None);
    let container = duplicate["spec"]["template"]["spec"]["containers"][0].clone();
    duplicate["spec"]["template"]["spec"]["containers"] = json!([container, container]);
    for (object, part) in [
        (misspelt, "replikas"),
        (duplicate, "duplicate"),
        (negative, "spec.replicas"),
        (nameless, "image"),
        (unmatched, "selector"),
        (mistyped, "replicas"),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not_A_Name"}}),
            "metadata.name",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                "spec": {"ports": [{"port": 99999}]}}),
            "port",
        ),
    ]
    .into_iter()
    .chain(invalid_policies())
    {
        let bundle = env.bundle(vec![object]);
        let plan = env.agent.engine.dry_run("shop", None, &present_phase(Policies::default()), &bundle).await;
        let finding = plan.findings().next().unwrap();
        assert_eq!(finding.code, "G403", "{part}: {}", finding.message);
        assert!(finding.message.contains(part), "{part}: {}", finding.message);
    }
}

pub async fn p14_the_event_of_a_controller_is_the_cause_of_missing_pods(env: TestEnv) {
    // Its pods have the name and a hash in a label, which may have 63 characters.
    let long = format!("queue-{}", "x".repeat(50));
    env.set_present(vec![workload("StatefulSet", &long, None)], Policies::default());
    let (health, _) = env.until_health(&long, HealthStatus::Degraded, "FailedCreate").await;
    assert!(health.message.contains("must be no more than 63"), "{}", health.message);
}

pub async fn p14_an_exhausted_quota_is_reported_as_the_cause_of_missing_pods(env: TestEnv) {
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
        "spec": {"hard": {"pods": "0"}}});
    env.create(quota, "test").await;
    let is_counted = async || {
        let quota = env.get(("v1", "ResourceQuota"), "small").await.unwrap();
        quota["status"]["hard"]["pods"] == "0"
    };
    env.wait_until("in effect", is_counted).await;
    assert_no_pod_is_created(&env, "exceeded quota: small").await;
}

fn run_once() -> Value {
    let mut template = template("once", None);
    template["spec"]["restartPolicy"] = "Never".into();
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": template}})
}

/// Publishes one workload of every kind that creates pods, and waits for this cause of each.
async fn assert_no_pod_is_created(env: &TestEnv, cause: &str) {
    let mut objects = vec![run_once()];
    let kinds =
        [("Deployment", "web"), ("ReplicaSet", "front"), ("StatefulSet", "queue"), ("DaemonSet", "agent")];
    objects.extend(kinds.map(|(kind, name)| workload(kind, name, None)));
    env.set_present(objects, Policies::default());
    for name in ["once", "web", "front", "queue", "agent"] {
        let (health, _) = env.until_health(name, HealthStatus::Degraded, "FailedCreate").await;
        assert!(health.message.contains(cause), "{name}: {}", health.message);
    }
}

pub async fn p14_every_controller_whose_pods_admission_refuses_reports_its_message(env: TestEnv) {
    let refused = Refused { kind: "Pod", group: "", resource: "pods", name: "" };
    refused.reject(&env, "images must be signed").await;
    let mut probe = template("probe", None);
    (probe["apiVersion"], probe["kind"]) = ("v1".into(), "Pod".into());
    refused.until_in_effect(&env, "images must be signed", probe).await;
    assert_no_pod_is_created(&env, "images must be signed").await;
}

pub async fn p14_a_cron_job_whose_jobs_admission_refuses_reports_its_message(env: TestEnv) {
    let refused = Refused { kind: "Job", group: "batch", resource: "jobs", name: "" };
    refused.reject(&env, "jobs need an owner").await;
    refused.until_in_effect(&env, "jobs need an owner", run_once()).await;
    create_overdue_cron_job(&env, None).await;
    let (health, _) = env.until_health("minutely", HealthStatus::Degraded, "FailedCreate").await;
    assert!(health.message.contains("jobs need an owner"), "{}", health.message);
}

pub async fn g406_a_claim_that_shrinks_is_rejected_by_plan_and_publish(env: TestEnv) {
    let claim = |size: &str| {
        json!({"apiVersion": CLAIM.0, "kind": CLAIM.1, "metadata": {"name": "data"},
            "spec": {"storageClassName": "shrunk", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}}}})
    };
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "shrunk"},
        "provisioner": "disk.example.com", "allowVolumeExpansion": true});
    env.create(class, "test").await;
    if env.control_plane().is_some() {
        // Nothing provisions volumes there.
        let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "shrunk"},
            "spec": {"storageClassName": "shrunk", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"},
                "claimRef": {"namespace": env.namespace, "name": "data"}, "hostPath": {"path": "/nowhere"}}});
        env.create(volume, "test").await;
    }
    env.set_present(vec![claim("2Gi")], Policies::default());
    env.until_operational().await;
    assert_eq!(env.get(CLAIM, "data").await.unwrap()["status"]["capacity"]["storage"], "2Gi");

    let plan = env.dry_run(vec![claim("1Gi")], Policies::default()).await;
    let PlannedAction::Rejected { finding } = &plan.objects[0].action else { panic!("{plan:#?}") };
    assert!(finding.code == "G406" && finding.message.contains("requests.storage"), "{finding:#?}");
    assert!(finding.hint.starts_with("Leave the field as it is, or move the data"), "{finding:#?}");
    env.set_present(vec![claim("1Gi")], Policies::default());
    let (report, message) = env.until_stage_reason(StageName::Applied, "ImmutableField").await;
    assert!(message.contains("requests.storage"), "{message}");
    assert_eq!(report.applied, None);
    let live = env.get(CLAIM, "data").await.unwrap();
    assert_eq!(live["spec"]["resources"]["requests"]["storage"], "2Gi");
}

/// The lengths that G101 allows are those with which the API server and the controllers create what is named after the object.
pub async fn p14_names_work_up_to_the_length_that_what_they_generate_allows(env: TestEnv) {
    let named = |mut object: Value, length: usize| {
        object["metadata"]["name"] = "n".repeat(length).into();
        object
    };
    let daily = json!({"apiVersion": CRON_JOB.0, "kind": CRON_JOB.1, "metadata": {},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": run_once()["spec"]}}});
    let queue = "q".repeat(52);
    let longest =
        vec![workload("StatefulSet", &queue, None), named(run_once(), 63), named(daily.clone(), 52)];
    env.set_present(longest, Policies::default());
    env.until_health(&queue, HealthStatus::Healthy, "").await;
    env.until_health(&"n".repeat(63), HealthStatus::Healthy, "Completed").await;
    // The simulated cluster has no such limits.
    if env.control_plane().is_none() {
        return;
    }
    for too_long in [named(run_once(), 64), named(daily, 53)] {
        let plan = env.dry_run(vec![too_long], Policies { prune: false, ..Policies::default() }).await;
        let PlannedAction::Rejected { finding } = &plan.objects[0].action else { panic!("{plan:#?}") };
        assert!(finding.code == "G403" && finding.message.contains("no more than"), "{finding:#?}");
    }
}

/// The message with which the API server refuses to create an object; `None` if it accepts it.
async fn refusal(env: &TestEnv, kind: KindName, object: Value) -> Option<String> {
    let dry_run = kube::api::PostParams { dry_run: true, ..Default::default() };
    let object: kube::api::DynamicObject = serde_json::from_value(object).unwrap();
    env.api(kind).create(&dry_run, &object).await.err().map(|error| error.to_string())
}

/// The names that G101 refuses are those that the API server refuses.
pub async fn p14_names_that_the_api_server_refuses_are_those_of_the_guard(env: TestEnv) {
    let class = |name: &str, value: i64| {
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
            "value": value})
    };
    let reserved = "reserved for system use only";
    let set = workload("StatefulSet", "db.v2", None);
    for (object, part) in [(set, "metadata.name"), (class("system-database", 1000), reserved)] {
        let plan = env.dry_run(vec![object], Policies::default()).await;
        let PlannedAction::Rejected { finding } = &plan.objects[0].action else { panic!("{plan:#?}") };
        assert!(finding.code == "G403" && finding.message.contains(part), "{finding:#?}");
    }
    // Kubernetes accepts its own classes as they are.
    for (name, value, is_refused) in [
        ("system-node-critical", 2_000_001_000, false),
        ("system-cluster-critical", 2_000_000_000, false),
        ("system-node-critical", 2_000_000_000, true),
        ("systemic", 1000, false),
    ] {
        let message = refusal(&env, ("scheduling.k8s.io/v1", "PriorityClass"), class(name, value)).await;
        let is_reserved = message.as_ref().is_some_and(|message| message.contains(reserved));
        assert_eq!(is_reserved, is_refused, "{name}: {message:?}");
    }
    let rbac = "rbac.authorization.k8s.io/v1";
    let refused_role = async |name: &str| {
        let metadata = json!({"name": name, "namespace": env.namespace});
        let role = json!({"apiVersion": rbac, "kind": "Role", "metadata": metadata, "rules": []});
        refusal(&env, (rbac, "Role"), role).await
    };
    for (name, part) in [
        ("apps/read", "may not contain '/'"),
        ("50%", "may not contain '%'"),
        (".", "may not be '.'"),
        ("..", "may not be '..'"),
    ] {
        let message = refused_role(name).await.unwrap_or_default();
        assert!(message.contains(part), "{name}: {message:?}");
    }
    for name in ["system:Reader_1", "...", "a b", "ü"] {
        assert_eq!(refused_role(name).await, None, "{name}");
    }
}
