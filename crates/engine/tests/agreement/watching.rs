//! An engine at work, and a memory of what it reported.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use domain::report::{DriftNote, ReleaseReport};
use domain::{ReleaseId, Timestamp};
use engine::{Engine, Options};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct Told {
    last: HashMap<ReleaseId, ReleaseReport>,
    drift: Vec<DriftNote>,
}

/// One engine, working until it is dropped.
pub struct Agent {
    pub engine: Engine,
    cancel: CancellationToken,
    listener: JoinHandle<()>,
    told: Arc<Mutex<Told>>,
}

impl Agent {
    /// Starts an engine of this hub whose clock is ahead by so much: rules about age need not be waited for. Scenarios
    /// share a cluster, and an engine takes every record of its hub for its own.
    pub async fn start(client: kube::Client, hub: &str, ahead: Duration) -> Agent {
        let clock = move || {
            // Objects carry the real time of the server that made them.
            let now = UNIX_EPOCH.elapsed().map_or(0, |since| (since + ahead).as_millis());
            Timestamp::from_millis(i64::try_from(now).unwrap_or(0))
        };
        let options = Options {
            hub: hub.to_owned(),
            retry_first: Duration::from_millis(50),
            retry_max: Duration::from_millis(400),
            heal_first: Duration::from_millis(30),
            server_time: ahead.is_zero(),
            ..Options::new(clock)
        };
        let engine = Engine::connect(client, options).await.unwrap();
        let (cancel, told) = (CancellationToken::new(), Arc::<Mutex<Told>>::default());
        let (worker, stop) = (engine.clone(), cancel.clone());
        tokio::spawn(async move { worker.run(stop).await });
        let (reports, keep) = (engine.reports(), told.clone());
        let listener = tokio::spawn(async move {
            loop {
                for mut report in reports.next().await {
                    let mut told = keep.lock().unwrap();
                    told.drift.append(&mut report.drift);
                    told.last.insert(report.release, report);
                }
            }
        });
        Agent { engine, cancel, listener, told }
    }

    pub fn report(&self, release: ReleaseId) -> Option<ReleaseReport> {
        self.told.lock().unwrap().last.get(&release).cloned()
    }

    pub fn drift(&self) -> Vec<DriftNote> {
        self.told.lock().unwrap().drift.clone()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.listener.abort();
    }
}
