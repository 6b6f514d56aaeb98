//! The list of a repository's charts, as of its last complete index.

use std::collections::HashMap;
use std::sync::Arc;

use domain::Digest;
use domain::chart_repository::IndexedChart;
use source::client_shares::INDEXES_OF_USERS;
use source::memory_limit::process_memory;
use source::requester::current_turn;
use store::chart_repository::ChartRepositoryRow;

use super::ParsedIndex;
use crate::blocking::run_blocking;
use crate::{Error, Hub};

/// Memory that a list needs while it is parsed and afterwards, per byte of JSON.
const MEMORY_PER_BYTE: u64 = 8;
/// Most bytes of JSON of all lists that are cached; the last one that was read is cached in any case.
const MAX_CACHED_BYTES: u64 = 32 << 20;
/// The part of the memory of the process that they have at most: parsed, they need [`MEMORY_PER_BYTE`] times as much.
const CACHED_PART: u64 = 256;

impl Hub {
    /// The charts of the last complete index; `None` if there is none.
    pub(crate) async fn load_index(
        &self,
        row: &ChartRepositoryRow,
    ) -> Result<Option<Arc<Vec<IndexedChart>>>, Error> {
        let Some(digest) = &row.index else { return Ok(None) };
        if let Some(cached) = self.cached_index(&row.name, digest) {
            return Ok(Some(cached));
        }
        let mut tx = self.read().await?;
        let missing = || store::Error::MissingRow { table: "artifact", id: digest.to_string() };
        let bytes = store::artifact::get(&mut tx, digest).await?.ok_or_else(missing)?;
        drop(tx);
        let stored_bytes = bytes.len();
        let needed = MEMORY_PER_BYTE * stored_bytes as u64;
        let memory = INDEXES_OF_USERS.reserve_in_full(current_turn(), needed).await?;
        let parsed: Result<Vec<IndexedChart>, serde_json::Error> = run_blocking(move || {
            let charts = serde_json::from_slice(&bytes);
            drop(memory);
            charts
        })
        .await?;
        let charts = Arc::new(parsed.map_err(|error| Error::Internal(Box::new(error)))?);
        let entry = ParsedIndex { digest: digest.clone(), bytes: stored_bytes, charts: charts.clone() };
        let most = max_cached_bytes(process_memory());
        insert_bounded(&mut self.repository_reader().indexes.lock(), row.name.clone(), entry, most);
        Ok(Some(charts))
    }

    fn cached_index(&self, repository: &str, digest: &Digest) -> Option<Arc<Vec<IndexedChart>>> {
        let cached = self.repository_reader().indexes.lock();
        cached.get(repository).filter(|cached| cached.digest == *digest).map(|cached| cached.charts.clone())
    }
}

/// Most bytes of JSON that a process with so much memory caches.
fn max_cached_bytes(memory: Option<u64>) -> usize {
    let most = memory.map_or(MAX_CACHED_BYTES, |memory| MAX_CACHED_BYTES.min(memory / CACHED_PART));
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// Inserts a list. The largest others are removed if all of them are too large together: they are parsed again when they are needed.
fn insert_bounded(
    indexes: &mut HashMap<String, ParsedIndex>,
    repository: String,
    entry: ParsedIndex,
    most: usize,
) {
    indexes.remove(&repository);
    while !indexes.is_empty() && indexes.values().map(|index| index.bytes).sum::<usize>() + entry.bytes > most
    {
        let largest = indexes.iter().max_by_key(|(_, index)| index.bytes).map(|(name, _)| name.clone());
        indexes.remove(&largest.unwrap_or_default());
    }
    indexes.insert(repository, entry);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_cached_lists_of_charts_are_bounded_together() {
        let index = |bytes: usize| ParsedIndex {
            digest: Digest::compute(b"list"),
            bytes,
            charts: Arc::new(Vec::new()),
        };
        let most = max_cached_bytes(Some(1 << 30));
        assert_eq!(
            (most, max_cached_bytes(None), max_cached_bytes(Some(1 << 40))),
            (4 << 20, 32 << 20, 32 << 20)
        );
        let mut indexes = HashMap::new();
        for number in 0..100 {
            insert_bounded(&mut indexes, format!("r{number}"), index(most / 10), most);
        }
        assert!(indexes.len() == 10 && indexes.contains_key("r99"), "{} lists", indexes.len());
        insert_bounded(&mut indexes, "large".to_owned(), index(2 * most), most);
        assert_eq!(indexes.keys().collect::<Vec<_>>(), ["large"]);
        insert_bounded(&mut indexes, "small".to_owned(), index(1), most);
        assert_eq!(indexes.keys().collect::<Vec<_>>(), ["small"]);
    }
}
