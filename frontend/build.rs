//! `xtask/pack` splits the module by its relocations, so the linker has to emit them.

fn main() {
    println!("cargo::rustc-link-arg-cdylib=--emit-relocs");
    println!("cargo::rerun-if-changed=build.rs");
}
