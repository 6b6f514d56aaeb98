//! The annotations of a cluster, which templates read as `cluster.annotations.KEY` (S4-7).

use domain::Finding;
use domain::authorization::UserAction;
use domain::labels::Labels;
use leptos::prelude::*;

use crate::components::error::action_error;
use crate::components::icon;
use crate::errors::AppResult;
use crate::permission::Permission;

/// Sets one annotation (`key` and `value`) or removes one (`removed`, a key).
#[server(prefix = "/api/fn", endpoint = "cluster_annotate")]
pub async fn cluster_annotate(
    name: String,
    #[server(default)] key: String,
    #[server(default)] value: String,
    #[server(default)] removed: String,
) -> AppResult<()> {
    use crate::{errors::AppError, host, paths};
    use domain::request::ClusterPatch;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let change = parse_change((&key, &value), &removed)
        .map_err(|finding| host::with_status(AppError::from_finding(finding)))?;
    let edit = ClusterPatch { annotations: [change].into(), ..ClusterPatch::default() };
    host::into_app_result(hub.edit_cluster(&actor, &name, edit, None).await)?;
    leptos_axum::redirect(&paths::cluster_tab(&name, paths::ClusterTab::Config));
    Ok(())
}

/// Key and new value; `None` removes the annotation. A line break of the form becomes one line feed.
#[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "the server reads the form"))]
fn parse_change((key, value): (&str, &str), removed: &str) -> Result<(String, Option<String>), Finding> {
    if !removed.is_empty() {
        return Ok((removed.to_owned(), None));
    }
    if key.trim().is_empty() {
        let hint = "Write a key such as example.com/owner.";
        return Err(Finding::error("G215", "The annotation has no key.", hint));
    }
    Ok((key.trim().to_owned(), Some(value.replace("\r\n", "\n"))))
}

fn annotation_row((key, value): (String, String)) -> impl IntoView {
    let label = format!("Remove the annotation {key}");
    view! {
        <tr>
            <th scope="row" class="cell-name mono break-all">{key.clone()}</th>
            <td data-label="Value"><span class="mono break-all">{value}</span></td>
            <td class="right cell-state">
                <button class="btn btn-sm btn-danger" type="submit" name="removed" value=key aria-label=label>
                    {icon("trash")}
                    "Remove"
                </button>
            </td>
        </tr>
    }
}

/// The annotations: each can be removed, one can be set. Plain form posts.
#[component]
pub fn AnnotationEditor(
    name: String,
    annotations: Labels,
    action: ServerAction<ClusterAnnotate>,
) -> impl IntoView {
    let for_removal = name.clone();
    // Not named "remove": a form with a field of that name can't be removed from the page.
    let table = (!annotations.is_empty()).then(|| {
        view! {
            <ActionForm action=action>
                // Here too: the fold with the same reason may be closed.
                <Permission action=UserAction::EditCluster>
                    <input type="hidden" name="name" value=for_removal />
                    <table class="table">
                        <thead>
                            <tr>
                                <th scope="col">"Key"</th>
                                <th scope="col">"Value"</th>
                                <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                            </tr>
                        </thead>
                        <tbody>{annotations.into_iter().map(annotation_row).collect_view()}</tbody>
                    </table>
                </Permission>
            </ActionForm>
        }
    });
    let none = table.is_none().then(|| view! { <p class="text-3">"No annotations."</p> });
    view! {
        <section class="stack-sm" aria-labelledby="annotations">
            <h2 class="section" id="annotations">
                "Annotations"
            </h2>
            <p class="text-2">"Templates read them as " <code>"cluster.annotations.KEY"</code> "."</p>
            {action_error(action.value())}
            {none}
            {table}
            <details class="fold">
                <summary>"Set an annotation"</summary>
            <ActionForm action=action attr:class="flex flex-wrap gap-2 pt-2 pb-4">
                <Permission action=UserAction::EditCluster>
                    <input type="hidden" name="name" value=name />
                    <input
                        class="input input-mono max-w-72"
                        name="key"
                        placeholder="example.com/owner"
                        aria-label="Key of an annotation to set"
                        maxlength="320"
                        required=true
                        autocomplete="off"
                        autocapitalize="off"
                        spellcheck="false"
                    />
                    <input
                        class="input input-mono max-w-72"
                        name="value"
                        placeholder="team-a"
                        aria-label="Value of the annotation"
                        maxlength="32000"
                        autocomplete="off"
                        autocapitalize="off"
                        spellcheck="false"
                    />
                    <button class="btn" type="submit">
                        "Set"
                    </button>
                </Permission>
            </ActionForm>
            </details>
        </section>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g215_an_annotation_has_a_key_and_any_value() {
        let set = parse_change((" a/b ", "x = y"), "").unwrap();
        assert_eq!(set, ("a/b".to_owned(), Some("x = y".to_owned())));
        assert_eq!(parse_change(("", ""), "a").unwrap(), ("a".to_owned(), None));
        assert_eq!(parse_change((" ", "x"), "").unwrap_err().code, "G215");
    }
}
