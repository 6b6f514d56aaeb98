//! Reads the entries of an index and counts them: an entry in memory is a hundred times as large as an empty one in the text.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{IndexEntry, MAX_ENTRIES};

/// The entries by chart; `null` is an empty list. More than [`MAX_ENTRIES`] are an error.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<IndexEntry>>, D::Error> {
    let count = Cell::new(0);
    deserializer.deserialize_option(Charts { count: &count })
}

struct Charts<'c> {
    count: &'c Cell<usize>,
}

impl<'de> Visitor<'de> for Charts<'_> {
    type Value = BTreeMap<String, Vec<IndexEntry>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lists of versions by chart")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(BTreeMap::new())
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(BTreeMap::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut charts = BTreeMap::new();
        while let Some(name) = access.next_key::<String>()? {
            let entries = access.next_value_seed(Versions { count: self.count })?;
            charts.insert(name, entries);
        }
        Ok(charts)
    }
}

struct Versions<'c> {
    count: &'c Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Versions<'_> {
    type Value = Vec<IndexEntry>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Versions<'_> {
    type Value = Vec<IndexEntry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of versions")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_element::<IndexEntry>()? {
            if self.count.get() >= MAX_ENTRIES {
                return Err(A::Error::custom(format!("it has more than {MAX_ENTRIES} entries")));
            }
            self.count.set(self.count.get() + 1);
            entries.push(entry);
        }
        Ok(entries)
    }
}
