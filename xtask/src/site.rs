//! Builds the console (WASM module, style sheet, editor, icons) and packs it into `target/site`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::paths::{Paths, program_version};
use crate::program;
use crate::schema;
use crate::setup;
use crate::stamp::StepStamp;
use crate::step;

/// Logical names of the fonts and their paths below `node_modules`. Titles use the optical size axis, which costs 24 kB.
const FONTS: [(&str, &str); 2] = [
    ("inter.woff2", "@fontsource-variable/inter/files/inter-latin-opsz-normal.woff2"),
    (
        "jetbrains-mono.woff2",
        "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2",
    ),
];

/// Builds every part whose inputs changed.
pub fn build(paths: &Paths) -> Result<()> {
    setup::wasm::ensure(paths)?;
    setup::npm::ensure(paths, "style")?;
    build_parts(paths)?;
    build_module(paths)?;
    pack_site(paths)
}

/// Builds style sheet, editor, icons and fonts with Node.
fn build_parts(paths: &Paths) -> Result<()> {
    let (style, out) = (paths.root.join("style"), paths.parts());
    let stamp = StepStamp {
        name: "style sheet and editor",
        inputs: vec![style.clone(), paths.root.join("app/src")],
        extra_input: String::new(),
        outputs: ["main.css", "editor.js", "icons.svg"].map(|name| out.join(name)).to_vec(),
    };
    stamp.run_if_changed(paths, || {
        fs::create_dir_all(&out)?;
        let bin = style.join("node_modules/.bin");
        let mut tailwind = paths.command(bin.join("tailwindcss"));
        tailwind.args(["--minify", "-i", "main.css", "-o"]).arg(out.join("main.css")).current_dir(&style);
        step::run(paths, "style sheet", &mut tailwind)?;
        let mut esbuild = paths.command(bin.join("esbuild"));
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
            paths.command("node").arg("icons.js").arg(out.join("icons.svg")).current_dir(&style),
        )?;
        for (name, source) in FONTS {
            let source = style.join("node_modules").join(source);
            fs::copy(&source, out.join(name)).with_context(|| format!("cannot copy {}", source.display()))?;
        }
        Ok(())
    })
}

fn wasm_file(paths: &Paths) -> PathBuf {
    paths.wasm_target().join("wasm32-unknown-unknown/wasm/frontend.wasm")
}

/// Builds the WASM module of the console. A target folder shared with the server would enable `ssr` and `hydrate` together.
fn build_module(paths: &Paths) -> Result<()> {
    let here = |name: &str| paths.root.join(name);
    let stamp = StepStamp {
        name: "console",
        inputs: ["app", "frontend", "crates/domain", "Cargo.toml", "Cargo.lock"].map(here).to_vec(),
        // A build with the tests fails on warnings: the stamp of another one does not answer for it.
        extra_input: format!(
            "{} {}",
            program_version("rustc".as_ref(), "--version").unwrap_or_default(),
            paths.with_tests
        ),
        outputs: vec![wasm_file(paths)],
    };
    stamp.run_if_changed(paths, || {
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
        cargo.arg(paths.wasm_target());
        program::build_with_lints(paths, "console", &mut cargo)
    })
}

fn pack_site(paths: &Paths) -> Result<()> {
    let (wasm, schema, public) = (wasm_file(paths), schema::schema_path(paths), paths.root.join("public"));
    let stamp = StepStamp {
        name: "site",
        inputs: vec![
            wasm.clone(),
            paths.parts(),
            schema.clone(),
            public.clone(),
            paths.root.join("xtask/pack"),
        ],
        extra_input: String::new(),
        outputs: vec![paths.site().join("assets.json")],
    };
    stamp.run_if_changed(paths, || {
        program::build(paths, "packer", &["pack"])?;
        let mut packer = paths.command(paths.binary("pack", false));
        packer.args([&wasm, &paths.parts(), &schema, &public, &paths.site()]);
        let output = step::run(paths, "site", &mut packer)?;
        step::print_line(&format!("  {}", output.lines().last().unwrap_or_default()));
        Ok(())
    })
}
