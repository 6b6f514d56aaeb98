//! `cargo xtask watch`: the demo, rebuilt and restarted when a source file changes.
//!
//! Times of files are looked at twice a second: no library, the same on every system. A build that fails leaves the
//! old server running.

use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use crate::DemoArgs;
use crate::paths::Paths;
use crate::stamp::files_below;
use crate::{demo, site, step};

/// What makes a rebuild worth while.
const SOURCES: [&str; 9] =
    ["app", "frontend", "server", "crates", "style", "public", "migrations", "Cargo.toml", "Cargo.lock"];

/// Names, times and lengths of all source files: equal means nothing to do.
type Look = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// Runs until it is interrupted.
pub fn run(paths: &Paths, args: &DemoArgs) -> Result<()> {
    let mut seen = look(paths)?;
    let mut server = restart(paths, args, None);
    loop {
        thread::sleep(Duration::from_millis(500));
        let now = look(paths)?;
        if now == seen {
            continue;
        }
        // An editor that saves several files is given time to finish.
        thread::sleep(Duration::from_millis(150));
        seen = look(paths)?;
        server = restart(paths, args, server);
    }
}

fn restart(paths: &Paths, args: &DemoArgs, old: Option<Child>) -> Option<Child> {
    match site::build(paths).and_then(|()| demo::server(paths, args.release)) {
        Ok(()) => {
            if let Some(mut old) = old {
                // The server must survive this at any moment; here it proves it on every save.
                let _ = old.kill();
                let _ = old.wait();
            }
            match demo::command(paths, args).spawn() {
                Ok(server) => Some(server),
                Err(error) => {
                    step::say(&format!("{} the server does not start: {error}", step::cross()));
                    None
                }
            }
        }
        Err(error) => {
            step::say(&format!("{} {error:#}", step::cross()));
            old
        }
    }
}

fn look(paths: &Paths) -> Result<Look> {
    let mut look = Look::new();
    for source in SOURCES {
        for file in files_below(&paths.root.join(source))? {
            // A file may go away between listing and looking; the next look sees that.
            let Ok(meta) = file.metadata() else { continue };
            look.push((file, meta.modified().ok(), meta.len()));
        }
    }
    Ok(look)
}
