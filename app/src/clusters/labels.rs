//! The labels of a cluster. Placements select by them, so changing one may move workloads.

use domain::Finding;
use domain::authorization::UserAction;
use domain::labels::Labels;
use leptos::prelude::*;

use crate::components::{ErrorBanner, icon};
use crate::errors::AppResult;
use crate::label_text::parse_label;
use crate::permission::Permission;

/// Sets one label (`set`, as `key=value`) or removes one (`remove`, a key). If workloads would leave the cluster, it is
/// saved only with `confirmed`; without, the response leads to the question.
#[server(prefix = "/api/fn", endpoint = "cluster_label")]
pub async fn cluster_label(
    name: String,
    base_revision: i64,
    #[server(default)] set: String,
    #[server(default)] remove: String,
    #[server(default)] confirmed: bool,
) -> AppResult<()> {
    use super::change::PlacementChange;
    use crate::{host, paths};
    host::actor()?;
    let patch = label_patch(&set, &remove)?;
    let question = paths::cluster_dialog(&name, "label", &[("set", &set), ("remove", &remove)]);
    PlacementChange { cluster: name, base_revision, patch, confirmed, question }.save_or_confirm().await
}

/// The change of a form.
#[cfg(feature = "ssr")]
pub fn label_patch(set: &str, remove: &str) -> AppResult<domain::request::ClusterPatch> {
    use domain::request::ClusterPatch;
    let (key, value) = parse_change(set, remove)
        .map_err(|finding| crate::host::with_status(crate::errors::AppError::from_finding(finding)))?;
    Ok(ClusterPatch { labels: [(key, value)].into(), ..ClusterPatch::default() })
}

/// Key and new value; `None` removes the label.
#[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "the server reads the form"))]
fn parse_change(set: &str, remove: &str) -> Result<(String, Option<String>), Finding> {
    if !remove.is_empty() {
        return Ok((remove.to_owned(), None));
    }
    parse_label(set).map(|(key, value)| (key, Some(value)))
}

/// Labels, read-only.
pub fn label_chips(labels: &Labels) -> impl IntoView + use<> {
    let chip = |(key, value): (&String, &String)| view! { <span class="chip mono">{format!("{key}={value}")}</span> };
    view! { <span class="flex flex-wrap gap-1">{labels.iter().map(chip).collect_view()}</span> }
}

/// The first two labels and the number of the others, which the title lists: a row of a list has one line.
pub fn first_label_chips(labels: &Labels) -> impl IntoView + use<> {
    const SHOWN: usize = 2;
    let all: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let more = all.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| view! { <span class="meta">{format!("+{more}")}</span> });
    let title = all.join("\n");
    let chips = all.into_iter().take(SHOWN).map(|label| view! { <span class="chip mono">{label}</span> });
    view! { <span class="flex flex-wrap items-center gap-1" title=title>{chips.collect_view()} {more}</span> }
}

/// Editable labels: each can be removed, one can be added. Plain form posts.
#[component]
pub fn LabelEditor(
    name: String,
    labels: Labels,
    /// The revision of the cluster that the page was rendered from.
    revision: i64,
    action: ServerAction<ClusterLabel>,
) -> impl IntoView {
    let chip = |(key, value): (String, String)| {
        let label = format!("Remove {key}");
        view! {
            <span class="chip mono">
                {format!("{key}={value}")}
                <button class="chip-remove" type="submit" name="remove" value=key aria-label=label>
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
    let for_removal = name.clone();
    let has_labels = !labels.is_empty();
    view! {
        <section class="stack-sm" aria-labelledby="labels">
            <h2 class="section" id="labels">
                "Labels"
            </h2>
            {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <ActionForm action=action attr:class="flex flex-wrap gap-1">
                // Here too: the fold with the same reason may be closed.
                <Permission action=UserAction::EditCluster quiet=!has_labels>
                    {hidden(for_removal)}
                    {labels.into_iter().map(chip).collect_view()}
                </Permission>
            </ActionForm>
            // Without the attribute "open": a live update would reset it to this value, and close what the user opened.
            <details class="fold">
                <summary>"Add a label"</summary>
            <ActionForm action=action attr:class="flex gap-2 pt-2">
                <Permission action=UserAction::EditCluster>
                    {hidden(name)}
                    <input
                        class="input input-mono max-w-60"
                        name="set"
                        placeholder="tier=edge"
                        aria-label="A label to add, key=value"
                        pattern="[^=\\s]+=[^=\\s]*"
                        title="key=value"
                        maxlength="320"
                        required=true
                        autocomplete="off"
                    />
                    <button class="btn" type="submit">
                        "Add"
                    </button>
                </Permission>
            </ActionForm>
                <p class="meta pt-3 pb-4">"Placements select clusters by label. Workloads that no longer match leave this cluster after a notice; workloads that now match are deployed with their next publish."</p>
            </details>
        </section>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g215_a_label_is_set_or_removed_and_nothing_else() {
        assert_eq!(parse_change("tier=edge", ""), Ok(("tier".into(), Some("edge".into()))));
        assert_eq!(parse_change("", "tier"), Ok(("tier".into(), None)));
        assert_eq!(parse_change("tier", "").unwrap_err().code, "G215");
    }

    #[cfg(feature = "ssr")]
    #[test]
    fn the_reason_why_a_label_cannot_be_removed_is_beside_it_and_not_only_in_the_fold() {
        let render = |labels: Labels| {
            crate::render_tests::render_html(move || {
                let viewer = hub::Actor::new("ann", hub::ActorKind::System, domain::role::Role::Viewer);
                provide_context(viewer);
                crate::permission::provide_role();
                let action = ServerAction::<ClusterLabel>::new();
                view! { <LabelEditor name="eu-1".to_owned() labels=labels revision=1 action=action /> }
            })
        };
        let before_fold = |page: &str| page.split("<details").next().unwrap_or_default().to_owned();
        let page = render([("env".to_owned(), "prod".to_owned())].into());
        assert!(before_fold(&page).contains("you need the role"), "{page}");
        let page = render(Labels::new());
        assert!(!before_fold(&page).contains("you need the role"), "nothing is disabled there: {page}");
        assert!(page.contains("you need the role"), "{page}");
    }
}
