//! The limits of connections, on the program itself: silent and slow clients hold neither of its ports.

mod agents;
mod console;
mod server_process;
