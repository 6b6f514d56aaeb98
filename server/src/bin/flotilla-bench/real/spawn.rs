//! Server and agents as child processes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// A child process with its id; killed on drop.
pub struct Process {
    child: Child,
    pub pid: u32,
}

impl Process {
    fn from_child(child: Child) -> anyhow::Result<Self> {
        let pid = child.id().context("the process ended immediately")?;
        Ok(Self { child, pid })
    }

    /// `kill -9`, and waits for the exit.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// A program from this program's folder.
fn built_binary(name: &str) -> anyhow::Result<PathBuf> {
    let file = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(file.is_file(), "{} does not exist: run `cargo xtask bench real`", file.display());
    Ok(file)
}

fn open_log(folder: &Path, name: &str) -> anyhow::Result<Stdio> {
    let file = folder.join(format!("{name}.log"));
    Ok(File::options().append(true).create(true).open(file)?.into())
}

/// URLs of a server: for people and for agents.
pub struct ServerUrls {
    pub people: String,
    pub agents: String,
}

/// Starts the server on this database, on free ports or on those of `before`. Waits until it is ready.
pub async fn start_server(
    folder: &Path,
    level: &str,
    before: Option<&ServerUrls>,
) -> anyhow::Result<(Process, ServerUrls)> {
    let any = || "127.0.0.1:0".to_owned();
    let of = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
    let (people, agents) =
        before.map_or_else(|| (any(), any()), |before| (of(&before.people), of(&before.agents)));
    let mut child = Command::new(built_binary("flotilla-server")?)
        .args(["--log", level, "serve", "--listen", &people, "--agent-listen", &agents, "--data"])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(open_log(folder, "server")?)
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("its output is piped")?).lines();
    let mut agents = None;
    while let Some(line) = lines.next_line().await? {
        if let Some(url) = line.strip_prefix("Agents connect to ") {
            agents = Some(url.to_owned());
        }
        if let Some(url) = line.strip_prefix("Flotilla is ready at ") {
            let agents = agents.context("the server did not print its URL for agents")?;
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok((Process::from_child(child)?, ServerUrls { people: url.to_owned(), agents }));
        }
    }
    anyhow::bail!("the server ended: see {}", folder.join("server.log").display())
}

/// Arguments of an agent.
pub struct AgentSpec {
    pub name: String,
    pub kubeconfig: PathBuf,
    pub hub: String,
    pub token: String,
}

/// Starts an agent with its cache in Secrets of its cluster, as an installed agent has it.
pub fn start_agent(folder: &Path, level: &str, member: &AgentSpec) -> anyhow::Result<Process> {
    let child = Command::new(built_binary("flotilla-agent")?)
        .args([
            "--log",
            level,
            "run",
            "--registries",
            "off",
            "--namespace",
            super::environment::AGENT_NAMESPACE,
        ])
        .args(["--hub", &member.hub, "--name", &member.name, "--kubeconfig"])
        .arg(&member.kubeconfig)
        .env("FLOTILLA_JOIN_TOKEN", &member.token)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(open_log(folder, &member.name)?)
        .kill_on_drop(true)
        .spawn()?;
    Process::from_child(child)
}
