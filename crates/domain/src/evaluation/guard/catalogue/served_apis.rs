//! G4xx: the APIs, the capacity and the responses of clusters.

use super::GuardRail;
use super::Scope::{Agent, Fleet, Static};
use crate::text::finding::Severity::{Error, Note, Warning};

pub(super) const RAILS: &[GuardRail] = &[
    GuardRail {
        code: "G401",
        title: "Kind not served",
        severities: &[(Fleet, &[Error, Warning]), (Agent, &[Error])],
        finds: "A selected cluster does not serve the API version and kind of an object, or has not reported its APIs yet; a warning if the workload depends on others, one of which may bring the kind.",
        fix: "Install the API, add its CustomResourceDefinition to the workload, depend on the workload that brings it, or exclude these clusters.",
    },
    GuardRail {
        code: "G402",
        title: "Removed or later API version",
        severities: &[(Static, &[Note]), (Fleet, &[Error, Note])],
        finds: "The Kubernetes version of a selected cluster no longer or not yet has the API version of an object; a note if only newer clusters lack it.",
        fix: "Use the API version that the finding names, or exclude these clusters.",
    },
    GuardRail {
        code: "G403",
        title: "Schema violation",
        severities: &[(Static, &[Error, Warning]), (Fleet, &[Error, Warning]), (Agent, &[Error])],
        finds: "An object has an unknown, missing or mistyped field by the schema of its kind, as written or with its overrides, or the API server rejects it as invalid; or the schema of a selected cluster was not read.",
        fix: "Correct the field; the finding names the nearest one.",
    },
    GuardRail {
        code: "G404",
        title: "Rejected by admission",
        severities: &[(Agent, &[Error])],
        finds: "The dry run of an object is rejected by an admission webhook or policy of the cluster, or its response is unreadable.",
        fix: "Change the object as the message requires, or change the admission policy on the cluster.",
    },
    GuardRail {
        code: "G405",
        title: "No dry run",
        severities: &[(Agent, &[Warning])],
        finds: "An object could not be dry-run, because an admission webhook of the cluster does not support it.",
        fix: "Check the object after publishing; the static checks passed.",
    },
    GuardRail {
        code: "G406",
        title: "Immutable field",
        severities: &[(Agent, &[Error])],
        finds: "An existing object would change in a field that cannot be changed after creation, or in a way that a rule of its definition refuses.",
        fix: "Rename the object, or delete it so that it is re-created.",
    },
    GuardRail {
        code: "G407",
        title: "Quota",
        severities: &[(Fleet, &[Error, Warning]), (Agent, &[Error])],
        finds: "The pods need more than a quota of their namespace allows or has left, or do not set a resource that the quota limits.",
        fix: "Request less, run fewer replicas there, or raise the quota.",
    },
    GuardRail {
        code: "G408",
        title: "No node for a pod",
        severities: &[(Fleet, &[Warning])],
        finds: "No node of a selected cluster matches the nodeSelector of a pod, or has room for its requests.",
        fix: "Request less, add larger nodes, change the nodeSelector, or exclude these clusters.",
    },
    GuardRail {
        code: "G409",
        title: "Owned by another",
        severities: &[(Agent, &[Error])],
        finds: "An object on the cluster belongs to another workload, has fields of another field manager, or differs from the object to adopt.",
        fix: "Remove it from the other owner, rename it, or set the conflict policy to force.",
    },
    GuardRail {
        code: "G410",
        title: "Agent lacks a permission",
        severities: &[(Fleet, &[Warning]), (Agent, &[Error])],
        finds: "The agent of a selected cluster has no permission to write the kind of an object.",
        fix: "Grant it to the agent, set the policy executor to a service account that has it, or exclude these clusters.",
    },
    GuardRail {
        code: "G411",
        title: "Offline cluster",
        severities: &[(Fleet, &[Warning])],
        finds: "A selected cluster is offline; it is updated when it reconnects, and the others do not wait.",
        fix: "No action is needed; exclude the cluster if it no longer exists.",
    },
    GuardRail {
        code: "G412",
        title: "Definition of a chart is not upgraded",
        severities: &[(Fleet, &[Note]), (Agent, &[Warning])],
        finds: "A custom resource definition from the crds/ folder of a chart differs from the one on the cluster. As with Helm, it is not changed. Or the policy skipCrds leaves it out (note).",
        fix: "Set the policy upgradeCrds to true to change it.",
    },
    GuardRail {
        code: "G413",
        title: "Object stays on the cluster",
        severities: &[(Agent, &[Note])],
        finds: "An object is not deleted with its workload, because it is annotated helm.sh/resource-policy: keep or is a custom resource definition of a chart.",
        fix: "Delete it with kubectl if it is not needed any more.",
    },
];
