//! A process of the server program, which a test starts and waits for.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// A server that serves requests.
#[derive(Debug)]
pub struct StartedServer {
    /// Its process, killed when this is dropped.
    pub child: Child,
    /// URL of the console and of the API.
    pub url: String,
    /// URL for agents; empty if it has no listener for them.
    pub agents_url: String,
    /// The lines that it printed before.
    pub output: Vec<String>,
}

impl StartedServer {
    /// Starts `flotilla-server` and waits until it is ready.
    ///
    /// # Errors
    /// The process, if it ends before.
    ///
    /// # Panics
    /// If the program can't be started.
    pub async fn spawn(command: &mut Command) -> Result<Self, Child> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the server program starts");
        let stdout = child.stdout.take().expect("its output is piped");
        let mut lines = BufReader::new(stdout).lines();
        let mut output = Vec::new();
        while let Ok(Some(line)) = lines.next_line().await {
            let Some(url) = line.strip_prefix("Flotilla is ready at ") else {
                output.push(line);
                continue;
            };
            let agents_url = output.iter().find_map(|line: &String| line.strip_prefix("Agents connect to "));
            let agents_url = agents_url.unwrap_or_default().to_owned();
            let url = url.to_owned();
            // A full pipe would stop the server.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok(Self { child, url, agents_url, output });
        }
        Err(child)
    }
}
