//! Why a chart was not rendered, from the messages of Helm.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use crate::messages::redact;
use crate::sandbox::{GO_CRASHED, SETUP_FAILED, SandboxNotClosed};

/// Most characters of the path of a value.
const MAX_PATH_CHARS: usize = 2_000;

/// What kind of failure it is, which decides what a user can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The archive is not a chart.
    Archive,
    /// The values violate the schema of the chart.
    Schema,
    /// The chart does not support the version of the cluster.
    KubernetesVersion,
    /// A chart that it depends on is not in the archive.
    Dependency,
    /// A template failed.
    Template,
    /// A limit on time, memory or output was exceeded.
    Limit,
    /// The server could not run Helm; the same inputs may succeed later.
    Server,
    /// The server renders nothing, because its kernel does not close the sandbox.
    Sandbox,
}

/// A value that violates a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuesViolation {
    /// Name of the chart with the schema: the chart itself, or a subchart.
    pub chart: String,
    /// Whether it is a subchart.
    pub is_of_subchart: bool,
    /// JSON pointer in the values; empty for all of them.
    pub path: String,
    /// What is wrong, such as `got string, want integer`.
    pub message: String,
}

/// Why a chart was not rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RenderFailed {
    /// Its kind.
    pub kind: FailureKind,
    /// What failed and where, as sentences without paths of the server. Complete, so that whoever shows it finds the secrets in it.
    pub message: String,
    /// The values that violate a schema, in the order of Helm; empty for any other kind.
    pub violations: Vec<ValuesViolation>,
    /// What to do, where that does not follow from the kind.
    pub hint: Option<String>,
}

impl From<SandboxNotClosed> for RenderFailed {
    fn from(found: SandboxNotClosed) -> Self {
        Self { hint: Some(found.hint), ..Self::new(FailureKind::Sandbox, found.message) }
    }
}

impl RenderFailed {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), violations: Vec::new(), hint: None }
    }

    pub(super) fn over_limits() -> Self {
        Self::new(
            FailureKind::Limit,
            "Rendering the chart exceeded the limits on CPU time (20 s), memory (512 MiB, or 1/8 of that of the server) or output.",
        )
    }

    fn crashed() -> Self {
        Self::new(
            FailureKind::Limit,
            "Helm crashed while it rendered the chart, as it does at its limit of memory (512 MiB, or 1/8 of that of the server). Simplify the values, the templates or the schema.",
        )
    }

    pub(super) fn from_io(error: std::io::Error) -> Self {
        // The error itself may contain a path of the server.
        tracing::error!(%error, "helm could not be run");
        Self::new(FailureKind::Server, format!("The server could not run helm: {}.", error.kind()))
    }

    /// From the end of a run in this folder.
    pub(super) fn from_helm(status: ExitStatus, messages: &str, folder: &Path, chart: &str) -> Self {
        if status.code() == Some(i32::from(SETUP_FAILED)) {
            // With paths of the server.
            tracing::error!(messages = messages.trim(), "helm could not be started");
            return Self::new(FailureKind::Server, "The server could not start helm in its sandbox.");
        }
        let messages = &redact(messages, folder);
        let is_killed = status.signal().is_some();
        let text = clean(messages, chart);
        let has = |part: &str| messages.contains(part);
        if is_killed || has("out of memory") || has("cannot allocate memory") || has("file too large") {
            return Self::over_limits();
        }
        if status.code() == Some(GO_CRASHED) {
            tracing::warn!(message = messages.lines().next().unwrap_or_default(), "helm crashed");
            return Self::crashed();
        }
        let kind = if has("don't meet the specifications of the schema") {
            FailureKind::Schema
        } else if has("requires kubeVersion") {
            FailureKind::KubernetesVersion
        } else if has("missing in charts/ directory") {
            FailureKind::Dependency
        } else {
            FailureKind::Template
        };
        let violations =
            if kind == FailureKind::Schema { read_violations(messages, chart) } else { Vec::new() };
        Self { violations, ..Self::new(kind, text) }
    }
}

/// Most violations that are read.
const MAX_VIOLATIONS: usize = 50;

/// The violations in Helm's message: for each chart a line with its name, then lines `- at '/pointer': reason`, with the
/// reasons of a reason indented below it. `own` is the name of the chart; the values of any other one are below its name.
fn read_violations(messages: &str, own: &str) -> Vec<ValuesViolation> {
    let mut found: Vec<ValuesViolation> = Vec::new();
    let mut chart = String::new();
    // The indentation of a reason whose details are left out: the alternatives of which one has to match.
    let mut skipped_below = usize::MAX;
    for line in messages.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let Some((path, message)) = text.strip_prefix("- at '").and_then(|rest| rest.split_once("': "))
        else {
            if let (0, Some(name)) = (indent, line.strip_suffix(':')) {
                name.clone_into(&mut chart);
                skipped_below = usize::MAX;
            }
            continue;
        };
        if indent > skipped_below {
            continue;
        }
        let is_choice = message.starts_with("oneOf failed") || message.starts_with("anyOf failed");
        skipped_below = if is_choice { indent } else { usize::MAX };
        // A summary of the lines below it.
        if message == "validation failed" || message.starts_with("allOf failed") {
            continue;
        }
        let message = if is_choice { "matches none of the alternatives" } else { message };
        if found.len() < MAX_VIOLATIONS {
            let is_of_subchart = chart != own;
            let path = if is_of_subchart { format!("/{chart}{path}") } else { path.to_owned() };
            found.push(ValuesViolation {
                chart: chart.clone(),
                is_of_subchart,
                path: without_controls(&path).take(MAX_PATH_CHARS).collect(),
                message: without_controls(message).collect(),
            });
        }
    }
    found
}

/// The message of Helm without its prefix, its advice on options, and control characters.
fn clean(messages: &str, chart: &str) -> String {
    let start = messages.find("Error: ").map_or(0, |at| at + "Error: ".len());
    let text = messages[start..].split("\n\nUse --debug").next().unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text: String = without_controls(&lines.join(" ")).collect();
    if text.is_empty() { format!("Helm could not render {chart}.") } else { text }
}

fn without_controls(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|character| !character.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_helm_is_complete_so_that_a_secret_in_it_is_not_cut() {
        let end = format!("{}hunter2", "x".repeat(5_000));
        let status = ExitStatus::from_raw(1 << 8);
        let failed = RenderFailed::from_helm(status, &format!("Error: {end}"), Path::new("/run/1"), "web");
        assert_eq!(failed.message, end);
        let found = read_violations(&format!("web:\n- at '/key': '{end}' is not valid"), "web");
        assert_eq!(found[0].message, format!("'{end}' is not valid"));
    }

    #[test]
    fn g111_a_crash_of_helm_is_a_limit_and_its_stack_is_not_shown() {
        let end = |code: i32, messages: &str| {
            RenderFailed::from_helm(ExitStatus::from_raw(code << 8), messages, Path::new("/run/1"), "web")
        };
        let stack = "SIGSEGV: segmentation violation\nPC=0x43749d m=6 sigcode=1\n\ngoroutine 0 [idle]:\n";
        let crash = end(GO_CRASHED, stack);
        assert_eq!(crash.kind, FailureKind::Limit);
        assert!(crash.message.starts_with("Helm crashed") && !crash.message.contains("SIGSEGV"), "{crash:?}");
        let failed = end(1, "Error: execution error at (web/templates/a.yaml:1:4): goroutine");
        assert_eq!(failed.kind, FailureKind::Template);
    }

    #[test]
    fn g113_every_violation_of_a_schema_has_its_chart_and_path() {
        let messages = "\
Error: values don't meet the specifications of the schema(s) in the following chart(s):
web:
- at '/image': validation failed
  - at '/image/tag': got number, want string
  - at '/image': additional properties 'x' not allowed
- at '/port': oneOf failed, none matched
  - at '/port': got boolean, want string
  - at '/port': got boolean, want integer
- at '': missing property 'name'
db:
- at '/size': got string, want integer
";
        let found = read_violations(messages, "web");
        let of_subcharts: Vec<bool> = found.iter().map(|one| one.is_of_subchart).collect();
        assert_eq!(of_subcharts, [false, false, false, false, true]);
        let found: Vec<(&str, &str, &str)> =
            found.iter().map(|one| (&*one.chart, &*one.path, &*one.message)).collect();
        assert_eq!(
            found,
            [
                ("web", "/image/tag", "got number, want string"),
                ("web", "/image", "additional properties 'x' not allowed"),
                ("web", "/port", "matches none of the alternatives"),
                ("web", "", "missing property 'name'"),
                ("db", "/db/size", "got string, want integer"),
            ]
        );
    }
}
