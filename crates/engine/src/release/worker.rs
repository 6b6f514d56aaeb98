//! The reconcile loop of one release.

use std::sync::Arc;

use domain::report::DesiredPhase;
use tokio::time::Instant;

use super::reconcile_state::ReconcileState;
use super::reconciliation::{ReconcileFlow, Reconciliation};
use super::{
    EngineContext, ReleaseWorker, apply, expire, helm_release, hooks, preflight, prune, remove, report,
    status,
};
use crate::applied_release::HookPhase;

/// When the next pass runs.
enum NextPass {
    /// Immediately.
    Immediately,
    /// On the next event, or at this instant.
    OnWakeup(Option<Instant>),
}

/// Reconciles a release until it is missing from the desired state.
pub(crate) async fn run_worker(cx: Arc<EngineContext>, worker: Arc<ReleaseWorker>) {
    let mut reconcile_state = ReconcileState::default();
    loop {
        // Boxed, because a pass is large and thousands of loops are idle at any time.
        match Box::pin(reconcile(&cx, &worker, &mut reconcile_state)).await {
            None if cx.workers.remove_ended(&worker) => {
                return cx.observed.retain_single_objects(worker.id, |_| false);
            }
            // It was requested again in the meantime.
            None => {}
            Some(NextPass::Immediately) => tokio::task::yield_now().await,
            Some(NextPass::OnWakeup(None)) => worker.wakeup.notified().await,
            Some(NextPass::OnWakeup(Some(at))) => {
                let _ = tokio::time::timeout_at(at, worker.wakeup.notified()).await;
            }
        }
    }
}

/// Runs one pass; `None` if the release is missing from the desired state.
async fn reconcile(
    cx: &EngineContext,
    worker: &ReleaseWorker,
    reconcile_state: &mut ReconcileState,
) -> Option<NextPass> {
    let request_version = worker.request_version();
    let request = worker.request()?;
    reconcile_state.reset_on_new_request(&request.desired);
    worker.set_waits_for_dependency(false);
    let absent = match request.desired.phase {
        DesiredPhase::Absent { deletion, .. } => Some(deletion),
        DesiredPhase::Present { .. } => None,
    };
    let is_held = request.suspended && absent.is_some();
    let mut pass = Reconciliation::new(cx, worker, reconcile_state, request, request_version);
    if cx.api.reachability().outage().is_some() {
        // The watches retry and wake all releases when the server is reachable again.
        report::report_unreachable(&mut pass);
        return Some(NextPass::OnWakeup(None));
    }
    if is_held {
        // A removal begins when the release is resumed.
        return Some(NextPass::OnWakeup(None));
    }
    let flow = match absent {
        Some(deletion) => remove::run(&mut pass, deletion).await,
        None => reconcile_present(&mut pass).await,
    };
    match flow {
        ReconcileFlow::Restart => Some(NextPass::Immediately),
        _ => Some(NextPass::OnWakeup(pass.next_wakeup())),
    }
}

async fn reconcile_present(pass: &mut Reconciliation<'_>) -> ReconcileFlow {
    let mut flow = preflight::run(pass).await;
    if flow == ReconcileFlow::Continue {
        flow = apply::run(pass).await;
    }
    if flow == ReconcileFlow::Continue {
        flow = prune::run(pass).await;
    }
    let may_write = !pass.is_suspended();
    if flow == ReconcileFlow::Continue && may_write {
        flow = hooks::run(pass, HookPhase::After).await;
    }
    if flow == ReconcileFlow::Continue && may_write {
        flow = helm_release::run(pass).await;
    }
    if flow == ReconcileFlow::Restart {
        return flow;
    }
    if flow == ReconcileFlow::Stop && pass.cx.api.reachability().outage().is_some() {
        // The server became unreachable during the pass, so the failure is not about the release.
        report::report_unreachable(pass);
        return flow;
    }
    status::run(pass);
    if flow == ReconcileFlow::Continue && may_write && prune::run_late(pass).await == ReconcileFlow::Restart {
        return ReconcileFlow::Restart;
    }
    report::run(pass).await;
    if flow == ReconcileFlow::Continue && may_write {
        expire::run(pass).await;
    }
    flow
}
