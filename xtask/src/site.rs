//! Builds the console: WASM module, style sheet, editor, icons; packs them into `target/site`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::paths::{Paths, version_of};
use crate::program;
use crate::schema;
use crate::setup;
use crate::stamp::Stamp;
use crate::step;

/// Logical names of the fonts and where npm put them. The optical size axis is worth its 24 kB: titles are set in it.
const FONTS: [(&str, &str); 2] = [
    ("inter.woff2", "@fontsource-variable/inter/files/inter-latin-opsz-normal.woff2"),
    (
        "jetbrains-mono.woff2",
        "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2",
    ),
];

/// Everything, each part only if its inputs changed.
pub fn build(paths: &Paths) -> Result<()> {
    setup::wasm::ensure(paths)?;
    setup::npm::ensure(paths, "style")?;
    parts(paths)?;
    module(paths)?;
    pack(paths)
}

/// Style sheet, editor, icons and fonts, by Node.
fn parts(paths: &Paths) -> Result<()> {
    let (style, out) = (paths.root.join("style"), paths.parts());
    let stamp = Stamp {
        name: "style sheet and editor",
        inputs: vec![style.clone(), paths.root.join("app/src")],
        also: String::new(),
        outputs: ["main.css", "editor.js", "icons.svg"].map(|name| out.join(name)).to_vec(),
    };
    stamp.run(paths, || {
        fs::create_dir_all(&out)?;
        let bin = style.join("node_modules/.bin");
        let mut tailwind = paths.tool(bin.join("tailwindcss"));
        tailwind.args(["--minify", "-i", "main.css", "-o"]).arg(out.join("main.css")).current_dir(&style);
        step::run(paths, "style sheet", &mut tailwind)?;
        let mut esbuild = paths.tool(bin.join("esbuild"));
        esbuild.args([
            "editor.js",
            "--bundle",
            "--format=esm",
            "--minify",
            "--target=es2022",
            "--legal-comments=none",
        ]);
        esbuild.arg(format!("--outfile={}", out.join("editor.js").display())).current_dir(&style);
        step::run(paths, "editor", &mut esbuild)?;
        step::run(
            paths,
            "icons",
            paths.tool("node").arg("icons.js").arg(out.join("icons.svg")).current_dir(&style),
        )?;
        for (name, source) in FONTS {
            let source = style.join("node_modules").join(source);
            fs::copy(&source, out.join(name)).with_context(|| format!("cannot copy {}", source.display()))?;
        }
        Ok(())
    })
}

fn wasm_file(paths: &Paths) -> PathBuf {
    paths.front().join("wasm32-unknown-unknown/wasm/frontend.wasm")
}

/// The console's program. Its own target folder: one with the server would switch on `ssr` and `hydrate` together.
fn module(paths: &Paths) -> Result<()> {
    let here = |name: &str| paths.root.join(name);
    let stamp = Stamp {
        name: "console",
        inputs: ["app", "frontend", "crates/domain", "Cargo.toml", "Cargo.lock"].map(here).to_vec(),
        also: version_of("rustc".as_ref(), "--version").unwrap_or_default(),
        outputs: vec![wasm_file(paths)],
    };
    stamp.run(paths, || {
        let mut cargo = paths.cargo();
        cargo.args([
            "build",
            "-p",
            "frontend",
            "--target",
            "wasm32-unknown-unknown",
            "--profile",
            "wasm",
            "--target-dir",
        ]);
        cargo.arg(paths.front());
        step::run(paths, "console", &mut cargo).map(drop)
    })
}

fn pack(paths: &Paths) -> Result<()> {
    let (wasm, schema, public) = (wasm_file(paths), schema::file(paths), paths.root.join("public"));
    let stamp = Stamp {
        name: "site",
        inputs: vec![
            wasm.clone(),
            paths.parts(),
            schema.clone(),
            public.clone(),
            paths.root.join("xtask/pack"),
        ],
        also: String::new(),
        outputs: vec![paths.site().join("assets.json")],
    };
    stamp.run(paths, || {
        program::build(paths, "packer", &["pack"])?;
        let mut packer = paths.tool(paths.bin("pack", false));
        packer.args([&wasm, &paths.parts(), &schema, &public, &paths.site()]);
        let said = step::run(paths, "site", &mut packer)?;
        step::say(&format!("  {}", said.lines().last().unwrap_or_default()));
        Ok(())
    })
}
