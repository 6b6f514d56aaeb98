//! Packs as a Git server sends them, and such as none should send.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix_hash::{Kind as HashKind, ObjectId};
use gix_object::Kind;

/// Most bytes that one instruction of a delta copies.
const MAX_COPY_BYTES: usize = 0xff_ffff;

/// A pack, entry by entry.
pub struct PackBuilder {
    bytes: Vec<u8>,
    objects: u32,
}

impl PackBuilder {
    pub fn new() -> Self {
        Self { bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(), objects: 0 }
    }

    /// Adds an object; returns where its entry begins.
    pub fn add(&mut self, kind: Kind, content: &[u8]) -> usize {
        let number = match kind {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        };
        let offset = self.begin(number, content.len());
        self.append_compressed(content);
        offset
    }

    /// Adds an object with the size of another one in its header.
    pub fn add_with_size(&mut self, content: &[u8], stated: usize) {
        self.begin(3, stated);
        self.append_compressed(content);
    }

    /// Adds a delta to the entry that begins at `base`.
    pub fn add_delta(&mut self, base: usize, delta: &[u8]) -> usize {
        let offset = self.begin(6, delta.len());
        let mut distance = offset - base;
        let mut digits = vec![(distance & 0x7f) as u8];
        distance >>= 7;
        while distance > 0 {
            distance -= 1;
            digits.push((distance & 0x7f) as u8 | 0x80);
            distance >>= 7;
        }
        digits.reverse();
        self.bytes.extend(digits);
        self.append_compressed(delta);
        offset
    }

    /// Adds a delta to the object with an id.
    pub fn add_id_delta(&mut self, base: ObjectId, delta: &[u8]) {
        self.begin(7, delta.len());
        self.bytes.extend_from_slice(base.as_slice());
        self.append_compressed(delta);
    }

    /// The pack with its number of objects and its checksum.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes[8..12].copy_from_slice(&self.objects.to_be_bytes());
        let mut hasher = gix_hash::hasher(HashKind::Sha1);
        hasher.update(&self.bytes);
        let checksum = hasher.try_finalize().unwrap();
        self.bytes.extend_from_slice(checksum.as_slice());
        self.bytes
    }

    fn begin(&mut self, kind: u8, size: usize) -> usize {
        let offset = self.bytes.len();
        self.objects += 1;
        let mut rest = size >> 4;
        let mut byte = (kind << 4) | (size & 0x0f) as u8;
        while rest > 0 {
            self.bytes.push(byte | 0x80);
            byte = (rest & 0x7f) as u8;
            rest >>= 7;
        }
        self.bytes.push(byte);
        offset
    }

    fn append_compressed(&mut self, content: &[u8]) {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        self.bytes.extend(encoder.finish().unwrap());
    }
}

/// A delta that makes an object of a base by copying it `times` times.
pub fn repeat_base(base_size: usize, times: usize) -> Vec<u8> {
    let mut delta = Vec::new();
    for size in [base_size, base_size * times] {
        let mut rest = size;
        while rest >= 0x80 {
            delta.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        delta.push(rest as u8);
    }
    for _ in 0..times {
        let mut from = 0;
        while from < base_size {
            let size = (base_size - from).min(MAX_COPY_BYTES);
            // Four bytes of the offset and three of the size.
            delta.push(0xff);
            delta.extend_from_slice(&(from as u32).to_le_bytes());
            delta.extend_from_slice(&(size as u32).to_le_bytes()[..3]);
            from += size;
        }
    }
    delta
}

/// A folder with these entries (mode, name and id), as it is stored, and its id.
pub fn folder(entries: &[(&str, &str, ObjectId)]) -> (Vec<u8>, ObjectId) {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        bytes.extend_from_slice(id.as_slice());
    }
    let id = gix_object::compute_hash(HashKind::Sha1, Kind::Tree, &bytes).unwrap();
    (bytes, id)
}

/// A commit of an empty folder with these parents, as it is stored, and its id.
pub fn commit(subject: &str, parents: &[ObjectId]) -> (Vec<u8>, ObjectId) {
    commit_folder(folder(&[]).1, subject, parents)
}

/// A commit of a folder with these parents, as it is stored, and its id.
pub fn commit_folder(tree: ObjectId, subject: &str, parents: &[ObjectId]) -> (Vec<u8>, ObjectId) {
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        text.push_str(&format!("parent {parent}\n"));
    }
    text.push_str(&format!(
        "author Ada <ada@example.com> 1700000000 +0000\ncommitter Ada <ada@example.com> 1700000000 +0000\n\n{subject}\n"
    ));
    let id = gix_object::compute_hash(HashKind::Sha1, Kind::Commit, text.as_bytes()).unwrap();
    (text.into_bytes(), id)
}
