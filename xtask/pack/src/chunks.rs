//! Which file each chunk goes into.
//!
//! Functions that the same parts need are one chunk, so six parts make dozens of chunks, most of them tiny. Those share a
//! file, which a page with any part fetches once; a request for each would cost more than the bytes.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::site::replaced;
use crate::split::Chunk;

/// A chunk of at least so many bytes, not compressed, is a file of its own.
const OWN_FILE: usize = 16 << 10;

/// The part of the loader that cuts chunks out of the shared file.
const PIECE: &str = include_str!("piece.js");

/// A file of chunks.
pub struct ChunkFile {
    /// Its logical name, after the parts that need it: `part-<one>-<other>.wasm`; the shared file ends in `.bin`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The name that the loader knows it by.
    pub asked: String,
}

/// The files, and the loader that knows which chunk is where.
pub fn files(chunks: Vec<Chunk>, mut loader: String) -> Result<(Vec<ChunkFile>, String)> {
    let (mut files, mut shared, mut sharing) = (Vec::new(), Vec::new(), BTreeSet::new());
    for Chunk { asked, parts, wasm } in chunks {
        if wasm.len() >= OWN_FILE {
            files.push(ChunkFile { name: format!("part-{}.wasm", joined(&parts)), bytes: wasm, asked });
            continue;
        }
        let from = shared.len();
        shared.extend(wasm);
        let whole = format!("fetch(new URL(\"./{asked}\", import.meta.url))");
        loader = replaced(&loader, &whole, &format!("piece({from}, {})", shared.len()))?;
        sharing.extend(parts);
    }
    if !shared.is_empty() {
        loader.push_str(PIECE);
        files.push(ChunkFile {
            name: format!("part-{}.bin", joined(&sharing)),
            bytes: shared,
            asked: "PIECES".to_owned(),
        });
    }
    Ok((files, loader))
}

fn joined(parts: &BTreeSet<String>) -> String {
    parts.iter().map(String::as_str).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_chunks_share_a_file_and_the_loader_cuts_them_out() {
        let chunk = |asked: &str, parts: &[&str], size: usize| Chunk {
            asked: asked.to_owned(),
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            wasm: vec![0; size],
        };
        let asks = |name: &str| format!("fetch(new URL(\"./{name}\", import.meta.url));\n");
        let loader = asks("chunk_1.wasm") + &asks("chunk_2.wasm") + &asks("split_b.wasm");
        let chunks = vec![
            chunk("chunk_1.wasm", &["a", "b"], 10),
            chunk("chunk_2.wasm", &["a"], 5),
            chunk("split_b.wasm", &["b"], OWN_FILE),
        ];
        let (files, loader) = files(chunks, loader).unwrap();
        assert_eq!(
            files.iter().map(|file| (file.name.as_str(), file.bytes.len())).collect::<Vec<_>>(),
            [("part-b.wasm", OWN_FILE), ("part-a-b.bin", 15)]
        );
        assert!(loader.starts_with("piece(0, 10);\npiece(10, 15);\nfetch("), "{loader}");
        assert!(loader.contains("./PIECES"), "{loader}");
    }
}
