//! Names of objects (G101) that the API server refuses, or with which a controller can't create pods.

use super::*;

fn named(api_version: &str, kind: &str, name: &str, fields: &str) -> String {
    format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: '{name}'}}\n{fields}\n")
}

/// The message and the hint of the only finding about the name.
fn reported(text: &str) -> (String, String) {
    let finding = only_finding("G101", text);
    assert_eq!((finding.severity, finding.path.as_str()), (Severity::Error, "/metadata/name"));
    assert!(!finding.object.is_empty() && finding.location.is_some(), "{finding:?}");
    (finding.message, finding.hint)
}

/// Names of `max` characters have no finding, and longer ones have one that says so; returns its message after the object.
fn check_boundary(text_of: impl Fn(&str) -> String, max: usize) -> String {
    assert_no_finding("G101", &text_of(&"a".repeat(max)));
    let (message, hint) = reported(&text_of(&"a".repeat(max + 1)));
    assert_eq!(hint, format!("Try {:?}.", "a".repeat(max.min(63))));
    let (object, rest) = message.split_once("\" ").unwrap();
    assert!(object.contains("aaa"), "{message}");
    let start = format!("has a name of {} characters; at most {max} work", max + 1);
    rest.strip_prefix(&start).unwrap_or_else(|| panic!("{message}")).to_owned()
}

#[test]
fn g101_the_name_of_a_cron_job_has_at_most_52_characters() {
    let reason = check_boundary(|name| named("batch/v1", "CronJob", name, ""), 52);
    assert_eq!(reason, ", because Kubernetes adds up to 11 characters to it for the names of its jobs.");
    assert_no_finding("G101", &named("batch/v1", "CronJob", "report.daily", ""));
    assert_no_finding("G101", &named("example.com/v1", "CronJob", &"a".repeat(253), ""));
}

#[test]
fn g101_the_name_of_a_job_is_the_value_of_a_label() {
    let reason = check_boundary(|name| named("batch/v1", "Job", name, ""), 63);
    assert_eq!(reason, ", because its pods carry it as the value of a label.");
    assert_no_finding("G101", &named("batch/v1", "Job", "migrate.v2", ""));
    let manual = |name: &str| named("batch/v1", "Job", name, "spec: {manualSelector: true}");
    assert_eq!(check_boundary(manual, 253), ".");
    let automatic = |name: &str| named("batch/v1", "Job", name, "spec: {manualSelector: false}");
    check_boundary(automatic, 63);
}

#[test]
fn g101_the_name_of_an_indexed_job_leaves_room_for_the_last_index() {
    let job = |completions: &'static str| {
        move |name: &str| {
            let spec = format!("spec: {{completionMode: Indexed, completions: {completions}}}");
            named("batch/v1", "Job", name, &spec)
        }
    };
    let reason = check_boundary(job("10"), 61);
    assert_eq!(reason, ", because the hostnames of its pods add the completion index to it.");
    check_boundary(job("11"), 60);
    check_boundary(job("0"), 63);
    check_boundary(job("many"), 63);
    let (message, hint) = reported(&job("2")("migrate.v2"));
    assert_eq!(
        message,
        "\"Job web/migrate.v2\" has a dot in its name, which the hostnames of its pods can't contain."
    );
    assert_eq!(hint, "Try \"migrate-v2\".");
    check_boundary(|name| job("10")(name).replace("Indexed", "NonIndexed"), 63);

    let cron_job = |completions: &'static str| {
        move |name: &str| {
            let spec = format!(
                "spec: {{jobTemplate: {{spec: {{completionMode: Indexed, completions: {completions}}}}}}}"
            );
            named("batch/v1", "CronJob", name, &spec)
        }
    };
    check_boundary(cron_job("10"), 52);
    check_boundary(cron_job("11"), 51);
    assert!(reported(&cron_job("2")("report.daily")).0.contains("a dot in its name"));
}

#[test]
fn g101_the_name_of_a_stateful_set_leaves_room_for_the_labels_of_its_pods() {
    let set = |name: &str| named("apps/v1", "StatefulSet", name, "");
    let reason = check_boundary(set, 52);
    assert_eq!(
        reason,
        ", because its pods carry a label of the name and up to 11 more characters; with a longer name, no pod is ever created."
    );
    let name = format!("{}-database", "a".repeat(50));
    assert_eq!(reported(&set(&name)).1, format!("Try {:?}.", format!("{}-d", "a".repeat(50))));
    let name = format!("{}-database", "a".repeat(51));
    assert_eq!(
        reported(&set(&name)).1,
        format!("Try {:?}.", "a".repeat(51)),
        "no dash at the end of the suggestion"
    );
}

#[test]
fn g101_the_name_of_a_stateful_set_has_no_dot() {
    let (message, hint) = reported(&named("apps/v1", "StatefulSet", "db.v2", ""));
    assert_eq!(
        message,
        "\"StatefulSet web/db.v2\" has a dot in its name, which the hostnames of its pods can't contain."
    );
    assert_eq!(hint, "Try \"db-v2\".");
    let (message, _) = reported(&named("apps/v1", "StatefulSet", "My_Db", ""));
    assert!(message.contains("digits and \"-\", at most 52 characters"), "{message}");
}

#[test]
fn g101_other_workloads_have_names_of_up_to_253_characters() {
    for kind in ["Deployment", "DaemonSet", "ReplicaSet"] {
        assert_eq!(check_boundary(|name| named("apps/v1", kind, name, ""), 253), ".", "{kind}");
        assert_no_finding("G101", &named("apps/v1", kind, "web.v2", ""));
    }
    assert_eq!(check_boundary(|name| named("v1", "Service", name, ""), 63), ".");
}

#[test]
fn g101_names_of_rbac_objects_can_stand_in_a_path() {
    let rbac = "rbac.authorization.k8s.io/v1";
    for kind in ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"] {
        for name in ["apps/read", "50%", ".", ".."] {
            let (message, hint) = reported(&named(rbac, kind, name, ""));
            assert!(
                message.ends_with(
                    "has an invalid name: it may not be \".\" or \"..\", nor contain \"/\" or \"%\"."
                ),
                "{message}"
            );
            let expected = match name {
                "apps/read" => "Try \"apps-read\".",
                "50%" => "Try \"50\".",
                _ => "Choose a short name.",
            };
            assert_eq!(hint, expected);
        }
        for name in ["system:Reader_1", "...", "a b", "ü"] {
            assert_no_finding("G101", &named(rbac, kind, name, ""));
        }
        assert_no_finding("G101", &named(rbac, kind, &"a".repeat(300), ""));
    }
}

#[test]
fn g101_priority_classes_of_the_system_are_reserved() {
    let class = |name: &str, fields: &str| named("scheduling.k8s.io/v1", "PriorityClass", name, fields);
    let (message, hint) = reported(&class("system-database", "value: 1000"));
    assert_eq!(
        message,
        "\"PriorityClass system-database\" has a name that begins with \"system-\", which is reserved for Kubernetes."
    );
    assert_eq!(hint, "Try \"database\".");
    assert_no_finding("G101", &class("systemic", "value: 1000"));
    assert_no_finding("G101", &class("my-system-class", "value: 1000"));
    // Kubernetes accepts its own classes as they are.
    assert_no_finding("G101", &class("system-node-critical", "value: 2000001000"));
    assert_no_finding("G101", &class("system-cluster-critical", "value: 2000000000\nglobalDefault: false"));
    reported(&class("system-node-critical", "value: 2000000000"));
    reported(&class("system-node-critical", "value: 2000001000\nglobalDefault: true"));
    assert_no_finding("G101", &named("example.com/v1", "PriorityClass", "system-database", ""));
}

#[test]
fn g101_the_length_of_a_template_is_not_known_without_a_cluster() {
    let set = |name: &str| named("apps/v1", "StatefulSet", name, "");
    let long = "a".repeat(48);
    assert_no_finding("G101", &set(&format!("{long}-${{{{ cluster.region }}}}")));
    let elsewhere = format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: {long}aaaaa, labels: {{a: '${{{{ cluster.region }}}}'}}}}\n"
    );
    reported(&elsewhere);
    assert!(reported(&set("My-${{ cluster.region }}")).0.contains("invalid name"));
}
