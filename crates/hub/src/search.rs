//! The search over names, for people: bounded per kind, the failing releases of what it finds first, and the actions on the
//! best match. Its statements read entries of indexes, and rows only of what is shown.

use std::collections::HashMap;

use domain::cluster::{Cluster, Connectivity};
use domain::page::ListQuery;
use domain::placement::ClusterGroup;
use domain::possible_actions as possible;
use domain::rollup::ReleaseCounts;
use domain::search::{
    ActionName, BestMatch, PossibleAction, SearchHit, SearchKind, SearchQuery, SearchResults, rank_match,
};
use domain::workload::{Intent, WorkloadHead, WorkloadOrder, WorkloadSummary};
use domain::{ClusterId, WorkloadId};
use store::Tx;

use crate::cluster::load_cluster;
use crate::operation::find_healthy_revision;
use crate::{Error, Hub};

/// Workloads and clusters whose failing releases are listed, of those found.
const FAILING_OWNERS: usize = 10;
/// Failing releases of one workload or cluster that are listed.
const FAILING_OF_ONE: u32 = 3;

/// What is searched for: the words of a query, without those that select an action.
struct Terms {
    names: Vec<String>,
    actions: Vec<String>,
}

/// Names with one more than the limit, if there are more.
#[derive(Default)]
struct FoundNames {
    workloads: Vec<String>,
    clusters: Vec<String>,
    groups: Vec<String>,
}

impl FoundNames {
    fn is_empty(&self) -> bool {
        self.workloads.is_empty() && self.clusters.is_empty() && self.groups.is_empty()
    }
}

impl Hub {
    /// The items whose names contain every word of the query, by kind, and the actions on the best match. Words that name an action,
    /// such as `sync`, select among the actions if no name contains them.
    pub async fn search(&self, query: &SearchQuery) -> Result<SearchResults, Error> {
        let mut results = SearchResults { read_at: self.clock().now(), ..SearchResults::default() };
        let mut terms = Terms { names: query.words(), actions: Vec::new() };
        let mut charts = self.find_charts(query, &terms.names).await?;
        let mut tx = self.read().await?;
        let mut found = self.find_names(&mut tx, query, &terms.names).await?;
        if found.is_empty() && charts.iter().all(|hit| rank_match(&hit.name, &terms.names).is_none()) {
            let (actions, names) = terms.names.into_iter().partition(|word| ActionName::is_action_word(word));
            terms = Terms { names, actions };
            if !terms.actions.is_empty() && !terms.names.is_empty() {
                found = self.find_names(&mut tx, query, &terms.names).await?;
                if query.has_kind(SearchKind::Chart) {
                    drop(tx);
                    charts = self.find_charts(query, &terms.names).await?;
                    tx = self.read().await?;
                }
            }
        }
        let limit = query.limit() as usize;
        let workloads = self.load_workloads(&mut tx, query, &terms, found.workloads).await?;
        let clusters = load_clusters(&mut tx, &found.clusters).await?;
        if query.has_kind(SearchKind::Failure) {
            let failing = match terms.names.is_empty() {
                true => store::search::list_failing(&mut tx, query.limit() + 1).await?,
                false => load_failing(&mut tx, &workloads, &clusters).await?,
            };
            results.add(SearchKind::Failure, failing, limit);
        }
        results.add(SearchKind::Workload, workloads.into_iter().map(|(_, hit)| hit).collect(), limit);
        results.add(SearchKind::Cluster, clusters.into_iter().map(|(_, hit)| hit).collect(), limit);
        results.add(SearchKind::Group, load_groups(&mut tx, &found.groups).await?, limit);
        results.add(SearchKind::Chart, charts, limit);
        results.best = self.load_best(&mut tx, &results.items, &terms).await?;
        Ok(results)
    }

    async fn find_names(
        &self,
        tx: &mut Tx,
        query: &SearchQuery,
        words: &[String],
    ) -> Result<FoundNames, Error> {
        let more = query.limit() + 1;
        let mut found = FoundNames::default();
        // Without words, workloads are listed worst first: see `load_workloads`.
        if query.has_kind(SearchKind::Workload) && !words.is_empty() {
            found.workloads = store::search::find_workloads(tx, self.project(), words, more).await?;
        }
        if query.has_kind(SearchKind::Cluster) {
            found.clusters = store::search::find_clusters(tx, words, more).await?;
        }
        if query.has_kind(SearchKind::Group) {
            found.groups = store::search::find_groups(tx, words, more).await?;
        }
        Ok(found)
    }

    async fn find_charts(&self, query: &SearchQuery, words: &[String]) -> Result<Vec<SearchHit>, Error> {
        if !query.has_kind(SearchKind::Chart) {
            return Ok(Vec::new());
        }
        let list = ListQuery { q: words.join(" "), limit: Some(query.limit() + 1), ..ListQuery::default() };
        let charts = self.search_charts(&list).await?.items.into_iter();
        let hit = |chart: domain::chart_repository::CatalogChart| {
            let description = [chart.version, chart.description].into_iter().filter(|part| !part.is_empty());
            let detail = description.collect::<Vec<_>>().join(", ");
            SearchHit { detail, ..SearchHit::new(SearchKind::Chart, chart.chart) }
        };
        Ok(charts.map(hit).collect())
    }

    /// The workloads of these names in this order. Without words: the recent ones, then all, worst first.
    async fn load_workloads(
        &self,
        tx: &mut Tx,
        query: &SearchQuery,
        terms: &Terms,
        names: Vec<String>,
    ) -> Result<Vec<(Option<WorkloadId>, SearchHit)>, Error> {
        if !terms.names.is_empty() || !terms.actions.is_empty() {
            return self.load_named_workloads(tx, &names, false).await;
        }
        let recent: Vec<String> = query.recent.iter().take(query.limit() as usize).cloned().collect();
        let mut hits = self.load_named_workloads(tx, &recent, true).await?;
        if query.has_kind(SearchKind::Workload) {
            let list = ListQuery { limit: Some(query.limit() + 1), ..ListQuery::default() };
            let page = store::workload::list(tx, self.project(), &list, WorkloadOrder::WorstFirst).await?;
            let others = page.items.into_iter().filter(|item| !recent.contains(&item.name));
            hits.extend(others.map(|item| (Some(item.id), summary_hit(item))).collect::<Vec<_>>());
        }
        Ok(hits)
    }

    async fn load_named_workloads(
        &self,
        tx: &mut Tx,
        names: &[String],
        only_existing: bool,
    ) -> Result<Vec<(Option<WorkloadId>, SearchHit)>, Error> {
        let heads = store::workload::list_heads_by_names(tx, self.project(), names).await?;
        let ids: Vec<WorkloadId> = heads.iter().map(|head| head.id).collect();
        let counts = store::release::counts_by_workload(tx, &ids).await?;
        let heads: HashMap<&str, &WorkloadHead> =
            heads.iter().map(|head| (head.name.as_str(), head)).collect();
        let hit = |name: &String| match heads.get(name.as_str()) {
            Some(head) => {
                let counts = counts.get(&head.id).cloned().unwrap_or_default();
                Some((Some(head.id), workload_hit(name, head.intent, head.published, &counts)))
            }
            None if only_existing => None,
            None => Some((None, unreadable_hit(SearchKind::Workload, name))),
        };
        Ok(names.iter().filter_map(hit).collect())
    }

    /// What matches the words best, with the actions on it.
    async fn load_best(
        &self,
        tx: &mut Tx,
        items: &[SearchHit],
        terms: &Terms,
    ) -> Result<Option<BestMatch>, Error> {
        let ranked = items.iter().filter(|hit| hit.kind != SearchKind::Failure);
        let ranked = ranked.filter_map(|hit| Some((rank_match(&hit.name, &terms.names)?, hit)));
        let Some((_, hit)) = ranked.min_by_key(|(rank, hit)| (*rank, hit.kind)) else { return Ok(None) };
        let mut actions = match self.list_possible_actions(tx, hit).await {
            Ok(actions) => actions,
            // The item itself says that it can't be read; the search still shows the others.
            Err(Error::Unreadable { .. } | Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if !terms.actions.is_empty() {
            let is_selected =
                |action: &PossibleAction| terms.actions.iter().any(|word| action.action.matches_word(word));
            actions.retain(is_selected);
        }
        Ok(Some(BestMatch { kind: hit.kind, name: hit.name.clone(), actions }))
    }

    async fn list_possible_actions(
        &self,
        tx: &mut Tx,
        hit: &SearchHit,
    ) -> Result<Vec<PossibleAction>, Error> {
        Ok(match hit.kind {
            SearchKind::Failure | SearchKind::Workload => {
                let workload = self.load_workload(tx, &hit.name).await?;
                let (mut rollout, mut rollback) = (None, None);
                if let Some(published) = workload.published {
                    rollout = self.load_rollout(tx, workload.id, published).await?;
                    let healthy = find_healthy_revision(tx, workload.id, published).await?;
                    rollback = healthy.or_else(|| published.checked_sub(1).filter(|number| *number > 0));
                }
                possible::list_workload_actions(&workload, rollout.as_ref(), rollback)
            }
            SearchKind::Cluster => possible::list_cluster_actions(&load_cluster(tx, &hit.name).await?),
            SearchKind::Group => possible::list_group_actions(&hit.name),
            SearchKind::Chart => possible::list_chart_actions(&hit.name),
        })
    }
}

/// The failing releases of what was found, worst first.
async fn load_failing(
    tx: &mut Tx,
    workloads: &[(Option<WorkloadId>, SearchHit)],
    clusters: &[(Option<ClusterId>, SearchHit)],
) -> Result<Vec<SearchHit>, Error> {
    let mut failing = Vec::new();
    for id in workloads.iter().filter_map(|(id, _)| *id).take(FAILING_OWNERS) {
        failing.extend(store::search::list_failing_by_workload(tx, id, FAILING_OF_ONE).await?);
    }
    for id in clusters.iter().filter_map(|(id, _)| *id).take(FAILING_OWNERS) {
        for hit in store::search::list_failing_by_cluster(tx, id, FAILING_OF_ONE).await? {
            if !failing.iter().any(|one| (&one.name, &one.cluster) == (&hit.name, &hit.cluster)) {
                failing.push(hit);
            }
        }
    }
    failing.sort_by_key(|hit| (std::cmp::Reverse(hit.state), hit.since));
    Ok(failing)
}

/// Adds the items of a kind, up to the limit, to what was found.
trait AddHits {
    fn add(&mut self, kind: SearchKind, hits: Vec<SearchHit>, limit: usize);
}

impl AddHits for SearchResults {
    fn add(&mut self, kind: SearchKind, hits: Vec<SearchHit>, limit: usize) {
        if hits.len() > limit {
            self.truncated.push(kind);
        }
        self.items.extend(hits.into_iter().take(limit));
    }
}

fn unreadable_hit(kind: SearchKind, name: &str) -> SearchHit {
    SearchHit { detail: "its stored row can't be read".to_owned(), ..SearchHit::new(kind, name) }
}

fn summary_hit(item: WorkloadSummary) -> SearchHit {
    if item.unreadable.is_some() {
        return unreadable_hit(SearchKind::Workload, &item.name);
    }
    let intent = match item.published {
        Some(_) => Intent::Published,
        None => Intent::Draft,
    };
    let hit = workload_hit(&item.name, intent, item.published, &item.counts);
    SearchHit { detail: format!("{}, {}", item.phase.label().to_lowercase(), hit.detail), ..hit }
}

fn workload_hit(name: &str, intent: Intent, published: Option<u32>, counts: &ReleaseCounts) -> SearchHit {
    let revision = published.map(|number| format!("r{number}"));
    let detail = match (intent, revision) {
        (Intent::Draft, _) | (_, None) => "never published".to_owned(),
        (Intent::Unpublished, _) => "unpublished".to_owned(),
        (Intent::Deleting, _) => "being deleted".to_owned(),
        (Intent::Published, Some(revision)) => format!("{revision}, {}", describe_releases(counts)),
    };
    SearchHit { state: counts.worst(), detail, ..SearchHit::new(SearchKind::Workload, name) }
}

/// How many releases are healthy.
fn describe_releases(counts: &ReleaseCounts) -> String {
    match counts.targeted() {
        0 => "on no cluster".to_owned(),
        1 => format!("{} of 1 release healthy", counts.healthy()),
        targeted => format!("{} of {targeted} releases healthy", counts.healthy()),
    }
}

/// The clusters of these names in this order.
async fn load_clusters(tx: &mut Tx, names: &[String]) -> Result<Vec<(Option<ClusterId>, SearchHit)>, Error> {
    let clusters = store::cluster::list_by_names(tx, names).await?;
    let ids: Vec<ClusterId> = clusters.iter().map(|cluster| cluster.id).collect();
    let counts = store::release::counts_by_cluster(tx, &ids).await?;
    let clusters: HashMap<&str, &Cluster> =
        clusters.iter().map(|cluster| (cluster.name.as_str(), cluster)).collect();
    let hit = |name: &String| match clusters.get(name.as_str()) {
        Some(cluster) => {
            let counts = counts.get(&cluster.id).cloned().unwrap_or_default();
            (Some(cluster.id), cluster_hit(cluster, &counts))
        }
        None => (None, unreadable_hit(SearchKind::Cluster, name)),
    };
    Ok(names.iter().map(hit).collect())
}

fn cluster_hit(cluster: &Cluster, counts: &ReleaseCounts) -> SearchHit {
    let mut detail = vec![cluster.region().to_owned(), describe_releases(counts)];
    if counts.targeted() == 0 {
        detail[1] = "no releases".to_owned();
    }
    if !cluster.schedulable {
        detail.push("cordoned".to_owned());
    }
    detail.retain(|part| !part.is_empty());
    SearchHit {
        state: counts.worst(),
        connectivity: Some(cluster.connectivity),
        since: cluster.last_seen.filter(|_| cluster.connectivity != Connectivity::Online),
        detail: detail.join(", "),
        ..SearchHit::new(SearchKind::Cluster, &cluster.name)
    }
}

/// The groups of these names in this order.
async fn load_groups(tx: &mut Tx, names: &[String]) -> Result<Vec<SearchHit>, Error> {
    let groups = store::group::list_by_names(tx, names).await?;
    let hit = |name: &String| match groups.iter().find(|group| group.name == *name) {
        Some(group) => SearchHit { detail: describe_group(group), ..SearchHit::new(SearchKind::Group, name) },
        None => unreadable_hit(SearchKind::Group, name),
    };
    Ok(names.iter().map(hit).collect())
}

fn describe_group(group: &ClusterGroup) -> String {
    let members = match group.members.len() {
        0 => String::new(),
        1 => "1 named cluster".to_owned(),
        count => format!("{count} named clusters"),
    };
    let selector = group.selector.as_ref().map(ToString::to_string).unwrap_or_default();
    [members, selector].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" or ")
}
