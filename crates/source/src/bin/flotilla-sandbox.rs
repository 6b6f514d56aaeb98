//! Runs a program in the sandbox of this crate. The server has the same as a hidden command; this binary is for tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    source::sandbox::run(std::env::args_os().skip(1))
}
