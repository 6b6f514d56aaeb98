//! Features of a group (S1-2): what the group is used for, and who may change its members.

use domain::authorization::UserAction;
use domain::placement::{FeatureState, FeatureStatus, GroupFeatureName};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::dialog::dialog_buttons;
use crate::components::editor::TextArea;
use crate::components::error::action_error;
use crate::components::{ConfirmDialog, StatusStyle, join_names, pluralize, render_resource_part};
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;
use crate::resource::{count_successes, create_resource};

/// The features of a group as the page shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupFeatures {
    /// Name of the group.
    pub group: String,
    /// Every feature.
    pub features: Vec<FeatureRow>,
    /// The deployments of the group, which are deleted with the feature `deployment`.
    pub deployments: Vec<String>,
}

/// A feature with its properties as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureRow {
    /// The feature.
    pub status: FeatureStatus,
    /// Its properties as YAML; empty if there are none.
    pub properties: String,
}

/// The features of a group and its deployments.
#[server(prefix = "/api/fn", endpoint = "group_features_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn group_features_read(name: String) -> AppResult<GroupFeatures> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let features = host::into_app_result(hub.list_group_features(&name).await)?;
    let features = host::into_app_result(hub.hide_secrets(&actor, features).await)?;
    let deployments = host::into_app_result(hub.list_deployments(&name).await)?;
    let row = |status: FeatureStatus| FeatureRow { properties: format_properties(&status), status };
    Ok(GroupFeatures {
        features: features.into_iter().map(row).collect(),
        deployments: deployments.into_iter().map(|one| one.release_name).collect(),
        group: name,
    })
}

#[cfg(feature = "ssr")]
fn format_properties(status: &FeatureStatus) -> String {
    if status.feature.properties.is_empty() {
        return String::new();
    }
    let properties = serde_json::Value::Object(status.feature.properties.clone());
    domain::manifest::yaml_value::write(&properties)
}

/// Enables a feature, or replaces its properties (YAML or JSON).
#[server(prefix = "/api/fn", endpoint = "group_feature_enable")]
pub async fn group_feature_enable(
    group: String,
    feature: String,
    #[server(default)] properties: String,
) -> AppResult<()> {
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let text = properties.replace("\r\n", "\n");
    let found = crate::parsing::parse_text(|| domain::chart::check_values("The properties", &text));
    if let Some(finding) = found {
        return Err(host::with_status(AppError::from_finding(finding)));
    }
    let properties = crate::parsing::parse_text(|| domain::deployment::read_chart_values(&text));
    host::into_app_result(hub.enable_group_feature(&actor, &group, (&feature, properties)).await)?;
    leptos_axum::redirect(&paths::group(&group));
    Ok(())
}

/// Disables a feature. Without the feature `deployment`, the deployments of the group are deleted; that has to be `confirmed`.
#[server(prefix = "/api/fn", endpoint = "group_feature_disable")]
pub async fn group_feature_disable(
    group: String,
    feature: String,
    #[server(default)] confirmed: bool,
) -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    if feature == GroupFeatureName::Deployment.as_str() && !confirmed {
        leptos_axum::redirect(&paths::group_feature_dialog(&group, &feature));
        return Ok(());
    }
    host::into_app_result(hub.disable_group_feature(&actor, &group, &feature).await)?;
    leptos_axum::redirect(&paths::group(&group));
    Ok(())
}

/// The actions on features; a success changes what the page of the group shows.
#[derive(Clone, Copy)]
pub struct FeatureActions {
    enable: ServerAction<GroupFeatureEnable>,
    disable: ServerAction<GroupFeatureDisable>,
    changes: [RwSignal<u32>; 2],
}

impl FeatureActions {
    /// Creates both actions.
    pub fn new() -> Self {
        let (enable, disable) = (ServerAction::new(), ServerAction::new());
        let changes = [count_successes(enable.value()), count_successes(disable.value())];
        Self { enable, disable, changes }
    }

    /// Grows with every change.
    pub fn version(self) -> u32 {
        self.changes.iter().map(|changes| changes.get()).sum()
    }
}

/// The features of a group with their forms, read again while clusters complete a change.
#[component]
pub fn Features(
    name: Memo<String>,
    actions: FeatureActions,
    /// Grows when the fleet has changed, as long as the page is not left.
    version: Memo<u32>,
) -> impl IntoView {
    let data = create_resource(
        move || (name.get(), actions.version(), version.get()),
        |(name, ..)| group_features_read(name),
    );
    render_resource_part(data, move |view| show_features(view, actions))
}

/// The question before the feature `deployment` is disabled, if the address asks it.
#[component]
pub fn FeatureDialog(name: Memo<String>, actions: FeatureActions) -> impl IntoView {
    let query = use_query_map();
    let asked = Memo::new(move |_| query.read().get("disable").unwrap_or_default());
    move || {
        (asked.get() == GroupFeatureName::Deployment.as_str()).then(|| {
            let data = create_resource(move || name.get(), group_features_read);
            render_resource_part(data, move |view| disable_dialog(view, actions.disable))
        })
    }
}

fn show_features(view: GroupFeatures, actions: FeatureActions) -> AnyView {
    let GroupFeatures { group, features, deployments } = view;
    let entry = |row: FeatureRow| feature_entry(&group, row, deployments.len(), actions);
    let entries = features.into_iter().map(entry).collect_view();
    view! {
        <section class="stack-sm max-w-180" aria-labelledby="features">
            <h2 class="section" id="features">"Features"</h2>
            {action_error(actions.disable.value())}
            {action_error(actions.enable.value())}
            <ul class="stack-md">{entries}</ul>
        </section>
    }
    .into_any()
}

/// What a feature does, in a sentence.
const fn describe_feature(feature: GroupFeatureName) -> &'static str {
    match feature {
        GroupFeatureName::Deployment => {
            "Charts can be deployed to the group. Disabling it deletes the deployments of the group."
        }
        GroupFeatureName::MembershipLock => "The members of the group can't be changed while it is enabled.",
    }
}

/// The name of a feature in words.
const fn feature_label(name: GroupFeatureName) -> &'static str {
    match name {
        GroupFeatureName::Deployment => "Deployments",
        GroupFeatureName::MembershipLock => "Membership lock",
    }
}

/// Icon and words of a feature's state.
fn feature_state(status: &FeatureStatus) -> (StatusStyle, &'static str) {
    let quiet = |icon, hue| StatusStyle { icon, hue, emphasis: "state-quiet" };
    match (status.reconcile_state, status.feature.enabled) {
        (FeatureState::Success, true) => (quiet("healthy", "hue-healthy"), "Enabled"),
        (FeatureState::Success, false) => (quiet("removed", "hue-unknown"), "Disabled"),
        (FeatureState::InProgress, _) => (
            StatusStyle { icon: "progressing", hue: "hue-progressing", emphasis: "state-attention" },
            "In progress",
        ),
        (FeatureState::Failed, _) => (
            StatusStyle { icon: "failed", hue: "hue-degraded", emphasis: "state-broken" },
            "Failed, retrying",
        ),
    }
}

/// The button that disables a feature; `None` if it is disabled already.
fn disable_form(
    group: String,
    status: &FeatureStatus,
    action: ServerAction<GroupFeatureDisable>,
) -> Option<AnyView> {
    let name = status.feature.name;
    // Repeated, it tries the deletions again, which were confirmed before.
    let is_failed = status.reconcile_state == FeatureState::Failed;
    (status.feature.enabled || is_failed).then(|| {
        let verb = if is_failed { "Try again to disable" } else { "Disable" };
        let label = format!("{verb}: {}", feature_label(name));
        let text = match name {
            _ if is_failed => "Try again",
            GroupFeatureName::Deployment => "Disable…",
            _ => "Disable",
        };
        view! {
            <ActionForm action=action>
                <Permission action=UserAction::ChangeGroups quiet=true>
                    <input type="hidden" name="group" value=group />
                    <input type="hidden" name="feature" value=name.as_str() />
                    {is_failed.then(|| view! { <input type="hidden" name="confirmed" value="true" /> })}
                    <button class="btn btn-sm" type="submit" aria-label=label>{text}</button>
                </Permission>
            </ActionForm>
        }
        .into_any()
    })
}

fn feature_entry(
    group: &str,
    row: FeatureRow,
    deployments: usize,
    actions: FeatureActions,
) -> impl IntoView + use<> {
    let FeatureRow { status, properties } = row;
    let count = status.feature.properties.len();
    let set = (count > 0).then(|| view! { <span class="meta font-normal">{format!("{count} set")}</span> });
    let (group, enabled_group) = (group.to_owned(), group.to_owned());
    let name = status.feature.name;
    let (style, words) = feature_state(&status);
    let error = status.last_reconcile_error.clone();
    let progress = (status.reconcile_state != FeatureState::Success).then(|| {
        let count = pluralize(u32::try_from(deployments).unwrap_or(u32::MAX), "deployment");
        view! { <p class="text-2">{format!("{count} of the group still to be deleted.")}</p> }
    });
    let disable = disable_form(group, &status, actions.disable);
    let verb = if status.feature.enabled { "Set properties" } else { "Enable" };
    let label = format!("{verb}: {}", feature_label(name));
    // The button that enables it is at the end of its line, outside its form.
    let form = format!("feature-{}", name.as_str());
    let submit =
        view! { <button class="btn btn-sm" type="submit" form=form.clone() aria-label=label>{verb}</button> }
            .into_any();
    // The properties of an enabled feature are saved with the fold that shows them.
    let (in_fold, at_end) = if status.feature.enabled { (Some(submit), None) } else { (None, Some(submit)) };
    let enable = at_end.map(|submit| {
        view! {
            <Permission action=UserAction::ChangeGroups quiet=true>
                {submit}
            </Permission>
        }
    });
    let text_label = Signal::stored(format!("Properties of {}", feature_label(name)));
    view! {
        <li class="stack-sm">
            <div class="flex flex-wrap items-center gap-3">
                <h3 class="strong">{feature_label(name)}</h3>
                <span class="meta mono">{name.as_str()}</span>
                {style.with_label(words)}
                <div class="ml-auto flex gap-2">{disable} {enable}</div>
            </div>
            <p class="text-2">{describe_feature(name)}</p>
            {progress}
            {(!error.is_empty()).then(|| view! { <p class="hue-degraded text-ink">{error}</p> })}
            <ActionForm action=actions.enable attr:class="stack-sm" attr:id=form>
                <Permission action=UserAction::ChangeGroups>
                    <input type="hidden" name="group" value=enabled_group />
                    <input type="hidden" name="feature" value=name.as_str() />
                    // Without the attribute "open": a live update would reset it to this value, and close what the user opened.
                    <details class="fold">
                        <summary>"Properties " {set}</summary>
                        <div class="field pt-2">
                            <TextArea class="textarea input-mono min-h-24" field="properties" text=properties label=text_label
                                on_text=Callback::new(|_| ()) />
                            <p class="field-help">"YAML or JSON, such as mesh: {mode: strict}. They are stored for clients of the API."</p>
                            <div>{in_fold}</div>
                        </div>
                    </details>
                </Permission>
            </ActionForm>
        </li>
    }
}

/// The question before the feature `deployment` is disabled.
fn disable_dialog(view: GroupFeatures, action: ServerAction<GroupFeatureDisable>) -> AnyView {
    let GroupFeatures { group, deployments, .. } = view;
    let back = paths::group(&group);
    let many = u32::try_from(deployments.len()).unwrap_or(u32::MAX);
    let effect = if deployments.is_empty() {
        view! { <p>"The group has no deployments. None can be created until the feature is enabled again."</p> }
            .into_any()
    } else {
        let are = if many == 1 { "is" } else { "are" };
        let text =
            format!("{} of the group {are} deleted from all its clusters:", pluralize(many, "deployment"));
        view! {
            <div class="warn-box hue-drifted stack-sm">
                <p>{text}</p>
                <p class="name text-ink">{join_names(&deployments, deployments.len(), 8)}</p>
            </div>
            <p>"A cluster that can't be reached deletes them when it returns."</p>
        }
        .into_any()
    };
    view! {
        <ConfirmDialog title=format!("Disable deployments of {group}?") back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::ChangeGroups>
                    <input type="hidden" name="group" value=group />
                    <input type="hidden" name="feature" value=GroupFeatureName::Deployment.as_str() />
                    <input type="hidden" name="confirmed" value="true" />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        {effect}
                    </div>
                    {dialog_buttons(back, "Disable", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
