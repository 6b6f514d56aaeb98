//! Takes the module that cargo built apart: what every page starts, and the parts that are fetched when a page shows them.
//!
//! Where the cuts are says `#[wasm_split]` in `app/src/late.rs`. The module must carry its relocations
//! (`--emit-relocs`): they tell which function needs which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use wasm_split_cli_support::{Options, transform};

/// The module in pieces, as they name each other.
pub struct Pieces {
    /// What wasm-bindgen goes on with.
    pub main: Vec<u8>,
    /// The script that fetches the other pieces.
    pub loader: String,
    /// The other pieces.
    pub chunks: Vec<Chunk>,
}

/// A piece that the loader fetches.
pub struct Chunk {
    /// The name by which the loader asks for it, beside itself.
    pub asked: String,
    /// The parts that need it.
    pub parts: BTreeSet<String>,
    /// The WASM module.
    pub wasm: Vec<u8>,
}

impl Pieces {
    /// The name under which the module asks for the loader.
    pub const LOADER_NAME: &str = "./split.js";
    /// The name under which the loader asks for the glue.
    pub const GLUE_NAME: &str = "./frontend.js";
}

/// Splits the module; `room` is a folder of its own for the pieces, and is emptied.
pub fn split(wasm: &Path, room: &Path) -> Result<Pieces> {
    let module = fs::read(wasm).with_context(|| format!("cannot read {}", wasm.display()))?;
    let _ = fs::remove_dir_all(room);
    let main = room.join("main.wasm");
    let mut options = Options::new(&module);
    (options.output_dir, options.main_out_path) = (room, &main);
    (options.link_name, options.main_module) = (Pieces::LOADER_NAME, Pieces::GLUE_NAME);
    let split =
        transform(options).map_err(|why| anyhow!("{} could not be split: {why:#}", wasm.display()))?;
    let mut needed_by = BTreeMap::<String, BTreeSet<String>>::new();
    for (part, files) in split.prefetch_map {
        for file in files {
            needed_by.entry(file).or_default().insert(part.clone());
        }
    }
    let chunk = |(file, parts): (String, BTreeSet<String>)| -> Result<Chunk> {
        let asked = file + ".wasm";
        let wasm = slim(&fs::read(room.join(&asked))?)?;
        Ok(Chunk { asked, parts, wasm })
    };
    let chunks = needed_by.into_iter().map(chunk).collect::<Result<_>>()?;
    let loader = fs::read_to_string(room.join(Pieces::LOADER_NAME))?;
    let pieces = Pieces { main: fs::read(&main)?, loader, chunks };
    fs::remove_dir_all(room)?;
    Ok(pieces)
}

/// The same module without names, and with each number in as few bytes as it needs: linkers leave room to patch them.
fn slim(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut config = walrus::ModuleConfig::new();
    config.generate_name_section(false).generate_producers_section(false);
    let mut module = config.parse(wasm).context("the splitter wrote a chunk that is no module")?;
    Ok(module.emit_wasm())
}
