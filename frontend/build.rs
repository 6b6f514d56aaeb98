//! The packer takes the module apart by its relocations, so the linker has to leave them in.

fn main() {
    println!("cargo::rustc-link-arg-cdylib=--emit-relocs");
    println!("cargo::rerun-if-changed=build.rs");
}
