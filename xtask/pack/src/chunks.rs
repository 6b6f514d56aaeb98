//! Assigns chunks to files.
//!
//! Functions that the same parts need form one chunk, so six parts have dozens of chunks, most of them small. Small chunks
//! share a file, which a page with any part loads once; one request per chunk would cost more than the bytes.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::site::replace_required;
use crate::split::WasmChunk;

/// Minimum size in bytes, uncompressed, of a chunk with its own file.
const OWN_FILE_MIN_BYTES: usize = 16 << 10;

/// The script of the loader that slices chunks out of the shared file.
const SLICE_SCRIPT: &str = include_str!("piece.js");

/// A file of chunks.
pub struct ChunkFile {
    /// Logical name, from the parts that need the chunk: `part-<one>-<other>.wasm`; the shared file ends in `.bin`.
    pub name: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// The file name in the loader.
    pub loader_name: String,
}

/// Returns the files, and the loader with the location of each chunk.
pub fn group_chunks(chunks: Vec<WasmChunk>, mut loader: String) -> Result<(Vec<ChunkFile>, String)> {
    let (mut files, mut shared, mut sharing) = (Vec::new(), Vec::new(), BTreeSet::new());
    for WasmChunk { loader_name: asked, parts, wasm } in chunks {
        if wasm.len() >= OWN_FILE_MIN_BYTES {
            files.push(ChunkFile {
                name: format!("part-{}.wasm", join_parts(&parts)),
                bytes: wasm,
                loader_name: asked,
            });
            continue;
        }
        let from = shared.len();
        shared.extend(wasm);
        let whole = format!("fetch(new URL(\"./{asked}\", import.meta.url))");
        loader = replace_required(&loader, &whole, &format!("piece({from}, {})", shared.len()))?;
        sharing.extend(parts);
    }
    if !shared.is_empty() {
        loader.push_str(SLICE_SCRIPT);
        files.push(ChunkFile {
            name: format!("part-{}.bin", join_parts(&sharing)),
            bytes: shared,
            loader_name: "PIECES".to_owned(),
        });
    }
    Ok((files, loader))
}

fn join_parts(parts: &BTreeSet<String>) -> String {
    parts.iter().map(String::as_str).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_chunks_share_a_file_and_the_loader_slices_it() {
        let chunk = |asked: &str, parts: &[&str], size: usize| WasmChunk {
            loader_name: asked.to_owned(),
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            wasm: vec![0; size],
        };
        let fetch = |name: &str| format!("fetch(new URL(\"./{name}\", import.meta.url));\n");
        let loader = fetch("chunk_1.wasm") + &fetch("chunk_2.wasm") + &fetch("split_b.wasm");
        let chunks = vec![
            chunk("chunk_1.wasm", &["a", "b"], 10),
            chunk("chunk_2.wasm", &["a"], 5),
            chunk("split_b.wasm", &["b"], OWN_FILE_MIN_BYTES),
        ];
        let (files, loader) = group_chunks(chunks, loader).unwrap();
        assert_eq!(
            files.iter().map(|file| (file.name.as_str(), file.bytes.len())).collect::<Vec<_>>(),
            [("part-b.wasm", OWN_FILE_MIN_BYTES), ("part-a-b.bin", 15)]
        );
        assert!(loader.starts_with("piece(0, 10);\npiece(10, 15);\nfetch("), "{loader}");
        assert!(loader.contains("./PIECES"), "{loader}");
    }
}
