//! `flotilla-server`: parses the arguments and calls the library.

use clap::Parser as _;
use server::args::ServerArgs;

fn main() -> std::process::ExitCode {
    server::args::run(ServerArgs::parse())
}
