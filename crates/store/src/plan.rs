//! Plans of publishes: their targets, the questions that agents have not answered yet, and what would happen.

use std::collections::BTreeMap;

use domain::plan::{Ask, Effect, Plan, PlanTarget};
use domain::{ClusterId, Digest, PlanId, Timestamp, WorkloadId};

use crate::record::{all, one};
use crate::sql::{Sql, json, sql};
use crate::{Error, Tx};

/// Targets written by one statement; with five values each, well below the limit of both engines.
const AT_ONCE: usize = 100;

/// A target with the question to its agent, if there is one.
pub type Asked = (PlanTarget, Option<Ask>);

/// Adds a plan with its targets and what is expected to happen. `plan` holds neither targets nor effects.
pub async fn insert(
    tx: &mut Tx,
    workload: WorkloadId,
    plan: &Plan,
    targets: &[Asked],
    effects: &BTreeMap<Digest, Effect>,
) -> Result<(), Error> {
    sql("INSERT INTO plan (id, workload_id, hash, created_at, expires_at, body) VALUES ($1, $2, $3, $4, $5, $6)")
        .text(plan.id)
        .text(workload)
        .text(&plan.hash)
        .bind(plan.created_at.millis())
        .bind(plan.expires_at.millis())
        .bind(json(plan)?)
        .run(tx)
        .await?;
    for some in targets.chunks(AT_ONCE) {
        targets_statement(plan.id, some)?.run(tx).await?;
    }
    for (digest, effect) in effects {
        put_effect(tx, plan.id, digest, effect).await?;
    }
    Ok(())
}

fn targets_statement(plan: PlanId, targets: &[Asked]) -> Result<Sql, Error> {
    let mut statement = sql("INSERT INTO plan_target (plan_id, cluster_id, ask, bundle, body) VALUES ");
    for (at, (target, ask)) in targets.iter().enumerate() {
        let ask = ask.as_ref().map(json).transpose()?;
        statement = statement
            .push(if at == 0 { "(" } else { ", (" })
            .put(plan.to_string())
            .push(", ")
            .put(target.cluster.to_string())
            .push(", ")
            .put(ask)
            .push(", ")
            .put(target.bundle.as_ref().map(ToString::to_string))
            .push(", ")
            .put(json(target)?)
            .push(")");
    }
    Ok(statement)
}

async fn put_effect(tx: &mut Tx, plan: PlanId, digest: &Digest, effect: &Effect) -> Result<(), Error> {
    sql("INSERT INTO plan_effect (plan_id, digest, body) VALUES ($1, $2, $3) \
         ON CONFLICT (plan_id, digest) DO NOTHING")
    .text(plan)
    .text(digest)
    .bind(json(effect)?)
    .run(tx)
    .await
    .map(drop)
}

/// A plan with all that is known of it, and the workload it is of.
pub async fn get(tx: &mut Tx, id: PlanId) -> Result<Option<(WorkloadId, Plan)>, Error> {
    let row = sql("SELECT id, workload_id, body FROM plan WHERE id = $1").text(id).row(tx).await?;
    let found =
        one(row, "plan", |row| Ok((row.parse::<WorkloadId>("workload_id")?, row.json::<Plan>("body")?)))?;
    let Some((workload, mut plan)) = found else { return Ok(None) };
    let rows = sql("SELECT plan_id, body FROM plan_target WHERE plan_id = $1").text(id).rows(tx).await?;
    plan.targets = all(&rows, "plan_target", |row| row.json::<PlanTarget>("body"));
    plan.targets.sort_by(|a, b| a.name.cmp(&b.name));
    let rows = sql("SELECT digest, body FROM plan_effect WHERE plan_id = $1").text(id).rows(tx).await?;
    let effect =
        |row: &crate::record::Record<'_>| Ok((row.parse::<Digest>("digest")?, row.json::<Effect>("body")?));
    plan.effects = all(&rows, "plan_effect", effect).into_iter().collect();
    Ok(Some((workload, plan)))
}

/// The newest plan of a workload with this hash.
pub async fn by_hash(tx: &mut Tx, workload: WorkloadId, hash: &Digest) -> Result<Option<PlanId>, Error> {
    let row =
        sql("SELECT id FROM plan WHERE workload_id = $1 AND hash = $2 ORDER BY created_at DESC LIMIT 1")
            .text(workload)
            .text(hash)
            .row(tx)
            .await?;
    one(row, "plan", |row| row.parse::<PlanId>("id"))
}

/// What the agent of this cluster is asked, of plans made since `since`.
pub async fn asks_of_cluster(tx: &mut Tx, cluster: ClusterId, since: Timestamp) -> Result<Vec<Ask>, Error> {
    let rows = sql("SELECT t.plan_id, t.ask FROM plan_target t JOIN plan p ON p.id = t.plan_id \
                    WHERE t.cluster_id = $1 AND t.ask IS NOT NULL AND p.created_at > $2 ORDER BY t.plan_id")
    .text(cluster)
    .bind(since.millis())
    .rows(tx)
    .await?;
    Ok(all(&rows, "plan_target", |row| row.json::<Ask>("ask")))
}

/// Whether the agent of this cluster is asked about this bundle.
pub async fn asks_about(
    tx: &mut Tx,
    plan: PlanId,
    cluster: ClusterId,
    bundle: &Digest,
) -> Result<bool, Error> {
    let count =
        sql("SELECT COUNT(*) FROM plan_target WHERE plan_id = $1 AND cluster_id = $2 AND bundle = $3 \
                     AND ask IS NOT NULL");
    Ok(count.text(plan).text(cluster).text(bundle).number(tx).await? > 0)
}

/// The target of a plan whose question is still open; kept for this transaction.
pub async fn open_target(tx: &mut Tx, plan: PlanId, cluster: ClusterId) -> Result<Option<PlanTarget>, Error> {
    let row = sql(
        "SELECT plan_id, body FROM plan_target WHERE plan_id = $1 AND cluster_id = $2 AND ask IS NOT NULL",
    )
    .text(plan)
    .text(cluster)
    .locking(tx)
    .row(tx)
    .await?;
    one(row, "plan_target", |row| row.json::<PlanTarget>("body"))
}

/// Keeps an answer; the question is closed with it.
pub async fn answer(tx: &mut Tx, plan: PlanId, target: &PlanTarget, effect: &Effect) -> Result<(), Error> {
    if let Some(digest) = &target.effect {
        put_effect(tx, plan, digest, effect).await?;
    }
    sql("UPDATE plan_target SET ask = NULL, body = $1 WHERE plan_id = $2 AND cluster_id = $3")
        .bind(json(target)?)
        .text(plan)
        .text(target.cluster)
        .run(tx)
        .await
        .map(drop)
}

/// How many questions of a plan are open.
pub async fn count_open(tx: &mut Tx, plan: PlanId) -> Result<i64, Error> {
    sql("SELECT COUNT(*) FROM plan_target WHERE plan_id = $1 AND ask IS NOT NULL").text(plan).number(tx).await
}

/// Forgets plans that expired before `time`; returns how many.
pub async fn delete_expired(tx: &mut Tx, time: Timestamp) -> Result<u64, Error> {
    sql("DELETE FROM plan WHERE expires_at < $1").bind(time.millis()).run(tx).await
}
