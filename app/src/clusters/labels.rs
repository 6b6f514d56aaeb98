//! The labels of a cluster. Placements select by them, so changing one may move workloads.

use domain::Finding;
use domain::labels::Labels;
use leptos::prelude::*;

use crate::components::{ErrorBanner, icon};
use crate::errors::AppResult;

/// Sets one label (`set`, as `key=value`) or removes one (`remove`, a key).
#[server(prefix = "/api/fn", endpoint = "cluster_label")]
pub async fn cluster_label(
    name: String,
    base_revision: i64,
    #[server(default)] set: String,
    #[server(default)] remove: String,
) -> AppResult<()> {
    use crate::{host, paths};
    use domain::request::ClusterPatch;
    let actor = host::actor()?;
    let (key, value) = parse_change(&set, &remove)
        .map_err(|finding| host::with_status(crate::errors::AppError::from_finding(finding)))?;
    let edit = ClusterPatch { labels: [(key, value)].into(), ..ClusterPatch::default() };
    host::into_app_result(host::hub()?.edit_cluster(&actor, &name, edit, Some(base_revision)).await)?;
    leptos_axum::redirect(&paths::cluster(&name));
    Ok(())
}

/// Key and new value; `None` removes the label.
#[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "the server reads the form"))]
fn parse_change(set: &str, remove: &str) -> Result<(String, Option<String>), Finding> {
    if !remove.is_empty() {
        return Ok((remove.to_owned(), None));
    }
    parse_label(set).map(|(key, value)| (key, Some(value)))
}

/// Parses a label written as `key=value`.
pub fn parse_label(text: &str) -> Result<(String, String), Finding> {
    let bad = || {
        Finding::error(
            "G215",
            format!("{text:?} is not a label."),
            "Write it as key=value, such as tier=edge.",
        )
    };
    let (key, value) = text.trim().split_once('=').ok_or_else(bad)?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Labels, read-only.
pub fn label_chips(labels: &Labels) -> impl IntoView + use<> {
    let chip = |(key, value): (&String, &String)| view! { <span class="chip mono">{format!("{key}={value}")}</span> };
    view! { <span class="flex flex-wrap gap-1">{labels.iter().map(chip).collect_view()}</span> }
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
    view! {
        <section class="stack-sm" aria-labelledby="labels">
            <h2 class="section" id="labels">
                "Labels"
            </h2>
            {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <ActionForm action=action attr:class="flex flex-wrap gap-1">
                {hidden(for_removal)}
                {labels.into_iter().map(chip).collect_view()}
            </ActionForm>
            <ActionForm action=action attr:class="flex gap-2">
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
            </ActionForm>
            <p class="meta">"Placements select clusters by label. Workloads that no longer match are removed from this cluster; workloads that now match are deployed with their next publish."</p>
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
}
