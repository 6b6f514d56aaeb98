//! Two changes at once that together would let workloads wait for each other.

use anyhow::ensure;
use domain::dependency::{DEPENDENCY, WorkloadDependency};
use hub::{DraftPatch, Error};

use crate::races::race::{Race, config_map};

/// Of two changes that would close a cycle of dependencies the second one is refused.
pub async fn close_no_cycle(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let cluster = race.create_cluster("c").await?;
    let web = race.create_draft("a", config_map("web"), &cluster.name).await?;
    let db = race.create_draft("b", config_map("db"), &cluster.name).await?;
    let depend_on = |workload: &str| DraftPatch {
        depends_on: Some(vec![WorkloadDependency::new(workload)]),
        ..DraftPatch::default()
    };
    let refused = race
        .send_rivals(
            one.change_draft(actor, &web.name, depend_on(&db.name), web.revision),
            other.change_draft(actor, &db.name, depend_on(&web.name), db.revision),
        )
        .await?;
    let is_cycle = refused.findings().iter().any(|finding| finding.code == DEPENDENCY);
    ensure!(matches!(refused, Error::Invalid(_)) && is_cycle, "{refused:?}");
    race.clean_up(&["a", "b"], &["c"]).await?;
    Ok(())
}
