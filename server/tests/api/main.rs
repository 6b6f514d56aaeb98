//! The web application in one process over a real database: routes, responses and authentication.

mod access;
mod assets;
mod audit;
mod clusters;
mod evaluation_budgets;
mod groups;
mod idempotency;
mod inputs;
mod openapi;
mod outages;
mod overrides;
mod postgres;
mod postgres_outages;
mod problems;
mod roles;
mod search;
mod sessions;
mod sign_in_limits;
mod test_server;
mod users;
mod watch;
mod web_security;
mod workloads;
