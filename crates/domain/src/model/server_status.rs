//! What a server runs on, and whether its loops and its database work.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::time::Timestamp;

/// The status of the server that answers the request; with PostgreSQL there may be others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// Its version.
    pub version: String,
    /// How it was built: `release` or `debug`.
    pub build: String,
    /// The engine of its database, with its version.
    pub database: String,
    /// The version of Helm; `None` if charts can't be rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm: Option<String>,
    /// The sandbox of Helm and kustomize; `None` before the server has set it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renderer_sandbox: Option<RendererSandbox>,
    /// The encryption of its database; `None` in the status of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<EncryptionHealth>,
    /// The file to which it appends the audit log; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_file: Option<AuditFileStatus>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When this was read.
    pub read_at: Timestamp,
    /// How long a read of the database took, in milliseconds.
    pub database_millis: u64,
    /// The outage of the database, in a sentence; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<String>,
    /// Its background tasks, by name.
    pub tasks: Vec<TaskHealth>,
    /// The queues of its loops.
    pub queues: Vec<QueueHealth>,
}

impl ServerStatus {
    /// What is wrong, a sentence each; empty if everything works.
    pub fn problems(&self) -> Vec<String> {
        let stopped = self.tasks.iter().filter(|task| task.running < task.expected);
        let stopped = stopped.map(|task| format!("The task {} does not run; it is restarted.", task.name));
        let late = self.queues.iter().filter_map(|queue| {
            let waited = self.read_at.millis_since(queue.oldest_due_at?);
            (waited > LATE_MILLIS).then(|| {
                let waited = crate::kubernetes::time::format_duration(waited);
                format!("The queue of the loop {} has had work for {waited}.", queue.name)
            })
        });
        let blocked = self.renderer_sandbox.as_ref().and_then(|sandbox| sandbox.problem.clone());
        let unwritten = self.audit_file.as_ref().and_then(|file| file.problem.clone());
        self.outage.clone().into_iter().chain(blocked).chain(unwritten).chain(stopped).chain(late).collect()
    }
}

/// How far the encryption of the database is, and its data keys. It names no key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct EncryptionHealth {
    /// `waiting` while values are in clear text, `running` while existing ones are being encrypted, `complete`.
    pub mode: String,
    /// Columns whose values are still being encrypted with the active key.
    pub pending_columns: u32,
    /// How many data keys there are.
    pub data_keys: u32,
    /// Since when the active key encrypts: when keys were rotated last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_since: Option<Timestamp>,
}

impl EncryptionHealth {
    /// How far it is, such as `complete, 2 data keys`.
    pub fn describe(&self) -> String {
        let keys = match self.data_keys {
            1 => "1 data key".to_owned(),
            count => format!("{count} data keys"),
        };
        match self.pending_columns {
            0 => format!("{}, {keys}", self.mode),
            pending => format!("{}, {pending} columns left, {keys}", self.mode),
        }
    }
}

/// How far the file is to which a server appends the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditFileStatus {
    /// The position of the last entry in the file; 0 for none.
    pub position: i64,
    /// How many entries of the log were not in it when it was written last.
    pub behind: i64,
    /// Why nothing is appended, and what to do; `None` while it is appended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl AuditFileStatus {
    /// How far it is, such as `up to entry 12, 3 behind`.
    pub fn describe(&self) -> String {
        match (self.problem.is_some(), self.behind) {
            (true, _) => format!("stopped at entry {}", self.position),
            (false, 0) => format!("up to entry {}", self.position),
            (false, behind) => format!("up to entry {}, {behind} behind", self.position),
        }
    }
}

/// What a server does if its kernel can't close the sandbox of a renderer.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum SandboxMode {
    /// Nothing is rendered.
    #[default]
    Strict,
    /// It renders with the protections that there are.
    BestEffort,
}

impl SandboxMode {
    /// Every mode.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON and in metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The sandbox of the programs that render charts and kustomizations, as measured at the start of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RendererSandbox {
    /// What happens if a protection is missing.
    pub mode: SandboxMode,
    /// Whether files outside of the sandbox can be neither read nor written.
    pub files_closed: bool,
    /// Whether no connection can be opened and no packet sent.
    pub network_closed: bool,
    /// Why nothing is rendered, and what to do; `None` if charts and kustomizations are rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl RendererSandbox {
    /// Whether every protection is in force.
    pub fn is_closed(&self) -> bool {
        self.files_closed && self.network_closed
    }

    /// The mode and the protections, such as `strict; files closed, network closed`.
    pub fn describe(&self) -> String {
        let mode = match self.mode {
            SandboxMode::Strict => "strict",
            SandboxMode::BestEffort => "best effort",
        };
        let state = |is_closed: bool| if is_closed { "closed" } else { "open" };
        format!("{mode}; files {}, network {}", state(self.files_closed), state(self.network_closed))
    }
}

/// Work that is due for longer is reported: the loops poll their queues every few seconds.
const LATE_MILLIS: i64 = 60_000;

/// Background tasks of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskHealth {
    /// Their name.
    pub name: String,
    /// How many run.
    pub running: u32,
    /// How many should run.
    pub expected: u32,
    /// How often one of them was restarted since the start of the server.
    pub restarts: u64,
    /// How many passes of a loop failed since then; each is repeated.
    pub failed_passes: u64,
}

/// The queue of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct QueueHealth {
    /// The name of the loop.
    pub name: String,
    /// How many workloads are due.
    pub due: u32,
    /// Since when the oldest of them is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_due_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_task_and_work_that_waits_are_problems() {
        let at = Timestamp::from_millis(1_000_000);
        let task = |running| TaskHealth {
            name: "placer".to_owned(),
            running,
            expected: 1,
            restarts: 3,
            failed_passes: 0,
        };
        let queue = |since: i64| QueueHealth {
            name: "placer".to_owned(),
            due: 1,
            oldest_due_at: Some(at.plus_millis(-since)),
        };
        let mut status = ServerStatus {
            version: "1.0.0".to_owned(),
            build: "release".to_owned(),
            database: "SQLite".to_owned(),
            helm: None,
            renderer_sandbox: None,
            encryption: None,
            audit_file: None,
            started_at: Timestamp::from_millis(0),
            read_at: at,
            database_millis: 1,
            outage: None,
            tasks: vec![task(1)],
            queues: vec![queue(5_000)],
        };
        assert_eq!(status.problems(), Vec::<String>::new());
        (status.tasks, status.queues) = (vec![task(0)], vec![queue(120_000)]);
        status.outage = Some("The disk of the database is full.".to_owned());
        status.renderer_sandbox = Some(RendererSandbox {
            mode: SandboxMode::Strict,
            files_closed: false,
            network_closed: true,
            problem: Some("Nothing is rendered.".to_owned()),
        });
        status.audit_file = Some(AuditFileStatus {
            position: 12,
            behind: 0,
            problem: Some("The audit log is not appended to its file: disk full.".to_owned()),
        });
        assert_eq!(
            status.problems(),
            [
                "The disk of the database is full.",
                "Nothing is rendered.",
                "The audit log is not appended to its file: disk full.",
                "The task placer does not run; it is restarted.",
                "The queue of the loop placer has had work for 2 min."
            ]
        );
    }

    #[test]
    fn the_encryption_is_described_with_what_is_left() {
        let mut health = EncryptionHealth {
            mode: "running".to_owned(),
            pending_columns: 3,
            data_keys: 2,
            active_since: None,
        };
        assert_eq!(health.describe(), "running, 3 columns left, 2 data keys");
        (health.mode, health.pending_columns, health.data_keys) = ("complete".to_owned(), 0, 1);
        assert_eq!(health.describe(), "complete, 1 data key");
    }
}
