//! What holds for all workloads of the project: the values of charts that it locks (S2-8), and the approval of publishes (S2-5).

use domain::authorization::UserAction;
use domain::project::{Project, PublishApproval};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::editor::TextArea;
use crate::components::error::action_error;
use crate::components::render_resource;
use crate::errors::AppResult;
use crate::permission::Permission;
use crate::resource::{count_successes, create_resource};

/// The project as entered in the form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectForm {
    /// Values that charts have on every cluster, as YAML.
    pub locked_values: String,
    /// Whether a publish has to be approved; empty to leave it as it is.
    pub publish_approval: String,
    /// The revision that the form was rendered from.
    pub base_revision: i64,
}

/// The project.
#[server(prefix = "/api/fn", endpoint = "project_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn project_read() -> AppResult<Project> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let project = host::into_app_result(hub.get_project().await)?;
    host::into_app_result(hub.hide_secrets(&actor, project).await)
}

/// Changes the project with the revision `base_revision`.
#[server(prefix = "/api/fn", endpoint = "project_save")]
pub async fn project_save(form: ProjectForm) -> AppResult<()> {
    use crate::paths::{self, SettingsTab};
    use crate::{errors::AppError, host};
    use domain::Finding;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let ProjectForm { locked_values, publish_approval, base_revision } = form;
    let locked_values = locked_values.replace("\r\n", "\n");
    let approval = match publish_approval.as_str() {
        "" => None,
        text => Some(text.parse::<PublishApproval>().map_err(|why| {
            let finding = Finding::error("G100", format!("{why}."), "Choose a value of the list.");
            host::with_status(AppError::Invalid(vec![finding.with_path("/publishApproval")]))
        })?),
    };
    host::into_app_result(hub.save_project(&actor, locked_values, approval, Some(base_revision)).await)?;
    leptos_axum::redirect(&paths::settings_tab(SettingsTab::Project));
    Ok(())
}

/// The section of the project.
#[component]
pub fn ProjectSection(
    /// Changes it.
    save: ServerAction<ProjectSave>,
) -> impl IntoView {
    // A rejected change leaves the form with its revision and what was typed into it.
    let saves = count_successes(save.value());
    let data = create_resource(move || saves.get(), |_| project_read());
    view! {
        <section class="stack-sm max-w-180" aria-labelledby="project">
            <h2 class="section" id="project">"Project"</h2>
            {render_resource(data, move |project| show_project(project, save))}
        </section>
    }
}

fn show_project(project: Project, save: ServerAction<ProjectSave>) -> AnyView {
    view! {
        <ActionForm action=save attr:class="stack-md" attr:data-guarded="">
            <Permission action=UserAction::ManageProject>
                {action_error(save.value())}
                <input type="hidden" name="form[base_revision]" value=project.revision.to_string() />
                <div class="field">
                    <span class="field-label">"Locked chart values"</span>
                    <TextArea class="textarea input-mono min-h-24" field="form[locked_values]"
                        text=project.locked_values label="Locked chart values" on_text=Callback::new(|_| ()) />
                    <p class="field-help">
                        "YAML, such as tls: {enabled: true}. Every chart has these values on every cluster; a workload, an override or a group that sets others is rejected."
                    </p>
                </div>
                {approval_field(project.publish_approval)}
                <div>
                    <button class="btn" type="submit">"Save project"</button>
                </div>
            </Permission>
        </ActionForm>
    }
    .into_any()
}

/// Whether publishes have to be approved.
fn approval_field(current: PublishApproval) -> AnyView {
    let option = |approval: PublishApproval| {
        let label = match approval {
            PublishApproval::None => "Not required",
            PublishApproval::Anyone => "Required",
            PublishApproval::AnotherUser => "Required, by another user than the publisher",
        };
        let is_selected = approval == current;
        view! {
            <option value=approval.as_str() selected=is_selected>
                {label}
            </option>
        }
    };
    view! {
        <div class="field">
            <label class="field-label" for="publish-approval">
                "Approval of publishes"
            </label>
            <select class="select" id="publish-approval" name="form[publish_approval]" aria-describedby="publish-approval-help">
                {PublishApproval::ALL.iter().copied().map(option).collect_view()}
            </select>
            <p class="field-help" id="publish-approval-help">
                "A publish reaches its first cluster after somebody approved it, whatever its workload sets. Publishes that wait already keep their rule."
            </p>
        </div>
    }
    .into_any()
}
