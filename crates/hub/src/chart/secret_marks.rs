//! Which values of a chart are secrets, by the schema of the chart.

use std::sync::{Arc, Weak};

use domain::bounded_json::{VALUE_BYTES, count_values};
use domain::secret_content::ChartMarks;
use domain::secret_values::{MAX_SCHEMA_VALUES, SecretMarks};
use domain::workload::Source;
use domain::{Digest, Finding};
use parking_lot::Mutex;
use serde_json::Value;
use source::archive::{ChartArchive, MAX_FILE_BYTES};

use super::byte_cache::ByteCache;
use crate::{Error, Hub};

/// Most memory for the marks that stay in memory, in bytes. Those of a larger schema are read from its archive each time.
const MAX_CACHED_BYTES: u64 = 16 << 20;
/// Most memory for these and for those that requests use at the same time, in bytes.
const MAX_USED_BYTES: u64 = 48 << 20;
/// What reading a schema needs at most beside its archive, in bytes.
const READ_BYTES: u64 = MAX_SCHEMA_VALUES as u64 * VALUE_BYTES + MAX_FILE_BYTES;

/// The marks of charts, by the digest of the archive: each page that a viewer reads needs them, and an archive is large when it is unpacked.
pub(crate) struct SecretMarksCache(Mutex<SharedMarks>);

struct SharedMarks {
    cached: ByteCache<SecretMarks>,
    /// The schemas that exist, cached or not, with their bytes.
    used: Vec<(Weak<Value>, u64)>,
}

impl Default for SecretMarksCache {
    fn default() -> Self {
        Self(Mutex::new(SharedMarks { cached: ByteCache::new(MAX_CACHED_BYTES), used: Vec::new() }))
    }
}

impl SecretMarksCache {
    fn get(&self, digest: &Digest) -> Option<SecretMarks> {
        self.0.lock().cached.get(digest)
    }

    /// Caches marks that were read, and returns those to use: the same ones for all that have read them at the same time. If others use the
    /// memory for marks, they are unknown, so that the values are hidden. Unknown ones are not cached: the archive may be stored again.
    fn share(&self, digest: &Digest, marks: SecretMarks, bytes: u64) -> SecretMarks {
        let mut shared = self.0.lock();
        if let Some(cached) = shared.cached.get(digest) {
            return cached;
        }
        match &marks {
            SecretMarks::Unknown => {}
            SecretMarks::Names => shared.cached.insert(digest, &marks, 0),
            SecretMarks::Schema(schema) => {
                shared.used.retain(|(schema, _)| schema.strong_count() > 0);
                let used: u64 = shared.used.iter().map(|(_, bytes)| bytes).sum();
                if used.saturating_add(bytes) > MAX_USED_BYTES {
                    tracing::warn!(chart = %digest, "the schemas of charts that are in use need too much memory");
                    return SecretMarks::Unknown;
                }
                shared.used.push((Arc::downgrade(schema), bytes));
                shared.cached.insert(digest, &marks, bytes);
            }
        }
        marks
    }
}

/// What the values of a schema need in memory at most, in bytes.
fn estimate_schema(schema: &str) -> u64 {
    count_values(schema.as_bytes()) as u64 * VALUE_BYTES + schema.len() as u64
}

/// G113: the schema of a chart has so many values that it is not read.
pub(super) fn explain_unread_schema(values: usize) -> Finding {
    let message = format!(
        "values.schema.json of the chart has {values} values, and at most {MAX_SCHEMA_VALUES} are read: it is not known which values of the chart are secrets, so that all of them are hidden from those who may not edit them, and the form for the values follows from the default values. Helm checks the values against the schema all the same."
    );
    let hint = "Use a chart with a smaller values.schema.json: what it repeats can be defined once, and referred to by $ref.";
    Finding::warning("G113", message, hint)
}

impl Hub {
    /// The marks of the stored charts of these sources, without a request to their repositories.
    pub(crate) async fn load_chart_marks(&self, sources: &[Source]) -> Result<ChartMarks, Error> {
        let mut marks = ChartMarks::default();
        for source in sources {
            marks.add(source, self.load_secret_marks(source).await?);
        }
        Ok(marks)
    }

    async fn load_secret_marks(&self, source: &Source) -> Result<SecretMarks, Error> {
        let digest = match source {
            Source::Yaml { .. } => return Ok(SecretMarks::Names),
            Source::Chart(chart) => {
                let Some(reference) = chart.reference() else { return Ok(SecretMarks::Unknown) };
                let Some(stored) = self.find_stored_chart(reference, &chart.version).await? else {
                    return Ok(SecretMarks::Unknown);
                };
                stored.digest
            }
            Source::Git(remote) | Source::Oci(remote) => match &remote.pinned {
                Some(pinned) if remote.is_chart() => pinned.digest.clone(),
                Some(_) | None => return Ok(SecretMarks::Unknown),
            },
        };
        self.load_archive_marks(&digest).await
    }

    /// The marks of the chart with this digest; unknown if it is not stored or can't be read.
    ///
    /// # Errors
    /// Others use the memory for archives for longer than a request waits.
    async fn load_archive_marks(&self, digest: &Digest) -> Result<SecretMarks, Error> {
        if !self.has_artifact(digest).await? {
            return Ok(SecretMarks::Unknown);
        }
        let cache = &self.chart_renderer().secret_marks;
        if let Some(marks) = cache.get(digest) {
            return Ok(marks);
        }
        let (hub, of_chart) = (self.clone(), digest.clone());
        // They are counted while their memory is reserved.
        let read = self.read_stored_archive_with(digest, READ_BYTES, move |archive| {
            ChartArchive::read(&archive).map(|chart| {
                let schema = chart.values_schema().unwrap_or_default();
                let marks = SecretMarks::from_schema(schema);
                hub.chart_renderer().secret_marks.share(&of_chart, marks, estimate_schema(schema))
            })
        });
        Ok(read.await?.unwrap_or(SecretMarks::Unknown))
    }

    async fn has_artifact(&self, digest: &Digest) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        Ok(store::artifact::exists(&mut tx, digest).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks of a schema of their own.
    fn marks() -> SecretMarks {
        SecretMarks::from_schema("{}")
    }

    #[test]
    fn p19_marks_in_use_are_bounded_by_the_memory_of_their_schemas_and_unknown_beyond_it() {
        let cache = SecretMarksCache::default();
        let digest = |number: u64| Digest::compute(number.to_string().as_bytes());
        assert_eq!(cache.share(&digest(0), SecretMarks::Unknown, 10), SecretMarks::Unknown);
        assert_eq!(cache.get(&digest(0)), None, "an archive may be stored again");
        assert_eq!(cache.share(&digest(0), SecretMarks::Names, 10), SecretMarks::Names);
        assert_eq!(cache.get(&digest(0)), Some(SecretMarks::Names));
        let large = MAX_USED_BYTES / 2;
        let first = cache.share(&digest(1), marks(), large);
        assert_eq!((&first, cache.get(&digest(1))), (&marks(), None), "a large schema is read again");
        let second = cache.share(&digest(2), marks(), large);
        assert_eq!(cache.share(&digest(3), marks(), 1), SecretMarks::Unknown);
        drop(first);
        let third = cache.share(&digest(3), marks(), 1);
        assert_eq!((&second, &third), (&marks(), &marks()));
        assert_eq!(cache.get(&digest(3)).as_ref(), Some(&third));
    }

    #[test]
    fn p19_those_who_read_the_same_marks_at_the_same_time_share_one_copy() {
        let cache = SecretMarksCache::default();
        let digest = Digest::compute(b"chart");
        let (first, second) = (cache.share(&digest, marks(), 100), cache.share(&digest, marks(), 100));
        let (SecretMarks::Schema(first), SecretMarks::Schema(second)) = (&first, &second) else {
            panic!("{first:?}, {second:?}")
        };
        assert!(Arc::ptr_eq(first, second));
        assert_eq!(cache.0.lock().used.len(), 1);
    }

    #[test]
    fn p19_a_schema_with_too_many_values_is_named_with_their_number_and_the_limit() {
        let finding = explain_unread_schema(60_000);
        assert!(
            finding.message.contains("has 60000 values, and at most 50000 are read"),
            "{}",
            finding.message
        );
    }
}
