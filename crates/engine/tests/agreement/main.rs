//! The agreement test: one list of scenarios, run against the simulated cluster and against a real API server.
//!
//! A scenario says what the engine concludes (health, cause, refusal, drift), never how an object looks in JSON. So
//! `kubesim` may be trusted for exactly what stands in this list, and the engine's rules are held against objects that
//! the real controllers produced. Real scenarios share one control plane, each in a namespace of its own; those that
//! interrupt the API server get one for themselves.

mod apply;
mod drift;
mod facts;
mod fixtures;
mod interrupted;
mod killed;
mod kinds;
mod permissions;
mod place;
mod plan;
mod pods;
mod refusals;
mod removal;
mod watching;
mod webhook;
mod workloads;

macro_rules! scenarios {
    ($($room:ident: $($name:ident),+;)+) => {
        /// Against the simulated cluster.
        mod simulated {$($(
            #[tokio::test]
            async fn $name() {
                crate::$room::$name(crate::place::Place::simulated(stringify!($name)).await).await;
            }
        )+)+}

        /// Against a real API server.
        mod real {$($(
            #[tokio::test]
            async fn $name() {
                if testkit::available(concat!("real::", stringify!($name))) {
                    let own = stringify!($room) == "interrupted";
                    crate::$room::$name(crate::place::Place::real(stringify!($name), own).await).await;
                }
            }
        )+)+}
    };
}

scenarios! {
    apply:
        s3_6_a_second_pass_writes_nothing,
        s3_8_the_record_holds_the_uid_of_every_object,
        p13_fields_written_by_another_conflict_with_his_name,
        p13_fields_applied_by_another_conflict_with_his_name,
        the_policy_take_over_takes_fields_of_another,
        an_object_follows_its_definition,
        r_8_a_missing_namespace_is_made,
        r_8_without_the_policy_a_missing_namespace_is_waited_for,
        an_unknown_kind_is_waited_for;
    drift:
        s0_12_an_edited_field_is_put_back_and_its_editor_named,
        s0_12_a_deleted_object_is_made_again,
        s0_12_a_deleted_deployment_is_made_again_and_becomes_operational,
        a_field_somebody_adds_beside_ours_is_left,
        a_deleted_namespace_is_made_again_with_all_that_was_in_it;
    refusals:
        p14_admission_refuses_with_its_own_words,
        p14_admission_is_asked_by_a_dry_run,
        p14_a_field_that_cannot_change_is_named,
        p14_an_object_that_is_not_valid_says_why,
        p14_a_quota_that_is_used_up_is_the_cause_of_missing_pods;
    plan:
        e_2_a_plan_of_new_objects_comes_true,
        e_2_a_plan_names_the_very_fields_that_change,
        e_2_a_plan_of_a_removal_names_what_goes,
        g406_a_change_that_is_not_possible_is_refused_by_both,
        g404_admission_refuses_both,
        g409_fields_of_another_manager_refuse_both,
        g401_a_kind_that_is_not_there_refuses_both,
        g407_a_quota_that_is_used_up_refuses_both;
    removal:
        s3_13_what_a_new_bundle_no_longer_has_goes,
        s3_13_what_somebody_made_anew_stays,
        s3_11_a_removed_release_leaves_nothing_and_its_pods_go_too,
        s3_12_a_finalizer_holds_the_removal_and_is_named,
        an_orphaned_release_leaves_its_objects_without_our_marks,
        s3_11_a_record_deleted_by_hand_is_made_again,
        s3_11_an_apply_that_names_a_uid_makes_nothing_anew;
    fixtures:
        s0_9_the_shop_of_three_tiers_lives_heals_and_goes_without_a_trace,
        s3_8_kubectl_shows_state_workload_revision_and_age_of_a_release,
        ten_services_live_and_go,
        a_definition_and_its_object_live_and_go,
        a_stateful_queue_lives_and_goes,
        jobs_live_and_go;
    facts:
        facts_tell_version_kinds_and_namespaces,
        a_quota_is_told_with_what_is_used_of_it,
        the_pod_security_level_of_a_namespace_is_told,
        g205_service_accounts_that_bring_pull_secrets_are_told;
    killed:
        p15_killed_between_any_two_writes_the_next_engine_goes_on_and_removes_all;
    interrupted:
        p11_a_change_while_the_server_was_away_and_its_history_was_lost_is_put_back;
    workloads:
        c1_a_deployment_becomes_healthy,
        c1_a_deployment_that_starts_slowly_is_progressing,
        c1_a_deployment_past_its_deadline_is_degraded,
        c1_a_paused_deployment_is_suspended,
        c1_a_deployment_scaled_to_zero_is_healthy,
        c1_an_update_that_gets_stuck_is_degraded_while_old_pods_serve,
        c1_a_stateful_set_becomes_healthy,
        c1_a_stateful_set_stops_at_its_first_bad_pod,
        c1_a_daemon_set_runs_on_every_node,
        c1_a_daemon_set_without_a_node_is_healthy_and_says_so,
        c1_a_job_completes,
        c1_a_job_past_its_retries_is_degraded,
        c1_a_suspended_job_is_suspended,
        c1_a_cron_job_is_healthy_before_its_first_run,
        c1_a_suspended_cron_job_is_suspended,
        c1_a_cron_job_whose_last_run_failed_is_degraded,
        c1_a_cron_job_whose_last_run_succeeded_is_healthy,
        c1_a_replica_set_becomes_healthy;
    pods:
        c3_a_crash_loop_is_told_with_its_exit_code,
        c3_a_container_out_of_memory_is_told_with_its_limit,
        c3_an_image_that_cannot_be_pulled_is_named,
        c3_a_pod_no_node_has_room_for_is_unschedulable,
        c3_a_selector_no_node_matches_is_unschedulable,
        c3_a_failing_probe_is_the_cause_while_it_waits,
        c3_a_bare_pod_runs_and_is_healthy,
        c3_a_bare_pod_that_fails_is_degraded;
    kinds:
        c1_services_of_every_type,
        c1_a_load_balancer_waits_for_its_address,
        c1_an_ingress_waits_for_its_address,
        c1_a_claim_waits_for_its_volume,
        c1_a_volume_without_a_claim_is_healthy,
        c1_an_autoscaler_without_metrics_is_degraded_after_a_while,
        c1_a_disruption_budget_counts_its_pods,
        c1_a_definition_whose_names_are_taken_is_degraded,
        c1_plain_objects_are_healthy_once_they_exist,
        c1_a_custom_object_without_a_status_is_given_time;
}
