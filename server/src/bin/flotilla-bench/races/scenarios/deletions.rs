//! Deletions of one thing at once.

use anyhow::ensure;
use hub::Error;

use crate::races::race::Race;

/// Of two deletions of a group or a cluster the second one finds that it is gone.
pub async fn delete_once(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let name = race.name("a");
    race.create_cluster("a").await?;
    race.create_group("a", &name).await?;
    let refused = race.send_rivals(one.delete_group(actor, &name), other.delete_group(actor, &name)).await?;
    ensure!(matches!(refused, Error::NotFound { .. }), "group: {refused:?}");
    let refused = race
        .send_rivals(one.delete_cluster(actor, &name, true), other.delete_cluster(actor, &name, true))
        .await?;
    ensure!(matches!(refused, Error::NotFound { .. }), "cluster: {refused:?}");
    Ok(())
}
