//! Memory, file descriptors and rows of a server process: under the largest inputs and many of them at once (P19) and over many requests (P30).

mod budgets;
mod chart_values;
mod control_group;
mod largest_inputs;
mod limited;
mod nested_charts;
mod nested_json;
mod responses;
mod server_process;
mod soak;
mod stored_rows;
