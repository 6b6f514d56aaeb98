//! The module and its JavaScript glue, by wasm-bindgen as a library.
//!
//! `wasm-opt` is never run: it brings nothing over the wire after brotli, and an old one writes modules that do not hydrate.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::split::Pieces;

/// The console's program: module, glue, and the small scripts that crates bring along.
pub struct Glue {
    /// The WASM module.
    pub wasm: Vec<u8>,
    /// The ES module that loads it; still refers to it as [`Glue::WASM_NAME`].
    pub js: String,
    /// `snippets/…` path and content; their folder names already carry a hash.
    pub snippets: Vec<(String, String)>,
}

impl Glue {
    /// The name under which the glue looks for the module, beside itself.
    pub const WASM_NAME: &str = "frontend_bg.wasm";

    /// How a script says that it imports this one.
    pub fn imports(name: &str) -> String {
        format!("from \"{name}\"")
    }
}

/// Runs wasm-bindgen on what every page starts.
pub fn bind(module: Vec<u8>) -> Result<Glue> {
    let mut output = Bindgen::new()
        .input_bytes("frontend", module)
        .out_name("frontend")
        // Parts take memory, stack pointer and table of functions from the module they are loaded into.
        .keep_lld_exports(true)
        .web(true)
        .context("wasm-bindgen does not know the target `web`")?
        .typescript(false)
        // The names of generic view types are as large as the code itself, and nobody reads them in a browser.
        .remove_name_section(true)
        .omit_default_module_path(false)
        .generate_output()
        .context("wasm-bindgen could not read what was split off")?;
    let js = output.js().to_owned();
    ensure!(
        js.contains(Glue::WASM_NAME),
        "the glue does not name {}: wasm-bindgen has changed",
        Glue::WASM_NAME
    );
    let asks = Glue::imports(Pieces::LOADER_NAME);
    ensure!(
        js.contains(&asks),
        "the glue does not say `{asks}`: wasm-bindgen has changed, or nothing is split off"
    );
    let snippets = output
        .snippets()
        .iter()
        .flat_map(|(folder, texts)| {
            texts
                .iter()
                .enumerate()
                .map(move |(n, text)| (format!("snippets/{folder}/inline{n}.js"), text.clone()))
        })
        .chain(output.local_modules().iter().map(|(path, text)| (format!("snippets/{path}"), text.clone())))
        .collect();
    Ok(Glue { wasm: output.wasm_mut().emit_wasm(), js, snippets })
}

/// Writes a module and its glue for Node into a folder.
pub fn for_node(wasm: &Path, out: &Path) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(wasm).nodejs(true).context("wasm-bindgen does not know the target `nodejs`")?;
    bindgen
        .typescript(false)
        .generate(out)
        .with_context(|| format!("wasm-bindgen could not read {}", wasm.display()))
}
