//! The changes of a revision against another one, and the form that chooses the other one.

use domain::plan::{ChangedPart, RevisionView};
use leptos::prelude::*;

use crate::components::{FilterForm, FindingList};
use crate::paths;
use crate::workloads::publish::changes::changed_objects;

/// The query parameter with the number of the other revision.
pub const AGAINST: &str = "against";
/// The query parameter with the cluster that both are rendered for.
pub const CLUSTER: &str = "cluster";

/// The section with the changes.
pub fn show_comparison(name: &str, view: &RevisionView, others: &[u32]) -> AnyView {
    let on_cluster = if view.cluster.is_empty() { String::new() } else { format!(" on {}", view.cluster) };
    let title = match view.against {
        Some(other) => format!("Changed against r{other}{on_cluster}"),
        None => format!("The first revision{on_cluster}"),
    };
    let objects = match &view.changes {
        Some(changes) => {
            let nothing = changes.is_no_op();
            view! {
                {nothing.then(|| view! { <p class="text-2">"The objects are the same."</p> })}
                {changed_objects(changes, &[], &[])}
            }
            .into_any()
        }
        None => view! {
            <p class="text-2">"The objects can't be compared:"</p>
            <FindingList findings=view.findings.clone() />
        }
        .into_any(),
    };
    let parts = view.changed_parts.iter().map(changed_part).collect_view();
    view! {
        <section class="stack-sm" aria-labelledby="changed">
            <h2 class="section" id="changed">
                {title}
            </h2>
            {comparison_form(name, view, others)}
            {objects}
            {parts}
        </section>
    }
    .into_any()
}

/// Chooses the other revision and the cluster; works without script.
fn comparison_form(name: &str, view: &RevisionView, others: &[u32]) -> AnyView {
    if others.is_empty() {
        return ().into_any();
    }
    let option = |other: &u32| {
        let (other, chosen) = (*other, view.against == Some(*other));
        view! {
            <option value=other.to_string() selected=chosen>
                {format!("r{other}")}
            </option>
        }
    };
    let (action, cluster) = (paths::revision(name, view.revision.number), view.cluster.clone());
    let options = others.iter().map(option).collect_view();
    view! {
        <FilterForm action=action submit_only=true>
            <div class="filter-bar">
                <label class="meta" for=AGAINST>
                    "Compare with"
                </label>
                <select class="select max-w-44" id=AGAINST name=AGAINST>
                    {options}
                </select>
                <label class="meta" for=CLUSTER>
                    "on cluster"
                </label>
                <input class="input input-mono max-w-44" id=CLUSTER name=CLUSTER value=cluster
                    placeholder="without overrides" autocomplete="off" />
                <button class="btn" type="submit">
                    "Compare"
                </button>
            </div>
        </FilterForm>
    }
    .into_any()
}

/// A part of the spec with its changed lines.
fn changed_part(changed: &ChangedPart) -> AnyView {
    let line = |line: &str| {
        let line = line.to_owned();
        let (class, word) = match line.chars().next() {
            Some('-') => ("diff-del", "before "),
            Some('+') => ("diff-add", "after "),
            Some('@') => ("diff-path", ""),
            _ => ("diff-context", ""),
        };
        let text = if class == "diff-path" { line } else { line.chars().skip(1).collect() };
        view! { <div class=class><span class="sr-only">{word}</span>{text}</div> }
    };
    let title = format!("Changed lines of {}", changed.part);
    view! {
        <div class="diff" tabindex="0" role="region" aria-label=title>
            <div class="diff-head">{changed.part.clone()}</div>
            {changed.diff.lines().map(line).collect_view()}
        </div>
    }
    .into_any()
}
