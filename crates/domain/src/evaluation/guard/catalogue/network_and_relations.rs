//! G3xx: Services, routes, and relations between objects.

use super::GuardRail;
use super::Scope::{Fleet, Publish, Static, Verb};
use crate::text::finding::Severity::{Error, Warning};

pub(super) const RAILS: &[GuardRail] = &[
    GuardRail {
        code: "G301",
        title: "Service selects no pod",
        severities: &[(Static, &[Warning])],
        finds: "The selector of a Service matches no pod template of the workload.",
        fix: "Correct the selector, or ignore this if the pods belong to another workload.",
    },
    GuardRail {
        code: "G302",
        title: "Service port",
        severities: &[(Static, &[Error, Warning])],
        finds: "A Service has no ports or invalid ones, or sends a port to a target that its pods do not declare.",
        fix: "Write valid ports with unique names, and a targetPort that the containers declare.",
    },
    GuardRail {
        code: "G303",
        title: "Node port",
        severities: &[(Static, &[Error]), (Fleet, &[Error])],
        finds: "A nodePort is outside of 30000–32767, on a Service of another type, or already used in the workload or by another workload on a selected cluster.",
        fix: "Choose another port in the range, or leave nodePort out so that the cluster assigns one.",
    },
    GuardRail {
        code: "G304",
        title: "Invalid Ingress",
        severities: &[(Static, &[Error, Warning])],
        finds: "An Ingress has an invalid host, path, pathType, backend or secret name, or points to a Service or port that is not in the workload.",
        fix: "Correct the field, or ignore a missing Service that belongs to another workload.",
    },
    GuardRail {
        code: "G305",
        title: "Route conflict",
        severities: &[(Static, &[Warning]), (Fleet, &[Error, Warning])],
        finds: "Two Ingresses of the workload, or one of another workload on a selected cluster, route the same host and path.",
        fix: "Choose another host or path, remove one of the routes, or exclude these clusters.",
    },
    GuardRail {
        code: "G306",
        title: "Missing storage or ingress class",
        severities: &[(Fleet, &[Warning])],
        finds: "An object names a StorageClass or IngressClass that a selected cluster does not have, or names none where the cluster has no default.",
        fix: "Name a class that exists; add an override for clusters with other classes.",
    },
    GuardRail {
        code: "G307",
        title: "HorizontalPodAutoscaler",
        severities: &[(Static, &[Error, Warning])],
        finds: "An autoscaler has invalid bounds, scales no object of the workload, needs requests that are not set, or conflicts with replicas or another autoscaler.",
        fix: "Set maxReplicas to at least minReplicas, scale each target once, and leave replicas out of its manifest.",
    },
    GuardRail {
        code: "G308",
        title: "PodDisruptionBudget",
        severities: &[(Static, &[Error, Warning])],
        finds: "A disruption budget sets both bounds, allows no eviction, or selects no pod or every pod of the namespace.",
        fix: "Allow at least one eviction, such as \"maxUnavailable: 1\", and select the pods of one workload.",
    },
    GuardRail {
        code: "G309",
        title: "RBAC",
        severities: &[(Static, &[Error, Warning])],
        finds: "A binding refers to a missing or invalid role or account, or a role or binding grants more than listed resources and verbs.",
        fix: "Correct the reference, and list only the resources and verbs that are needed.",
    },
    GuardRail {
        code: "G310",
        title: "NetworkPolicy blocks traffic",
        severities: &[(Static, &[Warning])],
        finds: "A NetworkPolicy denies the pods of the workload DNS, or denies the traffic of one of its Services.",
        fix: "Add an egress rule for port 53, or an ingress rule for the port that the pods listen on.",
    },
    GuardRail {
        code: "G311",
        title: "Webhook blocks its own pods",
        severities: &[(Static, &[Warning])],
        finds: "A webhook with failurePolicy Fail is called before the pods that serve it can be created.",
        fix: "Exclude its namespace with namespaceSelector, or write \"failurePolicy: Ignore\".",
    },
    GuardRail {
        code: "G312",
        title: "Dependencies between workloads",
        severities: &[(Static, &[Error]), (Fleet, &[Error, Warning]), (Verb, &[Error])],
        finds: "A workload depends on itself, also by way of others, on too many or on one twice; a warning if one that it depends on does not exist, is not published or is not placed on a selected cluster, which waits for it.",
        fix: "Remove one of the dependencies, or publish and place the workload that it depends on.",
    },
    GuardRail {
        code: "G313",
        title: "Other workloads depend on it",
        severities: &[(Publish, &[Error]), (Verb, &[Error])],
        finds: "A publish, an unpublish or a deletion removes the workload from clusters on which published workloads depend on it; it is held until it is confirmed.",
        fix: "Remove the dependency or those workloads first, force the code of the publish, or remove it with ignoreDependents.",
    },
];
