//! Who is about to lose the workload although nobody published anything, and the way to undo that (E-6).

use std::collections::BTreeSet;

use domain::Timestamp;
use domain::placement::Leaving;
use leptos::prelude::*;

use crate::components::age::clock;
use crate::components::{Banner, Look, Said, joined};
use crate::errors::Answer;
use crate::live;

/// Keeps it on this cluster until the next publish; on all that are about to lose it without a name.
#[server(prefix = "/api/fn", endpoint = "workload_keep")]
pub async fn workload_keep(name: String, #[server(default)] cluster: String) -> Answer<()> {
    use crate::{host, paths};
    let clusters: Vec<String> = if cluster.is_empty() { Vec::new() } else { vec![cluster] };
    host::answer(host::hub()?.workload_keep(&host::actor()?, &name, &clusters).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}

/// A banner with a line for each of the first clusters; nothing if nobody leaves.
#[component]
pub fn LeavingSoon(
    /// The workload.
    name: String,
    /// Who leaves, as the last decision says.
    leaving: Vec<Leaving>,
    /// The server's time when the page was made.
    at: Timestamp,
) -> impl IntoView {
    /// More lines would push the page out of sight; one button serves them all.
    const LINES: usize = 5;
    let (kept, going): (Vec<Leaving>, Vec<Leaving>) =
        leaving.into_iter().partition(|one| one.kept_by.is_some());
    let action = ServerAction::<WorkloadKeep>::new();
    let said_no =
        move || action.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> });
    let many = going.len();
    let lines = going.iter().take(LINES).map(|one| line(&name, one, at, action)).collect_view();
    let text = format!(
        "Their labels or taints changed, so these clusters no longer match. Change them back, keep {name} there, or \
         publish to let it go at once."
    );
    let all = (many > 1).then(|| {
        let words = format!("Keep all {many}");
        view! {
            <ActionForm action=action>
                <input type="hidden" name="name" value=name />
                <button class="btn btn-sm" type="submit">{words}</button>
            </ActionForm>
        }
    });
    let going = (many > 0).then(|| {
        view! {
            <Banner look=Look { icon: "warning", hue: "hue-drifted", loud: "state-loud" }>
                <div class="stack-sm grow">
                    <p>{text}</p>
                    <ul class="stack-sm">{lines}</ul>
                    {(many > LINES).then(|| view! { <p class="meta">{format!("and {} more", many - LINES)}</p> })}
                    {all}
                    {said_no}
                </div>
            </Banner>
        }
    });
    view! { {going} {kept_line(&kept)} }.into_any()
}

fn line(
    name: &str,
    one: &Leaving,
    at: Timestamp,
    action: ServerAction<WorkloadKeep>,
) -> impl IntoView + use<> {
    let (name, cluster, leaves) = (name.to_owned(), one.name.clone(), one.at);
    let now = live::now(at);
    let when = move || {
        let left = leaves.since(now.get());
        if left > 0 { format!("leaves in {}", now.get().age(leaves)) } else { "leaves now".to_owned() }
    };
    let words = format!("Keep {name} on {cluster}");
    view! {
        <li class="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span class="name">{cluster.clone()}</span>
            <span title=format!("{} UTC", clock(leaves))>{when}</span>
            <ActionForm action=action>
                <input type="hidden" name="name" value=name />
                <input type="hidden" name="cluster" value=cluster />
                <button class="btn btn-sm" type="submit" aria-label=words>"Keep it there"</button>
            </ActionForm>
        </li>
    }
}

fn kept_line(kept: &[Leaving]) -> Option<AnyView> {
    let names: Vec<String> = kept.iter().map(|one| one.name.clone()).collect();
    let people: BTreeSet<String> = kept.iter().filter_map(|one| one.kept_by.clone()).collect();
    let people: Vec<String> = people.into_iter().collect();
    let text = format!(
        "Kept by {} although it no longer matches: {}. The next publish lets it go.",
        joined(&people, people.len(), 3),
        joined(&names, names.len(), 6)
    );
    (!kept.is_empty()).then(|| view! { <p class="meta">{text}</p> }.into_any())
}
