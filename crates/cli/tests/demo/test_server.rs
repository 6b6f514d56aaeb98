//! A demo server for one test: its folder, its process, and the command line that calls it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use testkit::ReservedPort;

/// Limit of [`wait_until`], long enough for any machine.
const WAIT_LIMIT: std::time::Duration = testkit::patience();

/// The output of a command.
pub struct CliOutput {
    pub exit_code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl std::fmt::Display for CliOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {}\n--- stdout\n{}--- stderr\n{}", self.exit_code, self.stdout, self.stderr)
    }
}

/// A demo server; killed when dropped.
pub struct TestServer {
    folder: tempfile::TempDir,
    /// Stays reserved while the server is stopped.
    port: ReservedPort,
    process: Option<Child>,
    /// Environment variable of the process.
    variable: Option<(&'static str, &'static str)>,
}

impl TestServer {
    /// Starts a server on a free port and waits for its ready line.
    pub fn start_new() -> Self {
        Self::start_in_environment(None)
    }

    /// Like [`Self::start_new`], with this environment variable.
    pub fn start_with_variable(variable: (&'static str, &'static str)) -> Self {
        Self::start_in_environment(Some(variable))
    }

    fn start_in_environment(variable: Option<(&'static str, &'static str)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Self { folder, port: ReservedPort::reserve(), process: None, variable };
        server.start();
        server
    }

    /// Starts the process (again), on the same address.
    pub fn start(&mut self) {
        let binary = Path::new(env!("CARGO_BIN_EXE_flotilla")).with_file_name("flotilla-server");
        assert!(binary.exists(), "there is no {}: run `cargo build -p server` first", binary.display());
        let mut child = Command::new(binary)
            .args([
                "demo",
                "--no-outages",
                "--log",
                "error",
                "--listen",
                &self.port.address().to_string(),
                "--data",
            ])
            .arg(self.data_folder())
            .envs(self.variable)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        self.process = Some(child);
        assert!(lines.any(|line| line.contains(" ready at http://")), "the server prints a ready line");
        // Drains the pipe, so that it does not fill up.
        std::thread::spawn(move || lines.for_each(drop));
    }

    /// Kills the process without a shutdown.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.process.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// Runs a command with the credentials that the demo server wrote into cli.env.
    pub fn run_cli(&self, args: &[&str]) -> CliOutput {
        wait_for_exit(self.spawn_cli(args))
    }

    /// Calls the REST API with these credentials, for what has no command.
    pub fn call<T>(&self, request: impl AsyncFnOnce(&wire::Client) -> T) -> T {
        let variables = std::fs::read_to_string(self.data_folder().join("cli.env")).unwrap();
        let value = |name: &str| {
            let found = variables.lines().filter_map(|line| line.split_once('='));
            found.into_iter().find(|(key, _)| *key == name).unwrap().1.to_owned()
        };
        let client = wire::Client::new(&value("FLOTILLA_SERVER"), &value("FLOTILLA_TOKEN")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(request(&client))
    }

    /// Starts a command with these credentials, without waiting for its exit.
    pub fn spawn_cli(&self, args: &[&str]) -> Child {
        let variables = std::fs::read_to_string(self.data_folder().join("cli.env")).unwrap();
        let mut command = self.cli_command(args);
        command.envs(variables.lines().filter_map(|line| line.split_once('=')));
        command.spawn().unwrap()
    }

    /// Runs a command with the context file only.
    pub fn run_cli_with_context_file(&self, args: &[&str]) -> CliOutput {
        wait_for_exit(self.cli_command(args).spawn().unwrap())
    }

    /// Runs a command that must succeed and print JSON.
    pub fn run_cli_json(&self, args: &[&str]) -> serde_json::Value {
        let output = self.run_cli(args);
        assert_eq!(output.exit_code, 0, "{output}");
        serde_json::from_str(&output.stdout).unwrap()
    }

    fn cli_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flotilla"));
        command.args(args).env_clear().env("FLOTILLA_CONFIG", self.folder.path().join("config.yaml"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The temporary folder of the test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file in which a simulated cluster is saved, some seconds after it has changed.
    pub fn cluster_snapshot(&self, cluster: &str) -> PathBuf {
        self.data_folder().join("clusters").join(format!("{cluster}.json"))
    }

    /// The peak of the resident memory of the process so far, in KiB.
    pub fn peak_memory_kib(&self) -> u64 {
        let process = self.process.as_ref().unwrap().id();
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    fn data_folder(&self) -> PathBuf {
        self.folder.path().join("demo")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until a command exits.
pub fn wait_for_exit(child: Child) -> CliOutput {
    let output = child.wait_with_output().unwrap();
    CliOutput {
        exit_code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The first line that a running command prints.
pub fn read_first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line
}

/// A path below the end-to-end fixtures.
pub fn fixture_path(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures").join(name);
    assert!(path.exists(), "{} is gone", path.display());
    path.display().to_string()
}

/// Waits until the condition holds.
pub fn wait_until(what: &str, mut is_met: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !is_met() {
        assert!(begun.elapsed() < WAIT_LIMIT, "timeout: {what}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}
