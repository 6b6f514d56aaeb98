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
        code: "G103",
        title: "Invalid release name",
        severities: &[(Static, &[Error]), (Verb, &[Error])],
        finds: "The name of a Helm release has more than 53 characters or characters that Helm does not allow.",
        fix: "Set a shorter release name of lower-case letters, digits, \"-\" and \".\".",
    },
    GuardRail {
        code: "G105",
        title: "Release name in use",
        severities: &[(Verb, &[Error])],
        finds: "A deployment to be created has the release name of a workload of the project.",
        fix: "Choose another release name.",
    },
    GuardRail {
        code: "G107",
        title: "Invalid or reserved namespace",
        severities: &[(Static, &[Error]), (Publish, &[Error]), (Verb, &[Error, Warning])],
        finds: "A namespace is not a valid name, or begins with \"kube-\", which is reserved for Kubernetes; a warning if a deployment names none.",
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
        severities: &[(Static, &[Error]), (Fleet, &[Error]), (Verb, &[Error])],
        finds: "The text is not valid YAML, has a duplicate key, is another kind of file, contains no object, or contains an object without apiVersion, kind or metadata.name.",
        fix: "Correct the text at the reported line; use a source of type chart for a Helm chart, and render kustomizations first.",
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
        code: "G112",
        title: "No such chart",
        severities: &[(Static, &[Error]), (Fleet, &[Error]), (Verb, &[Error])],
        finds: "A chart reference has no repository or no exact version, the project does not have the chart, or an uploaded archive is not an acceptable chart.",
        fix: "Write repository/name and a full version, and upload the chart as `helm package` packs it.",
    },
    GuardRail {
        code: "G113",
        title: "Values violate the chart's schema",
        severities: &[(Fleet, &[Error, Warning])],
        finds: "The values of a cluster violate values.schema.json of the chart or of a subchart; a warning if the schema refers to addresses, which are not fetched.",
        fix: "Change the common values, or those of the override that sets the value.",
    },
    GuardRail {
        code: "G115",
        title: "Template expression",
        severities: &[(Static, &[Error, Warning]), (Fleet, &[Error, Warning]), (Publish, &[Error, Warning])],
        finds: "A template expression is invalid, names no variable of Flotilla, or uses a value that a selected cluster does not have; or a chart fails to render, or renders differently each time.",
        fix: "Correct the expression or the values, add the label or fact to the cluster, or write | default(\"…\").",
    },
    GuardRail {
        code: "G116",
        title: "Chart does not support the version of Kubernetes",
        severities: &[(Fleet, &[Error])],
        finds: "The range kubeVersion of a chart excludes the version of a selected cluster.",
        fix: "Use another version of the chart, or exclude the cluster.",
    },
    GuardRail {
        code: "G117",
        title: "Chart not rendered yet",
        severities: &[(Fleet, &[Error])],
        finds: "A chart could not be rendered now: helm is not available on the server, or the rendering still runs.",
        fix: "Install helm on the server, or try again in a moment.",
    },
    GuardRail {
        code: "G118",
        title: "Hook of a chart",
        severities: &[(Fleet, &[Error, Note]), (Publish, &[Error])],
        finds: "A chart contains a hook for an event that does not exist, or one for the removal that cannot be stored on the cluster; a note if it is only for a rollback or a test. Or an object has the kind that is reserved for hooks.",
        fix: "Turn the hook off by a value of the chart.",
    },
    GuardRail {
        code: "G119",
        title: "Locked value",
        severities: &[(Fleet, &[Error])],
        finds: "The common values or an override set a value that a cluster group locks for its clusters.",
        fix: "Remove it there, or let the owner of the group change the lock.",
    },
    GuardRail {
        code: "G120",
        title: "Option of a ManifestWork without effect",
        severities: &[(Static, &[Warning])],
        finds: "A ManifestWork of Open Cluster Management has an option that differs from the policy of the workload, or for which there is no policy.",
        fix: "Change the policy, or remove the option.",
    },
];
