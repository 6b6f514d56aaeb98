//! A temporary PostgreSQL for the tests: new data in a temporary folder, a free port on 127.0.0.1, no socket, no fsync.
//!
//! A supervising shell starts the server and reads from a pipe. When the pipe closes for any reason (exit, Ctrl-C, kill -9),
//! the shell stops the server by its pid and removes the folder.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, program_version};
use crate::setup::debian::is_root;
use crate::step;

/// Starts the server, waits until the pipe closes, stops the server, removes the folder. `$1` postgres, `$2` data, `$3` port,
/// `$4` folder. Signals are ignored, because Ctrl-C reaches all processes of the terminal and the shell must clean up.
const SUPERVISOR_SCRIPT: &str = r#"
trap '' INT TERM HUP
"$1" -D "$2" -h 127.0.0.1 -p "$3" -k '' -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
    -c max_connections=300 -c shared_buffers=64MB >"$4/log" 2>&1 </dev/null &
pid=$!
read -r _
kill -INT "$pid" 2>/dev/null
wait "$pid"
rm -rf "$4"
"#;

/// Attempts to start on a free port. PostgreSQL takes no bound socket and does not print a port that it chose, and std can't
/// bind a socket without listening on it, so that another process can bind the port before the server does.
const MAX_ATTEMPTS: u32 = 3;
/// What the log contains after that.
const PORT_CONFLICT: &str = "Address already in use";
/// What the log contains when the server is ready.
const READY: &str = "ready to accept connections";
/// Timeout of the start; then the end of the log is shown.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running server; stopped when dropped.
pub struct PostgresServer {
    supervisor: Child,
    /// Address for `FLOTILLA_TEST_POSTGRES`.
    pub url: String,
    /// The version that the server program prints.
    pub version: String,
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // Closing the pipe stops the server; the wait ensures that the clean-up finishes before this process exits.
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

/// Initializes and starts a server with the programs in `bin`.
///
/// # Errors
/// When `initdb` fails or the server does not start; the message contains the end of its log.
pub fn start(paths: &Paths, bin: &Path) -> Result<PostgresServer> {
    let mut attempt = 1;
    loop {
        match start_on(paths, bin, find_free_port()?) {
            Err(error) if attempt < MAX_ATTEMPTS && error.to_string().contains(PORT_CONFLICT) => attempt += 1,
            started => return started,
        }
    }
}

fn start_on(paths: &Paths, bin: &Path, port: u16) -> Result<PostgresServer> {
    let began = Instant::now();
    let user = server_user(paths)?;
    let home = create_home(paths, user, port)?;
    let data = home.join("data");
    let mut initdb = command_as_user(paths, user, &bin.join("initdb"));
    initdb
        .args(["--username=flotilla", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
        .arg(&data);
    step::run(paths, "database folder", initdb.current_dir(&home))?;

    let mut keeper = command_as_user(paths, user, Path::new("/bin/sh"));
    keeper
        .args(["-c", SUPERVISOR_SCRIPT, "keeper"])
        .arg(bin.join("postgres"))
        .args([&data])
        .arg(port.to_string())
        .arg(&home);
    keeper.current_dir(&home).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let keeper = keeper.spawn().context("cannot start PostgreSQL")?;
    let version = program_version(&bin.join("postgres"), "--version").unwrap_or_default();
    let mut server = PostgresServer {
        supervisor: keeper,
        url: format!("postgres://flotilla@127.0.0.1:{port}/postgres"),
        version,
    };
    wait_until_ready(&mut server.supervisor, port, &home)?;
    step::print_done("PostgreSQL", &format!("on port {port}, {}", step::format_duration(began.elapsed())));
    Ok(server)
}

/// The user of the server. PostgreSQL does not run as root; then the user is `postgres` or `nobody`.
fn server_user(paths: &Paths) -> Result<Option<&'static str>> {
    if !is_root(paths) {
        return Ok(None);
    }
    for name in ["postgres", "nobody"] {
        if paths.command("id").arg(name).output().is_ok_and(|output| output.status.success()) {
            return Ok(Some(name));
        }
    }
    bail!(
        "PostgreSQL does not run as root and there is no user `postgres` or `nobody`: run this as another user"
    )
}

fn command_as_user(paths: &Paths, user: Option<&str>, program: &Path) -> Command {
    match user {
        None => paths.command(program),
        Some(user) => {
            let mut command = paths.command("runuser");
            command.args(["-u", user, "--"]).arg(program);
            command
        }
    }
}

/// Creates a folder that the server's user owns, outside the repository, which that user may not be able to read.
fn create_home(paths: &Paths, user: Option<&str>, port: u16) -> Result<PathBuf> {
    let home = home_path(port);
    let _ = fs::remove_dir_all(&home);
    let mut install = paths.command("install");
    install.args(["-d", "-m", "700"]);
    if let Some(user) = user {
        install.args(["-o", user]);
    }
    let created = install.arg(&home).status().is_ok_and(|status| status.success());
    anyhow::ensure!(created, "cannot create {}", home.display());
    Ok(home)
}

fn home_path(port: u16) -> PathBuf {
    std::env::temp_dir().join(format!("flotilla-postgres-{}-{port}", std::process::id()))
}

/// A port that is free now.
fn find_free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn wait_until_ready(keeper: &mut Child, port: u16, home: &Path) -> Result<()> {
    let began = Instant::now();
    loop {
        let log = fs::read_to_string(home.join("log")).unwrap_or_default();
        // The log too, because another PostgreSQL may have taken the port.
        if log.contains(READY) && is_ready(port) {
            return Ok(());
        }
        if keeper.try_wait()?.is_some() || log.contains("FATAL") || began.elapsed() > START_TIMEOUT {
            let end: Vec<&str> = log.lines().rev().take(5).collect();
            bail!("PostgreSQL did not start: {}", end.into_iter().rev().collect::<Vec<_>>().join(" | "));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Sends an SSLRequest, the first message of a client; a running server responds with one byte.
fn is_ready(port: u16) -> bool {
    use std::io::Write;
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let mut reply = [0];
    stream.set_read_timeout(Some(Duration::from_secs(2))).is_ok()
        && stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).is_ok()
        && stream.read_exact(&mut reply).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup;

    #[test]
    fn a_server_whose_port_is_taken_fails_with_a_port_conflict() {
        let Some(bin) = setup::postgres::find() else { return };
        let target = std::env::temp_dir().join(format!("flotilla-conflict-{}", std::process::id()));
        let paths = Paths::below(&std::env::temp_dir(), &target);
        let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let error = start_on(&paths, &bin, taken.local_addr().unwrap().port()).err().unwrap();
        assert!(error.to_string().contains(PORT_CONFLICT), "{error}");
        fs::remove_dir_all(target).unwrap();
    }

    #[test]
    fn a_server_runs_until_it_is_dropped_and_leaves_no_files() {
        // `cargo xtask test` installs PostgreSQL; a plain `cargo test` may run without it.
        let Some(bin) = setup::postgres::find() else { return };
        let target = std::env::temp_dir().join(format!("flotilla-keeper-{}", std::process::id()));
        let paths = Paths::below(&std::env::temp_dir(), &target);
        let server = start(&paths, &bin).unwrap();
        let port: u16 = server.url.rsplit([':', '/']).nth(1).unwrap().parse().unwrap();
        let home = home_path(port);
        assert!(is_ready(port) && home.exists());
        drop(server);
        assert!(!is_ready(port) && !home.exists());
        fs::remove_dir_all(target).unwrap();
    }
}
