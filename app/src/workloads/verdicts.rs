//! What a placement decides: how many each step leaves, who is chosen, who is refused and what would change that (E-3).
//!
//! The decision is `domain::placement::decide`, here in the browser as later on the server; nothing is asked of it while
//! somebody types. Counts are exact; rows are bounded, and a search finds the others.

use std::collections::BTreeMap;

use domain::Finding;
use domain::cluster::Reach;
use domain::placement::{Decision, Placement, Step, StepResult, Verdict, check, decide, outlook};
use leptos::prelude::*;

use super::candidates::Fleet;
use super::placement_form::PlacementForm;
use crate::components::{FindingList, Look, icon, joined};
use crate::paths;

/// Rows that are shown of the chosen, and of the refused.
const ROWS: usize = 50;

/// What the form means, decided.
pub type Decided = Result<(Placement, Decision), Vec<Finding>>;

/// Decides whenever the form or the fleet changes.
pub fn decided(form: RwSignal<PlacementForm>, fleet: StoredValue<Fleet>) -> Memo<Decided> {
    Memo::new(move |_| {
        let placement = form.with(PlacementForm::placement)?;
        let decision =
            fleet.with_value(|fleet| decide(&placement, &fleet.clusters, &fleet.groups, &fleet.current));
        Ok((placement, decision))
    })
}

/// What is to be said of the placement: its grammar, and what it means for this fleet.
pub fn said(decided: &Decided, fleet: &Fleet) -> Vec<Finding> {
    let (placement, decision) = match decided {
        Ok(decided) => decided,
        Err(findings) => return findings.clone(),
    };
    let mut findings = check(placement);
    findings.extend(outlook(placement, decision, &fleet.clusters));
    domain::finding::sort(&mut findings);
    findings
}

/// Clusters that are not heard from as they should be, by name; the others are online.
type Away = StoredValue<BTreeMap<String, Reach>>;

/// A decision that was made, as its two tables.
#[component]
pub fn Verdicts(
    /// The decision.
    decision: Decision,
    /// The chosen clusters that are not heard from as they should be.
    away: Away,
) -> impl IntoView {
    let lead = format!("{} of {} clusters chosen", decision.chosen().count(), decision.verdicts.len());
    view! {
        <div class="stack-md">
            <h2 class="section">{lead}</h2>
            {tables(decision, away, RwSignal::new(String::new()))}
        </div>
    }
    .into_any()
}

/// The live result.
#[component]
pub fn LiveMatch(
    /// What the form means.
    decided: Memo<Decided>,
    /// The fleet that was chosen from.
    fleet: StoredValue<Fleet>,
) -> impl IntoView {
    let search = RwSignal::new(String::new());
    let away: Away = fleet.with_value(|fleet| {
        let away = fleet.clusters.iter().filter(|cluster| cluster.reach != Reach::Online);
        StoredValue::new(away.map(|cluster| (cluster.name.clone(), cluster.reach)).collect())
    });
    move || match decided.get() {
        Ok((placement, decision)) => {
            let findings = fleet.with_value(|fleet| said(&Ok((placement, decision.clone())), fleet));
            view! {
                <div class="stack-md min-w-0">
                    {funnel(&decision)}
                    {(!findings.is_empty()).then(|| view! { <FindingList findings=findings /> })}
                    {tables(decision, away, search)}
                </div>
            }
            .into_any()
        }
        Err(findings) => view! {
            <div class="empty">
                <h2>"The placement can't be read yet"</h2>
                <FindingList findings=findings />
            </div>
        }
        .into_any(),
    }
}

/// How many clusters a step left, and how many it took away.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    step: Option<Step>,
    left: usize,
    taken: usize,
}

/// Every step that asked for something or took somebody away, with what it left; the first is everybody.
fn lefts(decision: &Decision) -> Vec<Left> {
    let mut taken: BTreeMap<Step, usize> = BTreeMap::new();
    for verdict in decision.refused() {
        if let Some(step) = verdict.refusal() {
            *taken.entry(step.step).or_default() += 1;
        }
    }
    let asked = |step: Step| match step {
        Step::Predicate | Step::Number => true,
        step => taken.contains_key(&step),
    };
    let mut left = decision.verdicts.len();
    let mut lefts = vec![Left { step: None, left, taken: 0 }];
    let steps = [
        Step::Predicate,
        Step::Exclude,
        Step::Taint,
        Step::Schedulable,
        Step::Spread,
        Step::Number,
        Step::NewMember,
    ];
    for step in steps.into_iter().filter(|step| asked(*step)) {
        let taken = taken.get(&step).copied().unwrap_or(0);
        left -= taken;
        lefts.push(Left { step: Some(step), left, taken });
    }
    lefts
}

/// What the clusters that a step left have in common.
const fn after(step: Option<Step>) -> &'static str {
    match step {
        None => "registered",
        Some(Step::Predicate) => "match",
        Some(Step::Exclude) => "not excluded",
        Some(Step::Taint) => "taints tolerated",
        Some(Step::Schedulable) => "take new workloads",
        Some(Step::Score) => "scored",
        Some(Step::Spread) => "evenly spread",
        Some(Step::Number) => "chosen",
        Some(Step::NewMember) => "at the publish",
    }
}

/// The word of a step, in the list of the refused.
const fn word(step: Step) -> &'static str {
    match step {
        Step::Predicate => "Choice",
        Step::Exclude => "Never on",
        Step::Taint => "Taints",
        Step::Schedulable => "Cordon",
        Step::Score => "Score",
        Step::Spread => "Spread",
        Step::Number => "How many",
        Step::NewMember => "New member",
    }
}

fn funnel(decision: &Decision) -> impl IntoView + use<> {
    let (chosen, total) = (decision.chosen().count(), decision.verdicts.len());
    let step = |left: Left| {
        view! {
            <li class="funnel-step">
                <span class="funnel-left">
                    <b>{left.left}</b>
                    {(left.taken > 0).then(|| view! { <span class="text-3">{format!(" −{}", left.taken)}</span> })}
                </span>
                <span class="meta">{after(left.step)}</span>
            </li>
        }
    };
    view! {
        <div class="stack-sm">
            <h2 class="section" aria-live="polite">
                {format!("{chosen} of {total} clusters chosen")} " "
                <span class="meta font-normal">"decided as you type"</span>
            </h2>
            <ol class="funnel" aria-label="What each step leaves">
                {lefts(decision).into_iter().map(step).collect_view()}
            </ol>
        </div>
    }
}

fn tables(decision: Decision, away: Away, search: RwSignal<String>) -> AnyView {
    let (chosen, refused): (Vec<Verdict>, Vec<Verdict>) =
        decision.verdicts.into_iter().partition(|verdict| verdict.chosen);
    let is_long = chosen.len().max(refused.len()) > ROWS;
    let (chosen, refused) = (StoredValue::new(chosen), StoredValue::new(refused));
    let found = move |verdicts: StoredValue<Vec<Verdict>>| {
        let search = search.get().trim().to_lowercase();
        verdicts.with_value(|all| {
            let mut fits = all.iter().filter(|verdict| verdict.name.contains(&search));
            let rows: Vec<Verdict> = fits.by_ref().take(ROWS).cloned().collect();
            (rows, fits.count())
        })
    };
    let find = is_long.then(|| {
        view! {
            <input
                class="input input-mono max-w-80"
                type="search"
                aria-label="Find a cluster"
                placeholder="Find a cluster"
                autocomplete="off"
                prop:value=move || search.get_untracked()
                on:input=move |ev| search.set(event_target_value(&ev))
            />
        }
    });
    view! {
        {find}
        {move || {
            let (rows, more) = found(chosen);
            chosen_table(rows, more, chosen.with_value(Vec::len), away)
        }}
        {move || {
            let (rows, more) = found(refused);
            let all = refused.with_value(Vec::len);
            (all > 0).then(|| refused_table(rows, more, all))
        }}
    }
    .into_any()
}

fn more_row(more: usize, columns: u32) -> impl IntoView {
    (more > 0).then(|| {
        view! {
            <tr>
                <td colspan=columns.to_string() class="text-3">
                    {format!("and {more} more; find one by its name")}
                </td>
            </tr>
        }
    })
}

fn chosen_table(rows: Vec<Verdict>, more: usize, all: usize, away: Away) -> AnyView {
    let ranked = rows.iter().any(|verdict| rank(verdict).is_some());
    let reach = |name: &str| away.with_value(|away| away.get(name).copied()).unwrap_or(Reach::Online);
    let none = (all == 0).then(|| {
        view! {
            <tr>
                <td colspan="4" class="text-3">
                    "None. Publishing would put it nowhere."
                </td>
            </tr>
        }
    });
    let columns = if ranked { 4 } else { 3 };
    view! {
        <table class="table">
            <caption class="sr-only">"Chosen clusters"</caption>
            <thead>
                <tr>
                    <th scope="col">{format!("Chosen {all}")}</th>
                    <th scope="col">"Because"</th>
                    {ranked.then(|| view! { <th scope="col">"Rank"</th> })}
                    <th scope="col">"Reach"</th>
                </tr>
            </thead>
            <tbody>
                {none}
                {rows.into_iter().map(|verdict| chosen_row(&verdict, reach(&verdict.name), ranked)).collect_view()}
                {more_row(more, columns)}
            </tbody>
        </table>
    }
    .into_any()
}

/// What a chosen cluster was ranked by; `None` where nothing ranks.
fn rank(verdict: &Verdict) -> Option<String> {
    let seen = |step: Step| verdict.steps.iter().find(|one| one.step == step).map(|one| one.seen.clone());
    let place = seen(Step::Number).filter(|seen| seen.starts_with("place "));
    let place = place.map(|place| place.split(':').next().unwrap_or_default().to_owned());
    let score =
        seen(Step::Score).map(|score| format!("score {}", score.split(" of ").next().unwrap_or_default()));
    let parts: Vec<String> = place.into_iter().chain(score).chain(seen(Step::Spread)).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn chosen_row(verdict: &Verdict, reach: Reach, ranked: bool) -> impl IntoView + use<> {
    // Steps that every cluster passes in silence (not excluded, no taints) would only hide the one that chose it.
    let telling = |step: &&StepResult| matches!(step.step, Step::Predicate | Step::NewMember);
    // What was seen of a cluster that was named, or of any cluster, is its name: then what was asked says more.
    let words =
        |step: &StepResult| if step.seen == verdict.name { step.asked.clone() } else { step.seen.clone() };
    let because: Vec<String> = verdict.steps.iter().filter(telling).map(words).collect();
    let because = joined(&because, because.len(), 3);
    let rank = ranked.then(|| {
        view! {
            <td data-label="Rank">{rank(verdict).unwrap_or_default()}</td>
        }
    });
    let note = (reach == Reach::Offline).then_some(", gets it when it returns");
    view! {
        <tr>
            <th scope="row" class="cell-name name">
                <span class="hue-healthy">{icon("check")}</span>
                " "
                <a href=paths::cluster(&verdict.name)>{verdict.name.clone()}</a>
            </th>
            <td class="mono" data-label="Because">
                {because}
            </td>
            {rank}
            <td class="cell-state">
                {Look::of_reach(reach).with_word(reach.word())}
                <span class="text-3">{note}</span>
            </td>
        </tr>
    }
}

fn refused_table(refused: Vec<Verdict>, more: usize, all: usize) -> AnyView {
    let row = |verdict: Verdict| {
        let step = verdict.refusal().cloned();
        let at = step.as_ref().map_or("", |step| word(step.step));
        let (asked, seen, remedy) = step.map(|s| (s.asked, s.seen, s.remedy)).unwrap_or_default();
        view! {
            <tr>
                <th scope="row" class="cell-name name text-2">
                    {icon("minus")}
                    " "
                    <a href=paths::cluster(&verdict.name)>{verdict.name.clone()}</a>
                </th>
                <td data-label="At step">
                    {at} <p class="meta mono">{asked}</p>
                </td>
                <td class="mono" data-label="Seen">
                    {seen}
                </td>
                <td data-label="Remedy">{remedy}</td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <caption class="sr-only">"Refused clusters"</caption>
            <thead>
                <tr>
                    <th scope="col">{format!("Refused {all}")}</th>
                    <th scope="col">"At step"</th>
                    <th scope="col">"Value seen"</th>
                    <th scope="col">"What would change it, nearest first"</th>
                </tr>
            </thead>
            <tbody>
                {refused.into_iter().map(row).collect_view()} {more_row(more, 4)}
            </tbody>
        </table>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use domain::ClusterId;
    use domain::placement::Trigger;

    use super::*;

    fn refused(name: &str, step: Step) -> Verdict {
        let step =
            StepResult { step, passed: false, asked: "a".into(), seen: "b".into(), remedy: "c".into() };
        Verdict { cluster: ClusterId::from_parts(1, 1), name: name.into(), chosen: false, steps: vec![step] }
    }

    #[test]
    fn e_3_the_funnel_says_what_every_step_took_away_and_left() {
        let chosen = Verdict { chosen: true, steps: Vec::new(), ..refused("a", Step::Number) };
        let decision = Decision {
            trigger: Trigger::Preview,
            verdicts: vec![
                chosen,
                refused("b", Step::Number),
                refused("c", Step::Taint),
                refused("d", Step::Predicate),
                refused("e", Step::Predicate),
            ],
            ..Decision::default()
        };
        let told: Vec<(&str, usize, usize)> =
            lefts(&decision).iter().map(|left| (after(left.step), left.left, left.taken)).collect();
        assert_eq!(
            told,
            [("registered", 5, 0), ("match", 3, 2), ("taints tolerated", 2, 1), ("chosen", 1, 1)]
        );
    }
}
