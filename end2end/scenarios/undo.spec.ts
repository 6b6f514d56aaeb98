// What was removed from a form is restored by Undo, as long as nothing else was changed.

import { accessible, describe, expect, open, override, paste, remove, SAVED, test, WEB_YAML } from "./kit.js";
import { leaveForHistory } from "./leaving.js";

const NAME = "undone";

test.describe.configure({ mode: "serial" });

test("a removed container and a removed file are restored by Undo, until something else is changed", async ({ page }) => {
  await describe(page, NAME, NAME, WEB_YAML);
  const texts = page.locator("textarea.editor-source");
  const undo = page.getByRole("button", { name: "Undo", exact: true });
  await page.getByRole("button", { name: "Container", exact: true }).click();
  await expect(texts.first()).toHaveValue(/name: container-2/);
  await page.getByRole("button", { name: "Remove this container" }).click();
  await expect(texts.first()).not.toHaveValue(/container-2/);
  await expect(page.getByText("Removed container container-2.")).toBeVisible();
  await accessible(page, "a removal that can be undone");
  await undo.click();
  await expect(texts.first()).toHaveValue(/name: container-2/);
  await page.getByRole("button", { name: "Remove this container" }).click();
  await expect(undo).toBeVisible();
  await page.getByLabel("Image").fill("registry.example.com/web:4.0");
  await expect(undo).toBeHidden();

  await page.getByRole("button", { name: "File", exact: true }).click();
  await paste(page, "file-2.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n");
  await expect(texts.nth(1)).toHaveValue(/kind: ConfigMap/);
  await page.getByRole("button", { name: "Remove file-2.yaml" }).click();
  await expect(texts).toHaveCount(1);
  await undo.click();
  await expect(texts.nth(1)).toHaveValue(/kind: ConfigMap/);
});

test("a removed override is stored again by Undo", async ({ page }) => {
  for (const [cluster, replicas] of [["us-east-1", "9"], ["eu-west-2", "6"]] as const) {
    await open(page, `/workloads/${NAME}?tab=overrides&cluster=${cluster}`);
    await leaveForHistory(page, async () => page.getByLabel("Deployment web replicas").fill(replicas));
  }
  await open(page, `/workloads/${NAME}?tab=overrides&override=us-east-1`);
  await page.getByRole("button", { name: "Remove override us-east-1" }).click();
  await expect(page.getByText("Override us-east-1 removed.")).toBeVisible();
  await expect(override(page, "us-east-1")).toHaveCount(0);
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await expect(page.getByText("Override us-east-1 saved.")).toBeVisible();
  await expect(page.getByText("Override us-east-1 removed."), "only the latest result is shown").toBeHidden();
  await expect(override(page, "us-east-1")).toContainText("1 change");
  await open(page, `/workloads/${NAME}?tab=overrides&override=us-east-1`);
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("9");

  // After another change of the draft, Undo could replace it.
  await page.getByRole("button", { name: "Remove override us-east-1" }).click();
  const undo = page.getByRole("button", { name: "Undo", exact: true });
  await expect(undo).toBeVisible();
  await override(page, "eu-west-2").getByRole("link").click();
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("6");
  await expect(undo, "nothing has changed since").toBeVisible();
  await page.getByLabel("Deployment web replicas").fill("16");
  await expect(page.getByText(SAVED)).toBeVisible();
  await expect(undo).toBeHidden();
  await remove(page, NAME);
});
