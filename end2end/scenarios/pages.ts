// Every page of the console, by the words a person would use for it.

/** Name and address of each page of somebody who is signed in. */
export const PAGES: readonly (readonly [string, string])[] = [
  ["the fleet", "/"],
  ["the workloads", "/workloads"],
  ["a new workload", "/workloads/new"],
  ["the source of a draft", "/workloads/lighthouse/edit/source"],
  ["the placement of a draft", "/workloads/lighthouse/edit/placement"],
  ["the overrides of a draft", "/workloads/lighthouse/edit/overrides"],
  ["the rollout of a draft", "/workloads/lighthouse/edit/rollout"],
  ["the policies of a draft", "/workloads/lighthouse/edit/policies"],
  ["a workload", "/workloads/lighthouse"],
  ["an open release", "/workloads/lighthouse?open=eu-west-1"],
  ["a draft", "/workloads/lighthouse?tab=config"],
  ["a placement", "/workloads/lighthouse?tab=placement"],
  ["overrides", "/workloads/lighthouse?tab=overrides"],
  ["a history", "/workloads/lighthouse?tab=history"],
  ["a revision", "/workloads/lighthouse/revisions/1"],
  ["what happened to a workload", "/workloads/lighthouse?tab=events"],
  ["a review", "/workloads/lighthouse/publish"],
  ["the question before deleting", "/workloads/lighthouse?ask=delete"],
  ["the clusters", "/clusters"],
  ["a cluster", "/clusters/eu-west-1"],
  ["the cluster groups", "/groups"],
  ["a cluster joins", "/join"],
  ["the events", "/events"],
  ["the settings", "/settings"],
];
