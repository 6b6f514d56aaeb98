//! The faults of a run: in every round a server is killed, and before that one other fault happens.

use std::time::Duration;

use kubesim::ErrorRates;
use rand::Rng as _;
use rand::rngs::StdRng;
use testkit::history::Action;
use tokio::time::Instant;

use super::ChaosArgs;
use super::environment::ChaosEnvironment;

/// Where the holder of a claim is suspended until another server has its claim. Release builds have no failpoints: there any
/// process is suspended for longer than a claim lasts.
const HOLDER_POINTS: [&str; 4] =
    ["placer.claimed", "placer.decided", "rollouts.claimed", "placer.after_commit"];
/// How long a process is suspended without failpoints: longer than the 30 s of a claim.
const BEYOND_CLAIM: Duration = Duration::from_secs(35);
/// Wait until a server comes to a failpoint.
const POINT_TIMEOUT: Duration = Duration::from_secs(5);

/// A fault other than the kill of a server.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// A holder of claims is suspended, its claims expire, another server works, and it continues.
    SuspendedHolder(&'static str),
    /// A server is suspended for a short time.
    Suspended,
    /// The database ends all connections and accepts none.
    DatabaseRestart,
    /// An agent has no connection.
    CutLink,
    /// An agent is killed and restarted.
    KilledAgent,
    /// An API server answers with errors.
    ApiErrors,
    /// An API server is unreachable.
    ApiServerDown,
    /// A user deletes objects of workloads.
    DeletedObjects,
}

/// Injects faults for the time of the run, then ends all of them.
pub async fn inject(
    world: &mut ChaosEnvironment,
    args: &ChaosArgs,
    random: &mut StdRng,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let total = Duration::from_secs(args.seconds);
    let mut round = 0;
    while begun.elapsed() < total {
        round += 1;
        let end = begun + Duration::from_secs(args.kill_every) * round;
        tokio::time::sleep(Duration::from_millis(random.random_range(200..1_500))).await;
        let fault = choose(random, world.servers.len() > 1);
        let (server, member) =
            (random.random_range(0..world.servers.len()), random.random_range(0..world.members.len()));
        let text = format!("{fault:?} of server {server} or cluster {member}");
        world.recorder.record(Action::FaultBegan { fault: text.clone() });
        inject_one(world, fault, (server, member), random).await?;
        world.recorder.record(Action::FaultEnded { fault: text });
        let left = end.saturating_duration_since(Instant::now());
        tokio::time::sleep(left.mul_f64(random.random_range(0.1..0.9))).await;
        kill_server(world, random).await?;
        tokio::time::sleep_until(end.min(begun + total)).await;
    }
    for server in world.servers.iter_mut().filter(|server| !server.is_running()) {
        server.start().await?;
    }
    Ok(())
}

fn choose(random: &mut StdRng, has_several: bool) -> Fault {
    let point = HOLDER_POINTS[random.random_range(0..HOLDER_POINTS.len())];
    let on_both = [
        Fault::CutLink,
        Fault::KilledAgent,
        Fault::ApiErrors,
        Fault::ApiServerDown,
        Fault::DeletedObjects,
        Fault::Suspended,
    ];
    match random.random_range(0..if has_several { 12 } else { 6 }) {
        number @ 0..6 => on_both[number],
        6..10 => Fault::SuspendedHolder(point),
        _ => Fault::DatabaseRestart,
    }
}

async fn kill_server(world: &mut ChaosEnvironment, random: &mut StdRng) -> anyhow::Result<()> {
    let number = random.random_range(0..world.servers.len());
    let text = format!("kill -9 of server {number}");
    world.recorder.record(Action::FaultBegan { fault: text.clone() });
    world.servers[number].kill().await?;
    tokio::time::sleep(Duration::from_millis(random.random_range(0..1_500))).await;
    world.servers[number].start().await?;
    world.recorder.record(Action::FaultEnded { fault: text });
    Ok(())
}

async fn inject_one(
    world: &mut ChaosEnvironment,
    fault: Fault,
    (server, member): (usize, usize),
    random: &mut StdRng,
) -> anyhow::Result<()> {
    let short = Duration::from_millis(random.random_range(300..2_500));
    let faults = world.members[member].cluster.faults();
    match fault {
        Fault::SuspendedHolder(point) => suspend_holder(world, server, point).await?,
        Fault::Suspended => {
            world.servers[server].signal("-STOP").await?;
            tokio::time::sleep(short).await;
            world.servers[server].signal("-CONT").await?;
        }
        Fault::DatabaseRestart => world.database.interrupt(short).await?,
        Fault::CutLink => {
            world.members[member].link.set_cut(true);
            tokio::time::sleep(short).await;
            world.members[member].link.set_cut(false);
        }
        Fault::KilledAgent => {
            world.members[member].kill().await?;
            tokio::time::sleep(short).await;
            world.members[member].start()?;
        }
        Fault::ApiErrors => {
            let rate = 0.15;
            faults.set_error_rates(ErrorRates {
                too_many_requests: rate,
                internal_error: rate,
                unavailable: rate,
                hang: 0.0,
            });
            tokio::time::sleep(short).await;
            faults.set_error_rates(ErrorRates::default());
        }
        Fault::ApiServerDown => {
            faults.set_offline(true);
            tokio::time::sleep(short).await;
            faults.set_offline(false);
        }
        Fault::DeletedObjects => {
            for workload in &world.workloads {
                world.members[member].delete_object(workload);
            }
        }
    }
    Ok(())
}

/// Suspends a server that has a claim, lets its claims expire so that another server takes them, and continues it: what it
/// writes then must have no effect (P9).
async fn suspend_holder(world: &ChaosEnvironment, number: usize, point: &str) -> anyhow::Result<()> {
    let server = &world.servers[number];
    if cfg!(debug_assertions) {
        server.stop_at(point)?;
        if !server.is_stopped_within(POINT_TIMEOUT).await {
            return Ok(());
        }
    } else {
        server.signal("-STOP").await?;
    }
    server.set_suspended(true);
    if cfg!(debug_assertions) {
        world.database.expire_claims().await?;
        // Longer than the poll interval of the queues.
        tokio::time::sleep(Duration::from_secs(7)).await;
    } else {
        tokio::time::sleep(BEYOND_CLAIM).await;
    }
    server.signal("-CONT").await?;
    server.set_suspended(false);
    Ok(())
}
