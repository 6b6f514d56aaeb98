//! What was read of charts, by the digest of the archive: bounded by the memory that it needs, because those who upload a chart choose how
//! much that is.

use std::collections::HashMap;

use domain::Digest;

/// What an entry needs beside its value, in bytes.
const ENTRY_BYTES: u64 = 512;

/// Values by digest, which need at most so much memory together.
pub(super) struct ByteCache<T> {
    most: u64,
    bytes: u64,
    entries: HashMap<Digest, CachedEntry<T>>,
    /// Counts uses, to find the one that was used longest ago.
    uses: u64,
}

struct CachedEntry<T> {
    value: T,
    bytes: u64,
    last_use: u64,
}

impl<T: Clone> ByteCache<T> {
    /// An empty one for so many bytes.
    pub fn new(most: u64) -> Self {
        Self { most, bytes: 0, entries: HashMap::new(), uses: 0 }
    }

    /// A value that is cached.
    pub fn get(&mut self, digest: &Digest) -> Option<T> {
        self.uses += 1;
        let found = self.entries.get_mut(digest)?;
        found.last_use = self.uses;
        Some(found.value.clone())
    }

    /// Caches a value of so many bytes, unless it is cached already. Those that were used longest ago are removed if all of them are too large
    /// together; one that is too large by itself is not cached.
    pub fn insert(&mut self, digest: &Digest, value: &T, bytes: u64) {
        let bytes = bytes.saturating_add(ENTRY_BYTES);
        if bytes > self.most || self.entries.contains_key(digest) {
            return;
        }
        while self.bytes.saturating_add(bytes) > self.most {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_use);
            let Some(oldest) = oldest.map(|(digest, _)| digest.clone()) else { break };
            self.remove(&oldest);
        }
        self.uses += 1;
        self.bytes += bytes;
        self.entries.insert(digest.clone(), CachedEntry { value: value.clone(), bytes, last_use: self.uses });
    }

    fn remove(&mut self, digest: &Digest) {
        if let Some(removed) = self.entries.remove(digest) {
            self.bytes = self.bytes.saturating_sub(removed.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: u64) -> Digest {
        Digest::compute(number.to_string().as_bytes())
    }

    fn list(cache: &ByteCache<u64>) -> Vec<u64> {
        (0..100).filter(|number| cache.entries.contains_key(&digest(*number))).collect()
    }

    #[test]
    fn p19_what_is_cached_of_charts_is_bounded_in_bytes_whatever_the_number_of_charts_is() {
        let mut cache = ByteCache::new(10 * ENTRY_BYTES);
        cache.insert(&digest(0), &0, 10 * ENTRY_BYTES);
        assert!(list(&cache).is_empty(), "too large by itself");
        for number in 1..=10 {
            cache.insert(&digest(number), &number, 0);
            cache.insert(&digest(number), &number, 0);
        }
        assert_eq!(list(&cache).len(), 10, "the same chart counts once");
        assert_eq!(cache.get(&digest(1)), Some(1));
        assert_eq!(cache.get(&digest(11)), None);
        cache.insert(&digest(11), &11, ENTRY_BYTES);
        assert_eq!(
            list(&cache),
            vec![1, 4, 5, 6, 7, 8, 9, 10, 11],
            "those that were used longest ago are removed"
        );
        assert!(cache.bytes <= cache.most, "{} bytes", cache.bytes);
        cache.insert(&digest(12), &12, 9 * ENTRY_BYTES);
        assert_eq!(list(&cache), vec![12]);
        assert_eq!(cache.bytes, 10 * ENTRY_BYTES);
    }
}
