//! A new cluster group.

use domain::authorization::UserAction;
use domain::placement::{ClusterGroup, INVALID_GROUP};
use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use super::members::{CandidateList, candidate_row, candidate_table, group_candidates_read};
use crate::components::error::action_error;
use crate::components::{pluralize, render_resource};
use crate::errors::AppResult;
use crate::permission::Permission;
use crate::resource::create_resource;

/// A new group as entered in the form. Unticked boxes are not sent, so every field has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewGroupForm {
    /// Its name.
    pub name: String,
    /// The names of its clusters.
    pub picks: Vec<String>,
    /// Label selector; matching clusters belong to the group, too.
    pub selector: String,
    /// Whether its members may be in no other group; any text is yes, as a browser sends a ticked box.
    pub exclusive: Option<String>,
}

/// Creates a group.
#[server(prefix = "/api/fn", endpoint = "group_create")]
pub async fn group_create(form: NewGroupForm) -> AppResult<()> {
    use crate::{host, paths};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let group = parse_group(form)
        .map_err(|finding| host::with_status(crate::errors::AppError::from_finding(finding)))?;
    let created = host::into_app_result(hub.create_group(&actor, group).await)?;
    leptos_axum::redirect(&paths::group(&created.name));
    Ok(())
}

/// Parses the form.
#[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "the server reads the form"))]
fn parse_group(form: NewGroupForm) -> Result<ClusterGroup, domain::Finding> {
    let selector = form.selector.trim();
    let read = (!selector.is_empty()).then(|| selector.parse()).transpose();
    let selector = read.map_err(|error: domain::labels::InvalidSelector| {
        let hint = "Write it as env=prod,region in (eu,us),!legacy.";
        domain::Finding::error(INVALID_GROUP, format!("{error}."), hint).with_path("/selector")
    })?;
    Ok(ClusterGroup {
        name: form.name.trim().to_owned(),
        members: form.picks,
        selector,
        exclusive: form.exclusive.is_some(),
        ..ClusterGroup::default()
    })
}

/// The page.
#[component]
pub fn NewGroupPage() -> impl IntoView {
    let create = ServerAction::<GroupCreate>::new();
    let clusters =
        create_resource(|| (), |()| group_candidates_read(String::new(), String::new(), String::new()));
    view! {
        <Title text="New group" />
        <div class="stack max-w-240">
            <div class="stack-sm">
                <h1 class="title">"New group"</h1>
                <p class="text-2">"Pick its clusters by name, or describe them by their labels, or both."</p>
            </div>
            <ActionForm action=create attr:class="stack-md" attr:data-guarded="">
                <Permission action=UserAction::ChangeGroups>
                    {action_error(create.value())}
                    <div class="field max-w-90">
                        <label class="field-label" for="group-name">"Name"</label>
                        <input class="input input-mono" id="group-name" name="form[name]" required=true maxlength="63"
                            placeholder="edge" autocomplete="off" autocapitalize="off" spellcheck="false" />
                        <p class="field-help">"Lower-case letters, digits and \"-\"; it can't be changed later."</p>
                    </div>
                    <div class="field max-w-140">
                        <label class="field-label" for="group-selector">"Clusters by label"</label>
                        <input class="input input-mono" id="group-selector" name="form[selector]"
                            placeholder="env=prod,region in (eu,us),!legacy" maxlength="500" autocomplete="off"
                            autocapitalize="off" spellcheck="false" aria-describedby="group-selector-help" />
                        <p class="field-help" id="group-selector-help">
                            "Every cluster with these labels is a member, also one that joins later."
                        </p>
                    </div>
                    <section class="stack-sm" aria-labelledby="picks">
                        <h2 class="section" id="picks">"Clusters by name"</h2>
                        {render_resource(clusters, show_picks)}
                    </section>
                    <label class="choice">
                        <input type="checkbox" class="checkbox" name="form[exclusive]" />
                        "Exclusive: no other group may name these clusters"
                    </label>
                    <div>
                        <button class="btn btn-primary" type="submit">"Create group"</button>
                    </div>
                </Permission>
            </ActionForm>
        </div>
    }
    .into_any()
}

fn show_picks(list: CandidateList) -> AnyView {
    let CandidateList { page, at, .. } = list;
    if page.items.is_empty() {
        return view! { <p class="text-2">"There are no clusters yet. They can be added later."</p> }
            .into_any();
    }
    let shown = page.items.len();
    let rest = u32::try_from(shown).map_or(0, |shown| page.total.saturating_sub(shown));
    let more = (rest > 0).then(|| {
        let text = format!(
            "{} are not shown here: create the group, then search them on its page.",
            pluralize(rest, "other cluster")
        );
        view! { <p class="meta">{text}</p> }
    });
    let row = |cluster: domain::placement::GroupCandidate| {
        let (id, label) = (format!("pick-{}", cluster.name), format!("Member by name: {}", cluster.name));
        let pick = view! {
            <input type="checkbox" class="checkbox" id=id.clone() name="form[picks][]" value=cluster.name.clone()
                aria-label=label />
        };
        candidate_row(cluster, at, id, pick.into_any())
    };
    let rows = page.items.into_iter().map(row).collect_view();
    view! {
        {candidate_table(rows.into_any())}
        {more}
    }
    .into_any()
}
