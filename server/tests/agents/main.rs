//! Agents over a real TLS socket: joining, permissions of a certificate, behaviour across outages.

// Each page of the console is one deeply nested type; so are the futures that render it.
#![recursion_limit = "512"]

mod certificates;
mod claims;
mod clock_skew;
mod facts;
mod hostile;
mod isolation;
mod joining;
mod limits;
mod lossy;
mod notices;
mod outages;
mod raw_agent;
mod recorded;
mod restored;
mod soak;
mod test_server;
mod tombstones;
mod versions;
