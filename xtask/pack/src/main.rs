//! Packs the files of the console into one folder that the server reads.
//!
//! A separate package, because wasm-bindgen as a library takes half a minute to compile and `cargo xtask` must start within
//! seconds. Called by `cargo xtask` only:
//!
//! ```text
//! pack WASM PARTS SCHEMA PUBLIC OUT
//! pack --node WASM OUT
//! ```
//!
//! The second form only writes a module and its glue for Node, for tests.
//!
//! `WASM` is the module built by cargo, `PARTS` the outputs of the Node build (style sheet, editor, icons, fonts), `SCHEMA`
//! the schema of the built-in kinds of Kubernetes for the guard rails, `PUBLIC` is copied unchanged. `OUT` is replaced as a
//! whole, so that a server never reads a partial site:
//!
//! ```text
//! OUT/pkg/<name>.<hash>.<ext>   content-hashed, cacheable for ever; `part-…` are loaded on demand
//! OUT/…                         public files and icons.svg, without a hash
//! OUT/….br                      for each file that compresses
//! OUT/assets.json               logical name → URL path, for the server
//! OUT/sizes.json                logical name → { raw, br } in bytes, for the size budgets
//! ```

mod bindgen;
mod chunks;
mod site;
mod split;

use std::path::PathBuf;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from).peekable();
    if arguments.next_if(|first| first.as_os_str() == "--node").is_some() {
        let (wasm, out) = (
            arguments.next().context("pack --node WASM OUT")?,
            arguments.next().context("pack --node WASM OUT")?,
        );
        return bindgen::generate_for_node(&wasm, &out);
    }
    let mut next = |what: &str| {
        arguments.next().with_context(|| format!("pack WASM PARTS SCHEMA PUBLIC OUT: {what} is missing"))
    };
    let (wasm, parts, schema) = (next("WASM")?, next("PARTS")?, next("SCHEMA")?);
    let (public, out) = (next("PUBLIC")?, next("OUT")?);
    let mut pieces = split::split_module(&wasm, &out.with_extension("split"))?;
    let glue = bindgen::generate_for_web(std::mem::take(&mut pieces.main))?;
    let sizes = site::write_site((glue, pieces), &parts, &schema, &public, &out)?;
    eprintln!("{sizes}");
    Ok(())
}
