//! B7: resident memory of the agent and the server when idle.

use std::time::Duration;

use super::environment::BenchEnvironment;
use super::table::{ResultTable, ScenarioResult};

const SETTLE_TIME: Duration = Duration::from_secs(5);

pub async fn run(table: &mut ResultTable, world: &BenchEnvironment, when: &str) {
    tokio::time::sleep(SETTLE_TIME).await;
    let scenario = format!("B7 memory, {when}");
    table.add(ScenarioResult {
        scenario,
        target: "agent ≤ 15 idle, 20 full; server ≤ 60",
        ..ScenarioResult::with_memory(world)
    });
}
