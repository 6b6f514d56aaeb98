//! Why a chart was not rendered, from the messages of Helm.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use crate::sandbox::SETUP_FAILED;

/// Most characters of a message.
const MAX_MESSAGE_CHARS: usize = 2_000;

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
}

/// Why a chart was not rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RenderFailed {
    /// Its kind.
    pub kind: FailureKind,
    /// What failed and where, as sentences without paths of the server.
    pub message: String,
}

impl RenderFailed {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(super) fn from_io(error: std::io::Error) -> Self {
        Self::new(FailureKind::Server, format!("The server could not run helm: {error}."))
    }

    /// From the end of a run.
    pub(super) fn from_helm(status: ExitStatus, messages: &str, chart: &str) -> Self {
        if status.code() == Some(i32::from(SETUP_FAILED)) {
            return Self::new(
                FailureKind::Server,
                format!("The server could not run helm: {}", messages.trim()),
            );
        }
        let is_killed = status.signal().is_some();
        let text = clean(messages, chart);
        let has = |part: &str| messages.contains(part);
        if is_killed
            || has("out of memory")
            || has("cannot allocate memory")
            || has("printed too much")
            || has("file too large")
        {
            return Self::new(
                FailureKind::Limit,
                "Rendering the chart exceeded the limits on CPU time (20 s), memory (2 GiB of address space) or output.",
            );
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
        Self::new(kind, text)
    }
}

/// The message of Helm without its prefix, its advice on options, and control characters.
fn clean(messages: &str, chart: &str) -> String {
    let start = messages.find("Error: ").map_or(0, |at| at + "Error: ".len());
    let text = messages[start..].split("\n\nUse --debug").next().unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text: String = lines.join(" ").chars().filter(|c| !c.is_control()).take(MAX_MESSAGE_CHARS).collect();
    if text.is_empty() { format!("Helm could not render {chart}.") } else { text }
}
