// A workload from a Git repository: read, published, and followed to the next commit.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { GitServer } from "./git-server.js";
import { accessible, expect, open, publish, signIn, step, test, toStep } from "./kit.js";
import { Server } from "./server.js";

const settings = (level: string): string => `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: "${level}"}
`;

test("a path of a repository is read, published, and a new commit changes the draft until a person publishes it", async ({ browser }) => {
  const folder = join(process.env.FLOTILLA_DATA!, "git");
  mkdirSync(folder, { recursive: true });
  const git = await GitServer.start(folder);
  git.commit("production/settings.yaml", settings("1"), "Add settings");
  const server = await Server.startDemo("git-demo", "--git-repositories", "private-http");
  const context = await browser.newContext({ baseURL: server.address, storageState: undefined });
  try {
    const page = await context.newPage();
    await signIn(page, server.password());
    await open(page, "/workloads/new");
    await page.getByLabel("Workload name").fill("settings");
    await page.getByLabel("Namespace").fill("settings");
    await page.getByRole("radio", { name: "Git repository" }).check();
    await page.getByRole("button", { name: "Continue to Source" }).click();
    await step(page, "Source");
    await expect(page.getByText("No repository is named."), "before a field is left").toHaveCount(0);
    await page.getByLabel("Repository").focus();
    await page.getByLabel("Path", { exact: true }).focus();
    await expect(page.getByText("No repository is named.")).toBeVisible();
    await page.getByLabel("Repository").fill(git.url);
    await page.getByLabel("Path", { exact: true }).fill("staging");
    await page.getByRole("button", { name: "Read repository" }).click();
    await expect(page.getByText(/staging/).last()).toBeVisible();
    await page.getByLabel("Path", { exact: true }).fill("production");
    await page.getByRole("button", { name: "Read repository" }).click();
    await expect(page.getByText(`${git.tip()} Add settings`)).toBeVisible();
    await expect(page.getByText("No repository is named."), "the findings are those of the repository").toHaveCount(0);
    await accessible(page, "the source of a Git workload");

    await toStep(page, "Placement");
    await step(page, "Placement");
    await page.getByText("All clusters", { exact: true }).click();
    await toStep(page, "Overrides");
    await step(page, "Overrides");
    await open(page, "/workloads/settings/publish");
    await publish(page, "settings");
    await expect(page.getByText("5 of 5 clusters healthy with r1")).toBeVisible();

    // The branch moves: the draft has the commit, and what runs stays.
    git.commit("production/settings.yaml", settings("2"), "Raise the level");
    await open(page, "/workloads/settings?tab=config");
    await page.getByRole("button", { name: "Check now" }).click();
    await expect(page.getByText("Raise the level")).toBeVisible();
    await expect(page.getByText(/ is 1 commit ahead of the published commit /)).toBeVisible();
    await expect(page.getByText("differs from what is published")).toBeVisible();
    await accessible(page, "the config of a Git workload");
    await open(page, "/workloads/settings/publish");
    await publish(page, "settings");
    await expect(page.getByText("5 of 5 clusters healthy with r2")).toBeVisible();
    await expect(page.getByRole("definition").filter({ hasText: `at ${git.tip()}` })).toBeVisible();
  } finally {
    await context.close();
    await server.stop();
    await git.stop();
  }
});
