//! The check of a publish against the plan of the same inputs: what the clusters rejected is rejected by the publish too,
//! unless its codes are forced by name (E-2).

use std::collections::BTreeSet;

use domain::finding::Finding;
use domain::guard::catalogue;
use domain::nearest::find_nearest;
use domain::plan::Plan;
use domain::workload::PublishValidation;
use domain::{Digest, Timestamp, WorkloadId};
use store::Tx;

use crate::{Error, Hub};

/// The plan that a publish is compared with.
pub(crate) struct PlanReview {
    /// The hash that the request names; without one, a plan counts only if it has the inputs of the publish.
    reviewed: Option<Digest>,
    /// The plan, if it is stored and not expired.
    plan: Option<Box<Plan>>,
    /// Whether there was such a plan.
    is_expired: bool,
}

impl Hub {
    /// Loads the plan that the request names, or else the newest one of the workload.
    pub(crate) async fn load_plan_review(
        &self,
        tx: &mut Tx,
        workload: WorkloadId,
        reviewed: Option<&Digest>,
    ) -> Result<PlanReview, Error> {
        let found = match reviewed {
            Some(hash) => store::plan::get_id_by_hash(tx, workload, hash).await?,
            None => store::plan::get_newest_id(tx, workload).await?,
        };
        let plan = match found {
            Some(id) => self.load_plan(tx, id).await?,
            None => None,
        };
        let is_expired = found.is_some() && plan.is_none();
        Ok(PlanReview { reviewed: reviewed.cloned(), plan: plan.map(Box::new), is_expired })
    }
}

impl PlanReview {
    /// Whether the check needs the hash of the current inputs, for which every bundle is rendered.
    pub const fn needs_inputs(&self) -> bool {
        self.reviewed.is_some() || self.plan.is_some()
    }

    /// Checks a publish with these inputs and forced codes.
    ///
    /// # Errors
    /// The named plan is missing or expired or has other inputs, or a cluster rejected what is not forced.
    pub fn check(
        self,
        current: &Digest,
        force: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<PublishValidation, Error> {
        let stale = |why: &str| Err(Error::PlanStale(format!("{why} Create a new plan and review it.")));
        match (&self.reviewed, &self.plan) {
            (Some(reviewed), _) if reviewed != current => {
                return stale(
                    "The draft, the selected clusters or what runs there changed since the plan was created.",
                );
            }
            (Some(_), None) if self.is_expired => return stale("The plan has expired."),
            (Some(_), None) => return stale("There is no such plan of this workload."),
            _ => {}
        }
        let Some(plan) = self.plan.filter(|plan| plan.hash == *current) else {
            return Ok(PublishValidation::NotPlanned);
        };
        let blocking = plan.findings.iter().filter(|finding| finding.is_blocking());
        let (forced, rejected): (Vec<&Finding>, Vec<&Finding>) =
            blocking.partition(|finding| force.contains(&finding.code));
        if !rejected.is_empty() {
            return Err(rejection(&plan, rejected.into_iter().cloned().collect(), now));
        }
        let forced: BTreeSet<&String> = forced.into_iter().map(|finding| &finding.code).collect();
        let (validated, ..) = plan.dry_run_counts();
        Ok(PublishValidation::Planned {
            validated: u32::try_from(validated).unwrap_or(u32::MAX),
            no_op: plan.no_op,
            forced: forced.into_iter().cloned().collect(),
        })
    }
}

/// Checks the findings of the hub, and returns the codes that are forced of those that a person may decide on.
///
/// # Errors
/// A finding blocks the publish; [`Error::PlanRejected`] if all that do can be forced.
pub(crate) fn check_findings(
    findings: &[Finding],
    force: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Error> {
    let blocking = findings.iter().filter(|finding| finding.is_blocking());
    let (decisions, others): (Vec<&Finding>, Vec<&Finding>) =
        blocking.partition(|finding| catalogue::is_forcible_on_hub(&finding.code));
    if !others.is_empty() {
        return Err(Error::Invalid(findings.to_vec()));
    }
    let (forced, blocking): (Vec<&Finding>, Vec<&Finding>) =
        decisions.into_iter().partition(|finding| force.contains(&finding.code));
    if blocking.is_empty() {
        return Ok(forced.into_iter().map(|finding| finding.code.clone()).collect());
    }
    let mut sentences: Vec<String> = blocking.iter().map(|finding| finding.message.clone()).collect();
    sentences.push("Nothing was published. Correct the draft, or force these codes by name.".to_owned());
    let findings = blocking.into_iter().cloned().collect();
    Err(Error::PlanRejected { message: sentences.join(" "), findings })
}

fn rejection(plan: &Plan, findings: Vec<Finding>, now: Timestamp) -> Error {
    let codes: BTreeSet<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    let codes = codes.into_iter().collect::<Vec<_>>().join(", ");
    let age = plan.created_at.format_age(now);
    let can_force = catalogue::codes_to_force(&findings).is_some();
    let force = if can_force { ", or force these codes by name" } else { "" };
    let message = format!(
        "The plan of {age} ago was rejected: {codes}. Correct the draft, plan again if the clusters have changed since{force}."
    );
    Error::PlanRejected { message, findings }
}

/// The codes to force.
///
/// # Errors
/// A code is unknown, or neither one of those that a dry run on a cluster reports nor one that asks for a decision.
pub(crate) fn parse_forced_codes(codes: &[String]) -> Result<BTreeSet<String>, Error> {
    let forcible: Vec<&str> = catalogue::forcible_codes().collect();
    let check = |code: &&String| !forcible.contains(&code.as_str());
    let findings: Vec<Finding> = codes
        .iter()
        .filter(check)
        .map(|code| {
            let nearest = find_nearest(code, forcible.iter().copied());
            let nearest = nearest.map(|near| format!(" Did you mean {near:?}?")).unwrap_or_default();
            let message = match catalogue::find(code) {
                Some(rail) => format!(
                    "{code} ({}) can't be forced: it is not only a rejection by clusters.",
                    rail.title
                ),
                None => format!("There is no code {code:?} to force.{nearest}"),
            };
            let hint = format!("Codes that can be forced: {}.", forcible.join(", "));
            Finding::error("Force", message, hint)
        })
        .collect();
    if findings.is_empty() { Ok(codes.iter().cloned().collect()) } else { Err(Error::Invalid(findings)) }
}
