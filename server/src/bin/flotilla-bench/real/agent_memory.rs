//! B7: what the agent and the server hold in memory once they have come to rest.

use std::time::Duration;

use super::table::{Row, Table};
use super::world::World;

const REST: Duration = Duration::from_secs(5);

pub async fn run(table: &mut Table, world: &World, when: &str) {
    tokio::time::sleep(REST).await;
    let scenario = format!("B7 memory, {when}");
    table.add(Row { scenario, target: "agent ≤ 15 idle, 20 full; server ≤ 60", ..Row::now(world) });
}
