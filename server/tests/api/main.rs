//! The web application in one process over a real database: routes, responses and authentication.

mod access;
mod assets;
mod audit;
mod chart_unwrapping;
mod clusters;
mod drift;
mod evaluation_budgets;
mod events;
mod generated_input;
mod groups;
mod idempotency;
mod inputs;
mod openapi;
#[path = "../shared/openapi_document.rs"]
mod openapi_document;
mod openapi_routes;
mod openapi_walk;
mod outages;
mod overrides;
mod pages;
mod postgres;
mod postgres_outages;
mod problems;
mod projects;
mod repeated_changes;
mod roles;
mod search;
mod secret_content;
mod sessions;
mod sign_in_limits;
mod test_server;
mod users;
mod watch;
mod web_security;
mod webhooks;
mod workloads;
