//! Packs the console's files into one folder that the server reads.
//!
//! Its own package because wasm-bindgen as a library costs half a minute to compile, and only packing needs it:
//! `cargo xtask` itself stays a matter of seconds. Called by `cargo xtask`, never by hand:
//!
//! ```text
//! pack WASM PARTS SCHEMA PUBLIC OUT
//! pack --node WASM OUT
//! ```
//!
//! The second form only writes a module and its glue for Node, for tests.
//!
//! `WASM` is the module cargo built, `PARTS` holds what Node built (style sheet, editor, icons, fonts), `SCHEMA` is what
//! guard rails know of Kubernetes' own kinds, `PUBLIC` is copied as it is. `OUT` is replaced as a whole, so a server never sees half a site:
//!
//! ```text
//! OUT/pkg/<name>.<hash>.<ext>   content-hashed, may be cached for ever; `part-…` are those that not every page needs
//! OUT/…                         public files and icons.svg under their own names
//! OUT/….br                      beside each file that compresses
//! OUT/assets.json               logical name → address; what the server reads
//! OUT/sizes.json                logical name → { raw, br } in bytes; what budgets are checked against
//! ```

mod bindgen;
mod chunks;
mod site;
mod split;

use std::path::PathBuf;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let mut given = std::env::args_os().skip(1).map(PathBuf::from).peekable();
    if given.next_if(|first| first.as_os_str() == "--node").is_some() {
        let (wasm, out) =
            (given.next().context("pack --node WASM OUT")?, given.next().context("pack --node WASM OUT")?);
        return bindgen::for_node(&wasm, &out);
    }
    let mut next = |what: &str| {
        given.next().with_context(|| format!("pack WASM PARTS SCHEMA PUBLIC OUT: {what} is missing"))
    };
    let (wasm, parts, schema) = (next("WASM")?, next("PARTS")?, next("SCHEMA")?);
    let (public, out) = (next("PUBLIC")?, next("OUT")?);
    let mut pieces = split::split(&wasm, &out.with_extension("split"))?;
    let glue = bindgen::bind(std::mem::take(&mut pieces.main))?;
    let sizes = site::write((glue, pieces), &parts, &schema, &public, &out)?;
    eprintln!("{sizes}");
    Ok(())
}
