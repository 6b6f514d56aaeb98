//! The signals that end a server: SIGTERM from who runs it, SIGINT from the keyboard.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for them from when it is made.
#[cfg(unix)]
pub struct Ending {
    terminate: Signal,
    interrupt: Signal,
}

#[cfg(unix)]
impl Ending {
    /// Listens from now on; before, a signal ends the process at once.
    ///
    /// # Errors
    /// The system takes no handler.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them.
    pub async fn asked_for(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Where there are no signals, the keyboard's is all there is.
#[cfg(not(unix))]
pub struct Ending;

#[cfg(not(unix))]
impl Ending {
    /// There is nothing to prepare.
    ///
    /// # Errors
    /// None.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the keyboard.
    pub async fn asked_for(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
