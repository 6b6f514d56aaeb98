//! The number and the size of all cluster groups together: each check of a workload and each placement reads all of them.

use domain::Finding;
use domain::placement::{ClusterGroup, INVALID_GROUP};
use store::Tx;

use crate::Error;

/// Most groups.
const GROUPS_MAX: i64 = 5_000;
/// Most bytes of the members, selectors and locked values of all groups together, as they are stored.
const BYTES_MAX: i64 = 16 << 20;

const HINT: &str = "Delete groups that nothing uses, select clusters by labels instead of listing them, or lock fewer values.";

/// Why a group can't be stored beside the others (G502). One that does not grow is always accepted. The caller has locked the changes of groups.
pub(super) async fn check_all_groups(
    tx: &mut Tx,
    old: Option<&ClusterGroup>,
    group: &ClusterGroup,
) -> Result<Option<Finding>, Error> {
    let (count, bytes) = store::group::measure_others(tx, &group.name).await?;
    if old.is_none() && count >= GROUPS_MAX {
        let message = format!("There are {count} cluster groups, and at most {GROUPS_MAX} are possible.");
        return Ok(Some(Finding::error(INVALID_GROUP, message, HINT)));
    }
    let own = count_bytes(group);
    let grows = old.is_none_or(|old| count_bytes(old) < own);
    let is_too_large = bytes.saturating_add(own) > BYTES_MAX;
    Ok((grows && is_too_large).then(|| {
        let message = format!(
            "With this group all cluster groups together have {} KiB of members, selectors and locked values, and at most {} KiB are possible.",
            bytes.saturating_add(own) >> 10,
            BYTES_MAX >> 10
        );
        Finding::error(INVALID_GROUP, message, HINT)
    }))
}

/// About the bytes of what is stored of a group.
fn count_bytes(group: &ClusterGroup) -> i64 {
    let members: usize = group.members.iter().map(|member| member.len() + 3).sum();
    let selector = group.selector.as_ref().map_or(0, |selector| selector.to_string().len());
    i64::try_from(members + selector + group.locked_values.len()).unwrap_or(i64::MAX)
}
