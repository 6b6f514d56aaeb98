//! `flotilla-server`: parses the arguments and calls the library.

use clap::Parser as _;
use server::args::ServerArgs;

fn main() -> std::process::ExitCode {
    // Before any thread exists: the sandbox of a renderer needs a process with one.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == source::sandbox::COMMAND) {
        return source::sandbox::run(arguments, source::sandbox::SandboxLayers::ALL);
    }
    if let Err(error) = server::allocator::apply_settings() {
        eprintln!(
            "flotilla-server: can't set MALLOC_ARENA_MAX for itself, so it may retain memory that it freed: {error}"
        );
    }
    server::args::run(ServerArgs::parse())
}
