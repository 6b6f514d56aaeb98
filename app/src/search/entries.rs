//! The results of the hub as sections of entries: faults first, then what has the name, then the actions on the best match,
//! then places.

use domain::search::{
    ActionName, BestMatch, PossibleAction, SearchHit, SearchKind, SearchQuery, SearchResults,
};

use super::places::{list_places, list_workload_places};
use super::{SearchEntry, SearchSection, SearchSections};
use crate::components::StatusStyle;
use crate::paths::{self, WorkloadTab};

/// What else decides about the entries.
pub struct SearchContext {
    /// Whether faults can be injected.
    pub is_demo: bool,
    /// The slug of the tab at which workloads are opened, if only workloads are searched for.
    pub switch: Option<String>,
}

/// The sections in the order in which they are displayed.
pub fn compose_sections(
    query: &SearchQuery,
    results: SearchResults,
    context: &SearchContext,
) -> SearchSections {
    let words = query.words();
    let at = results.read_at;
    let mut sections = Vec::new();
    for kind in SearchKind::ALL {
        let hits: Vec<&SearchHit> = results.items.iter().filter(|hit| hit.kind == *kind).collect();
        // Without words, the recent workloads are the first ones.
        let recent = match (words.is_empty(), kind) {
            (true, SearchKind::Workload) => {
                hits.iter().filter(|hit| query.recent.contains(&hit.name)).count()
            }
            _ => 0,
        };
        let (recent, others) = hits.split_at(recent);
        let entries =
            |hits: &[&SearchHit]| hits.iter().map(|hit| item_entry(hit, at, context)).collect::<Vec<_>>();
        push_section(&mut sections, "Recent", entries(recent));
        push_section(&mut sections, title(*kind, words.is_empty()), entries(others));
    }
    if context.switch.is_none() {
        if let Some(best) = &results.best {
            let possible =
                best.actions.iter().filter(|one| context.is_demo || one.action != ActionName::InjectFault);
            let entries = possible.map(|action| action_entry(best, action)).collect();
            push_section(&mut sections, format!("Actions on {}", best.name), entries);
        }
        push_section(&mut sections, "Go to", list_go_to(&words, results.best.as_ref()));
    }
    SearchSections { sections, words, is_truncated: !results.truncated.is_empty() }
}

/// The actions on a release, by the names of its workload and its cluster, then those on its workload, if that is the best match.
pub fn compose_release_sections(release: (&str, &str), best: Option<BestMatch>) -> SearchSections {
    let (workload, cluster) = release;
    let best = best.filter(|best| best.kind == SearchKind::Workload && best.name == workload);
    let mut sections = Vec::new();
    let title = format!("Actions on {workload} on {cluster}");
    push_section(&mut sections, title, list_release_actions(release, best.as_ref()));
    if let Some(best) = &best {
        let entries = best.actions.iter().map(|action| action_entry(best, action)).collect();
        push_section(&mut sections, format!("Actions on {workload}"), entries);
    }
    SearchSections { sections, ..SearchSections::default() }
}

/// What can be done with one release. It can be synced if its workload can; whether it can is not known without `best`.
fn list_release_actions((workload, cluster): (&str, &str), best: Option<&BestMatch>) -> Vec<SearchEntry> {
    let entry = |icon: &str, label: String, href: String, command: String| SearchEntry {
        icon: icon.to_owned(),
        label,
        href,
        command,
        ..SearchEntry::default()
    };
    let sync =
        best.and_then(|best| best.actions.iter().find(|one| one.action == ActionName::Sync)).map(|one| {
            let command = format!("flotilla sync {workload} --clusters {cluster}");
            let possible = SearchEntry {
                detail: "compares it with this cluster, after a confirmation".to_owned(),
                ..entry(
                    "refresh",
                    format!("Sync {workload} on {cluster}…"),
                    paths::query(
                        &paths::release(workload, cluster),
                        &[("dialog", "sync"), ("cluster", cluster)],
                    ),
                    command,
                )
            };
            match &one.unavailable {
                Some(why) => SearchEntry { detail: why.clone(), href: String::new(), ..possible },
                None => possible,
            }
        });
    let open = entry(
        "eye",
        format!("Open {workload} on {cluster}"),
        paths::release(workload, cluster),
        format!("flotilla diagnose {workload} --cluster {cluster}"),
    );
    let overrides = entry(
        "arrow-right",
        format!("Overrides of {workload} for {cluster}"),
        paths::query(&paths::workload_tab(workload, WorkloadTab::Overrides), &[("cluster", cluster)]),
        format!("flotilla overrides explain {workload} --cluster {cluster}"),
    );
    let events = entry(
        "activity",
        format!("Events of {workload} on {cluster}"),
        paths::query(paths::EVENTS, &[("workload", workload), ("cluster", cluster)]),
        format!("flotilla events --workload {workload} --cluster {cluster}"),
    );
    let place = entry(
        "cluster",
        format!("Open the cluster {cluster}"),
        paths::cluster(cluster),
        format!("flotilla get cluster {cluster}"),
    );
    std::iter::once(open).chain(sync).chain([overrides, events, place]).collect()
}

fn push_section(sections: &mut Vec<SearchSection>, title: impl Into<String>, entries: Vec<SearchEntry>) {
    if !entries.is_empty() {
        sections.push(SearchSection { title: title.into(), entries });
    }
}

const fn title(kind: SearchKind, is_worst_first: bool) -> &'static str {
    match (kind, is_worst_first) {
        (SearchKind::Failure, _) => "Needs attention",
        (SearchKind::Workload, true) => "Workloads, worst first",
        (SearchKind::Workload, false) => "Workloads",
        (SearchKind::Cluster, _) => "Clusters",
        (SearchKind::Group, _) => "Groups",
        (SearchKind::Chart, _) => "Charts",
    }
}

fn item_entry(hit: &SearchHit, at: domain::Timestamp, context: &SearchContext) -> SearchEntry {
    let (name, detail) = (&hit.name, hit.detail.clone());
    let entry = SearchEntry { label: name.clone(), is_name: true, detail, ..SearchEntry::default() };
    match hit.kind {
        SearchKind::Failure => {
            let cluster = hit.cluster.clone().unwrap_or_default();
            let style = hit.state.map(StatusStyle::from_state);
            let state = hit.state.map(|state| state.label()).unwrap_or_default();
            let age = hit.since.map(|since| format!(" for {}", since.format_age(at))).unwrap_or_default();
            SearchEntry {
                icon: style.map_or("error", |style| style.icon).to_owned(),
                hue: style.map_or("", |style| style.hue).to_owned(),
                detail: format!("{state}{age}: {}", hit.detail),
                href: paths::release(name, &cluster),
                command: format!("flotilla diagnose {name} --cluster {cluster}"),
                cluster,
                ..entry
            }
        }
        SearchKind::Workload => {
            let tab = context.switch.as_deref().and_then(WorkloadTab::from_slug).unwrap_or_default();
            let style = hit.state.filter(|state| state.is_failing()).map(StatusStyle::from_state);
            SearchEntry {
                icon: style.map_or("workload", |style| style.icon).to_owned(),
                hue: style.map_or("", |style| style.hue).to_owned(),
                href: paths::workload_tab(name, tab),
                command: format!("flotilla status {name}"),
                ..entry
            }
        }
        SearchKind::Cluster => cluster_entry(hit, at, entry),
        SearchKind::Group => SearchEntry {
            icon: "group".to_owned(),
            href: paths::group(name),
            command: format!("flotilla group get {name}"),
            ..entry
        },
        SearchKind::Chart => SearchEntry {
            icon: "chart".to_owned(),
            href: paths::chart(name, ""),
            command: format!("flotilla chart get {name}"),
            ..entry
        },
    }
}

/// A cluster; one that is not online with its connectivity.
fn cluster_entry(hit: &SearchHit, at: domain::Timestamp, entry: SearchEntry) -> SearchEntry {
    use domain::cluster::Connectivity;
    let offline = hit.connectivity.filter(|connectivity| *connectivity != Connectivity::Online);
    let style = offline.map(StatusStyle::from_connectivity);
    let detail = match (offline, hit.since) {
        (Some(connectivity), Some(seen)) => {
            format!("{} for {}, {}", connectivity.as_str(), seen.format_age(at), hit.detail)
        }
        (Some(connectivity), None) => format!("{}, {}", connectivity.as_str(), hit.detail),
        (None, _) => hit.detail.clone(),
    };
    SearchEntry {
        icon: style.map_or("cluster", |style| style.icon).to_owned(),
        hue: style.map_or("", |style| style.hue).to_owned(),
        detail,
        href: paths::cluster(&hit.name),
        command: format!("flotilla get cluster {}", hit.name),
        ..entry
    }
}

/// An action leads to the page or to the dialog that confirms it; nothing is changed by opening it.
fn action_entry(best: &BestMatch, action: &PossibleAction) -> SearchEntry {
    let (icon, consequence) = describe_action(action.action);
    let (detail, href) = match &action.unavailable {
        Some(why) => (why.clone(), String::new()),
        None => (consequence.to_owned(), action_path(best, action)),
    };
    SearchEntry {
        icon: icon.to_owned(),
        label: action.label.clone(),
        detail,
        href,
        command: action.command.clone(),
        ..SearchEntry::default()
    }
}

/// The icon of an action and what follows from opening it.
const fn describe_action(action: ActionName) -> (&'static str, &'static str) {
    match action {
        ActionName::Open => ("eye", ""),
        ActionName::Publish => ("upload", "plans first, changes nothing yet"),
        ActionName::PauseRollout => ("pause", "on the page of the workload"),
        ActionName::ResumeRollout => ("play", "on the page of the workload"),
        ActionName::ApproveRollout => ("check", "on the page of the workload"),
        ActionName::PromoteRollout => ("chevron-right", "on the page of the workload"),
        ActionName::RetryRollout => ("retry", "on the page of the workload"),
        ActionName::AbortRollout => ("stop", "on the page of the workload"),
        ActionName::Sync => ("refresh", "compares it with its clusters, after a confirmation"),
        ActionName::RollBack => ("undo", "plans first, changes nothing yet"),
        ActionName::Unpublish => ("minus", "removes it from its clusters, after a confirmation"),
        ActionName::Delete => ("trash", "after a confirmation"),
        ActionName::Cordon => ("lock", "no new workloads, on the page of the cluster"),
        ActionName::Uncordon => ("check", "accepts new workloads again, on the page of the cluster"),
        ActionName::InjectFault => ("fault", "injects a fault, on the page of the cluster"),
        ActionName::CreateWorkload => ("plus", "opens the form"),
    }
}

fn action_path(best: &BestMatch, action: &PossibleAction) -> String {
    let name = &best.name;
    match (best.kind, action.action) {
        (SearchKind::Cluster, ActionName::Cordon | ActionName::Uncordon) => paths::cluster_scheduling(name),
        (SearchKind::Cluster, ActionName::Delete) => paths::cluster_dialog(name, "delete", &[]),
        (SearchKind::Cluster, _) => paths::cluster(name),
        (SearchKind::Group, _) => paths::group(name),
        (SearchKind::Chart, ActionName::CreateWorkload) => paths::workload_from_chart(name, ""),
        (SearchKind::Chart, _) => paths::chart(name, ""),
        (_, ActionName::Publish) => paths::publish(name),
        (_, ActionName::Sync) => paths::workload_dialog(name, "sync"),
        (_, ActionName::Unpublish) => paths::workload_dialog(name, "unpublish"),
        (_, ActionName::Delete) => paths::workload_dialog(name, "delete"),
        (_, ActionName::RollBack) => paths::roll_back(name, action.revision.unwrap_or_default()),
        _ => paths::workload(name),
    }
}

/// The parts of the best workload, then pages.
fn list_go_to(words: &[String], best: Option<&BestMatch>) -> Vec<SearchEntry> {
    let workload = best.filter(|best| best.kind == SearchKind::Workload);
    let mut entries = workload.map(|best| list_workload_places(&best.name)).unwrap_or_default();
    entries.extend(list_places(words));
    entries
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use domain::release::ReleaseState;

    use super::*;

    fn results() -> SearchResults {
        let at = Timestamp::from_millis(3_600_000);
        let failure = SearchHit {
            cluster: Some("edge-1".to_owned()),
            state: Some(ReleaseState::Failed),
            since: Some(Timestamp::from_millis(0)),
            detail: "cannot pull image".to_owned(),
            ..SearchHit::new(SearchKind::Failure, "web")
        };
        let unpublish = PossibleAction {
            action: ActionName::Unpublish,
            label: "Unpublish web…".to_owned(),
            revision: None,
            command: "flotilla unpublish web".to_owned(),
            unavailable: Some("web was never published.".to_owned()),
        };
        let sync = PossibleAction { action: ActionName::Sync, unavailable: None, ..unpublish.clone() };
        let best =
            BestMatch { kind: SearchKind::Workload, name: "web".to_owned(), actions: vec![sync, unpublish] };
        let items = vec![failure, SearchHit::new(SearchKind::Workload, "web")];
        SearchResults { items, truncated: Vec::new(), best: Some(best), read_at: at }
    }

    fn compose(q: &str, switch: Option<&str>) -> SearchSections {
        let query = SearchQuery { q: q.to_owned(), ..SearchQuery::default() };
        let context = SearchContext { is_demo: false, switch: switch.map(str::to_owned) };
        compose_sections(&query, results(), &context)
    }

    #[test]
    fn faults_come_first_then_things_then_actions_then_places() {
        let titles: Vec<String> = compose("we", None).sections.into_iter().map(|one| one.title).collect();
        assert_eq!(titles, ["Needs attention", "Workloads", "Actions on web", "Go to"]);
        let failure = &compose("we", None).sections[0].entries[0];
        assert_eq!(failure.detail, "Failed for 1 h: cannot pull image");
        assert_eq!(failure.href, "/workloads/web?open=edge-1");
    }

    #[test]
    fn an_action_opens_the_dialog_that_confirms_it_and_one_that_is_not_possible_opens_nothing() {
        let sections = compose("web", None).sections;
        let [sync, unpublish] = &sections[2].entries[..] else { panic!("{sections:?}") };
        assert_eq!(sync.href, "/workloads/web?dialog=sync");
        assert_eq!((unpublish.href.as_str(), unpublish.detail.as_str()), ("", "web was never published."));
    }

    #[test]
    fn the_actions_on_a_release_come_before_those_on_its_workload() {
        let found = compose_release_sections(("web", "edge-1"), results().best);
        let titles: Vec<&str> = found.sections.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["Actions on web on edge-1", "Actions on web"]);
        let hrefs: Vec<&str> = found.sections[0].entries.iter().map(|one| one.href.as_str()).collect();
        assert_eq!(
            hrefs,
            [
                "/workloads/web?open=edge-1",
                "/workloads/web?open=edge-1&dialog=sync&cluster=edge-1",
                "/workloads/web?tab=overrides&cluster=edge-1",
                "/events?workload=web&cluster=edge-1",
                "/clusters/edge-1",
            ]
        );
        assert_eq!(found.sections[0].entries[1].command, "flotilla sync web --clusters edge-1");
    }

    #[test]
    fn a_release_whose_workload_cannot_be_synced_says_why_and_another_best_match_is_ignored() {
        let mut best = results().best.unwrap();
        best.actions[0].unavailable = Some("web is not published.".to_owned());
        let found = compose_release_sections(("web", "edge-1"), Some(best.clone()));
        let sync = &found.sections[0].entries[1];
        assert_eq!((sync.href.as_str(), sync.detail.as_str()), ("", "web is not published."));
        best.name = "web-2".to_owned();
        let found = compose_release_sections(("web", "edge-1"), Some(best));
        assert_eq!(found.sections.len(), 1, "{found:?}");
        assert!(found.sections[0].entries.iter().all(|one| !one.label.starts_with("Sync")), "{found:?}");
    }

    #[test]
    fn a_switch_keeps_the_tab_and_offers_nothing_else() {
        let sections = compose("web", Some("history")).sections;
        assert_eq!(sections.last().unwrap().entries[0].href, "/workloads/web?tab=history");
        assert!(sections.iter().all(|one| one.title != "Go to"), "{sections:?}");
    }
}
