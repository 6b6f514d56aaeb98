//! `cargo xtask watch`: the demo, rebuilt and restarted when a source file changes.
//!
//! File times are polled twice a second, which needs no library and works on every system. After a failed build the old
//! server keeps running.

use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use crate::DemoOptions;
use crate::demo::Renderers;
use crate::paths::Paths;
use crate::stamp::list_files;
use crate::{demo, setup, site, step};

/// Paths whose changes trigger a rebuild.
const SOURCES: [&str; 9] =
    ["app", "frontend", "server", "crates", "style", "public", "migrations", "Cargo.toml", "Cargo.lock"];

/// Names, times and lengths of all source files; equal values mean no change.
type SourceSnapshot = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// Runs until it is interrupted.
pub fn run(paths: &Paths, args: &DemoOptions) -> Result<()> {
    let renderers = setup::renderer::find_or_build_all(paths);
    let mut last = snapshot_sources(paths)?;
    let mut server = restart(paths, args, &renderers, None);
    loop {
        thread::sleep(Duration::from_millis(500));
        let now = snapshot_sources(paths)?;
        if now == last {
            continue;
        }
        // An editor may save several files in sequence.
        thread::sleep(Duration::from_millis(150));
        last = snapshot_sources(paths)?;
        server = restart(paths, args, &renderers, server);
    }
}

fn restart(paths: &Paths, args: &DemoOptions, renderers: &Renderers, old: Option<Child>) -> Option<Child> {
    match site::build(paths).and_then(|()| demo::build_server(paths, args.release)) {
        Ok(()) => {
            if let Some(mut old) = old {
                // A kill without shutdown: the server must survive it at any time.
                let _ = old.kill();
                let _ = old.wait();
            }
            match demo::server_command(paths, args, renderers).spawn() {
                Ok(server) => Some(server),
                Err(error) => {
                    step::print_line(&format!("{} the server does not start: {error}", step::failure_mark()));
                    None
                }
            }
        }
        Err(error) => {
            step::print_line(&format!("{} {error:#}", step::failure_mark()));
            old
        }
    }
}

fn snapshot_sources(paths: &Paths) -> Result<SourceSnapshot> {
    let mut files = SourceSnapshot::new();
    for source in SOURCES {
        for file in list_files(&paths.root.join(source))? {
            // A file may be deleted after the listing; the next poll detects that.
            let Ok(meta) = file.metadata() else { continue };
            files.push((file, meta.modified().ok(), meta.len()));
        }
    }
    Ok(files)
}
