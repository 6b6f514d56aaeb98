//! The signals that shut a server down: SIGTERM and SIGINT.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signal handlers, installed on creation.
#[cfg(unix)]
pub struct ShutdownSignal {
    terminate: Signal,
    interrupt: Signal,
}

#[cfg(unix)]
impl ShutdownSignal {
    /// Installs the handlers; before, a signal ends the process immediately.
    ///
    /// # Errors
    /// A handler can't be installed.
    pub fn install() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them.
    pub async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Without Unix signals: Ctrl-C only.
#[cfg(not(unix))]
pub struct ShutdownSignal;

#[cfg(not(unix))]
impl ShutdownSignal {
    /// Does nothing.
    ///
    /// # Errors
    /// None.
    pub fn install() -> std::io::Result<Self> {
        Ok(Self)
    }

    /// Waits for Ctrl-C.
    pub async fn wait(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
