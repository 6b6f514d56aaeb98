// The steps of a first walk through the console, for the benchmark `walk.mjs` at human pace.

/**
 * Describes nginx and a Service, selects 3 of 5 clusters with one override, plans and publishes; then a change by hand that is
 * reverted, an image that does not exist, and a rollback. Begins on the list of workloads.
 *
 * `person` acts: `click(target)`, `type(target, text)`, `see(target)`, `injectFault(page, label, workload)` and `lap(name)`.
 */
export async function walk(page, person) {
  const { click, type, see, lap } = person;
  const button = (name) => page.getByRole("button", { name, exact: true });
  const link = (name) => page.getByRole("link", { name, exact: true });
  const review = page.getByRole("navigation", { name: "Steps" }).getByRole("button", { name: "Review" });

  await click(link("New workload"));
  await type(page.getByLabel("Workload name"), "shop");
  await type(page.getByLabel("Namespace"), "shop");
  await click(button("Continue to Source"));
  const form = page.getByRole("group", { name: "Form", exact: true });
  await type(form.getByLabel("Image"), "nginx:1.29");
  await click(form.getByRole("button", { name: "Port", exact: true }));
  await type(form.getByLabel("Port number"), "80");
  await click(form.getByLabel("Inside the cluster (Service)"));
  lap("source described");
  await click(button("Continue to Placement"));
  for (const cluster of ["eu-west-1", "eu-west-2", "us-east-1"]) await click(page.getByRole("checkbox", { name: cluster }));
  lap("clusters selected");
  await click(button("Continue to Overrides"));
  await override(page, person);
  lap("override made");
  await click(review);
  await see(page.getByText("3 accepted", { exact: true }));
  lap("plan seen");
  await click(button("Publish to 3 clusters"));
  await see(page.getByText("3 of 3 clusters healthy with r1"));
  lap("first Healthy on 3 clusters");

  await click(link("eu-west-1"));
  await click(link("Open the cluster"));
  await person.injectFault(page, "Change replicas by hand", "shop");
  await click(page.getByRole("rowheader", { name: "shop" }).getByRole("link"));
  await see(page.getByText(/^Drift reverted .*changed by kubectl-edit$/));
  lap("change by hand reverted");

  await click(link("Edit"));
  await type(form.getByLabel("Image"), "nginx:9.9");
  await click(review);
  await click(button("Publish to 3 clusters"));
  await see(page.getByText("it is not in the registry").first());
  lap("bad image explained");
  await click(page.getByRole("link", { name: /^Roll back to r1/ }).first());
  await click(button("Publish to 3 clusters"));
  await see(page.getByText("3 of 3 clusters healthy with r3"));
  lap("rolled back, Healthy on 3 clusters");
}

/** 4 replicas on us-east-1. */
async function override(page, { click, type, see }) {
  await click(page.getByRole("navigation", { name: "Target clusters" }).getByRole("link", { name: "us-east-1" }));
  await see(page.getByRole("heading", { name: "us-east-1", exact: true }));
  await type(page.getByLabel("Deployment shop replicas"), "4");
}
