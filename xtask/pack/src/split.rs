//! Splits the module built by cargo: the main module of every page, and parts that are loaded on demand.
//!
//! The split points are the `#[wasm_split]` functions of the app. The module must contain its relocations (`--emit-relocs`),
//! from which the calls between functions are known.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use wasm_split_cli_support::{Options, transform};

/// The split module. The pieces refer to each other by name.
pub struct SplitModule {
    /// The main module, the input of wasm-bindgen.
    pub main: Vec<u8>,
    /// The script that loads the chunks.
    pub loader: String,
    /// The chunks.
    pub chunks: Vec<WasmChunk>,
}

/// A module that the loader loads.
pub struct WasmChunk {
    /// The file name in the loader.
    pub loader_name: String,
    /// The parts that need it.
    pub parts: BTreeSet<String>,
    /// The WASM module.
    pub wasm: Vec<u8>,
}

impl SplitModule {
    /// The name by which the module imports the loader.
    pub const LOADER_NAME: &str = "./split.js";
    /// The name by which the loader imports the glue.
    pub const GLUE_NAME: &str = "./frontend.js";
}

/// Splits the module; `folder` is a temporary folder for the pieces, which is deleted.
pub fn split_module(wasm: &Path, folder: &Path) -> Result<SplitModule> {
    let module = fs::read(wasm).with_context(|| format!("cannot read {}", wasm.display()))?;
    let _ = fs::remove_dir_all(folder);
    let main = folder.join("main.wasm");
    let mut options = Options::new(&module);
    (options.output_dir, options.main_out_path) = (folder, &main);
    (options.link_name, options.main_module) = (SplitModule::LOADER_NAME, SplitModule::GLUE_NAME);
    let split =
        transform(options).map_err(|why| anyhow!("{} could not be split: {why:#}", wasm.display()))?;
    let mut needed_by = BTreeMap::<String, BTreeSet<String>>::new();
    for (part, files) in split.prefetch_map {
        for file in files {
            needed_by.entry(file).or_default().insert(part.clone());
        }
    }
    let chunk = |(file, parts): (String, BTreeSet<String>)| -> Result<WasmChunk> {
        let asked = file + ".wasm";
        let wasm = strip_module(&fs::read(folder.join(&asked))?)?;
        Ok(WasmChunk { loader_name: asked, parts, wasm })
    };
    let chunks = needed_by.into_iter().map(chunk).collect::<Result<_>>()?;
    let loader = fs::read_to_string(folder.join(SplitModule::LOADER_NAME))?;
    let pieces = SplitModule { main: fs::read(&main)?, loader, chunks };
    fs::remove_dir_all(folder)?;
    Ok(pieces)
}

/// Removes the names of a module, and encodes each number in the minimum of bytes: linkers pad numbers to patch them.
fn strip_module(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut config = walrus::ModuleConfig::new();
    config.generate_name_section(false).generate_producers_section(false);
    let mut module = config.parse(wasm).context("the splitter wrote a chunk that is not a WASM module")?;
    Ok(module.emit_wasm())
}
