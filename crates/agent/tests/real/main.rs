//! Everything real at once: the server, three API servers with controllers and simulated nodes, an agent in each, and the
//! command line. They meet only where they meet in earnest: over HTTPS, with the rights of the printed manifest.
//!
//! The clusters are shared by all steps, because starting them is what takes long.

mod away;
mod house;
mod member;
mod rights;
mod troubles;
mod way;

use house::{House, until};
use member::Member;

/// The hub and its three clusters.
pub struct World {
    /// The hub.
    pub house: House,
    /// An agent that may write in one namespace.
    pub narrow: Member,
    /// An agent that may write everywhere.
    pub wide: Member,
    /// An agent that acts in the name of another account.
    pub acting: Member,
}

/// The names of all clusters.
pub const ALL: [&str; 3] = ["eu-1", "eu-2", "us-1"];

impl World {
    async fn open() -> Self {
        let (house, mut narrow, mut wide, mut acting) =
            tokio::join!(House::open(), Member::start(ALL[0]), Member::start(ALL[1]), Member::start(ALL[2]));
        narrow.plane.namespace("shop").await;
        narrow.join(&house, &["--namespaces", "shop"]).await;
        wide.join(&house, &["--cluster-wide"]).await;
        for namespace in ["shop", "deploy"] {
            acting.plane.namespace(namespace).await;
        }
        acting.kubectl(&["create", "serviceaccount", "deployer", "-n", "deploy"]).await;
        let edit = ["create", "clusterrolebinding", "deployer", "--clusterrole=edit"];
        acting.kubectl(&[&edit[..], &["--serviceaccount=deploy:deployer"]].concat()).await;
        acting.join(&house, &["--impersonate", "deploy/deployer"]).await;
        let world = Self { house, narrow, wide, acting };
        for member in world.members() {
            let come = async || {
                let found = world.house.client.cluster_get(member.name).await;
                found.is_ok_and(|summary| summary.cluster.facts.nodes == Some(3))
            };
            until(|| async { member.last_words() }, come).await;
        }
        world
    }

    fn members(&self) -> [&Member; 3] {
        [&self.narrow, &self.wide, &self.acting]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_real_clusters_join_work_meet_every_trouble_and_are_left_clean() {
    if !testkit::available("three_real_clusters_join_work_meet_every_trouble_and_are_left_clean") {
        return;
    }
    let world = Box::pin(World::open()).await;
    let open = world.acting.open_files();
    way::s0_9_an_applied_and_published_workload_becomes_healthy_on_every_real_cluster(&world).await;
    way::e_2_after_the_publish_a_plan_has_nothing_left_to_do(&world).await;
    way::s3_8_kubectl_shows_what_is_applied(&world).await;
    troubles::p25_a_deleted_deployment_is_made_again_and_named(&world).await;
    away::p3_p4_an_agent_that_was_away_meets_a_wiped_namespace_and_skips_what_was_in_between(&world).await;
    away::p7_p8_an_agent_heals_while_hub_and_agent_start_anew(&world).await;
    away::p1_a_hub_killed_while_it_takes_a_report_takes_it_once(&world).await;
    troubles::p12_an_api_server_that_hangs_delays_nobody_else(&world).await;
    troubles::p17_a_finalizer_that_nobody_removes_is_named_and_holds_up_nothing_else(&world).await;
    way::s3_11_deleted_workloads_leave_nothing_behind(&world).await;
    troubles::p30_an_agent_that_went_through_all_of_it_has_no_more_open_than_before(&world, open).await;
    rights::the_printed_rights_were_enough(&world).await;
    rights::the_printed_rights_are_no_more_than_that(&world).await;
}
