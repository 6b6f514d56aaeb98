//! A demo server of one test's own: its folder, its process, and the command that speaks to it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a command said.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.out, self.err)
    }
}

/// A demo server.
pub struct House {
    folder: tempfile::TempDir,
    listen: String,
    server: Option<Child>,
}

impl House {
    /// Starts one on a free port and waits until it says that it is ready.
    pub fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut house = Self { folder, listen: "127.0.0.1:0".into(), server: None };
        house.start();
        house
    }

    /// Starts it (again), on the address it had.
    pub fn start(&mut self) {
        let binary = Path::new(env!("CARGO_BIN_EXE_flotilla")).with_file_name("flotilla-server");
        assert!(binary.exists(), "there is no {}: run `cargo build -p server` first", binary.display());
        let mut child = Command::new(binary)
            .args(["demo", "--steady", "--log", "error", "--listen", &self.listen, "--data"])
            .arg(self.data())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        self.server = Some(child);
        let mut said =
            lines.filter_map(|line| line.rsplit_once(" ready at http://").map(|(_, at)| at.to_owned()));
        self.listen =
            said.next().expect("the server says where it is ready").trim_end_matches('/').to_owned();
        // Reading on keeps the pipe from filling up.
        std::thread::spawn(move || said.for_each(drop));
    }

    /// Kills it as a power cut would.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// Runs a command with the token that the demo wrote for it.
    pub fn run(&self, args: &[&str]) -> Said {
        ended(self.spawn(args))
    }

    /// The same, without waiting for its end.
    pub fn spawn(&self, args: &[&str]) -> Child {
        let written = std::fs::read_to_string(self.data().join("cli.env")).unwrap();
        let mut command = self.command(args);
        command.envs(written.lines().filter_map(|line| line.split_once('=')));
        command.spawn().unwrap()
    }

    /// Runs a command that knows only the context file.
    pub fn run_from_context(&self, args: &[&str]) -> Said {
        ended(self.command(args).spawn().unwrap())
    }

    /// Runs a command that prints JSON and must work.
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let said = self.run(args);
        assert_eq!(said.code, 0, "{said}");
        serde_json::from_str(&said.out).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flotilla"));
        command.args(args).env_clear().env("FLOTILLA_CONFIG", self.folder.path().join("config.yaml"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A folder of its own.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("demo")
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for a command's end.
pub fn ended(child: Child) -> Said {
    let output = child.wait_with_output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The first line that a running command prints.
pub fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line
}

/// A path below the end-to-end fixtures.
pub fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures").join(name);
    assert!(path.exists(), "{} is gone", path.display());
    path.display().to_string()
}
