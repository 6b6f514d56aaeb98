//! I3: at most one holder of a claim has its writes accepted per epoch.

use std::collections::BTreeMap;

use super::{DatabaseChange, History};

/// The newest claim of a row.
struct Claim<'h> {
    epoch: i64,
    holder: &'h str,
    is_ended: bool,
}

pub(super) fn check(history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    let mut claims: BTreeMap<&str, Claim<'_>> = BTreeMap::new();
    for change in &history.database {
        match change {
            DatabaseChange::ClaimTaken { row, epoch, holder } => {
                if let Some(before) = claims.get(&**row).filter(|before| before.epoch >= *epoch) {
                    faults.push(format!(
                        "{holder} claimed {row} in epoch {epoch}, and {} had claimed it in epoch {}",
                        before.holder, before.epoch
                    ));
                }
                claims.insert(row, Claim { epoch: *epoch, holder, is_ended: false });
            }
            DatabaseChange::ClaimEnded { row, epoch, holder } => {
                faults.extend(end_fault(claims.get(&**row), (row, *epoch, holder)));
                if let Some(claim) = claims.get_mut(&**row) {
                    claim.is_ended = true;
                }
            }
            DatabaseChange::DesiredWritten { row, release, revision, holder } => {
                let is_held =
                    claims.get(&**row).is_some_and(|claim| !claim.is_ended && claim.holder == holder);
                if !is_held {
                    faults.push(format!(
                        "{holder} set the desired revision of {release} to {revision} without the claim of {row}{}",
                        describe_holder(claims.get(&**row))
                    ));
                }
            }
            _ => {}
        }
    }
    faults
}

/// What is wrong with the end of a claim.
fn end_fault(claim: Option<&Claim<'_>>, (row, epoch, holder): (&str, i64, &str)) -> Option<String> {
    let is_own = claim.is_some_and(|claim| claim.epoch == epoch && claim.holder == holder && !claim.is_ended);
    (!is_own).then(|| {
        format!("{holder} settled {row} in epoch {epoch} without its claim{}", describe_holder(claim))
    })
}

fn describe_holder(claim: Option<&Claim<'_>>) -> String {
    match claim {
        None => ": nobody has claimed it".to_owned(),
        Some(claim) if claim.is_ended => {
            format!(": the claim of {} in epoch {} has ended", claim.holder, claim.epoch)
        }
        Some(claim) => format!(": {} has claimed it in epoch {}", claim.holder, claim.epoch),
    }
}
