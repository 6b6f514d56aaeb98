//! Runs a program in the sandbox of this crate, for tests: the server has the same as a hidden command. Only here layers can be
//! left out, by the first argument: `--without landlock,namespaces,seccomp`.

use std::process::ExitCode;

use source::sandbox::SandboxLayers;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let mut layers = SandboxLayers::ALL;
    if arguments.next_if(|first| first == "--without").is_some() {
        let without = arguments.next().unwrap_or_default();
        for layer in without.to_string_lossy().split(',') {
            match layer {
                "landlock" => layers.landlock = false,
                "namespaces" => layers.namespaces = false,
                "seccomp" => layers.seccomp = false,
                _ => return ExitCode::from(source::sandbox::SETUP_FAILED),
            }
        }
    }
    source::sandbox::run(arguments, layers)
}
