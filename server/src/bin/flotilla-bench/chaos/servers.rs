//! One server as a child process that is killed, suspended and restarted.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use testkit::ReservedPort;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::balancer::Backend;

/// Time limit of a start, for a busy machine in an outage of the database.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Polling interval of the state of a process.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A server.
pub struct ChaosServer {
    pub name: String,
    /// For people.
    pub api: Arc<Backend>,
    /// For agents.
    pub agents: Arc<Backend>,
    args: Vec<String>,
    stop_file: PathBuf,
    log: PathBuf,
    child: Option<Child>,
    _ports: [ReservedPort; 2],
}

impl ChaosServer {
    /// A server that does not run yet. `database` are the arguments that name its database.
    pub fn new(name: &str, folder: &Path, level: &str, database: Vec<String>) -> Self {
        let ports = [ReservedPort::reserve(), ReservedPort::reserve()];
        let backend = |port: &ReservedPort| {
            Arc::new(Backend { address: port.address(), is_suspended: AtomicBool::new(false) })
        };
        let [api, agents] = [&ports[0], &ports[1]].map(backend);
        let mut args = ["--log", level, "serve", "--agent-ca"].map(str::to_owned).to_vec();
        args.push(folder.join("authority").display().to_string());
        args.extend(["--listen".to_owned(), api.address.to_string()]);
        args.extend(["--agent-listen".to_owned(), agents.address.to_string()]);
        args.extend(database);
        Self {
            name: name.to_owned(),
            api,
            agents,
            args,
            stop_file: folder.join(format!("{name}.stop")),
            log: folder.join(format!("{name}.log")),
            child: None,
            _ports: ports,
        }
    }

    /// Starts it until it is ready, also if its first attempts fail because the database is in an outage.
    pub async fn start(&mut self) -> anyhow::Result<()> {
        let begun = tokio::time::Instant::now();
        while !self.try_start().await? {
            anyhow::ensure!(
                begun.elapsed() < START_TIMEOUT,
                "{} does not start: {}",
                self.name,
                std::fs::read_to_string(&self.log).unwrap_or_default()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }

    async fn try_start(&mut self) -> anyhow::Result<bool> {
        let program = std::env::current_exe()?.with_file_name("flotilla-server");
        anyhow::ensure!(
            program.is_file(),
            "{} does not exist: run `cargo xtask bench chaos`",
            program.display()
        );
        let log = std::fs::File::options().append(true).create(true).open(&self.log)?;
        let mut child = Command::new(program)
            .args(&self.args)
            .env("FLOTILLA_KEY", super::environment::KEY)
            .env("FLOTILLA_STOP_FILE", &self.stop_file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("its output is piped")?).lines();
        while let Some(line) = lines.next_line().await? {
            if line.starts_with("Flotilla is ready at ") {
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                self.child = Some(child);
                return Ok(true);
            }
        }
        child.wait().await?;
        Ok(false)
    }

    pub fn is_running(&self) -> bool {
        self.child.is_some()
    }

    /// `kill -9`, and waits for the exit.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        // The file of a point that was not reached must not stop the next process.
        let _ = std::fs::remove_file(&self.stop_file);
        if let Some(mut child) = self.child.take() {
            child.kill().await?;
        }
        Ok(())
    }

    /// Lets the process stop itself when it next comes to this failpoint. Debug builds only.
    pub fn stop_at(&self, point: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(&self.stop_file, point)?)
    }

    /// Whether it is stopped within this time. If not, it will not stop later either.
    pub async fn is_stopped_within(&self, limit: Duration) -> bool {
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < limit {
            if self.is_stopped() {
                return true;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        // If the file is gone, the process is about to stop.
        std::fs::remove_file(&self.stop_file).is_err() && {
            // Whoever gives up on it leaves a server that stops later and never continues.
            let begun = tokio::time::Instant::now();
            while !self.is_stopped() && begun.elapsed() < testkit::patience() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            self.is_stopped()
        }
    }

    fn is_stopped(&self) -> bool {
        let pid = self.child.as_ref().and_then(Child::id);
        let status = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        status.is_some_and(|status| status.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
    }

    /// Sends SIGSTOP or SIGCONT.
    pub async fn signal(&self, signal: &str) -> anyhow::Result<()> {
        if let Some(pid) = self.child.as_ref().and_then(Child::id) {
            Command::new("kill").args([signal, &pid.to_string()]).status().await?;
        }
        Ok(())
    }

    /// Lets the balancers use it or not.
    pub fn set_suspended(&self, is_suspended: bool) {
        for backend in [&self.api, &self.agents] {
            backend.is_suspended.store(is_suspended, Ordering::SeqCst);
        }
    }
}
