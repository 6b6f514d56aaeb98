//! The loop of one release.

use std::sync::Arc;

use domain::report::Goal;
use tokio::time::Instant;

use super::memory::Memory;
use super::pass::{Flow, Pass};
use super::{Context, Slot, apply, conclude, expire, preflight, prune, remove, status};

/// When to look again.
enum Next {
    /// At once.
    Again,
    /// When something happens, or at this instant.
    Woken(Option<Instant>),
}

/// Serves a release until it is no business of ours any more.
pub(crate) async fn serve(cx: Arc<Context>, slot: Arc<Slot>) {
    let mut memory = Memory::default();
    loop {
        // Boxed, because thousands of these loops sleep at any time and a pass is large.
        match Box::pin(turn(&cx, &slot, &mut memory)).await {
            None => return cx.observed.keep_singles(slot.id, |_| false),
            Some(Next::Again) => tokio::task::yield_now().await,
            Some(Next::Woken(None)) => slot.woken.notified().await,
            Some(Next::Woken(Some(at))) => {
                let _ = tokio::time::timeout_at(at, slot.woken.notified()).await;
            }
        }
    }
}

/// One pass; `None` when the release is no business of ours any more.
async fn turn(cx: &Context, slot: &Slot, memory: &mut Memory) -> Option<Next> {
    let turn = slot.turn();
    let order = slot.order()?;
    memory.notice(&order.want);
    slot.set_waiting(false);
    let absent = match order.want.goal {
        Goal::Absent { deletion, .. } => Some(deletion),
        Goal::Present { .. } => None,
    };
    let mut pass = Pass::new(cx, slot, memory, order, turn);
    if cx.api.reach().silence().is_some() {
        // The watches keep trying and wake everybody when the server is back.
        conclude::silent(&mut pass);
        return Some(Next::Woken(None));
    }
    let flow = match absent {
        Some(deletion) => remove::run(&mut pass, deletion).await,
        None => present(&mut pass).await,
    };
    match flow {
        Flow::Again => Some(Next::Again),
        _ => Some(Next::Woken(pass.wake())),
    }
}

async fn present(pass: &mut Pass<'_>) -> Flow {
    let mut flow = preflight::run(pass).await;
    if flow == Flow::Go {
        flow = apply::run(pass).await;
    }
    if flow == Flow::Go {
        flow = prune::run(pass).await;
    }
    if flow == Flow::Again {
        return flow;
    }
    if flow == Flow::Stop && pass.cx.api.reach().silence().is_some() {
        // The server fell silent during the pass: that it could not go on says nothing about the release.
        conclude::silent(pass);
        return flow;
    }
    status::run(pass);
    conclude::run(pass).await;
    if flow == Flow::Go {
        expire::run(pass).await;
    }
    flow
}
