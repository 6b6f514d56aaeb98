// Every page of the console.

/** Name and address of each page that requires a session. */
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
  ["the events of a workload", "/workloads/lighthouse?tab=events"],
  ["a review", "/workloads/lighthouse/publish"],
  ["the confirmation of a deletion", "/workloads/lighthouse?dialog=delete"],
  ["the clusters", "/clusters"],
  ["a cluster", "/clusters/eu-west-1"],
  ["the cluster groups", "/groups"],
  ["joining a cluster", "/join"],
  ["the events", "/events"],
  ["the settings", "/settings"],
];
