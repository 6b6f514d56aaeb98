//! Plans of publishes: their targets, the pending dry-run requests to agents, and the planned changes.

use std::collections::{BTreeMap, BTreeSet};

use domain::bounded_json::JsonSize;
use domain::plan::{ClusterPlan, Plan, PlanTarget};
use domain::report::DryRunRequest;
use domain::{ClusterId, Digest, PlanId, Timestamp, WorkloadId};

use crate::admission::admit;
use crate::decode::{decode_json, decode_row, decode_rows};
use crate::large_value::process_value;
use crate::sealed::columns::{CLUSTER_PLAN_BODY, PLAN_BODY, PLAN_TARGET_BODY, PLAN_TARGET_REQUEST};
use crate::sql::{Sql, sql, to_json};
use crate::{Error, Tx};

/// Targets per statement; with five parameters each, below the parameter limit of both engines.
const TARGETS_PER_STATEMENT: usize = 100;

/// Most bytes of the changes on all clusters that are read of a plan, as they are stored.
const MAX_CHANGES_BYTES: i64 = 16 << 20;
/// Most values in them: each needs far more memory than its text.
const MAX_CHANGES_VALUES: u64 = 250_000;
/// Changes that are decrypted before they are decoded, one such part after the other.
const CHANGES_PER_STATEMENT: usize = 100;

/// A target with the dry-run request to its agent, if there is one.
pub type TargetWithRequest = (PlanTarget, Option<DryRunRequest>);

/// Adds a plan with its targets and the changes planned so far. `plan` itself contains neither targets nor effects.
pub async fn insert(
    tx: &mut Tx,
    workload: WorkloadId,
    plan: &Plan,
    targets: &[TargetWithRequest],
    effects: &BTreeMap<Digest, ClusterPlan>,
) -> Result<(), Error> {
    sql("INSERT INTO plan (id, workload_id, hash, created_at, expires_at, body) VALUES ($1, $2, $3, $4, $5, $6)")
        .bind_text(plan.id)
        .bind_text(workload)
        .bind_text(&plan.hash)
        .bind(plan.created_at.millis())
        .bind(plan.expires_at.millis())
        .bind(tx.seal_text(&PLAN_BODY, &[plan.id.to_string()], to_json(plan)?))
        .execute(tx)
        .await?;
    for some in targets.chunks(TARGETS_PER_STATEMENT) {
        build_targets_insert(tx, plan.id, some)?.execute(tx).await?;
    }
    for (digest, effect) in effects {
        put_cluster_plan(tx, plan.id, digest, effect).await?;
    }
    Ok(())
}

fn build_targets_insert(tx: &Tx, plan: PlanId, targets: &[TargetWithRequest]) -> Result<Sql, Error> {
    let mut statement =
        sql("INSERT INTO plan_target (plan_id, cluster_id, dry_run_request, bundle, body) VALUES ");
    for (at, (target, request)) in targets.iter().enumerate() {
        let key = target_key(plan, target.cluster);
        let request = request.as_ref().map(to_json).transpose()?;
        let request = request.map(|text| tx.seal_text(&PLAN_TARGET_REQUEST, &key, text));
        statement = statement
            .push(if at == 0 { "(" } else { ", (" })
            .push_bind(plan.to_string())
            .push(", ")
            .push_bind(target.cluster.to_string())
            .push(", ")
            .push_bind(request)
            .push(", ")
            .push_bind(target.bundle.as_ref().map(ToString::to_string))
            .push(", ")
            .push_bind(tx.seal_text(&PLAN_TARGET_BODY, &key, to_json(target)?))
            .push(")");
    }
    Ok(statement)
}

/// The key of a target's row.
fn target_key(plan: PlanId, cluster: ClusterId) -> [String; 2] {
    [plan.to_string(), cluster.to_string()]
}

async fn put_cluster_plan(
    tx: &mut Tx,
    plan: PlanId,
    digest: &Digest,
    effect: &ClusterPlan,
) -> Result<(), Error> {
    sql("INSERT INTO cluster_plan (plan_id, digest, body) VALUES ($1, $2, $3) \
         ON CONFLICT (plan_id, digest) DO NOTHING")
    .bind_text(plan)
    .bind_text(digest)
    .bind(tx.seal_text(&CLUSTER_PLAN_BODY, &[plan.to_string(), digest.to_string()], to_json(effect)?))
    .execute(tx)
    .await
    .map(drop)
}

/// A plan as it is stored.
pub struct StoredPlan {
    /// The id of its workload.
    pub workload: WorkloadId,
    /// The plan with its targets and their changes.
    pub plan: Plan,
    /// The changes that a target names and that are not read: those of all clusters together are too large.
    pub unread: BTreeSet<Digest>,
}

/// A plan with its targets and the changes that they name.
///
/// # Errors
/// [`Error::InvalidRow`], [`Error::NoMemory`]
pub async fn get(tx: &mut Tx, id: PlanId) -> Result<Option<StoredPlan>, Error> {
    let row =
        sql("SELECT id, workload_id, body FROM plan WHERE id = $1").bind_text(id).fetch_optional(tx).await?;
    let found = decode_row(row, "plan", |row| {
        Ok((row.parse::<WorkloadId>("workload_id")?, row.json::<Plan>("body")?))
    })?;
    let Some((workload, mut plan)) = found else { return Ok(None) };
    let rows = sql("SELECT plan_id, cluster_id, body FROM plan_target WHERE plan_id = $1")
        .bind_text(id)
        .fetch_all(tx)
        .await?;
    plan.targets = decode_rows(&rows, "plan_target", |row| row.json::<PlanTarget>("body"))?;
    plan.targets.sort_by(|a, b| a.name.cmp(&b.name));
    // The estimate that an answer replaced is stored until the plan is deleted.
    let referenced: BTreeSet<&Digest> =
        plan.targets.iter().filter_map(|target| target.cluster_plan.as_ref()).collect();
    let (cluster_plans, unread) = load_changes(tx, id, &referenced).await?;
    plan.cluster_plans = cluster_plans;
    Ok(Some(StoredPlan { workload, plan, unread }))
}

/// These changes of a plan up to [`MAX_CHANGES_BYTES`] and [`MAX_CHANGES_VALUES`], and the digests of the others. What agents answered is
/// counted before it is decoded.
async fn load_changes(
    tx: &mut Tx,
    id: PlanId,
    referenced: &BTreeSet<&Digest>,
) -> Result<(BTreeMap<Digest, ClusterPlan>, BTreeSet<Digest>), Error> {
    let rows = sql(
        "SELECT digest, OCTET_LENGTH(body) AS bytes FROM cluster_plan WHERE plan_id = $1 ORDER BY digest",
    )
    .bind_text(id)
    .fetch_all(tx)
    .await?;
    let measure =
        |row: &crate::decode::RowReader<'_>| Ok((row.parse::<Digest>("digest")?, row.int("bytes")?));
    let (mut fitting, mut unread, mut bytes) = (Vec::new(), BTreeSet::new(), 0);
    for (digest, own) in decode_rows(&rows, "cluster_plan", measure)? {
        if !referenced.contains(&digest) {
            continue;
        }
        if bytes + own > MAX_CHANGES_BYTES {
            unread.insert(digest);
        } else {
            bytes += own;
            fitting.push(digest);
        }
    }
    let (mut found, mut total) = (BTreeMap::new(), JsonSize::default());
    for some in fitting.chunks(CHANGES_PER_STATEMENT) {
        let rows = sql("SELECT digest, plan_id, body FROM cluster_plan WHERE plan_id = $1 AND digest IN ")
            .bind_text(id)
            .push_list(some)
            .fetch_all(tx)
            .await?;
        let text =
            |row: &crate::decode::RowReader<'_>| Ok((row.parse::<Digest>("digest")?, row.text("body")?));
        let mut texts: BTreeMap<Digest, String> =
            decode_rows(&rows, "cluster_plan", text)?.into_iter().collect();
        drop(rows);
        let before = total;
        texts.retain(|digest, text| {
            let size = process_value(text.len(), || JsonSize::of_text(text.as_bytes()));
            let fits = total.and(size).values <= MAX_CHANGES_VALUES;
            if fits {
                total = total.and(size);
            } else {
                unread.insert(digest.clone());
            }
            fits
        });
        let (values, maps) = (total.values - before.values, total.maps - before.maps);
        admit(JsonSize { bytes: 0, values, maps })?;
        for (digest, text) in texts {
            let changes = decode_json::<ClusterPlan>("body", &text).map_err(|why| Error::InvalidRow {
                table: "cluster_plan",
                id: digest.to_string(),
                why,
            })?;
            found.insert(digest, changes);
        }
    }
    Ok((found, unread))
}

/// The id of the newest plan of a workload with this hash.
pub async fn get_id_by_hash(
    tx: &mut Tx,
    workload: WorkloadId,
    hash: &Digest,
) -> Result<Option<PlanId>, Error> {
    let row =
        sql("SELECT id FROM plan WHERE workload_id = $1 AND hash = $2 ORDER BY created_at DESC LIMIT 1")
            .bind_text(workload)
            .bind_text(hash)
            .fetch_optional(tx)
            .await?;
    decode_row(row, "plan", |row| row.parse::<PlanId>("id"))
}

/// The id of the newest plan of a workload.
pub async fn get_newest_id(tx: &mut Tx, workload: WorkloadId) -> Result<Option<PlanId>, Error> {
    let row = sql("SELECT id FROM plan WHERE workload_id = $1 ORDER BY created_at DESC LIMIT 1")
        .bind_text(workload)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "plan", |row| row.parse::<PlanId>("id"))
}

/// The pending dry-run requests to the agent of this cluster, of plans created after `since`.
pub async fn list_dry_run_requests(
    tx: &mut Tx,
    cluster: ClusterId,
    since: Timestamp,
) -> Result<Vec<DryRunRequest>, Error> {
    let rows = sql("SELECT t.plan_id, t.cluster_id, t.dry_run_request FROM plan_target t JOIN plan p ON p.id = t.plan_id \
                    WHERE t.cluster_id = $1 AND t.dry_run_request IS NOT NULL AND p.created_at > $2 ORDER BY t.plan_id")
    .bind_text(cluster)
    .bind(since.millis())
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "plan_target", |row| row.json::<DryRunRequest>("dry_run_request"))
}

/// Whether a dry-run request with this bundle is pending for this cluster.
pub async fn has_dry_run_request(
    tx: &mut Tx,
    plan: PlanId,
    cluster: ClusterId,
    bundle: &Digest,
) -> Result<bool, Error> {
    let count =
        sql("SELECT COUNT(*) FROM plan_target WHERE plan_id = $1 AND cluster_id = $2 AND bundle = $3 \
                     AND dry_run_request IS NOT NULL");
    Ok(count.bind_text(plan).bind_text(cluster).bind_text(bundle).fetch_number(tx).await? > 0)
}

/// The target of a plan if its dry-run request is pending; locked until the transaction ends.
pub async fn get_pending_target(
    tx: &mut Tx,
    plan: PlanId,
    cluster: ClusterId,
) -> Result<Option<PlanTarget>, Error> {
    let row = sql(
        "SELECT plan_id, cluster_id, body FROM plan_target WHERE plan_id = $1 AND cluster_id = $2 AND dry_run_request IS NOT NULL",
    )
    .bind_text(plan)
    .bind_text(cluster)
    .push_locking_clause(tx)
    .fetch_optional(tx)
    .await?;
    decode_row(row, "plan_target", |row| row.json::<PlanTarget>("body"))
}

/// Stores the result of a dry-run request; the request is no longer pending.
pub async fn record_result(
    tx: &mut Tx,
    plan: PlanId,
    target: &PlanTarget,
    effect: &ClusterPlan,
) -> Result<(), Error> {
    if let Some(digest) = &target.cluster_plan {
        put_cluster_plan(tx, plan, digest, effect).await?;
    }
    sql("UPDATE plan_target SET dry_run_request = NULL, body = $1 WHERE plan_id = $2 AND cluster_id = $3")
        .bind(tx.seal_text(&PLAN_TARGET_BODY, &target_key(plan, target.cluster), to_json(target)?))
        .bind_text(plan)
        .bind_text(target.cluster)
        .execute(tx)
        .await
        .map(drop)
}

/// Number of pending dry-run requests of a plan.
pub async fn count_pending(tx: &mut Tx, plan: PlanId) -> Result<i64, Error> {
    sql("SELECT COUNT(*) FROM plan_target WHERE plan_id = $1 AND dry_run_request IS NOT NULL")
        .bind_text(plan)
        .fetch_number(tx)
        .await
}
