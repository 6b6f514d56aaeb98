//! The status of this server: what it runs on, its background tasks, its database.

use domain::server_status::{EncryptionHealth, QueueHealth, ServerStatus, TaskHealth};
use store::EncryptionStatus;
use store::queue::{PLACER, ROLLOUTS, WorkloadQueue};
use tokio::time::Instant;

use crate::{Error, Hub};

impl Hub {
    /// The status of this server.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn get_server_status(&self) -> Result<ServerStatus, Error> {
        let started = Instant::now();
        self.check_database().await?;
        let database_millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let outage = *self.subscribe_outage().borrow();
        let tasks = self.task_statuses().into_iter().map(|(name, status)| TaskHealth {
            name: name.to_owned(),
            running: status.running,
            expected: status.expected,
            restarts: status.restarts,
            failed_passes: status.failed_passes,
        });
        Ok(ServerStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
            database: self.store().describe_engine().await?,
            helm: self.helm_version().map(str::to_owned),
            renderer_sandbox: self.renderer_sandbox(),
            encryption: Some(describe_encryption(&self.encryption_status().await?)),
            audit_file: self.audit_file(),
            started_at: self.started_at(),
            read_at: self.clock().now(),
            database_millis,
            outage: outage.map(|outage| outage.to_string()),
            tasks: tasks.collect(),
            queues: vec![
                self.read_queue("placer", PLACER).await?,
                self.read_queue("rollouts", ROLLOUTS).await?,
            ],
        })
    }

    async fn read_queue(&self, name: &str, queue: WorkloadQueue) -> Result<QueueHealth, Error> {
        let mut tx = self.read().await?;
        let (due, oldest_due_at) = queue.count_due(&mut tx, self.clock().now()).await?;
        Ok(QueueHealth { name: name.to_owned(), due, oldest_due_at })
    }
}

fn describe_encryption(status: &EncryptionStatus) -> EncryptionHealth {
    let count = |items: usize| u32::try_from(items).unwrap_or(u32::MAX);
    EncryptionHealth {
        mode: status.mode.as_str().to_owned(),
        pending_columns: count(status.progress.iter().filter(|one| !one.is_done).count()),
        data_keys: count(status.keys.len()),
        active_since: status.keys.iter().find(|key| key.is_active).map(|key| key.active_from),
    }
}
