//! Whether a cluster gets new workloads: its cordon and its taints.

use domain::Finding;
use domain::authorization::UserAction;
use domain::cluster::{Taint, TaintEffect};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::error::action_error;
use crate::components::icon;
use crate::errors::AppResult;
use crate::permission::Permission;

/// Cordons a cluster, or ends the cordon.
#[server(prefix = "/api/fn", endpoint = "cluster_cordon")]
pub async fn cluster_cordon(name: String, base_revision: i64, schedulable: bool) -> AppResult<()> {
    use crate::{host, paths};
    use domain::request::ClusterPatch;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let edit = ClusterPatch { schedulable: Some(schedulable), ..ClusterPatch::default() };
    host::into_app_result(hub.edit_cluster(&actor, &name, edit, Some(base_revision)).await)?;
    leptos_axum::redirect(&paths::cluster(&name));
    Ok(())
}

/// A form that changes one taint, as addresses carry it too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaintForm {
    /// The taint to set: `key` or `key=value`.
    pub set: String,
    /// The effect of the taint to set.
    pub effect: String,
    /// The taint to remove: `key=value:Effect`.
    pub remove: String,
}

/// Sets or removes one taint. If workloads would leave the cluster, it is saved only with `confirmed`; without, the response
/// leads to the question.
#[server(prefix = "/api/fn", endpoint = "cluster_taint")]
pub async fn cluster_taint(
    name: String,
    base_revision: i64,
    change: TaintForm,
    #[server(default)] confirmed: bool,
) -> AppResult<()> {
    use super::change::PlacementChange;
    use crate::{host, paths};
    host::actor()?;
    let patch = taint_patch(&name, &change).await?;
    let TaintForm { set, effect, remove } = change;
    let question =
        paths::cluster_dialog(&name, "taint", &[("set", &set), ("effect", &effect), ("remove", &remove)]);
    PlacementChange { cluster: name, base_revision, patch, confirmed, question }.save_or_confirm().await
}

/// The change of a form, from the current taints of the cluster. It is saved only at the revision of the form, so a taint that
/// another user sets meanwhile is not lost.
#[cfg(feature = "ssr")]
pub async fn taint_patch(cluster: &str, change: &TaintForm) -> AppResult<domain::request::ClusterPatch> {
    use crate::{errors::AppError, host};
    let current = host::into_app_result(host::hub_for_reader()?.get_cluster(cluster).await)?.cluster.taints;
    let taints = change_taints(current, change)
        .map_err(|finding| host::with_status(AppError::from_finding(finding)))?;
    Ok(domain::request::ClusterPatch { taints: Some(taints), ..Default::default() })
}

/// The taints after a change. A taint with the same key and effect is replaced.
#[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "the server reads the form"))]
fn change_taints(mut taints: Vec<Taint>, change: &TaintForm) -> Result<Vec<Taint>, Finding> {
    if !change.remove.is_empty() {
        taints.retain(|taint| taint.to_string() != change.remove);
        return Ok(taints);
    }
    let new = parse_taint(&change.set, &change.effect)?;
    match taints.iter_mut().find(|taint| (&taint.key, taint.effect) == (&new.key, new.effect)) {
        Some(same) => *same = new,
        None => taints.push(new),
    }
    Ok(taints)
}

fn parse_taint(text: &str, effect: &str) -> Result<Taint, Finding> {
    let text = text.trim();
    let effect = TaintEffect::parse(effect).ok_or_else(|| {
        let names: Vec<&str> = TaintEffect::ALL.iter().map(|effect| effect.as_str()).collect();
        let shown: String = effect.chars().take(60).collect();
        let message = format!("{shown:?} is not an effect of a taint.");
        Finding::error("G215", message, format!("Effects are {}.", names.join(", ")))
    })?;
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    if key.trim().is_empty() {
        let hint = "Write key or key=value, such as dedicated=gpu.";
        return Err(Finding::error("G215", "The taint has no key.", hint));
    }
    Ok(Taint { key: key.trim().to_owned(), value: value.trim().to_owned(), effect })
}

/// The cordon with its button, and the taints.
#[component]
pub fn Scheduling(
    name: String,
    schedulable: bool,
    taints: Vec<Taint>,
    /// The revision of the cluster that the page was rendered from.
    revision: i64,
    cordon: ServerAction<ClusterCordon>,
    taint: ServerAction<ClusterTaint>,
) -> impl IntoView {
    let (state, verb) = if schedulable {
        ("Placements may select this cluster for new workloads.", "Cordon")
    } else {
        ("Cordoned: no new workload is placed on this cluster. Those on it stay and are updated.", "Uncordon")
    };
    let for_taints = name.clone();
    let meaning = schedulable.then(|| {
        view! { <p class="meta">"A cordon keeps new workloads away. Workloads on the cluster stay and are updated."</p> }
    });
    view! {
        <section class="stack-sm" aria-labelledby="scheduling">
            <h2 class="section" id="scheduling">
                "Scheduling"
            </h2>
            {action_error(cordon.value())}
            <p>{state}</p>
            <ActionForm action=cordon>
                <Permission action=UserAction::EditCluster>
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="base_revision" value=revision.to_string() />
                    <input type="hidden" name="schedulable" value=(!schedulable).to_string() />
                    <button class="btn" type="submit">
                        {verb}
                    </button>
                </Permission>
            </ActionForm>
            {meaning}
        </section>
        <TaintEditor name=for_taints taints=taints revision=revision action=taint />
    }
    .into_any()
}

/// The taints: each can be removed, one can be set. Plain form posts.
#[component]
fn TaintEditor(
    name: String,
    taints: Vec<Taint>,
    revision: i64,
    action: ServerAction<ClusterTaint>,
) -> impl IntoView {
    let chip = |taint: Taint| {
        let text = taint.to_string();
        let label = format!("Remove the taint {text}");
        view! {
            <span class="chip mono" title=taint.effect.description()>
                {text.clone()}
                <button class="chip-remove" type="submit" name="change[remove]" value=text aria-label=label>
                    {icon("close")}
                </button>
            </span>
        }
    };
    let hidden = move |name: String| {
        view! {
            <input type="hidden" name="name" value=name />
            <input type="hidden" name="base_revision" value=revision.to_string() />
        }
    };
    let effect = |effect: &TaintEffect| view! { <option value=effect.as_str()>{effect.as_str()}</option> };
    let meaning = |effect: &TaintEffect| {
        view! {
            <div>
                <dt class="mono">{effect.as_str()}</dt>
                <dd>{effect.description()}</dd>
            </div>
        }
    };
    let for_removal = name.clone();
    let has_taints = !taints.is_empty();
    let none = (!has_taints).then(|| view! { <p class="text-3">"No taints."</p> });
    view! {
        <section class="stack-sm" aria-labelledby="taints">
            <h2 class="section" id="taints">
                "Taints"
            </h2>
            {action_error(action.value())}
            {none}
            <ActionForm action=action attr:class="flex flex-wrap gap-1">
                // Here too: the fold with the same reason may be closed.
                <Permission action=UserAction::EditCluster quiet=!has_taints>
                    {hidden(for_removal)}
                    {taints.into_iter().map(chip).collect_view()}
                </Permission>
            </ActionForm>
            <details class="fold">
                <summary>"Set a taint"</summary>
            <ActionForm action=action attr:class="flex flex-wrap gap-2 pt-2">
                <Permission action=UserAction::EditCluster>
                    {hidden(name)}
                    <input
                        class="input input-mono max-w-60"
                        name="change[set]"
                        placeholder="dedicated=gpu"
                        aria-label="A taint to set, key or key=value"
                        maxlength="320"
                        required=true
                        autocomplete="off"
                        autocapitalize="off"
                        spellcheck="false"
                    />
                    <select class="select w-auto" name="change[effect]" aria-label="Effect">
                        {TaintEffect::ALL.iter().map(effect).collect_view()}
                    </select>
                    <button class="btn" type="submit">
                        "Set"
                    </button>
                </Permission>
            </ActionForm>
                <dl class="stack-sm pt-3 pb-4">{TaintEffect::ALL.iter().map(meaning).collect_view()}</dl>
            </details>
        </section>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g215_a_taint_is_set_replaced_or_removed() {
        let change = |taints, set: &str, effect: &str, remove: &str| {
            change_taints(
                taints,
                &TaintForm { set: set.into(), effect: effect.into(), remove: remove.into() },
            )
        };
        let text = |taints: &[Taint]| taints.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let one = change(Vec::new(), "dedicated=gpu", "NoSelect", "").unwrap();
        let two = change(one, "dedicated=cpu", "PreferNoSelect", "").unwrap();
        let replaced = change(two, "dedicated", "NoSelect", "").unwrap();
        assert_eq!(text(&replaced), "dedicated:NoSelect dedicated=cpu:PreferNoSelect");
        let removed = change(replaced, "", "", "dedicated:NoSelect").unwrap();
        assert_eq!(text(&removed), "dedicated=cpu:PreferNoSelect");
        assert_eq!(change(Vec::new(), "a", "NoSchedule", "").unwrap_err().code, "G215");
        assert_eq!(change(Vec::new(), " =x", "NoSelect", "").unwrap_err().code, "G215");
    }
}
