//! Generates the module and its JavaScript glue with wasm-bindgen as a library.
//!
//! `wasm-opt` is not used: it does not reduce the size after brotli, and old versions write modules that do not hydrate.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::split::SplitModule;

/// The program of the console: module, glue, and the scripts of its crates.
pub struct Glue {
    /// The WASM module.
    pub wasm: Vec<u8>,
    /// The ES module that loads the module by [`Glue::WASM_NAME`].
    pub js: String,
    /// `snippets/…` path and content; the folder names already contain a hash.
    pub snippets: Vec<(String, String)>,
}

impl Glue {
    /// The file name by which the glue loads the module.
    pub const WASM_NAME: &str = "frontend_bg.wasm";

    /// The clause by which a script imports the named one.
    pub fn import_clause(name: &str) -> String {
        format!("from \"{name}\"")
    }
}

/// Runs wasm-bindgen on the main module.
pub fn generate_for_web(module: Vec<u8>) -> Result<Glue> {
    let mut output = Bindgen::new()
        .input_bytes("frontend", module)
        .out_name("frontend")
        // Chunks import memory, stack pointer and function table from the main module.
        .keep_lld_exports(true)
        .web(true)
        .context("wasm-bindgen does not know the target `web`")?
        .typescript(false)
        // The names of generic view types are as large as the code.
        .remove_name_section(true)
        .omit_default_module_path(false)
        .generate_output()
        .context("wasm-bindgen could not read the main module")?;
    let js = output.js().to_owned();
    ensure!(
        js.contains(Glue::WASM_NAME),
        "the glue does not name {}: wasm-bindgen has changed",
        Glue::WASM_NAME
    );
    let import = Glue::import_clause(SplitModule::LOADER_NAME);
    ensure!(
        js.contains(&import),
        "the glue does not contain `{import}`: wasm-bindgen has changed, or the module has no split point"
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
pub fn generate_for_node(wasm: &Path, out: &Path) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(wasm).nodejs(true).context("wasm-bindgen does not know the target `nodejs`")?;
    bindgen
        .typescript(false)
        .generate(out)
        .with_context(|| format!("wasm-bindgen could not read {}", wasm.display()))
}
