//! The list of a repository's charts, as of its last complete index.

use std::sync::Arc;

use domain::Digest;
use domain::chart_repository::IndexedChart;
use store::chart_repository::ChartRepositoryRow;

use super::ParsedIndex;
use crate::blocking::run_blocking;
use crate::{Error, Hub};

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
        let parsed: Result<Vec<IndexedChart>, serde_json::Error> =
            run_blocking(move || serde_json::from_slice(&bytes)).await?;
        let charts = Arc::new(parsed.map_err(|error| Error::Internal(Box::new(error)))?);
        let entry = ParsedIndex { digest: digest.clone(), charts: charts.clone() };
        self.repository_reader().indexes.lock().insert(row.name.clone(), entry);
        Ok(Some(charts))
    }

    fn cached_index(&self, repository: &str, digest: &Digest) -> Option<Arc<Vec<IndexedChart>>> {
        let cached = self.repository_reader().indexes.lock();
        cached.get(repository).filter(|cached| cached.digest == *digest).map(|cached| cached.charts.clone())
    }
}
