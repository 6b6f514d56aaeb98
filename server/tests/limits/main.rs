//! The limits of connections and of memory, on the program itself: silent and slow clients hold neither of its ports.

mod agents;
mod allocator;
mod console;
mod server_process;
