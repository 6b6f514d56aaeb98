//! The charts that can be used: uploaded ones, fetched ones, and those in the indexes of repositories.

use std::collections::{BTreeMap, BTreeSet};

use domain::chart::{ChartRef, ChartVersion};
use domain::chart_repository::{CatalogChart, CatalogVersion, is_same_version, is_stable, parse_version};
use domain::page::{ListQuery, Page};

use crate::{Error, Hub};

/// Most characters of a search.
const MAX_QUERY_CHARS: usize = 200;

impl Hub {
    /// The charts whose name or description contains every word of `q`: those with a word in their name first, then by name.
    /// Indexes that are due are refreshed in the background.
    pub async fn search_charts(&self, query: &ListQuery) -> Result<Page<CatalogChart>, Error> {
        let words: Vec<String> = query
            .q
            .chars()
            .take(MAX_QUERY_CHARS)
            .collect::<String>()
            .to_lowercase()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let mut found: BTreeMap<(bool, String), CatalogChart> = BTreeMap::new();
        let mut add = |chart: CatalogChart| {
            let name = chart.chart.to_lowercase();
            let description = chart.description.to_lowercase();
            if words.iter().all(|word| name.contains(word) || description.contains(word)) {
                let only_described = !words.iter().all(|word| name.contains(word));
                found.entry((only_described, chart.chart.clone())).or_insert(chart);
            }
        };
        let mut tx = self.read().await?;
        let rows = store::chart_repository::list(&mut tx, self.project()).await?;
        let stored = store::chart::list(&mut tx, self.project(), None, 1_000).await?;
        drop(tx);
        for row in &rows {
            self.refresh_if_due(row);
            let Some(index) = self.load_index(row).await? else { continue };
            for chart in index.iter() {
                let Some(newest) = chart.newest() else { continue };
                add(CatalogChart {
                    chart: format!("{}/{}", row.name, chart.name),
                    version: newest.version.clone(),
                    app_version: newest.app_version.clone(),
                    description: chart.description.clone(),
                    deprecated: newest.deprecated,
                    version_count: count(chart.versions.len()),
                });
            }
        }
        for chart in group_stored(stored) {
            // An index says more about its charts than what was fetched of them.
            add(chart);
        }
        Ok(to_page(
            found.into_iter().map(|((only_described, _), chart)| (only_described, chart)).collect(),
            query,
        ))
    }

    /// The versions of a chart, the newest first: those in the index or in the registry, and those that are stored.
    ///
    /// # Errors
    /// There is no such chart.
    pub async fn list_chart_versions(
        &self,
        repository: &str,
        name: &str,
    ) -> Result<Vec<CatalogVersion>, Error> {
        let reference = ChartRef { repository, name };
        let mut tx = self.read().await?;
        let stored = store::chart::list_by_repository(&mut tx, self.project(), repository).await?;
        drop(tx);
        let stored: Vec<ChartVersion> = stored.into_iter().filter(|chart| chart.name == name).collect();
        let mut versions = self.list_published_versions(reference, &stored).await?;
        for chart in &stored {
            if !versions.iter().any(|found| is_same_version(&found.version, &chart.version)) {
                versions.push(CatalogVersion {
                    version: chart.version.clone(),
                    app_version: chart.app_version.clone(),
                    kubernetes_range: chart.kubernetes_range.clone(),
                    deprecated: false,
                    created_at: Some(chart.created_at),
                    is_stored: true,
                });
            }
        }
        if versions.is_empty() {
            return Err(Error::not_found("chart", format!("{repository}/{name}")));
        }
        versions.sort_by_cached_key(|found| std::cmp::Reverse(parse_version(&found.version)));
        Ok(versions)
    }

    /// The charts with this name and version: uploaded and fetched ones, and those in the indexes of repositories; sorted.
    pub(crate) async fn list_charts_with_version(
        &self,
        name: &str,
        version: &str,
    ) -> Result<Vec<String>, Error> {
        let mut tx = self.read().await?;
        let rows = store::chart_repository::list(&mut tx, self.project()).await?;
        let stored = store::chart::list(&mut tx, self.project(), None, 1_000).await?;
        drop(tx);
        let stored =
            stored.into_iter().filter(|chart| chart.name == name && is_same_version(&chart.version, version));
        let mut found: BTreeSet<String> = stored.map(|chart| chart.reference()).collect();
        for row in &rows {
            let Some(index) = self.load_index(row).await? else { continue };
            if index.iter().any(|chart| chart.name == name && chart.find(version).is_some()) {
                found.insert(format!("{}/{name}", row.name));
            }
        }
        Ok(found.into_iter().collect())
    }

    async fn list_published_versions(
        &self,
        reference: ChartRef<'_>,
        stored: &[ChartVersion],
    ) -> Result<Vec<CatalogVersion>, Error> {
        let Some(row) = self.find_repository(reference.repository).await? else { return Ok(Vec::new()) };
        let is_stored = |version: &str| stored.iter().any(|chart| is_same_version(&chart.version, version));
        if let Some(index) = self.load_index(&row).await? {
            let chart = index.iter().find(|chart| chart.name == reference.name);
            let versions = chart.into_iter().flat_map(|chart| &chart.versions);
            return Ok(versions
                .map(|version| CatalogVersion {
                    version: version.version.clone(),
                    app_version: version.app_version.clone(),
                    kubernetes_range: version.kubernetes_range.clone(),
                    deprecated: version.deprecated,
                    created_at: version.created_at,
                    is_stored: is_stored(&version.version),
                })
                .collect());
        }
        let versions = self.list_registry_versions(&row, reference.name).await?.unwrap_or_default();
        Ok(versions
            .into_iter()
            .map(|version| CatalogVersion {
                is_stored: is_stored(&version.version),
                version: version.version,
                app_version: version.app_version,
                kubernetes_range: version.kubernetes_range,
                deprecated: version.is_deprecated,
                created_at: version.created_at,
            })
            .collect())
    }
}

/// Each stored chart by its newest version.
fn group_stored(stored: Vec<ChartVersion>) -> Vec<CatalogChart> {
    let mut charts: BTreeMap<String, Vec<ChartVersion>> = BTreeMap::new();
    for version in stored {
        charts.entry(version.reference()).or_default().push(version);
    }
    let newest = |(chart, versions): (String, Vec<ChartVersion>)| {
        let version_count = count(versions.len());
        let rank = |version: &ChartVersion| (is_stable(&version.version), parse_version(&version.version));
        let newest = versions.into_iter().max_by_key(rank)?;
        Some(CatalogChart {
            chart,
            version: newest.version,
            app_version: newest.app_version,
            description: newest.description,
            deprecated: false,
            version_count,
        })
    };
    charts.into_iter().filter_map(newest).collect()
}

/// The page after the cursor, which is the last chart of the page before it.
fn to_page(all: Vec<(bool, CatalogChart)>, query: &ListQuery) -> Page<CatalogChart> {
    let total = count(all.len());
    let cursor = query.cursor.as_deref().and_then(|cursor| cursor.split_once(':'));
    let start = cursor.map_or(0, |(rank, chart)| {
        let last = (rank == "1", chart);
        all.partition_point(|(only_described, found)| (*only_described, found.chart.as_str()) <= last)
    });
    let limit = query.limit() as usize;
    let has_more = all.len() > start + limit;
    let items: Vec<(bool, CatalogChart)> = all.into_iter().skip(start).take(limit).collect();
    let next = items.last().filter(|_| has_more);
    let next = next.map(|(only_described, chart)| format!("{}:{}", u8::from(*only_described), chart.chart));
    Page { items: items.into_iter().map(|(_, chart)| chart).collect(), next, total }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
