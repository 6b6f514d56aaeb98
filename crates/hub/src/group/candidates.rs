//! The list from which the members of a group are picked, and the list of all groups.

use domain::page::{DEFAULT_LIMIT, Page};
use domain::placement::{
    ClusterGroup, FleetLabel, GroupCandidate, GroupMembershipKind, GroupSummary, SUMMARY_CLUSTERS,
    matches_search,
};

use crate::{Error, Hub};

/// The page and the filter of [`Hub::list_group_candidates`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupCandidateQuery {
    /// The group; empty for one that does not exist yet.
    pub group: String,
    /// Text in the name, the region or the labels of the clusters; empty for all.
    pub q: String,
    /// Where the previous page ended.
    pub cursor: Option<String>,
    /// At most this many.
    pub limit: Option<u32>,
}

impl Hub {
    /// One page of the clusters that match a search: the members of the group first, each part by name.
    ///
    /// # Errors
    /// There is no such group.
    pub async fn list_group_candidates(
        &self,
        query: &GroupCandidateQuery,
    ) -> Result<Page<GroupCandidate>, Error> {
        let mut tx = self.read().await?;
        let group = match query.group.as_str() {
            "" => ClusterGroup::default(),
            name => super::load_group(&mut tx, name).await?,
        };
        let clusters = store::cluster::list_all(&mut tx).await?;
        drop(tx);
        let found = group.memberships(&clusters).filter(|(cluster, _)| matches_search(cluster, &query.q));
        let mut found: Vec<_> = found
            .map(|(cluster, kind)| (u8::from(kind == GroupMembershipKind::None), cluster, kind))
            .collect();
        found.sort_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
        let total = u32::try_from(found.len()).unwrap_or(u32::MAX);
        // The cursor is part and name of the last item, such as `1eu-1`.
        let position = |(part, name): (u8, &str)| format!("{part}{name}");
        if let Some(cursor) = &query.cursor {
            found.retain(|(part, cluster, _)| position((*part, &cluster.name)) > *cursor);
        }
        let limit = query.limit.unwrap_or(DEFAULT_LIMIT) as usize;
        let has_more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| has_more);
        let next = last.map(|(part, cluster, _)| position((*part, &cluster.name)));
        let items = found.into_iter().map(|(_, cluster, kind)| GroupCandidate::from_cluster(cluster, kind));
        Ok(Page { items: items.collect(), next, total })
    }

    /// All groups with the number of their members, by name.
    pub async fn list_group_summaries(&self) -> Result<Vec<GroupSummary>, Error> {
        let mut tx = self.read().await?;
        let groups = store::group::list(&mut tx).await?;
        let clusters = store::cluster::list_all(&mut tx).await?;
        drop(tx);
        let summarize = |group: ClusterGroup| {
            let (mut named, mut by_label) = (0, 0);
            let mut shown = Vec::new();
            let members = group.memberships(&clusters).filter(|(_, kind)| *kind != GroupMembershipKind::None);
            for (cluster, kind) in members {
                if shown.len() < SUMMARY_CLUSTERS {
                    shown.push(cluster.name.clone());
                }
                named += u32::from(kind == GroupMembershipKind::Named);
                by_label += u32::from(kind == GroupMembershipKind::Label);
            }
            let ClusterGroup { name, selector, exclusive, .. } = group;
            GroupSummary { name, named, by_label, clusters: shown, selector, exclusive }
        };
        Ok(groups.into_iter().map(summarize).collect())
    }

    /// The labels that clusters have, by key and value, at most 200.
    pub async fn list_fleet_labels(&self) -> Result<Vec<FleetLabel>, Error> {
        let mut tx = self.read().await?;
        Ok(store::cluster::list_labels(&mut tx).await?)
    }
}
