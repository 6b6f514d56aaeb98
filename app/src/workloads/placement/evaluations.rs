//! The result of a placement: clusters left after each filter, selected clusters, clusters that are not selected with the
//! remedy (E-3).
//!
//! The decision is `domain::placement::decide`, as on the server: typing sends no request. Rows are bounded, a search finds the others.

use std::collections::BTreeMap;

use domain::Finding;
use domain::cluster::Connectivity;
use domain::placement::{
    ClusterEvaluation, Decision, FilterObservation, FilterResult, Placement, PlacementFilter, check,
    check_decision, decide,
};
use leptos::prelude::*;

use super::candidates::Fleet;
use super::form::PlacementForm;
use super::remedies::remedy_view;
use crate::components::{FindingList, StatusStyle, icon, join_names, unbroken};
use crate::paths;

/// Most rows per table.
const ROWS: usize = 50;

/// The placement of the form and its decision, or the findings of an invalid form.
pub type LiveDecision = Result<(Placement, Decision), Vec<Finding>>;

/// Computes the decision whenever the form changes.
pub fn watch_decision(form: RwSignal<PlacementForm>, fleet: StoredValue<Fleet>) -> Memo<LiveDecision> {
    Memo::new(move |_| {
        let placement = form.with(PlacementForm::parse)?;
        let decision =
            fleet.with_value(|fleet| decide(&placement, &fleet.clusters, &fleet.groups, &fleet.current));
        Ok((placement, decision))
    })
}

/// Findings about the placement: syntax, and effects on this fleet.
pub fn preview_findings(decided: &LiveDecision, fleet: &Fleet) -> Vec<Finding> {
    let (placement, decision) = match decided {
        Ok(decided) => decided,
        Err(findings) => return findings.clone(),
    };
    let mut findings = check(placement);
    findings.extend(check_decision(placement, decision, &fleet.clusters));
    domain::finding::sort_findings(&mut findings);
    findings
}

/// Connectivity by name of the clusters that are not online.
type ConnectivityByName = StoredValue<BTreeMap<String, Connectivity>>;

/// The tables of a recorded decision.
#[component]
pub fn DecisionTables(
    /// The decision.
    decision: Decision,
    /// The selected clusters that are not online.
    connectivity: ConnectivityByName,
) -> impl IntoView {
    let lead = format!("{} of {} clusters selected", decision.selected().count(), decision.evaluations.len());
    view! {
        <div class="stack-md">
            <h2 class="section">{lead}</h2>
            {decision_tables(decision, connectivity, RwSignal::new(String::new()), false)}
        </div>
    }
    .into_any()
}

/// The live preview.
#[component]
pub fn LivePreview(
    /// The decision of the form.
    preview: Memo<LiveDecision>,
    /// The fleet.
    fleet: StoredValue<Fleet>,
    /// Whether the fields of the form are displayed, to which remedies lead.
    has_fields: Memo<bool>,
) -> impl IntoView {
    let search = RwSignal::new(String::new());
    let connectivity: ConnectivityByName = fleet.with_value(|fleet| {
        let connectivity =
            fleet.clusters.iter().filter(|cluster| cluster.connectivity != Connectivity::Online);
        StoredValue::new(connectivity.map(|cluster| (cluster.name.clone(), cluster.connectivity)).collect())
    });
    move || match preview.get() {
        Ok((placement, decision)) => {
            let findings =
                fleet.with_value(|fleet| preview_findings(&Ok((placement, decision.clone())), fleet));
            view! {
                <div class="stack-md min-w-0">
                    {funnel(&decision)}
                    {(!findings.is_empty()).then(|| view! { <FindingList findings=findings /> })}
                    {decision_tables(decision, connectivity, search, has_fields.get())}
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

/// How many clusters a filter leaves and removes.
#[derive(Debug, PartialEq, Eq)]
struct FunnelStage {
    filter: Option<PlacementFilter>,
    remaining: usize,
    removed: usize,
}

/// The number of clusters that match, before spread and number limit them.
pub fn count_matching(decision: &Decision) -> usize {
    let is_limited = |evaluation: &&ClusterEvaluation| {
        let filter = evaluation.failed_filter().map(|result| result.filter);
        matches!(filter, None | Some(PlacementFilter::Spread | PlacementFilter::Number))
    };
    decision.evaluations.iter().filter(is_limited).count()
}

/// The filters that apply to every placement, and the others if they removed clusters; the first entry has all clusters.
fn funnel_stages(decision: &Decision) -> Vec<FunnelStage> {
    let mut taken: BTreeMap<PlacementFilter, usize> = BTreeMap::new();
    for evaluation in decision.rejected() {
        if let Some(step) = evaluation.failed_filter() {
            *taken.entry(step.filter).or_default() += 1;
        }
    }
    let is_shown = |step: PlacementFilter| match step {
        PlacementFilter::Spread | PlacementFilter::NewMember => taken.contains_key(&step),
        _ => true,
    };
    let mut left = decision.evaluations.len();
    let mut lefts = vec![FunnelStage { filter: None, remaining: left, removed: 0 }];
    let steps = [
        PlacementFilter::Predicate,
        PlacementFilter::Exclude,
        PlacementFilter::Taint,
        PlacementFilter::Schedulable,
        PlacementFilter::Spread,
        PlacementFilter::Number,
        PlacementFilter::NewMember,
    ];
    for step in steps.into_iter().filter(|step| is_shown(*step)) {
        let taken = taken.get(&step).copied().unwrap_or(0);
        left -= taken;
        lefts.push(FunnelStage { filter: Some(step), remaining: left, removed: taken });
    }
    lefts
}

/// The label of the clusters that a filter leaves.
const fn stage_label(step: Option<PlacementFilter>) -> &'static str {
    match step {
        None => "registered",
        Some(PlacementFilter::Predicate) => "match",
        Some(PlacementFilter::Exclude) => "not excluded",
        Some(PlacementFilter::Taint) => "taints tolerated",
        Some(PlacementFilter::Schedulable) => "schedulable",
        Some(PlacementFilter::Score) => "scored",
        Some(PlacementFilter::Spread) => "evenly spread",
        Some(PlacementFilter::Number) => "selected",
        Some(PlacementFilter::NewMember) => "members at the publish",
    }
}

/// The label of the filter that rejected a cluster.
const fn filter_label(step: PlacementFilter) -> &'static str {
    match step {
        PlacementFilter::Predicate => "Selection",
        PlacementFilter::Exclude => "Excluded",
        PlacementFilter::Taint => "Taints",
        PlacementFilter::Schedulable => "Cordon",
        PlacementFilter::Score => "Score",
        PlacementFilter::Spread => "Spread",
        PlacementFilter::Number => "Number of clusters",
        PlacementFilter::NewMember => "New member",
    }
}

fn funnel(decision: &Decision) -> impl IntoView + use<> {
    let (selected, total) = (decision.selected().count(), decision.evaluations.len());
    let step = |left: FunnelStage| {
        view! {
            <li class="funnel-step">
                <span class="funnel-left">
                    <b>{left.remaining}</b>
                    {left.filter.map(|_| view! { <span class="text-3">{format!(" −{}", left.removed)}</span> })}
                </span>
                <span class="meta">{stage_label(left.filter)}</span>
            </li>
        }
    };
    view! {
        <div class="stack-sm">
            <h2 class="section" aria-live="polite">
                {format!("{selected} of {total} clusters selected")} " "
                <span class="meta font-normal">"updated as you type"</span>
            </h2>
            <ol class="funnel" aria-label="Clusters left by each filter">
                {funnel_stages(decision).into_iter().map(step).collect_view()}
            </ol>
        </div>
    }
}

/// The tables; `has_fields`: whether the fields of the placement are displayed on this page.
fn decision_tables(
    decision: Decision,
    connectivity: ConnectivityByName,
    search: RwSignal<String>,
    has_fields: bool,
) -> AnyView {
    let (selected, rejected): (Vec<ClusterEvaluation>, Vec<ClusterEvaluation>) =
        decision.evaluations.into_iter().partition(|evaluation| evaluation.selected);
    let is_long = selected.len().max(rejected.len()) > ROWS;
    let (selected, rejected) = (StoredValue::new(selected), StoredValue::new(rejected));
    let found = move |evaluations: StoredValue<Vec<ClusterEvaluation>>| {
        let search = search.get().trim().to_lowercase();
        evaluations.with_value(|all| {
            let mut fits = all.iter().filter(|evaluation| evaluation.name.contains(&search));
            let rows: Vec<ClusterEvaluation> = fits.by_ref().take(ROWS).cloned().collect();
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
            let (rows, more) = found(selected);
            selected_table(rows, more, selected.with_value(Vec::len), connectivity)
        }}
        {move || {
            let (rows, more) = found(rejected);
            let all = rejected.with_value(Vec::len);
            (all > 0).then(|| rejected_table(rows, more, all, has_fields))
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

fn selected_table(
    rows: Vec<ClusterEvaluation>,
    more: usize,
    all: usize,
    connectivity: ConnectivityByName,
) -> AnyView {
    let ranked = rows.iter().any(|evaluation| describe_rank(evaluation).is_some());
    let reach = |name: &str| {
        connectivity
            .with_value(|connectivity| connectivity.get(name).copied())
            .unwrap_or(Connectivity::Online)
    };
    let none = (all == 0).then(|| {
        view! {
            <tr>
                <td colspan="4" class="text-3">
                    "None. Publishing would deploy it to no cluster."
                </td>
            </tr>
        }
    });
    let columns = if ranked { 4 } else { 3 };
    view! {
        <table class="table">
            <caption class="sr-only">"Selected clusters"</caption>
            <thead>
                <tr>
                    <th scope="col">{format!("Selected {all}")}</th>
                    <th scope="col">"Reason"</th>
                    {ranked.then(|| view! { <th scope="col">"Rank"</th> })}
                    <th scope="col">"Connectivity"</th>
                </tr>
            </thead>
            <tbody>
                {none}
                {rows.into_iter().map(|evaluation| selected_row(&evaluation, reach(&evaluation.name), ranked)).collect_view()}
                {more_row(more, columns)}
            </tbody>
        </table>
    }
    .into_any()
}

/// The rank, score and spread of a selected cluster; `None` if none of them applies.
fn describe_rank(evaluation: &ClusterEvaluation) -> Option<String> {
    let find = |describe: fn(&FilterObservation) -> Option<String>| {
        evaluation.filters.iter().find_map(|result| describe(&result.actual))
    };
    let rank = find(|actual| match actual {
        FilterObservation::Rank { position, of, .. } => Some(format!("place {position} of {of}")),
        _ => None,
    });
    let score = find(|actual| match actual {
        FilterObservation::Score { points, .. } => Some(format!("score {points}")),
        _ => None,
    });
    let spread = find(|actual| match actual {
        FilterObservation::Spread { .. } => Some(actual.to_string()),
        _ => None,
    });
    let parts: Vec<String> = [rank, score, spread].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn selected_row(evaluation: &ClusterEvaluation, reach: Connectivity, ranked: bool) -> impl IntoView + use<> {
    // Shows only the filters that select a cluster; all selected clusters pass the others.
    let is_selecting =
        |step: &&FilterResult| matches!(step.filter, PlacementFilter::Predicate | PlacementFilter::NewMember);
    let words = |step: &FilterResult| match step.actual.is_name_only() {
        true => step.expected.to_string(),
        false => step.actual.to_string(),
    };
    let because: Vec<String> = evaluation.filters.iter().filter(is_selecting).map(words).collect();
    let because = join_names(&because, because.len(), 3);
    let rank = ranked.then(|| {
        view! {
            <td data-label="Rank">{describe_rank(evaluation).unwrap_or_default()}</td>
        }
    });
    let note = (reach == Connectivity::Offline).then_some(", gets it when it reconnects");
    view! {
        <tr>
            <th scope="row" class="cell-name name">
                <span class="hue-healthy">{icon("check")}</span>
                " "
                <a href=paths::cluster(&evaluation.name)>{evaluation.name.clone()}</a>
            </th>
            <td class="mono" data-label="Reason">
                {unbroken(&because)}
            </td>
            {rank}
            <td class="cell-state">
                {StatusStyle::from_connectivity(reach).with_label(reach.as_str())}
                <span class="text-3">{note}</span>
            </td>
        </tr>
    }
}

fn rejected_table(rejected: Vec<ClusterEvaluation>, more: usize, all: usize, has_fields: bool) -> AnyView {
    let row = |evaluation: ClusterEvaluation| {
        let step = evaluation.failed_filter().cloned();
        let at = step.as_ref().map_or("", |step| filter_label(step.filter));
        let remedy = step.as_ref().and_then(|step| step.remedy.as_ref());
        let remedy = remedy_view(remedy, &evaluation.name, has_fields);
        let (expected, actual) =
            step.map(|step| (step.expected.to_string(), step.actual.to_string())).unwrap_or_default();
        view! {
            <tr>
                <th scope="row" class="cell-name name text-2">
                    {icon("minus")}
                    " "
                    <a href=paths::cluster(&evaluation.name)>{evaluation.name.clone()}</a>
                </th>
                <td data-label="Required">
                    {at} " " <span class="meta mono">{unbroken(&expected)}</span>
                </td>
                <td class="mono" data-label="Found">
                    {unbroken(&actual)}
                </td>
                <td data-label="Remedy">{remedy}</td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <caption class="sr-only">"Clusters not selected"</caption>
            <thead>
                <tr>
                    <th scope="col">{format!("Not selected {all}")}</th>
                    <th scope="col">"Required"</th>
                    <th scope="col">"Found"</th>
                    <th scope="col">"Remedy, smallest change first"</th>
                </tr>
            </thead>
            <tbody>
                {rejected.into_iter().map(row).collect_view()} {more_row(more, 4)}
            </tbody>
        </table>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use domain::ClusterId;
    use domain::placement::{DecisionTrigger, FilterRequirement, Remedy, SpreadValue};

    use super::*;

    fn rejected(name: &str, step: PlacementFilter) -> ClusterEvaluation {
        let step = FilterResult {
            filter: step,
            passed: false,
            expected: FilterRequirement::Number { most: Some(1) },
            actual: FilterObservation::Matches,
            remedy: Some(Remedy::RaiseNumber { to: 2 }),
        };
        ClusterEvaluation {
            cluster: ClusterId::from_parts(1, 1),
            name: name.into(),
            selected: false,
            filters: vec![step],
        }
    }

    #[test]
    fn e_3_the_funnel_shows_what_each_filter_removes_and_leaves() {
        let selected = ClusterEvaluation {
            selected: true,
            filters: Vec::new(),
            ..rejected("a", PlacementFilter::Number)
        };
        let decision = Decision {
            trigger: DecisionTrigger::Preview,
            evaluations: vec![
                selected,
                rejected("b", PlacementFilter::Number),
                rejected("c", PlacementFilter::Taint),
                rejected("d", PlacementFilter::Predicate),
                rejected("e", PlacementFilter::Predicate),
            ],
            ..Decision::default()
        };
        let shown: Vec<(&str, usize, usize)> = funnel_stages(&decision)
            .iter()
            .map(|left| (stage_label(left.filter), left.remaining, left.removed))
            .collect();
        assert_eq!(count_matching(&decision), 2);
        assert_eq!(
            shown,
            [
                ("registered", 5, 0),
                ("match", 3, 2),
                ("not excluded", 3, 0),
                ("taints tolerated", 2, 1),
                ("schedulable", 2, 0),
                ("selected", 1, 1)
            ]
        );
    }

    #[test]
    fn the_rank_column_shows_rank_score_and_spread_of_a_selected_cluster() {
        let result = |filter, actual| FilterResult {
            filter,
            passed: true,
            expected: FilterRequirement::Number { most: Some(3) },
            actual,
            remedy: None,
        };
        let value = SpreadValue { key: "region".into(), value: Some("eu".into()) };
        let rank = FilterObservation::Rank {
            position: 2,
            of: 5,
            deployed: false,
            not_preferred: Vec::new(),
            connectivity: Connectivity::Online,
        };
        let mut evaluation = rejected("a", PlacementFilter::Number);
        assert_eq!(describe_rank(&evaluation), None);
        evaluation.filters = vec![
            result(PlacementFilter::Score, FilterObservation::Score { points: 70, parts: Vec::new() }),
            result(PlacementFilter::Spread, FilterObservation::Spread { values: vec![value] }),
            result(PlacementFilter::Number, rank),
        ];
        assert_eq!(describe_rank(&evaluation).as_deref(), Some("place 2 of 5, score 70, region=eu"));
    }
}
