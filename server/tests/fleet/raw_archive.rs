//! Archives with entries of any name, kind and stated size: a library that writes archives refuses some of those that tests need.

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

/// Where links lead to.
const LINK: &str = "/etc/passwd";

/// An entry of an archive, with the size that its header states.
#[derive(Clone, Copy)]
pub struct RawEntry<'a> {
    name: &'a str,
    kind: EntryType,
    body: &'a [u8],
    size: u64,
}

impl RawEntry<'_> {
    /// The same entry, whose header states this size.
    pub fn with_stated_size(self, size: u64) -> Self {
        Self { size, ..self }
    }
}

/// A regular file.
pub fn file<'a>(name: &'a str, body: &'a [u8]) -> RawEntry<'a> {
    RawEntry { name, kind: EntryType::Regular, body, size: body.len() as u64 }
}

/// What has no content; a link leads to `/etc/passwd`.
pub fn special(name: &str, kind: EntryType) -> RawEntry<'_> {
    RawEntry { name, kind, body: &[], size: 0 }
}

/// The bytes of an archive with these entries.
pub fn pack_raw(entries: &[RawEntry<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for entry in entries {
        let mut header = Header::new_ustar();
        header.set_entry_type(entry.kind);
        header.set_size(entry.size);
        header.set_mode(0o644);
        // Written directly, because the library refuses such names.
        let raw = header.as_old_mut();
        raw.name[..entry.name.len()].copy_from_slice(entry.name.as_bytes());
        if matches!(entry.kind, EntryType::Symlink | EntryType::Link) {
            raw.linkname[..LINK.len()].copy_from_slice(LINK.as_bytes());
        }
        header.set_cksum();
        builder.append(&header, entry.body).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}
