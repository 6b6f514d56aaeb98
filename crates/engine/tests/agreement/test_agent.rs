//! A running engine and its received reports.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use domain::report::{DriftReport, ReleaseReport};
use domain::{ReleaseId, Timestamp};
use engine::{Engine, Options};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct ReceivedReports {
    latest: HashMap<ReleaseId, ReleaseReport>,
    drift: Vec<DriftReport>,
    problems: Vec<String>,
}

/// An engine that runs until it is dropped, and its received reports.
pub struct TestAgent {
    pub engine: Engine,
    cancel: CancellationToken,
    listener: JoinHandle<()>,
    received: Arc<Mutex<ReceivedReports>>,
}

impl TestAgent {
    /// Starts an engine whose clock is ahead, so that age rules need no waiting. The hub is unique per scenario,
    /// because scenarios share a cluster and an engine owns all records of its hub.
    pub async fn start(client: kube::Client, hub: &str, ahead: Duration) -> TestAgent {
        let clock = move || {
            // Timestamps of objects are the server's real time.
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
        let (cancel, log) = (CancellationToken::new(), Arc::<Mutex<ReceivedReports>>::default());
        let (worker, stop) = (engine.clone(), cancel.clone());
        tokio::spawn(async move { worker.run(stop).await });
        let (reports, received) = (engine.reports(), log.clone());
        let listener = tokio::spawn(async move {
            loop {
                for mut report in reports.next().await {
                    let mut received = received.lock().unwrap();
                    received.drift.append(&mut report.drift);
                    received.problems.extend(problem_texts(&report));
                    received.latest.insert(report.release, report);
                }
            }
        });
        TestAgent { engine, cancel, listener, received: log }
    }

    pub fn report(&self, release: ReleaseId) -> Option<ReleaseReport> {
        self.received.lock().unwrap().latest.get(&release).cloned()
    }

    /// The texts of all waiting and failed stages and of all problems of objects so far.
    pub fn problems(&self) -> Vec<String> {
        self.received.lock().unwrap().problems.clone()
    }

    pub fn drift(&self) -> Vec<DriftReport> {
        self.received.lock().unwrap().drift.clone()
    }
}

fn problem_texts(report: &ReleaseReport) -> Vec<String> {
    let stages = report.stages.iter().filter_map(|stage| stage.state.reason());
    let findings = report.resources.iter().filter_map(|resource| resource.problem.as_ref());
    let findings = findings.map(|finding| format!("{} {}", finding.message, finding.hint));
    stages.map(|reason| reason.message.clone()).chain(findings).collect()
}

impl Drop for TestAgent {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.listener.abort();
    }
}
