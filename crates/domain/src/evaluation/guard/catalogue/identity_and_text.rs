//! G1xx: names, namespaces, the text of manifests, and templates.

use super::GuardRail;
use super::Scope::{Agent, Fleet, Publish, Static, Verb};
use crate::text::finding::Severity::{Error, Note, Warning};

pub(super) const RAILS: &[GuardRail] = &[
    GuardRail {
        code: "G100",
        title: "Unreadable form",
        severities: &[(Verb, &[Error])],
        finds: "A form of the console was sent with fields that the server cannot read.",
        fix: "Reload the page and send the form again.",
    },
    GuardRail {
        code: "G101",
        title: "Invalid name",
        severities: &[(Static, &[Error]), (Publish, &[Error]), (Verb, &[Error])],
        finds: "The name of a workload, object, override, cluster, group, user or token is not a valid Kubernetes name, or two overrides have the same name.",
        fix: "Use at most 63 lower-case letters, digits and \"-\", with a letter or digit at both ends.",
    },
    GuardRail {
        code: "G102",
        title: "Name in use",
        severities: &[(Verb, &[Error])],
        finds: "A workload to be created has the name of another workload of the project.",
        fix: "Choose another name, or edit the existing workload.",
    },
    GuardRail {
        code: "G107",
        title: "Invalid or reserved namespace",
        severities: &[(Static, &[Error]), (Publish, &[Error]), (Verb, &[Error])],
        finds: "A namespace is not a valid name, or begins with \"kube-\", which is reserved for Kubernetes.",
        fix: "Use a namespace of your own with lower-case letters, digits and \"-\".",
    },
    GuardRail {
        code: "G108",
        title: "Missing namespace",
        severities: &[(Fleet, &[Error, Note]), (Agent, &[Error])],
        finds: "A namespace does not exist on a selected cluster; an error only if the workload does not create it.",
        fix: "Turn on the policy createNamespace, or create the namespace first.",
    },
    GuardRail {
        code: "G109",
        title: "Not a Kubernetes object",
        severities: &[(Static, &[Error]), (Verb, &[Error])],
        finds: "The text is not valid YAML, has a duplicate key, is another kind of file, contains no object, or contains an object without apiVersion, kind or metadata.name.",
        fix: "Correct the text at the reported line; render Helm charts and kustomizations first.",
    },
    GuardRail {
        code: "G110",
        title: "Duplicate object",
        severities: &[(Static, &[Error]), (Publish, &[Error])],
        finds: "Two documents define the same object, as written or with the namespace and the template values of a cluster.",
        fix: "Keep one of them, or use names that differ on every cluster.",
    },
    GuardRail {
        code: "G111",
        title: "Too large",
        severities: &[(Static, &[Error]), (Fleet, &[Error]), (Publish, &[Error]), (Verb, &[Error])],
        finds: "An object (as written, or rendered for a cluster), a document, the source, an override, or the work of all overrides on all clusters exceeds a limit.",
        fix: "Split the workload, move large content into an image or a volume, or use fewer and smaller patches.",
    },
    GuardRail {
        code: "G115",
        title: "Template expression",
        severities: &[(Static, &[Error, Warning]), (Fleet, &[Error, Warning]), (Publish, &[Error, Warning])],
        finds: "A template expression is invalid, names no variable of Flotilla, or uses a value that a selected cluster does not have.",
        fix: "Correct the expression, add the label or fact to the cluster, or write | default(\"…\").",
    },
];
