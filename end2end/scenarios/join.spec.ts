// Joining a cluster: the form grants the agent's rights, one command installs it, and the page waits until it is online.

import { readFileSync } from "node:fs";
import { accessibleAtEverySize, expect, open, test } from "./kit.js";
import { readManifests } from "./manifests.js";

test("s0_16 a command is created, it works as it is pasted, and a reload loses neither it nor the stages", async ({ page }) => {
  await open(page, "/clusters");
  await page.getByRole("link", { name: "Join a cluster" }).click();
  await expect(page.getByRole("heading", { name: "Join a cluster" })).toBeVisible();
  await page.getByLabel("Cluster name").fill("edge-9");
  await page.getByLabel("Namespaces", { exact: true }).fill("shop, blog");
  await page.getByLabel("Labels", { exact: true }).fill("env=prod,region=eu");
  await page.getByRole("button", { name: "Create the command" }).click();

  await expect(page).toHaveURL(/\/join\?cluster=edge-9&namespaces=shop%2Cblog$/);
  const command = page.locator(".copy code").first();
  await expect(command).toContainText("| kubectl --context edge-9 apply -f -");
  const stages = page.getByRole("list", { name: "Stages" });
  await expect(stages.locator("[aria-current=step]")).toContainText("Agent registered");
  await accessibleAtEverySize(page, "the command of a cluster");

  // The line works as it is pasted: it contains the rights, and no others.
  const line = (await command.textContent()) ?? "";
  const manifests = readManifests(line);
  expect(manifests).toContain("kind: ClusterRole");
  expect(manifests).toContain("namespace: shop");
  expect(manifests).not.toContain('"*"');

  const downloaded = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download the manifests" }).click();
  const file = await (await downloaded).path();
  const loaded = readFileSync(file, "utf8");
  for (const part of ["kind: ClusterRole", "namespace: shop", "namespace: blog"]) expect(loaded).toContain(part);

  // A reload loses neither the command nor the stages.
  await page.reload();
  await expect(command).toHaveText(line);
});

test("invalid input is rejected with the reason, and the input is retained", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/join");
  await page.getByLabel("Cluster name").fill("Edge_9");
  await page.getByRole("button", { name: "Create the command" }).click();
  await expect(page.getByRole("alert")).toContainText("could not write in any namespace");
  await page.getByLabel("Namespaces", { exact: true }).fill("shop");
  await page.getByText("More options").click();
  await page.getByLabel("Kinds it may write").fill("Deploymnt");
  await page.getByRole("button", { name: "Create the command" }).click();
  await expect(page.getByRole("alert")).toContainText("edge-9");
  await expect(page.getByRole("alert")).toContainText("Deploymnt");
  await expect(page.getByLabel("Cluster name")).toHaveValue("Edge_9");
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });

  test("the command and the stages are on a page that can be loaded again", async ({ page }) => {
    await page.goto("/join");
    await page.getByLabel("Cluster name").fill("edge-7");
    await page.getByLabel("Namespaces", { exact: true }).fill("shop");
    await page.getByRole("button", { name: "Create the command" }).click();
    await expect(page).toHaveURL(/\/join\?cluster=edge-7/);
    await expect(page.locator(".copy code").first()).toContainText("flj_");
    await page.getByRole("link", { name: "Refresh" }).click();
    await expect(page.getByRole("list", { name: "Stages" }).locator("[aria-current=step]")).toContainText("Agent registered");
    await expect(page.locator(".copy code").first()).toContainText("flj_");
  });
});
