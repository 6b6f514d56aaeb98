//! `cargo xtask bench NAME`: builds the benchmark program for release and runs it.

use anyhow::{Result, ensure};

use crate::paths::Paths;
use crate::{demo, postgres, rails, setup, site, step};

/// Three simulated clusters for 48 hours of virtual time each, with the seeds from the first argument (1 without one).
fn bench_life(paths: &Paths, args: &[String]) -> Result<()> {
    let seed = args.first().map_or("1", String::as_str);
    ensure!(
        seed.parse::<u32>().is_ok(),
        "{seed:?} is no seed: write a number, such as: cargo xtask bench life 7"
    );
    let mut cargo = paths.cargo();
    cargo.args([
        "test",
        "--workspace",
        "--exclude",
        "frontend",
        "--features",
        "server/bench",
        "--test",
        "sim",
        "--",
    ]);
    cargo.arg("busy_cluster").env("FLOTILLA_LIFE_SEED", seed).env("FLOTILLA_LIFE_HOURS", "48");
    let status = cargo.status()?;
    ensure!(status.success(), "the benchmark life failed ({status}); its seed was {seed}");
    Ok(())
}

/// Runs a benchmark. Its output is the result, so it is not redirected to a log.
pub fn run(paths: &Paths, name: &str, args: &[String]) -> Result<()> {
    match name {
        "page" | "walk" => return bench_browser(paths, name),
        "real" => return bench_real(paths, args),
        "chaos" => return bench_chaos(paths, args),
        "races" => return bench_races(paths, args),
        "life" => return bench_life(paths, args),
        _ => {}
    }
    site::build(paths)?;
    let mut cargo = paths.cargo();
    cargo.args([
        "run",
        "--release",
        "-p",
        "server",
        "--features",
        "bench",
        "--bin",
        "flotilla-bench",
        "--",
        name,
    ]);
    cargo.args(args);
    cargo.env("FLOTILLA_ASSETS", paths.site());
    if name == "chart" {
        cargo.envs(setup::renderer::ensure_all(paths)?);
    }
    let status = cargo.status()?;
    ensure!(status.success(), "the benchmark {name} failed ({status})");
    if name == "guard" { rails::measure(paths) } else { Ok(()) }
}

/// In a real browser: `page`, bytes and times of the console's first load; `walk`, a first walk through the console at human pace.
fn bench_browser(paths: &Paths, name: &str) -> Result<()> {
    setup::npm::ensure(paths, "end2end")?;
    let chromium = setup::chromium::ensure(paths)?;
    site::build(paths)?;
    demo::build_server(paths, true)?;
    let mut node = paths.command("node");
    node.arg(format!("bench/{name}.mjs")).current_dir(paths.root.join("end2end"));
    node.env("FLOTILLA_CHROMIUM", chromium);
    node.env("FLOTILLA_SERVER", paths.binary("flotilla-server", true));
    node.env("FLOTILLA_ASSETS", paths.site());
    let status = node.status()?;
    ensure!(status.success(), "the benchmark {name} failed ({status})");
    Ok(())
}

/// Real control planes, the server and agents, each in a separate process. The console is not built.
fn bench_real(paths: &Paths, args: &[String]) -> Result<()> {
    let programs = setup::kube::ensure(paths)?;
    let mut cargo = paths.cargo();
    // One invocation: with other features the server would be compiled a second time.
    cargo.args(["build", "--release", "-p", "server", "-p", "agent", "--features", "server/bench", "--bins"]);
    step::run(paths, "server, agent and benchmarks", &mut cargo)?;
    let mut bench = paths.command(paths.binary("flotilla-bench", true));
    let status = bench.arg("real").args(args).env("FLOTILLA_KUBE_BIN", programs).status()?;
    ensure!(status.success(), "the benchmark real failed ({status})");
    Ok(())
}

/// A run under faults: two server processes on a temporary PostgreSQL. The profile is that of the tests, because release builds
/// have no failpoints, at which the holder of a claim is suspended.
fn bench_chaos(paths: &Paths, args: &[String]) -> Result<()> {
    let mut cargo = paths.cargo();
    cargo.args(["build", "-p", "server", "--features", "bench", "--bins"]);
    step::run(paths, "server and benchmarks", &mut cargo)?;
    let database = postgres::start(paths, &setup::postgres::ensure(paths)?)?;
    let mut bench = paths.command(paths.binary("flotilla-bench", false));
    let status = bench.arg("chaos").args(["--postgres", &database.url]).args(args).status()?;
    ensure!(status.success(), "the run under faults failed ({status})");
    Ok(())
}

/// Requests that come at once, on SQLite and on a temporary PostgreSQL. The console is not built. The profile is that of the tests, so that
/// both share their builds.
fn bench_races(paths: &Paths, args: &[String]) -> Result<()> {
    let renderers = setup::renderer::ensure_all(paths)?;
    let mut cargo = paths.cargo();
    cargo.args(["build", "-p", "server", "--features", "bench", "--bins"]);
    step::run(paths, "server and benchmarks", &mut cargo)?;
    let database = postgres::start(paths, &setup::postgres::ensure(paths)?)?;
    let mut bench = paths.command(paths.binary("flotilla-bench", false));
    bench.arg("races").args(["--postgres", &database.url]).args(args).envs(renderers);
    let status = bench.status()?;
    ensure!(status.success(), "the races failed ({status})");
    Ok(())
}
