//! Which values of a chart are secrets, by the schema of the chart.

use std::collections::HashMap;

use domain::Digest;
use domain::secret_content::ChartMarks;
use domain::secret_values::SecretMarks;
use domain::workload::Source;
use parking_lot::Mutex;
use source::archive::ChartArchive;

use crate::{Error, Hub};

/// Most charts whose marks stay in memory.
const MAX_CACHED: usize = 32;
/// Most text of the schemas whose marks stay in memory, in bytes; the values of a schema need up to some twenty times as much. The marks of a
/// larger one are read from its archive each time.
const MAX_CACHED_BYTES: usize = 1 << 20;

/// The marks of charts, by the digest of the archive: each page that a viewer reads needs them, and an archive is large when it is unpacked.
#[derive(Default)]
pub(crate) struct SecretMarksCache(Mutex<CachedMarks>);

#[derive(Default)]
struct CachedMarks {
    marks: HashMap<Digest, SecretMarks>,
    /// The text of their schemas, in bytes.
    bytes: usize,
}

impl SecretMarksCache {
    fn get(&self, digest: &Digest) -> Option<SecretMarks> {
        self.0.lock().marks.get(digest).cloned()
    }

    /// Retains the marks of a schema with so many bytes. Unknown ones are not retained: the archive may be stored again.
    fn insert(&self, digest: &Digest, marks: &SecretMarks, bytes: usize) {
        if *marks == SecretMarks::Unknown || bytes > MAX_CACHED_BYTES {
            return;
        }
        let mut cached = self.0.lock();
        if cached.marks.contains_key(digest) {
            return;
        }
        if cached.marks.len() >= MAX_CACHED || cached.bytes + bytes > MAX_CACHED_BYTES {
            *cached = CachedMarks::default();
        }
        cached.bytes += bytes;
        cached.marks.insert(digest.clone(), marks.clone());
    }
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
        let read = self.read_stored_archive(digest, |archive| {
            ChartArchive::read(&archive).map(|chart| {
                let schema = chart.values_schema().unwrap_or_default();
                (SecretMarks::from_schema(schema), schema.len())
            })
        });
        let Ok((marks, bytes)) = read.await? else { return Ok(SecretMarks::Unknown) };
        cache.insert(digest, &marks, bytes);
        Ok(marks)
    }

    async fn has_artifact(&self, digest: &Digest) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        Ok(store::artifact::exists(&mut tx, digest).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_cached_marks_are_bounded_in_number_and_in_the_text_of_their_schemas() {
        let cache = SecretMarksCache::default();
        let digest = |number: usize| Digest::compute(number.to_string().as_bytes());
        let count = || (0..10 * MAX_CACHED).filter(|number| cache.get(&digest(*number)).is_some()).count();
        cache.insert(&digest(0), &SecretMarks::Unknown, 10);
        cache.insert(&digest(1), &SecretMarks::Names, MAX_CACHED_BYTES + 1);
        assert_eq!(count(), 0, "an archive may be stored again, and a large schema is read again");
        for number in 0..10 * MAX_CACHED {
            cache.insert(&digest(number), &SecretMarks::Names, 10);
            assert!((1..=MAX_CACHED).contains(&count()));
        }
        cache.insert(&digest(0), &SecretMarks::Names, MAX_CACHED_BYTES - 10);
        cache.insert(&digest(0), &SecretMarks::Names, MAX_CACHED_BYTES - 10);
        cache.insert(&digest(1), &SecretMarks::Names, 10);
        assert_eq!(count(), 2, "the same chart counts once");
        cache.insert(&digest(2), &SecretMarks::Names, 1);
        assert_eq!(count(), 1);
    }
}
