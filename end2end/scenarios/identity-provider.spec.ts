// Sign-in with an identity provider: refused without a role, then with the role of a group, until the provider ends the session. An administrator
// sets a provider up in the console.

import { accessible, accessibleAtEverySize, alive, expect, open, row, test } from "./kit.js";
import { CLIENT_ID, CLIENT_SECRET, OpenIdServer } from "./openid-server.js";

test("a user signs in with an identity provider, has the role of the groups, and is signed out by the provider", async ({ page, browser, baseURL }) => {
  const provider = await OpenIdServer.start();
  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] } });
  try {
    const saved = await page.request.put("/api/v1/identity-providers/corp", {
      headers: { origin: baseURL! },
      data: {
        displayName: "Example Inc",
        issuer: provider.issuer,
        clientId: CLIENT_ID,
        clientSecret: CLIENT_SECRET,
        roles: [{ group: "ops", role: "viewer" }],
      },
    });
    expect(saved.status(), await saved.text()).toBe(200);

    const guest = await context.newPage();
    await guest.goto("/workloads");
    await guest.getByRole("link", { name: "Sign in with Example Inc" }).click();
    await expect(guest.getByText("None of your groups has a role here.")).toBeVisible();
    await accessible(guest, "a failed sign-in with an identity provider");

    provider.groups = ["ops"];
    await guest.goto("/workloads");
    await guest.getByRole("link", { name: "Sign in with Example Inc" }).click();
    await alive(guest);
    await expect(guest).toHaveURL(/\/workloads$/);
    await expect(guest.getByText("To change drafts you need the role editor; yours is viewer.")).toBeVisible();

    await open(page, "/people");
    await expect(row(page, "carol")).toContainText("Active");
    await row(page, "carol").getByRole("link", { name: "Why carol has this role" }).click();
    await expect(page.getByRole("region", { name: "Why carol has this role" })).toContainText("ops is viewer");
    await accessible(page, "why a user has a role");

    const logout = await page.request.post("/auth/corp/back-channel-logout", { form: { logout_token: provider.logoutToken() } });
    expect(logout.status(), await logout.text()).toBe(200);
    await guest.goto("/workloads");
    await expect(guest).toHaveURL(/\/sign-in/);
  } finally {
    await page.request.delete("/api/v1/identity-providers/corp", { headers: { origin: baseURL! } });
    await context.close();
    await provider.stop();
  }
});

test("an administrator adds an identity provider, tests it, gives groups roles, and removes it", async ({ page, browser, baseURL }) => {
  const provider = await OpenIdServer.start();
  provider.userName = "dora";
  provider.groups = ["staff"];
  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] } });
  try {
    await open(page, "/settings?tab=identity-providers");
    await expect(page.getByRole("heading", { name: "No identity providers" })).toBeVisible();
    await page.getByRole("main").getByRole("link", { name: "Add identity provider" }).click();
    await page.getByLabel("Name", { exact: true }).fill("login");
    await page.getByLabel("Issuer").fill(provider.issuer);
    await page.getByLabel("Client id").fill(CLIENT_ID);
    await page.getByLabel("Client secret").fill("of another client");
    await page.getByLabel("Group 1", { exact: true }).fill("ops");
    await page.getByLabel("Role of group 1", { exact: true }).selectOption("editor");
    await page.getByRole("button", { name: "Save identity provider" }).click();
    await expect(page.getByText("login was saved.")).toBeVisible();
    await expect(page.getByText("/auth/login/callback").first()).toBeVisible();
    await expect(row(page, "login")).toContainText("ops is editor");

    await page.getByRole("button", { name: "Test login" }).click();
    const tested = page.getByRole("region", { name: "Test of login" });
    await expect(tested).toContainText("A sign-in would fail.");
    await expect(tested).toContainText("The provider does not accept the client.");

    await row(page, "login").getByRole("link", { name: "Change login" }).click();
    const change = page.getByRole("region", { name: "Change login" });
    await expect(change.getByLabel("Group 1", { exact: true })).toHaveValue("ops");
    await expect(change.getByLabel("Client secret"), "a secret is never shown").toHaveValue("");
    await accessibleAtEverySize(page, "the form of an identity provider");
    await change.getByLabel("Name on the button").fill("Example Login");
    await change.getByLabel("Client secret").fill(CLIENT_SECRET);
    await change.getByLabel("Group 2", { exact: true }).fill("staff");
    await change.getByLabel("Role of group 2", { exact: true }).selectOption("viewer");
    await change.getByRole("button", { name: "Save identity provider" }).click();
    await expect(change).toHaveCount(0);
    await expect(row(page, "login")).toContainText("ops is editor, staff is viewer");
    await page.getByRole("button", { name: "Test login" }).click();
    await expect(tested).toContainText("Every check passed.");

    const guest = await context.newPage();
    await guest.goto("/workloads");
    await guest.getByRole("link", { name: "Sign in with Example Login" }).click();
    await alive(guest);
    await expect(guest).toHaveURL(/\/workloads$/);
    await expect(guest.getByText("To change drafts you need the role editor; yours is viewer.")).toBeVisible();

    await row(page, "login").getByRole("link", { name: "Remove… login" }).click();
    const question = page.getByRole("dialog", { name: "Remove the identity provider login?" });
    await expect(question).toContainText("Its users are signed out at once");
    await question.getByRole("button", { name: "Remove identity provider" }).click();
    await expect(page.getByRole("heading", { name: "No identity providers" })).toBeVisible();
    await guest.goto("/workloads");
    await expect(guest).toHaveURL(/\/sign-in/);
  } finally {
    await page.request.delete("/api/v1/identity-providers/login", { headers: { origin: baseURL! } });
    await context.close();
    await provider.stop();
  }
});
