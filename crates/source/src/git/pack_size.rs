//! What the objects of a pack need in memory, from the sizes that its entries state, before any of them is built.
//!
//! A pack is small, and what it describes may not be: an entry of a few bytes is a delta that makes 64 MiB of another object, and
//! whoever indexes the pack holds every object that others are made from. So each entry is inflated without being kept: its stated
//! size must be its real one, and the sizes of deltas and of their results are added up.

use flate2::{Decompress, FlushDecompress, Status};
use gix_object::Kind;

use super::error::{GitError, GitErrorKind};

/// Most objects of a pack.
pub(super) const MAX_OBJECTS: u32 = 500_000;
/// Largest object, in bytes, and the largest allocation for one.
pub(super) const MAX_OBJECT_BYTES: usize = 64 << 20;
/// Largest commit, in bytes.
pub(super) const MAX_COMMIT_BYTES: u64 = 1 << 20;
/// Largest folder, in bytes: about 200 000 names.
pub(super) const MAX_TREE_BYTES: u64 = 8 << 20;
/// Most bytes of deltas, their results and their bases together: they are in memory at once.
pub(super) const MAX_DELTA_BYTES: u64 = 256 << 20;
/// Most bytes of all entries when they are inflated, one after the other.
const MAX_INFLATED_BYTES: u64 = 2 << 30;

/// What is in memory for each object, beside its content.
const OBJECT_OVERHEAD_BYTES: u64 = 256;
/// Signature, version and number of objects.
const HEADER_BYTES: usize = 12;
/// The checksum at the end.
const CHECKSUM_BYTES: usize = 20;
/// Length of the id of an object.
const ID_BYTES: usize = 20;
/// Bytes that are inflated at a time.
const CHUNK_BYTES: usize = 32 << 10;
/// Bytes of a delta that are read: two numbers.
const DELTA_HEADER_BYTES: usize = 20;
/// Most bits of a number.
const MAX_SHIFT: u32 = 56;

/// What an entry becomes.
#[derive(Debug, Clone, Copy)]
struct EntrySize {
    /// Where the entry begins.
    offset: usize,
    /// The kind of the object; `None` if its base is named by its id, which is not known yet.
    kind: Option<Kind>,
    /// Size of the object.
    bytes: u64,
    /// Whether it was counted as one that others are made from.
    is_counted: bool,
}

/// How an entry is stored.
enum Storage {
    /// As an object of this kind.
    Whole(Kind),
    /// As a delta to the entry that begins here.
    OffsetDelta(usize),
    /// As a delta to an object with an id.
    IdDelta,
}

/// Adds up the sizes of a pack.
struct PackReader<'a> {
    pack: &'a [u8],
    /// Where the next entry begins.
    at: usize,
    entries: Vec<EntrySize>,
    inflate: Decompress,
    chunk: Vec<u8>,
    /// Bytes of deltas, their results and the bases that are known.
    delta_bytes: u64,
    inflated_bytes: u64,
    has_id_deltas: bool,
}

/// The most bytes that indexing the pack and reading its objects need, beside the pack itself.
///
/// # Errors
/// The pack is damaged, or its objects exceed the limits.
pub(super) fn measure_pack(pack: &[u8]) -> Result<u64, GitError> {
    let objects = read_object_count(pack)?;
    let mut reader = PackReader {
        pack: pack.get(..pack.len().saturating_sub(CHECKSUM_BYTES)).unwrap_or_default(),
        at: HEADER_BYTES,
        entries: Vec::new(),
        inflate: Decompress::new(true),
        chunk: vec![0; CHUNK_BYTES],
        delta_bytes: 0,
        inflated_bytes: 0,
        has_id_deltas: false,
    };
    for _ in 0..objects {
        reader.read_entry()?;
    }
    let mut held = reader.delta_bytes;
    if reader.has_id_deltas {
        // Any object may be the base of such a delta.
        let bases = reader.entries.iter().filter(|entry| !entry.is_counted).map(|entry| entry.bytes);
        held = bases.fold(held, u64::saturating_add);
        check_delta_bytes(held)?;
    }
    let largest = reader.entries.iter().map(|entry| entry.bytes).max().unwrap_or_default();
    // An object that is built, and a copy of it for whoever reads it.
    Ok(held + 2 * largest + u64::from(objects) * OBJECT_OVERHEAD_BYTES)
}

fn read_object_count(pack: &[u8]) -> Result<u32, GitError> {
    let count = match pack {
        [b'P', b'A', b'C', b'K', _, _, _, _, a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        _ => return Err(GitError::invalid("The pack of the repository has no valid header.")),
    };
    if count > MAX_OBJECTS {
        let message =
            format!("The pack of the repository has {count} objects; at most {MAX_OBJECTS} are allowed.");
        return Err(too_large(message));
    }
    Ok(count)
}

fn damaged(offset: usize) -> GitError {
    GitError::new(
        GitErrorKind::InvalidResponse,
        format!("The pack of the repository can't be read: its entry at byte {offset} is damaged."),
        "Check the repository with `git fsck`.",
    )
}

fn too_large(message: String) -> GitError {
    let hint = "Use a repository without large files, or publish the content as a packed chart.";
    GitError::new(GitErrorKind::TooLarge, message, hint)
}

fn check_delta_bytes(bytes: u64) -> Result<(), GitError> {
    if bytes <= MAX_DELTA_BYTES {
        return Ok(());
    }
    Err(too_large(format!(
        "The objects of the pack that are stored as changes of others need more than {} MiB together.",
        MAX_DELTA_BYTES >> 20
    )))
}

impl PackReader<'_> {
    /// Reads one entry and adds its sizes.
    fn read_entry(&mut self) -> Result<(), GitError> {
        let offset = self.at;
        let (storage, stated) = self.read_header(offset).ok_or_else(|| damaged(offset))?;
        if stated > MAX_OBJECT_BYTES as u64 {
            return Err(large_object(stated));
        }
        self.inflated_bytes += stated;
        if self.inflated_bytes > MAX_INFLATED_BYTES {
            let limit = MAX_INFLATED_BYTES >> 20;
            return Err(too_large(format!("The objects of the pack have more than {limit} MiB together.")));
        }
        let begin = self.inflate_entry(offset, stated)?;
        let entry = match storage {
            Storage::Whole(kind) => EntrySize { offset, kind: Some(kind), bytes: stated, is_counted: false },
            Storage::OffsetDelta(base) => {
                let bytes = read_result_size(&begin).ok_or_else(|| damaged(offset))?;
                let found = self.entries.binary_search_by_key(&base, |entry| entry.offset);
                let base = found.ok().and_then(|index| self.entries.get_mut(index));
                let base = base.ok_or_else(|| damaged(offset))?;
                if !std::mem::replace(&mut base.is_counted, true) {
                    self.delta_bytes += base.bytes;
                }
                EntrySize { offset, kind: base.kind, bytes, is_counted: true }
            }
            Storage::IdDelta => {
                self.has_id_deltas = true;
                let bytes = read_result_size(&begin).ok_or_else(|| damaged(offset))?;
                EntrySize { offset, kind: None, bytes, is_counted: true }
            }
        };
        check_object(&entry)?;
        if !matches!(storage, Storage::Whole(_)) {
            self.delta_bytes += stated + entry.bytes;
            check_delta_bytes(self.delta_bytes)?;
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Reads how an entry is stored and its stated size; `None` if it is damaged.
    fn read_header(&mut self, offset: usize) -> Option<(Storage, u64)> {
        let first = self.next_byte()?;
        let mut size = u64::from(first & 0x0f);
        let (mut shift, mut byte) = (4, first);
        while byte & 0x80 != 0 {
            byte = self.next_byte()?;
            if shift > MAX_SHIFT {
                return None;
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let storage = match (first >> 4) & 0x07 {
            1 => Storage::Whole(Kind::Commit),
            2 => Storage::Whole(Kind::Tree),
            3 => Storage::Whole(Kind::Blob),
            4 => Storage::Whole(Kind::Tag),
            6 => {
                let mut byte = self.next_byte()?;
                let mut distance = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = self.next_byte()?;
                    distance = distance.checked_add(1)?.checked_mul(0x80)? | u64::from(byte & 0x7f);
                }
                Storage::OffsetDelta(offset.checked_sub(usize::try_from(distance).ok()?)?)
            }
            7 => {
                self.at = self.at.checked_add(ID_BYTES)?;
                Storage::IdDelta
            }
            _ => return None,
        };
        Some((storage, size))
    }

    fn next_byte(&mut self) -> Option<u8> {
        let byte = self.pack.get(self.at).copied();
        self.at += 1;
        byte
    }

    /// Inflates an entry, whose content must have the stated size; returns its first bytes.
    fn inflate_entry(&mut self, offset: usize, stated: u64) -> Result<Vec<u8>, GitError> {
        self.inflate.reset(true);
        let mut begin = Vec::new();
        loop {
            let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
            let input = self.pack.get(self.at..).ok_or_else(|| damaged(offset))?;
            let status = self.inflate.decompress(input, &mut self.chunk, FlushDecompress::None);
            let status = status.map_err(|_| damaged(offset))?;
            let (consumed, produced) = (self.inflate.total_in() - read, self.inflate.total_out() - written);
            self.at += usize::try_from(consumed).map_err(|_| damaged(offset))?;
            let produced = usize::try_from(produced).map_err(|_| damaged(offset))?;
            let missing = DELTA_HEADER_BYTES.saturating_sub(begin.len());
            begin.extend(self.chunk.iter().take(produced.min(missing)));
            let total = self.inflate.total_out();
            match status {
                Status::StreamEnd if total == stated => return Ok(begin),
                Status::Ok if total <= stated && (consumed > 0 || produced > 0) => {}
                _ => return Err(damaged(offset)),
            }
        }
    }
}

/// The size of the object that a delta makes, from its first bytes: the size of the base, then that of the result.
fn read_result_size(delta: &[u8]) -> Option<u64> {
    let mut bytes = delta.iter();
    let mut next = || {
        let (mut size, mut shift) = (0, 0);
        loop {
            let byte = *bytes.next()?;
            if shift > MAX_SHIFT {
                return None;
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(size);
            }
        }
    };
    next()?;
    next()
}

fn check_object(entry: &EntrySize) -> Result<(), GitError> {
    let (what, limit) = match entry.kind {
        Some(Kind::Commit) => ("A commit", MAX_COMMIT_BYTES),
        Some(Kind::Tree) => ("A folder", MAX_TREE_BYTES),
        _ if entry.bytes > MAX_OBJECT_BYTES as u64 => return Err(large_object(entry.bytes)),
        _ => return Ok(()),
    };
    if entry.bytes <= limit {
        return Ok(());
    }
    Err(too_large(format!(
        "{what} of the repository has {} bytes; at most {limit} are allowed.",
        entry.bytes
    )))
}

fn large_object(bytes: u64) -> GitError {
    too_large(format!(
        "An object of the repository has {bytes} bytes; at most {MAX_OBJECT_BYTES} are allowed."
    ))
}

#[cfg(test)]
mod tests;
