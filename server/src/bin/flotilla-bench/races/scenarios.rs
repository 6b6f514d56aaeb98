//! The scenarios: each races requests against a rule of `docs/consistency.md`, whose table names them.

use futures::future::LocalBoxFuture;

use super::race::Race;

mod charts;
mod clusters;
mod deletions;
mod dependencies;
mod exposures;
mod groups;
mod names;
mod requests;
mod revisions;
mod users;

/// A scenario.
#[derive(Clone, Copy)]
pub struct RaceScenario {
    /// Its name in the documentation and in results.
    pub name: &'static str,
    /// Runs it once. An error is a violation of the rule.
    pub run: fn(&Race) -> LocalBoxFuture<'_, anyhow::Result<()>>,
}

/// Runs once, before the others: it needs a database without users.
pub const FIRST: RaceScenario =
    RaceScenario { name: "setup-token", run: |race| Box::pin(users::use_setup_token_once(race)) };

/// Those of every round.
pub const ALL: [RaceScenario; 23] = [
    RaceScenario { name: "names", run: |race| Box::pin(names::use_names_once(race)) },
    RaceScenario { name: "repository-urls", run: |race| Box::pin(names::use_repository_urls_once(race)) },
    RaceScenario { name: "deleted-group", run: |race| Box::pin(groups::delete_group_of_revision(race)) },
    RaceScenario { name: "deleted-draft-group", run: |race| Box::pin(groups::delete_group_of_draft(race)) },
    RaceScenario { name: "disabled-feature", run: |race| Box::pin(groups::disable_feature_in_use(race)) },
    RaceScenario { name: "exclusive-groups", run: |race| Box::pin(groups::exclude_groups(race)) },
    RaceScenario { name: "release-names", run: |race| Box::pin(groups::use_release_names_once(race)) },
    RaceScenario { name: "exposures", run: |race| Box::pin(exposures::expose_once(race)) },
    RaceScenario { name: "deleted-chart", run: |race| Box::pin(charts::delete_chart_in_use(race)) },
    RaceScenario { name: "deleted-repository", run: |race| Box::pin(charts::delete_repository_in_use(race)) },
    RaceScenario { name: "object-revisions", run: |race| Box::pin(revisions::change_once(race)) },
    RaceScenario { name: "deletions", run: |race| Box::pin(deletions::delete_once(race)) },
    RaceScenario { name: "dependency-cycles", run: |race| Box::pin(dependencies::close_no_cycle(race)) },
    RaceScenario { name: "draft-publishes", run: |race| Box::pin(revisions::publish_once(race)) },
    RaceScenario { name: "workload-intent", run: |race| Box::pin(revisions::change_intent(race)) },
    RaceScenario { name: "deleted-cluster", run: |race| Box::pin(clusters::delete_cluster_in_use(race)) },
    RaceScenario { name: "rejoined-cluster", run: |race| Box::pin(users::rejoin_deleted_cluster(race)) },
    RaceScenario { name: "report-batches", run: |race| Box::pin(clusters::record_batch_once(race)) },
    RaceScenario { name: "administrators", run: |race| Box::pin(users::retain_administrator(race)) },
    RaceScenario { name: "join-tokens", run: |race| Box::pin(users::use_join_token_once(race)) },
    RaceScenario { name: "registrations", run: |race| Box::pin(users::register_once(race)) },
    RaceScenario { name: "idempotency-keys", run: |race| Box::pin(requests::execute_key_once(race)) },
    RaceScenario { name: "incidents", run: |race| Box::pin(requests::open_incident_once(race)) },
];
