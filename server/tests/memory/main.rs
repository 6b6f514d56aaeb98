//! Memory, file descriptors and rows of a server process: under the largest inputs (P19) and over many requests (P30).

mod largest_inputs;
mod server_process;
mod soak;
