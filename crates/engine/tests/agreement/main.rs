//! The agreement test: one list of scenarios, run against the simulated cluster and against a real API server.
//!
//! A scenario asserts the engine's results (health, cause, rejection, drift), not the JSON of objects. `kubesim` is
//! trusted for exactly the listed scenarios, and the engine's rules are tested with objects of the real controllers.
//! Real scenarios share one control plane, each in its own namespace; those that interrupt the API server, or register
//! services that do not answer, have one of their own.

mod api_services;
mod apply;
mod authorities;
mod charts;
mod controller_fields;
mod definitions;
mod drift;
mod facts;
mod fixtures;
mod interrupted;
mod jobs;
mod killed;
mod kinds;
mod left_fields;
mod lists;
mod permissions;
mod plan;
mod pods;
mod rejections;
mod removal;
mod scalers;
mod suspension;
mod terminating;
mod test_agent;
mod test_env;
mod webhook;
mod workloads;

/// The environment of a scenario on the simulated cluster.
async fn simulated_env(scenario: &str) -> test_env::TestEnv {
    test_env::TestEnv::simulated(scenario).await
}

/// The environment of a scenario on a real API server; `None` if there is none.
async fn real_env(scenario: &str, exclusive: bool) -> Option<test_env::TestEnv> {
    if !testkit::is_available(&format!("real::{scenario}")) {
        return None;
    }
    Some(test_env::TestEnv::real(scenario, exclusive).await)
}

macro_rules! scenarios {
    ($($module:ident: $($name:ident),+;)+) => {
        /// Against the simulated cluster.
        mod simulated {$($(
            #[tokio::test]
            async fn $name() {
                crate::$module::$name(crate::simulated_env(stringify!($name)).await).await;
            }
        )+)+}

        /// Against a real API server.
        mod real {$($(
            #[tokio::test]
            async fn $name() {
                let exclusive = matches!(stringify!($module), "interrupted" | "api_services");
                if let Some(env) = crate::real_env(stringify!($name), exclusive).await {
                    crate::$module::$name(env).await;
                }
            }
        )+)+}
    };
}

scenarios! {
    api_services:
        p13_an_injected_authority_of_an_api_service_stays_and_its_own_one_is_restored;
    apply:
        s4_5_p26_a_second_pass_writes_nothing,
        s3_8_the_record_contains_the_uid_of_every_object,
        p13_fields_written_by_another_manager_conflict_with_its_name,
        p13_fields_applied_by_another_manager_conflict_with_its_name,
        the_take_over_policy_forces_fields_of_another_manager,
        an_object_is_applied_after_its_definition,
        an_identical_object_is_adopted_with_its_label,
        p13_fields_of_an_object_that_kubectl_wrote_can_be_removed,
        p13_a_key_taken_out_of_string_data_is_removed,
        p13_a_key_taken_out_of_the_data_of_a_secret_is_removed,
        p13_an_injected_bundle_is_left_to_the_injector,
        g403_a_change_to_recreate_needs_two_publishes,
        p13_replicas_are_left_to_an_autoscaler_outside_of_the_bundle,
        p13_replicas_never_change_while_a_revision_leaves_them_to_an_autoscaler,
        p13_replicas_are_taken_back_from_an_autoscaler_that_a_revision_drops,
        r_8_a_missing_namespace_is_created,
        r_8_without_the_policy_a_missing_namespace_is_awaited,
        an_unknown_kind_is_awaited;
    authorities:
        p13_an_injected_authority_of_a_validating_webhook_stays_and_its_own_one_is_restored,
        p13_an_injected_authority_of_a_mutating_webhook_stays_and_its_own_one_is_restored,
        p13_an_injected_authority_of_a_definition_stays_and_its_own_one_is_restored;
    controller_fields:
        p13_fields_that_controllers_fill_are_neither_drift_nor_taken_away_by_a_publish,
        p13_what_the_server_assigns_or_does_not_store_is_no_difference,
        p13_a_value_that_admission_writes_on_every_apply_is_no_drift;
    definitions:
        g406_a_definition_keeps_its_scope_and_its_kind,
        g406_a_change_that_a_rule_of_a_definition_refuses_is_no_invalid_object;
    drift:
        s0_12_an_edited_field_is_healed_and_its_manager_reported,
        s0_12_a_deleted_object_is_re_created,
        s0_12_a_deleted_deployment_is_re_created_and_becomes_operational,
        a_field_added_by_another_manager_is_not_removed,
        a_deleted_namespace_is_re_created_with_its_objects,
        p13_an_edit_of_the_versions_of_a_definition_is_reverted,
        p13_edits_of_a_role_its_binding_a_budget_and_a_cron_job_are_reverted,
        p13_a_field_that_comes_back_after_three_reverts_is_left_until_a_publish,
        e_9_of_two_drifted_fields_only_the_requested_one_is_reverted,
        e_9_a_field_of_an_atomic_list_with_other_drift_is_not_reverted_alone;
    left_fields:
        p13_a_field_that_a_dropped_ignore_rule_left_to_a_manager_conflicts_until_it_is_forced,
        p13_a_value_that_was_applied_under_an_ignore_rule_is_replaced_once_the_rule_is_dropped,
        p13_a_changed_field_conflicts_with_the_next_revision_if_it_is_ignored_on_change_only,
        p13_an_object_that_was_only_created_conflicts_once_a_revision_updates_it;
    lists:
        p13_a_deleted_item_of_a_keyed_list_or_a_set_is_restored,
        p13_an_own_item_is_healed_beside_an_item_of_another_manager,
        p13_a_value_added_to_a_set_stays,
        p13_what_is_removed_from_an_atomic_list_or_from_a_map_is_restored,
        p13_an_atomic_list_or_map_has_the_desired_content_only,
        p13_expressions_added_to_the_selectors_of_a_network_policy_are_reverted,
        p13_a_publish_after_a_reverted_addition_to_an_atomic_list_has_no_conflict,
        p13_the_server_does_not_record_who_removed_an_item,
        p13_an_item_added_to_a_keyed_list_of_pods_stays,
        p13_lists_of_an_admission_policy_are_compared_as_the_server_merges_them,
        p13_an_action_or_a_condition_taken_out_of_an_admission_policy_is_restored,
        e_2_a_plan_lists_the_items_that_a_publish_removes;
    suspension:
        s2_11_a_suspended_release_is_compared_and_not_healed_until_it_is_resumed,
        s2_11_a_suspended_release_is_neither_applied_nor_pruned,
        s2_11_the_removal_of_a_suspended_release_begins_when_it_is_resumed;
    rejections:
        p14_an_admission_rejection_is_reported_with_its_message,
        p14_a_dry_run_includes_admission,
        p14_an_immutable_field_is_reported,
        p14_an_invalid_object_is_reported_with_its_cause,
        p14_the_event_of_a_controller_is_the_cause_of_missing_pods,
        p14_an_exhausted_quota_is_reported_as_the_cause_of_missing_pods,
        p14_every_controller_whose_pods_admission_refuses_reports_its_message,
        p14_a_cron_job_whose_jobs_admission_refuses_reports_its_message,
        g406_a_claim_that_shrinks_is_rejected_by_plan_and_publish,
        p14_names_work_up_to_the_length_that_what_they_generate_allows,
        p14_names_that_the_api_server_refuses_are_those_of_the_guard;
    plan:
        e_2_a_plan_of_new_objects_matches_the_publish,
        e_2_a_plan_lists_exactly_the_fields_that_change,
        e_2_a_quantity_that_the_server_writes_in_another_form_is_no_change,
        e_2_a_plan_of_a_removal_lists_the_deleted_objects,
        g406_a_change_of_an_immutable_field_is_rejected_by_plan_and_publish,
        g406_fields_of_every_kind_that_cannot_be_changed_are_recognised,
        g406_objects_of_later_ranks_wait_for_an_object_whose_field_cannot_be_changed,
        e_2_lists_of_every_form_are_planned_and_published_as_their_items,
        g404_admission_rejects_plan_and_publish,
        g409_fields_of_another_manager_conflict_in_plan_and_publish,
        g409_a_changed_field_is_drift_of_an_unchanged_object_and_conflicts_with_a_changed_one,
        g409_a_copied_label_of_another_workload_is_no_conflict_of_owners,
        g409_a_plan_requested_before_the_first_release_is_no_conflict_with_it,
        g401_an_unknown_kind_fails_plan_and_publish,
        g407_an_exhausted_quota_rejects_plan_and_publish;
    jobs:
        a_changed_job_is_planned_as_replaced_and_runs_again,
        a_changed_job_that_runs_is_replaced_after_its_end,
        i5_a_job_of_another_party_with_a_copied_label_is_not_replaced,
        g406_a_changed_job_is_rejected_by_plan_and_publish_if_the_policy_refuses_it,
        g406_every_immutable_field_is_named;
    charts:
        s4_4_hooks_complete_before_the_objects_and_a_failed_one_stops_them_until_it_is_fixed,
        s4_4_a_hook_that_still_runs_is_ended_by_the_next_revision_and_by_the_removal,
        i5_a_job_with_a_copied_label_is_not_deleted_for_a_hook,
        s4_4_a_definition_of_a_chart_and_a_kept_object_stay_on_the_cluster;
    removal:
        s3_13_objects_missing_from_a_new_bundle_are_pruned,
        s3_13_what_old_pods_need_is_pruned_after_the_rollout,
        s3_13_what_old_pods_need_is_pruned_at_once_if_the_policy_says_so,
        s3_13_a_workload_that_its_manifest_suspends_does_not_keep_objects_of_former_revisions,
        s3_13_an_object_re_created_by_another_party_is_not_pruned,
        i5_a_copied_label_is_no_owner,
        i5_a_prune_leaves_objects_with_a_copied_label,
        i5_a_removal_that_orphans_leaves_the_labels_of_copies,
        i5_a_copied_label_is_no_owner_without_a_record,
        s3_11_a_removal_deletes_all_objects_and_their_pods,
        s3_12_a_finalizer_blocks_the_removal_and_is_reported,
        an_orphaned_release_leaves_its_objects_without_label_and_annotations,
        s3_11_a_manually_deleted_record_is_re_created,
        s3_11_an_apply_with_a_uid_re_creates_nothing;
    scalers:
        p13_replicas_are_left_to_a_scaler_without_an_autoscaler_and_not_to_a_person,
        p13_an_adopted_object_has_the_replicas_that_its_scaler_set,
        p13_replicas_are_taken_back_from_a_scaler_of_any_kind_that_a_revision_drops,
        p13_an_unchanged_number_is_no_drift_of_the_revision_that_drops_its_scaler,
        p13_a_number_that_a_dropped_scaler_still_owns_is_a_conflict_of_every_later_revision;
    terminating:
        s3_12_a_terminating_namespace_names_the_finalizer_and_kind_that_block_it,
        a_deleted_definition_is_restored_and_its_objects_wait_for_it;
    fixtures:
        s0_9_a_three_tier_shop_is_applied_healed_and_removed,
        s3_8_kubectl_shows_state_workload_revision_and_age_of_a_release,
        ten_services_are_applied_and_removed,
        a_definition_and_its_object_are_applied_and_removed,
        a_stateful_queue_is_applied_and_removed,
        jobs_are_applied_and_removed;
    facts:
        facts_contain_version_kinds_and_namespaces,
        a_quota_is_reported_with_its_usage,
        the_pod_security_level_of_a_namespace_is_reported,
        g205_service_accounts_with_pull_secrets_are_reported;
    killed:
        p15_after_a_crash_between_any_two_writes_the_next_engine_converges,
        p15_an_object_created_again_before_a_crash_is_pruned_and_removed;
    interrupted:
        p11_a_change_during_an_outage_with_lost_watch_history_is_healed;
    workloads:
        c1_a_deployment_becomes_healthy,
        c1_a_deployment_that_starts_slowly_is_progressing,
        c1_a_deployment_past_its_deadline_is_degraded,
        c1_a_paused_deployment_is_suspended,
        c1_a_deployment_that_is_paused_by_hand_is_not_operational_until_it_is_resumed,
        c1_a_stateful_set_whose_partition_is_set_by_hand_is_not_operational,
        c1_a_stateful_set_that_is_set_to_on_delete_by_hand_is_not_operational,
        c1_a_daemon_set_that_is_set_to_on_delete_by_hand_is_not_operational,
        c1_a_cron_job_that_is_suspended_by_hand_is_not_operational,
        c1_a_job_that_is_suspended_by_hand_is_not_operational,
        c1_a_deployment_scaled_to_zero_is_healthy,
        c1_an_update_that_gets_stuck_is_degraded_while_old_pods_serve,
        c1_a_stateful_set_becomes_healthy,
        c1_a_stateful_set_stops_at_its_first_bad_pod,
        c1_a_daemon_set_runs_on_every_node,
        c1_a_daemon_set_without_a_matching_node_is_healthy_with_a_reason,
        c1_a_job_completes,
        c1_a_job_past_its_retries_is_degraded,
        c1_a_suspended_job_is_suspended,
        c1_a_cron_job_is_healthy_before_its_first_run,
        c1_a_suspended_cron_job_is_suspended,
        c1_a_cron_job_whose_last_run_failed_is_degraded,
        c1_a_cron_job_that_has_never_succeeded_is_degraded,
        c1_a_cron_job_whose_last_run_succeeded_is_healthy,
        c1_a_cron_job_is_not_healthy_after_a_restart_while_it_runs_again_after_a_failure,
        c1_a_cron_job_stays_degraded_while_it_runs_again_after_a_failure,
        c1_a_cron_job_stays_healthy_while_its_runs_replace_each_other,
        c1_a_replica_set_becomes_healthy;
    pods:
        c3_a_crash_loop_is_reported_with_its_exit_code,
        c3_a_container_out_of_memory_is_reported_with_its_limit,
        c3_an_image_that_cannot_be_pulled_is_reported,
        c3_pods_of_the_revision_before_do_not_degrade_a_rollback,
        c3_a_pod_of_a_revision_that_was_rolled_back_blocks_a_stateful_set_until_it_is_deleted,
        c3_a_pod_of_the_first_revision_blocks_the_revision_that_fixes_a_stateful_set,
        c3_a_daemon_set_replaces_failing_pods_of_a_revision_that_was_rolled_back,
        c3_a_pod_that_fits_no_node_is_unschedulable,
        c3_a_selector_no_node_matches_is_unschedulable,
        c3_a_pod_whose_volume_is_provisioned_late_waits_for_it,
        c3_a_failing_probe_is_the_cause_while_progressing,
        c3_a_bare_pod_runs_and_is_healthy,
        c3_a_bare_pod_that_fails_is_degraded,
        c3_a_pod_that_has_ended_fails_nothing_once_it_is_replaced,
        c3_a_pod_that_its_node_ended_is_a_note_whatever_its_exit_code,
        c3_a_pod_that_was_evicted_without_containers_is_a_note,
        c3_a_pod_that_failed_although_its_container_exited_with_0_is_a_note,
        c3_a_pod_of_a_deployment_that_its_node_completed_fails_no_later_revision,
        c3_a_pod_of_a_stateful_set_that_its_node_ended_is_replaced;
    kinds:
        c1_services_of_every_type,
        c1_a_load_balancer_waits_for_its_address,
        c1_an_ingress_waits_for_its_address,
        c1_a_claim_waits_for_its_volume,
        c1_a_claim_that_waits_for_its_first_consumer_is_healthy,
        c1_a_claim_whose_first_consumer_has_come_waits_for_its_volume,
        c1_a_volume_without_a_claim_is_healthy,
        c1_an_autoscaler_without_metrics_is_degraded_after_a_grace_period,
        c1_a_disruption_budget_counts_its_pods,
        c1_a_definition_with_conflicting_names_is_degraded,
        c1_plain_objects_are_healthy_once_they_exist,
        c1_a_custom_object_without_a_status_has_a_grace_period_and_is_then_not_assessed,
        c1_a_custom_object_whose_kind_has_no_status_is_healthy_at_once,
        c1_a_custom_object_that_reports_a_pause_is_not_operational_whatever_else_it_reports;
}
