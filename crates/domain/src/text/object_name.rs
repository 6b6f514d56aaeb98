//! Rules for the names of objects (G101): what the API server accepts, and what leaves room for that which controllers
//! add to the name for pods and jobs.

use serde_json::Value;

use crate::kubernetes::name::{self, MAX_LABEL_LENGTH, MAX_SUBDOMAIN_LENGTH};
use crate::kubernetes::object::ObjectRef;

/// The label `controller-revision-hash` of a StatefulSet's pods is the name, `-`, and a hash of up to 10 characters.
const REVISION_SUFFIX_LENGTH: usize = 11;
/// What the API server reserves in the name of a CronJob for the names of its jobs.
const JOB_SUFFIX_LENGTH: usize = 11;
/// What the controller of CronJobs adds for the name of a job: `-` and the minutes since 1970.
const MINUTES_SUFFIX_LENGTH: usize = 9;
/// Beginning of the names of priority classes that are reserved.
const SYSTEM_PREFIX: &str = "system-";
/// The priority classes of Kubernetes itself; they are accepted with these values only.
const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// Why the name of an object does not work.
#[derive(Debug)]
pub(crate) struct NameProblem {
    /// What is wrong; in a sentence it follows the reference of the object.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Whether the name is valid but for its length.
    pub is_length: bool,
}

/// What a name may be.
struct NameRule {
    max_length: usize,
    allows_dots: bool,
    /// What limits the name beyond its characters; empty if nothing does.
    reason: &'static str,
}

impl NameRule {
    const SUBDOMAIN: Self = Self { max_length: MAX_SUBDOMAIN_LENGTH, allows_dots: true, reason: "" };
    const LABEL: Self = Self { max_length: MAX_LABEL_LENGTH, allows_dots: false, reason: "" };

    /// The rule for an object. A ReplicaSet or Deployment and a DaemonSet need none of their own: pods have random names,
    /// cut to fit, and labels with a hash alone.
    fn of(reference: &ObjectRef, object: &Value) -> Self {
        match (&*reference.group, &*reference.kind) {
            ("", "Service" | "Namespace") => Self::LABEL,
            ("apps", "StatefulSet") => Self {
                max_length: MAX_LABEL_LENGTH - REVISION_SUFFIX_LENGTH,
                allows_dots: false,
                reason: "because its pods carry a label of the name and up to 11 more characters; with a longer name, no \
                         pod is ever created",
            },
            ("batch", "Job") => Self::of_job(object.get("spec")),
            ("batch", "CronJob") => Self::of_cron_job(object.pointer("/spec/jobTemplate/spec")),
            _ => Self::SUBDOMAIN,
        }
    }

    fn of_job(spec: Option<&Value>) -> Self {
        if let Some(suffix) = index_suffix_length(spec) {
            return Self {
                max_length: MAX_LABEL_LENGTH - suffix,
                allows_dots: false,
                reason: "because the hostnames of its pods add the completion index to it",
            };
        }
        // The labels are set together with the selector.
        if spec.and_then(|spec| spec.get("manualSelector")).and_then(Value::as_bool) == Some(true) {
            return Self::SUBDOMAIN;
        }
        let reason = "because its pods carry it as the value of a label";
        Self { max_length: MAX_LABEL_LENGTH, allows_dots: true, reason }
    }

    fn of_cron_job(job: Option<&Value>) -> Self {
        let max_length = MAX_LABEL_LENGTH - JOB_SUFFIX_LENGTH;
        let Some(suffix) = index_suffix_length(job) else {
            let reason = "because Kubernetes adds up to 11 characters to it for the names of its jobs";
            return Self { max_length, allows_dots: true, reason };
        };
        Self {
            max_length: max_length.min(MAX_LABEL_LENGTH - MINUTES_SUFFIX_LENGTH - suffix),
            allows_dots: false,
            reason: "because the hostnames of its pods add the time and the completion index to it",
        }
    }
}

/// How many characters the hostnames of the pods of an indexed job have after the job's name: `-` and the last index.
fn index_suffix_length(job: Option<&Value>) -> Option<usize> {
    let completions = job?.get("completions")?.as_i64().filter(|completions| *completions > 0)?;
    let indexed = job?.get("completionMode")?.as_str()? == "Indexed";
    indexed.then(|| 1 + (completions - 1).to_string().len())
}

/// What is wrong with the name of an object.
pub(crate) fn find_problem(reference: &ObjectRef, object: &Value) -> Option<NameProblem> {
    let text = reference.name.as_str();
    if reference.group == "rbac.authorization.k8s.io" {
        return find_rbac_problem(text);
    }
    let (rule, is_reserved) = (NameRule::of(reference, object), is_reserved_class(reference, object));
    let (message, is_length) = if let Some(message) = find_shape_problem(text, &rule) {
        (message, false)
    } else if text.len() > rule.max_length {
        (describe_length(text, &rule), true)
    } else if is_reserved {
        let message =
            format!("has a name that begins with {SYSTEM_PREFIX:?}, which is reserved for Kubernetes");
        (message, false)
    } else {
        return None;
    };
    let base = if is_reserved { text.trim_start_matches(SYSTEM_PREFIX) } else { text };
    Some(NameProblem { message, hint: suggest(base, rule.max_length), is_length })
}

fn describe_length(text: &str, rule: &NameRule) -> String {
    let (length, max) = (text.len(), rule.max_length);
    let separator = if rule.reason.is_empty() { "" } else { ", " };
    format!("has a name of {length} characters; at most {max} work{separator}{}", rule.reason)
}

fn find_shape_problem(text: &str, rule: &NameRule) -> Option<String> {
    let has_shape = name::is_subdomain_shape(text);
    if has_shape && (rule.allows_dots || !text.contains('.')) {
        return None;
    }
    if has_shape && !rule.reason.is_empty() {
        return Some("has a dot in its name, which the hostnames of its pods can't contain".to_owned());
    }
    let characters = if rule.allows_dots { "digits, \"-\" and \".\"" } else { "digits and \"-\"" };
    Some(format!(
        "has an invalid name: use lower-case letters, {characters}, at most {} characters, with a letter or digit at both \
         ends",
        rule.max_length
    ))
}

/// Names of RBAC objects may contain any character that can stand in a path.
fn find_rbac_problem(text: &str) -> Option<NameProblem> {
    let is_invalid = matches!(text, "." | "..") || text.contains(['/', '%']);
    is_invalid.then(|| NameProblem {
        message: "has an invalid name: it may not be \".\" or \"..\", nor contain \"/\" or \"%\"".to_owned(),
        hint: suggest(text, MAX_LABEL_LENGTH),
        is_length: false,
    })
}

fn is_reserved_class(reference: &ObjectRef, object: &Value) -> bool {
    if (&*reference.group, &*reference.kind) != ("scheduling.k8s.io", "PriorityClass") {
        return false;
    }
    let value = object.get("value").and_then(Value::as_i64);
    let is_default = object.get("globalDefault").and_then(Value::as_bool) == Some(true);
    let is_system = SYSTEM_CLASSES.iter().any(|(name, of)| reference.name == *name && value == Some(*of));
    reference.name.starts_with(SYSTEM_PREFIX) && (is_default || !is_system)
}

fn suggest(text: &str, max_length: usize) -> String {
    name::suggest_short_label(text, max_length)
        .map_or("Choose a short name.".to_owned(), |better| format!("Try {better:?}."))
}
