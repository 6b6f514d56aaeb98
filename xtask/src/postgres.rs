//! A throw-away PostgreSQL for the tests: fresh data in a temporary folder, a free port of 127.0.0.1, no socket, no fsync.
//!
//! A shell stands between this process and the server and waits on a pipe. When the pipe closes, whatever the reason
//! (end, Ctrl-C, kill -9), the shell stops the server by its pid and removes the folder: nothing is left behind.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::paths::{Paths, version_of};
use crate::setup::debian::is_root;
use crate::step;

/// Starts the server, waits for the pipe to close, stops it, cleans up. `$1` postgres, `$2` data, `$3` port, `$4` folder.
/// Ctrl-C reaches every process of the terminal; the shell must outlive it to clean up.
const KEEPER: &str = r#"
trap '' INT TERM HUP
"$1" -D "$2" -h 127.0.0.1 -p "$3" -k '' -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
    -c max_connections=300 -c shared_buffers=64MB >"$4/log" 2>&1 </dev/null &
pid=$!
read -r _
kill -INT "$pid" 2>/dev/null
wait "$pid"
rm -rf "$4"
"#;

/// How long a server may take to answer before its log is shown.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server; stopped when dropped.
pub struct Postgres {
    keeper: Child,
    /// Address for `FLOTILLA_TEST_POSTGRES`.
    pub url: String,
    /// What it calls itself.
    pub version: String,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Closing the pipe is the signal; waiting makes the clean-up finish before this process ends.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Makes and starts a server from the programs in `bin`.
///
/// # Errors
/// When `initdb` fails or the server does not answer; the message carries the end of its log.
pub fn start(paths: &Paths, bin: &Path) -> Result<Postgres> {
    let began = Instant::now();
    let user = user(paths)?;
    let home = home(paths, user)?;
    let data = home.join("data");
    let mut initdb = as_user(paths, user, &bin.join("initdb"));
    initdb
        .args(["--username=flotilla", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
        .arg(&data);
    step::run(paths, "database folder", initdb.current_dir(&home))?;

    let port = free_port()?;
    let mut keeper = as_user(paths, user, Path::new("/bin/sh"));
    keeper
        .args(["-c", KEEPER, "keeper"])
        .arg(bin.join("postgres"))
        .args([&data])
        .arg(port.to_string())
        .arg(&home);
    keeper.current_dir(&home).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let keeper = keeper.spawn().context("cannot start PostgreSQL")?;
    let version = version_of(&bin.join("postgres"), "--version").unwrap_or_default();
    let mut server =
        Postgres { keeper, url: format!("postgres://flotilla@127.0.0.1:{port}/postgres"), version };
    wait_for(&mut server.keeper, port, &home)?;
    step::done("PostgreSQL", &format!("on port {port}, {}", step::seconds(began.elapsed())));
    Ok(server)
}

/// PostgreSQL refuses to run as root: then it runs as the package's own user, or as nobody.
fn user(paths: &Paths) -> Result<Option<&'static str>> {
    if !is_root(paths) {
        return Ok(None);
    }
    for name in ["postgres", "nobody"] {
        if paths.tool("id").arg(name).output().is_ok_and(|output| output.status.success()) {
            return Ok(Some(name));
        }
    }
    bail!(
        "PostgreSQL does not run as root and there is no user `postgres` or `nobody`: run this as another user"
    )
}

fn as_user(paths: &Paths, user: Option<&str>, program: &Path) -> Command {
    match user {
        None => paths.tool(program),
        Some(user) => {
            let mut command = paths.tool("runuser");
            command.args(["-u", user, "--"]).arg(program);
            command
        }
    }
}

/// A folder that the server's user owns, outside the repository: that user may not be able to look into it.
fn home(paths: &Paths, user: Option<&str>) -> Result<PathBuf> {
    let home = std::env::temp_dir().join(format!("flotilla-postgres-{}", std::process::id()));
    let _ = fs::remove_dir_all(&home);
    let mut install = paths.tool("install");
    install.args(["-d", "-m", "700"]);
    if let Some(user) = user {
        install.args(["-o", user]);
    }
    let made = install.arg(&home).status().is_ok_and(|status| status.success());
    anyhow::ensure!(made, "cannot make {}", home.display());
    Ok(home)
}

/// A port that nobody listens on now. Somebody may take it before the server does; then the server says so.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn wait_for(keeper: &mut Child, port: u16, home: &Path) -> Result<()> {
    let began = Instant::now();
    loop {
        if answers(port) {
            return Ok(());
        }
        let log = fs::read_to_string(home.join("log")).unwrap_or_default();
        if keeper.try_wait()?.is_some() || log.contains("FATAL") || began.elapsed() > PATIENCE {
            let end: Vec<&str> = log.lines().rev().take(5).collect();
            bail!("PostgreSQL did not start: {}", end.into_iter().rev().collect::<Vec<_>>().join(" | "));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Asks for TLS, as a client does first: a server that is up says no with one byte.
fn answers(port: u16) -> bool {
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
    fn a_server_answers_while_it_is_held_and_leaves_nothing_behind() {
        // `cargo xtask test` installs it first; a bare `cargo test` may run without.
        let Some(bin) = setup::postgres::find() else { return };
        let target = std::env::temp_dir().join(format!("flotilla-keeper-{}", std::process::id()));
        let paths = Paths { root: std::env::temp_dir(), target: target.clone(), with_tests: false };
        let server = start(&paths, &bin).unwrap();
        let port: u16 = server.url.rsplit([':', '/']).nth(1).unwrap().parse().unwrap();
        let home = std::env::temp_dir().join(format!("flotilla-postgres-{}", std::process::id()));
        assert!(answers(port) && home.exists());
        drop(server);
        assert!(!answers(port) && !home.exists());
        fs::remove_dir_all(target).unwrap();
    }
}
