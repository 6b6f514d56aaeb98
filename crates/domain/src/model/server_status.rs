//! What a server runs on, and whether its loops and its database work.

use serde::{Deserialize, Serialize};

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
        self.outage.clone().into_iter().chain(stopped).chain(late).collect()
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
        assert_eq!(
            status.problems(),
            [
                "The disk of the database is full.",
                "The task placer does not run; it is restarted.",
                "The queue of the loop placer has had work for 2 min."
            ]
        );
    }
}
