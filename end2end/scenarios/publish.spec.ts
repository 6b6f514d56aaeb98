// From a paste to every cluster, and everything that is rejected on the way.

import { CLUSTERS, alive, cell, chooseAction, describe, expect, fixture, open, paste, publish, remove, requireLabel, row, step, test, toStep } from "./kit.js";

const SHOP = ["db.yaml", "api.yaml", "web.yaml"].map((file) => fixture("three-tier", file)).join("\n---\n");

test.describe.configure({ mode: "serial" });

test("a pasted three-tier application is checked while the user types, placed, reviewed, published and becomes Healthy everywhere", async ({
  page,
}) => {
  // The pods' label differs from the selector.
  const broken = SHOP.replace("labels: {app: shop, tier: api}\n    spec:", "labels: {app: shop, tier: backend}\n    spec:");
  expect(broken).not.toBe(SHOP);
  const line = 1 + broken.split("\n").findIndex((text) => text.includes("matchLabels: {app: shop, tier: api}"));

  await describe(page, "shop", "shop", broken);
  const finding = page.getByRole("listitem").filter({ hasText: "G214" });
  await expect(finding).toContainText("error");
  await expect(finding.getByRole("link", { name: /^deploy\.yaml:\d+$/ })).toHaveText(new RegExp(`:(${line - 1}|${line}|${line + 1}|${line + 4})$`));
  await expect(page.getByText("1 error").first()).toBeVisible();

  // Fixed by hand, at the line: the finding disappears while the user types.
  await finding.getByRole("link", { name: /^deploy\.yaml/ }).click();
  await expect(page.getByRole("textbox", { name: "deploy.yaml", exact: true }), "the link focuses the editor").toBeFocused();
  await paste(page, "deploy.yaml", SHOP);
  await expect(finding).toHaveCount(0);

  // The placement, evaluated with every click.
  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await step(page, "Placement");
  await expect(page.getByRole("heading", { name: /^0 of 5 clusters selected/ })).toBeVisible();
  await page.getByText("Labels", { exact: true }).click();
  await requireLabel(page, "region", "eu-west");
  await expect(page.getByRole("heading", { name: /^3 of 5 clusters selected/ })).toBeVisible();
  await expect(row(page, "eu-west-1")).toContainText("region=eu-west");
  await expect(row(page, "us-east-1")).toContainText("region=us-east");
  await page.getByText("All clusters", { exact: true }).click();
  await expect(page.getByRole("heading", { name: /^5 of 5 clusters selected/ })).toBeVisible();
  const chosen = page.getByRole("table", { name: "Selected clusters" });
  for (const cluster of CLUSTERS) {
    await expect(row(chosen, cluster).getByRole("cell").first(), "there is a reason").not.toBeEmpty();
  }
  await toStep(page, "Review");

  await expect(page.getByRole("heading", { level: 1 })).toContainText("shop first revision");
  await expect(page.getByText(/^5 clusters get 9 objects each\.$/)).toBeVisible();
  await publish(page, "shop", "The first of many");

  // Reloaded during the rollout: the page is updated until it is complete.
  await page.reload();
  await alive(page);
  for (const cluster of CLUSTERS) {
    await expect(row(page, cluster)).toContainText("Healthy");
  }
  await expect(page.getByText("5 of 5 clusters healthy with r1")).toBeVisible();

  await page.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name: "Fleet" }).click();
  for (const cluster of CLUSTERS) {
    await expect(cell(page, "shop", cluster)).toHaveAccessibleName(`shop on ${cluster}: Healthy`);
  }
});

test("a second revision is published from the draft and is listed in the history", async ({ page }) => {
  await open(page, "/workloads/shop?tab=config");
  await paste(page, "deploy.yaml", SHOP.replace("replicas: 2", "replicas: 3"));
  await page.getByRole("button", { name: "Save draft" }).click();
  await expect(page.getByText("Draft saved.")).toBeVisible();
  await page.getByRole("main").getByRole("link", { name: "Review", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("shop r1 → r2");
  await publish(page, "shop", "One api more");
  await expect(page.getByText("5 of 5 clusters healthy with r2")).toBeVisible();

  await page.getByRole("navigation", { name: "Parts of this workload" }).getByRole("link", { name: "History" }).click();
  await expect(row(page, "r2")).toContainText("One api more");
  await expect(row(page, "r1")).toContainText("The first of many");
  await expect(row(page, "r1")).toContainText("demo");

  // A revision has a page: its changes and its current state.
  await row(page, "r2").getByRole("link", { name: "r2", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("shop r2");
  await expect(page.getByRole("heading", { name: "Changed against r1" })).toBeVisible();
  await expect(page.getByText("spec.replicas", { exact: true })).toBeVisible();
  await expect(page.getByText("5 of 5 clusters healthy with r2")).toBeVisible();
  await page.getByRole("button", { name: "Compare" }).click();
  await expect(page, "without the empty field of the cluster").toHaveURL(/\/revisions\/2\?against=1$/);
  await open(page, "/workloads/shop/revisions/1");
  await expect(page.getByText("Replaced by r2.")).toBeVisible();
  await page.getByRole("link", { name: "r2" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("shop r2");
});

test("unpublishing shows the number of clusters, removes the workload from all of them and retains the draft; deleting removes the draft", async ({ page }) => {
  await open(page, "/workloads/shop");
  await chooseAction(page, "Unpublish…");
  const question = page.getByRole("dialog");
  await expect(question.getByRole("heading")).toContainText("5 clusters");
  // Esc cancels.
  await page.keyboard.press("Escape");
  await expect(question).toHaveCount(0);
  await chooseAction(page, "Unpublish…");
  await question.getByRole("button", { name: "Unpublish" }).click();
  for (const cluster of CLUSTERS) {
    await expect(row(page, cluster)).toContainText("Removed");
  }
  await page.getByRole("navigation", { name: "Parts of this workload" }).getByRole("link", { name: "Config" }).click();
  await expect(page.getByRole("textbox", { name: "deploy.yaml", exact: true })).toContainText("kind: Deployment");

  await remove(page, "shop");
});

const REJECTED = [
  { what: "an API that its clusters no longer serve", file: "removed-api.yaml", code: "G402", says: /policy\/v1beta1/ },
  { what: "invalid YAML", file: "not-yaml.yaml", code: "G1", says: /./ },
  { what: "an unknown kind", file: "unknown-kind.yaml", code: "G401", says: /Watchtower/ },
  { what: "a document without a kind", file: "missing-kind.yaml", code: "G1", says: /kind/ },
  { what: "a duplicate key", file: "duplicate-key.yaml", code: "G1", says: /image/ },
  { what: "a field that does not exist", file: "unknown-field.yaml", code: "G403", says: /did you mean replicas/ },
  { what: "a YAML bomb", file: "bomb.yaml", code: "G1", says: /./ },
  { what: "an expression that doubles its value", file: "doubling.yaml", code: "G115", says: /would produce more than 2 MiB/ },
];

for (const { what, file, code, says } of REJECTED) {
  test(`${what} can be saved as a draft and is rejected at the review, with its line`, async ({ page }) => {
    const name = `bad-${file.replace(".yaml", "")}`;
    await describe(page, name, "bad", fixture("bad", file));
    await toStep(page, "Placement");
    await page.getByText("All clusters", { exact: true }).click();
    await toStep(page, "Review");
    await expect(page.getByRole("heading", { level: 1 })).toContainText(name);

    const finding = page.getByRole("main").getByRole("listitem").filter({ hasText: says }).filter({ hasText: code }).first();
    await expect(finding).toContainText("error");
    await expect(finding).toContainText(/deploy\.yaml:\d+/);
    await expect(page.getByRole("button", { name: /^Publish to/ })).toHaveAttribute("aria-disabled", "true");
    await expect(page.getByText(/to fix first/)).toBeVisible();
    await remove(page, name);
  });
}

test("a release with a missing image shows where and why it does not run", async ({ page }) => {
  await describe(page, "no-image", "bad", fixture("bad", "image-does-not-exist.yaml"));
  await toStep(page, "Placement");
  await page.getByRole("checkbox", { name: "eu-west-1" }).check();
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ })).toBeVisible();
  await toStep(page, "Review");
  await publish(page, "no-image");

  await expect(row(page, "eu-west-1")).toContainText("Degraded");
  // A failing release is open by default, until the user closes it.
  const todo = page.getByRole("heading", { name: "What to do" });
  await expect(todo).toBeVisible();
  await expect(page.getByText("registry.invalid/does-not-exist:1.0").first()).toBeVisible();
  await page.getByRole("rowheader", { name: "eu-west-1" }).getByRole("link").click();
  await expect(todo).toBeHidden();

  await open(page, "/workloads");
  await expect(page.getByRole("heading", { level: 1 })).toContainText(/1 of \d+ workloads is failing/);
  await expect(row(page, "no-image"), "the list says why").toContainText("registry.invalid/does-not-exist:1.0");
  await page.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name: "Fleet" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("1 release failing");
  await expect(page.getByRole("region", { name: "Needs attention" })).toContainText("no-image on eu-west-1");
  await remove(page, "no-image");
});
