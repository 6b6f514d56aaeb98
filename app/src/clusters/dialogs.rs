//! Confirmation dialogs of a cluster: revoke its certificates, delete it, or change a label or a taint by which workloads
//! leave. Each names the workloads concerned. The address holds which one is open.

use domain::Finding;
use domain::authorization::UserAction;
use domain::cluster::ClusterKind;
use domain::placement::REMOVAL_NOTICE_MINUTES;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::actions::ClusterActions;
use super::labels::ClusterLabel;
use super::scheduling::ClusterTaint;
use crate::components::dialog::{confirmed_deletion, dialog_buttons};
use crate::components::error::action_error;
use crate::components::{ConfirmDialog, FindingList, join_names, pluralize, render_resource_part};
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;
use crate::resource::create_resource;

/// Names of workloads that a dialog shows; the others are counted.
const NAMES_SHOWN: usize = 8;

/// What the query of the address asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterQuestion {
    /// `revoke`, `delete`, `label` or `taint`; no dialog is open for anything else.
    pub dialog: String,
    /// The label or the taint to set.
    pub set: String,
    /// The effect of the taint to set.
    pub effect: String,
    /// The label or the taint to remove.
    pub remove: String,
}

impl ClusterQuestion {
    fn is_open(&self) -> bool {
        matches!(&*self.dialog, "revoke" | "delete" | "label" | "taint")
    }
}

/// What a dialog shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionFacts {
    /// How the cluster is served.
    pub kind: ClusterKind,
    /// Its revision.
    pub revision: i64,
    /// The workloads that have a release on it; for a change of labels or taints, those that would leave.
    pub workloads: Vec<String>,
    /// Why a change of labels or taints would be rejected.
    pub findings: Vec<Finding>,
}

/// The dialog's query.
#[server(prefix = "/api/fn", endpoint = "cluster_question_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn cluster_question_read(name: String, question: ClusterQuestion) -> AppResult<QuestionFacts> {
    use hub::ClusterEditPreview;

    use super::{labels, scheduling};
    use crate::host;
    let hub = host::hub_for_reader()?;
    let cluster = host::into_app_result(hub.get_cluster(&name).await)?.cluster;
    let preview = match &*question.dialog {
        "label" => {
            let patch = labels::label_patch(&question.set, &question.remove)?;
            hub.preview_cluster_edit(&name, patch).await
        }
        "taint" => {
            let ClusterQuestion { set, effect, remove, .. } = question;
            let patch =
                scheduling::taint_patch(&name, &scheduling::TaintForm { set, effect, remove }).await?;
            hub.preview_cluster_edit(&name, patch).await
        }
        _ => hub
            .list_cluster_workloads(&name)
            .await
            .map(|leaving| ClusterEditPreview { leaving, findings: Vec::new() }),
    };
    let ClusterEditPreview { leaving: workloads, findings } = host::into_app_result(preview)?;
    Ok(QuestionFacts { kind: cluster.kind, revision: cluster.revision, workloads, findings })
}

/// The dialog that the query of the address names, if any. Not part of the live page: its facts are read when it opens.
#[component]
pub fn ClusterDialogs(name: Memo<String>, actions: ClusterActions) -> impl IntoView {
    let query = use_query_map();
    let question = Memo::new(move |_| {
        let query = query.read();
        let part = |name: &str| query.get(name).unwrap_or_default();
        ClusterQuestion {
            dialog: part("dialog"),
            set: part("set"),
            effect: part("effect"),
            remove: part("remove"),
        }
    });
    move || {
        let question = question.get();
        question.is_open().then(|| view! { <Dialog name=name.get() question=question actions=actions /> })
    }
}

#[component]
fn Dialog(name: String, question: ClusterQuestion, actions: ClusterActions) -> impl IntoView {
    let key = StoredValue::new((name.clone(), question.clone()));
    let data = create_resource(
        || (),
        move |()| {
            let (name, question) = key.get_value();
            cluster_question_read(name, question)
        },
    );
    render_resource_part(data, move |facts| {
        let (name, question) = key.get_value();
        match &*question.dialog {
            "revoke" => revoke_dialog(name, facts, actions),
            "delete" => delete_dialog(name, facts, actions),
            "label" => label_dialog(name, question, facts, actions.label),
            _ => taint_dialog(name, question, facts, actions.taint),
        }
    })
}

fn list_names(names: &[String]) -> AnyView {
    view! { <p class="name text-ink">{join_names(names, names.len(), NAMES_SHOWN)}</p> }.into_any()
}

fn count(names: &[String]) -> u32 {
    u32::try_from(names.len()).unwrap_or(u32::MAX)
}

fn revoke_dialog(name: String, facts: QuestionFacts, actions: ClusterActions) -> AnyView {
    let action = actions.revoke;
    let back = paths::below_cluster_dialog(&name, "revoke");
    let there = count(&facts.workloads);
    let (verb, them) = if there == 1 { ("keeps", "it") } else { ("keep", "them") };
    let effect = match there {
        0 => "No workload has a release there.".to_owned(),
        n => format!(
            "{} with a release there {verb} running, but can't be changed, repaired or removed, and the state of {them} is no longer known.",
            pluralize(n, "workload")
        ),
    };
    view! {
        <ConfirmDialog title=format!("Revoke the certificates of {name}?") back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::RemoveCluster>
                    <input type="hidden" name="name" value=name />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>"Its agent is disconnected at once and can't connect again. "{effect}</p>
                        {(there > 0).then(|| list_names(&facts.workloads))}
                        <p>"To connect it again, generate new manifests, apply them, and accept the agent."</p>
                    </div>
                    {dialog_buttons(back, "Revoke", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

fn delete_dialog(name: String, facts: QuestionFacts, actions: ClusterActions) -> AnyView {
    let action = actions.delete;
    let back = paths::cluster(&name);
    let there = count(&facts.workloads);
    let title = match there {
        0 => format!("Delete {name}?"),
        n => format!("Delete {name} with {}?", pluralize(n, "workload")),
    };
    let connection = match facts.kind {
        ClusterKind::Agent => "Its agent is disconnected and can't connect again.",
        ClusterKind::Kubeconfig | ClusterKind::Simulated => "This server no longer connects to it.",
    };
    let effect = (there > 0).then(|| {
        let have = if there == 1 { "has" } else { "have" };
        let text = format!("{} {have} a release there:", pluralize(there, "workload"));
        view! {
            <div class="warn-box hue-drifted stack-sm">
                <p>{text}</p>
                {list_names(&facts.workloads)}
                <p>"Their objects are left running. If the cluster joins again, they are removed from it."</p>
                <label class="choice">
                    <input type="checkbox" name="force" class="checkbox" value="true" required=true />
                    "Delete it anyway"
                </label>
            </div>
        }
    });
    let nothing = (there == 0).then(|| view! { <p>"No workload has a release there."</p> });
    view! {
        <ConfirmDialog title=title back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::RemoveCluster>
                    <input type="hidden" name="name" value=name.clone() />
                    {confirmed_deletion(&name, back, action, view! {
                        {action_error(action.value())}
                        <p>{connection}" Its labels, taints and values are deleted."</p>
                        {nothing}
                        {effect}
                    })}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

/// `Remove the label env from eu-1?`
fn label_title(name: &str, question: &ClusterQuestion) -> String {
    if question.remove.is_empty() {
        format!("Set the label {} on {name}?", question.set)
    } else {
        format!("Remove the label {} from {name}?", question.remove)
    }
}

fn label_dialog(
    name: String,
    question: ClusterQuestion,
    facts: QuestionFacts,
    action: ServerAction<ClusterLabel>,
) -> AnyView {
    let back = paths::cluster(&name);
    view! {
        <ConfirmDialog title=label_title(&name, &question) back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::EditCluster>
                    {change_fields(name, facts.revision)}
                    <input type="hidden" name="set" value=question.set.clone() />
                    <input type="hidden" name="remove" value=question.remove.clone() />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        {describe_effect(&facts)}
                    </div>
                    {dialog_buttons(back, change_verb(&question), "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

fn taint_dialog(
    name: String,
    question: ClusterQuestion,
    facts: QuestionFacts,
    action: ServerAction<ClusterTaint>,
) -> AnyView {
    let back = paths::cluster(&name);
    let title = if question.remove.is_empty() {
        format!("Set the taint {}:{} on {name}?", question.set, question.effect)
    } else {
        format!("Remove the taint {} from {name}?", question.remove)
    };
    view! {
        <ConfirmDialog title=title back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::EditCluster>
                    {change_fields(name, facts.revision)}
                    <input type="hidden" name="change[set]" value=question.set.clone() />
                    <input type="hidden" name="change[effect]" value=question.effect.clone() />
                    <input type="hidden" name="change[remove]" value=question.remove.clone() />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        {describe_effect(&facts)}
                    </div>
                    {dialog_buttons(back, change_verb(&question), "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

fn change_verb(question: &ClusterQuestion) -> &'static str {
    if question.remove.is_empty() { "Set" } else { "Remove" }
}

fn change_fields(name: String, revision: i64) -> impl IntoView {
    view! {
        <input type="hidden" name="name" value=name />
        <input type="hidden" name="base_revision" value=revision.to_string() />
        <input type="hidden" name="confirmed" value="true" />
    }
}

/// Why the change would be rejected, or what it would do.
fn describe_effect(facts: &QuestionFacts) -> AnyView {
    if facts.findings.is_empty() {
        return describe_leaving(&facts.workloads);
    }
    view! {
        <p>"The change would be rejected:"</p>
        <FindingList findings=facts.findings.clone() />
    }
    .into_any()
}

/// How many workloads leave, which, and how to prevent it.
fn describe_leaving(names: &[String]) -> AnyView {
    if names.is_empty() {
        return view! { <p>"No workload would leave."</p> }.into_any();
    }
    let many = count(names);
    let text = format!("{} would leave:", pluralize(many, "workload"));
    let notice = format!(
        "Each keeps running for {REMOVAL_NOTICE_MINUTES} minutes, in which you can revert the change or cancel the removal on the workload's page. Then its objects are removed."
    );
    view! {
        <div class="warn-box hue-drifted stack-sm">
            <p>{text}</p>
            {list_names(names)}
        </div>
        <p>{notice}</p>
    }
    .into_any()
}
