// People: an invitation, roles in the console, a disabled user.

import { alive, expect, open, row, test } from "./kit.js";

test("an invited viewer sets a password and sees why buttons are disabled", async ({ page, browser, baseURL }) => {
  const name = `viewer-${Date.now().toString(36)}`;
  await open(page, "/people");
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByRole("button", { name: "Create link" }).click();
  await expect(page.getByText(`Send this link to ${name} now.`)).toBeVisible();
  const link = await page.getByText(/\/set-password\?token=/).textContent();
  await expect(row(page, name)).toContainText("Invited");

  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] } });
  const guest = await context.newPage();
  await guest.goto(new URL(link!.trim()).pathname + new URL(link!.trim()).search);
  await expect(guest.getByText(`You sign in as ${name}`)).toBeVisible();
  await guest.getByLabel(/^Password/).fill("lagoon under seven bridges");
  await guest.getByRole("button", { name: "Set password and sign in" }).click();
  await alive(guest);
  await guest.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name: "Workloads" }).click();
  await expect(guest.getByRole("heading", { level: 1, name: /workload/i })).toBeVisible();
  await expect(guest.getByText("To change drafts you need the role editor; yours is viewer.")).toBeVisible();
  await expect(guest.getByRole("link", { name: "New workload" })).toHaveCount(0);

  // The role applies to the next page.
  await row(page, name).getByLabel(`Role of ${name}`, { exact: true }).selectOption("editor");
  await row(page, name).getByRole("button", { name: `Set role of ${name}` }).click();
  await expect(page.getByText(`The role of ${name} is editor now.`)).toBeVisible();
  await expect(row(page, name).getByLabel(`Role of ${name}`, { exact: true })).toHaveValue("editor");
  await guest.goto("/workloads");
  await expect(guest.getByRole("link", { name: "New workload" })).toBeVisible();

  // A higher role ends by itself, or when it is ended.
  await row(page, name).getByRole("link", { name: `Elevate… ${name}` }).click();
  const question = page.getByRole("dialog", { name: `Give ${name} a higher role?` });
  await question.getByLabel("Role").selectOption("publisher");
  await question.getByLabel("Reason").fill("on call");
  await question.getByRole("button", { name: "Elevate" }).click();
  await expect(row(page, name)).toContainText(/publisher for .* more: on call/);
  await row(page, name).getByRole("button", { name: `End the elevation of ${name}` }).click();
  await expect(row(page, name).getByRole("link", { name: `Elevate… ${name}` })).toBeVisible();

  // A disable signs the user out.
  await row(page, name).getByRole("link", { name: `Disable… ${name}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
  await expect(row(page, name)).toContainText("Disabled");
  await guest.goto("/workloads");
  await expect(guest).toHaveURL(/\/sign-in/);
  await context.close();
});
