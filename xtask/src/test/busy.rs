//! Load beside the tests, to find those that count on an idle machine.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Threads that do nothing but take a processor; they end when this is dropped.
pub struct BusyThreads(Arc<AtomicBool>);

impl BusyThreads {
    /// Starts this many threads.
    pub fn start(count: usize) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        for _ in 0..count {
            let ended = Arc::clone(&ended);
            thread::spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        Self(ended)
    }
}

impl Drop for BusyThreads {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
