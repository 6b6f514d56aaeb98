//! `control-planes N`: starts real control planes for the browser scenarios and prints their kubeconfigs as a JSON list.
//!
//! Each line of the input is a command, answered with `done`: `stop I` ends the API server of one, `start I` starts it again.
//! The end of the input ends all of them.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use futures::future::join_all;
use testkit::{ControlPlane, ControlPlaneOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: usize = std::env::args().nth(1).ok_or("usage: control-planes N")?.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let start = (0..count).map(|_| ControlPlane::start(ControlPlaneOptions::with_workloads()));
    let planes = runtime.block_on(join_all(start));
    let paths: Vec<PathBuf> = planes.iter().map(ControlPlane::kubeconfig_path).collect();
    print_line(&serde_json::to_string(&paths)?)?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (command, number) = line.split_once(' ').ok_or("a command has a number")?;
        let plane = planes.get(number.parse::<usize>()?).ok_or("there is no such control plane")?;
        match command {
            "stop" => plane.kill_api_server(),
            "start" => runtime.block_on(plane.restart_api_server()),
            other => return Err(format!("unknown command {other:?}").into()),
        }
        print_line("done")?;
    }
    Ok(())
}

fn print_line(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
