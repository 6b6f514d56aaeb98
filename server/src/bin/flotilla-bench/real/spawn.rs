//! Server and agents as children of this process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// A child with a number of its own; killed when this is dropped.
pub struct Process {
    child: Child,
    pub pid: u32,
}

impl Process {
    fn of(child: Child) -> anyhow::Result<Self> {
        let pid = child.id().context("it ended at once")?;
        Ok(Self { child, pid })
    }

    /// `kill -9`, and waits until it is gone.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// A program that was built beside this one.
fn program(name: &str) -> anyhow::Result<PathBuf> {
    let file = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(file.is_file(), "{} is not there: run it by `cargo xtask bench real`", file.display());
    Ok(file)
}

fn log(folder: &Path, name: &str) -> anyhow::Result<Stdio> {
    let file = folder.join(format!("{name}.log"));
    Ok(File::options().append(true).create(true).open(file)?.into())
}

/// Where a server listens: for people and for agents.
pub struct Addresses {
    pub people: String,
    pub agents: String,
}

/// Starts the server on this database; on free ports, or on those it had before. Waits until it says that it is ready.
pub async fn server(
    folder: &Path,
    level: &str,
    before: Option<&Addresses>,
) -> anyhow::Result<(Process, Addresses)> {
    let any = || "127.0.0.1:0".to_owned();
    let of = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
    let (people, agents) =
        before.map_or_else(|| (any(), any()), |before| (of(&before.people), of(&before.agents)));
    let mut child = Command::new(program("flotilla-server")?)
        .args(["--log", level, "serve", "--listen", &people, "--agent-listen", &agents, "--data"])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log(folder, "server")?)
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("its output is piped")?).lines();
    let mut agents = None;
    while let Some(line) = lines.next_line().await? {
        if let Some(url) = line.strip_prefix("Agents dial ") {
            agents = Some(url.to_owned());
        }
        if let Some(url) = line.strip_prefix("Flotilla is ready at ") {
            let agents = agents.context("the server does not say where agents dial")?;
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok((Process::of(child)?, Addresses { people: url.to_owned(), agents }));
        }
    }
    anyhow::bail!("the server ended: see {}", folder.join("server.log").display())
}

/// What an agent needs to know.
pub struct Member {
    pub name: String,
    pub kubeconfig: PathBuf,
    pub hub: String,
    pub token: String,
}

/// Starts an agent. It keeps what it keeps in Secrets of its cluster, as an installed one does.
pub fn agent(folder: &Path, level: &str, member: &Member) -> anyhow::Result<Process> {
    let child = Command::new(program("flotilla-agent")?)
        .args(["--log", level, "run", "--registries", "off", "--namespace", super::world::AGENT_NAMESPACE])
        .args(["--hub", &member.hub, "--name", &member.name, "--kubeconfig"])
        .arg(&member.kubeconfig)
        .env("FLOTILLA_JOIN_TOKEN", &member.token)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log(folder, &member.name)?)
        .kill_on_drop(true)
        .spawn()?;
    Process::of(child)
}
