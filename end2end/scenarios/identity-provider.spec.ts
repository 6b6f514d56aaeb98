// Sign-in with an identity provider: refused without a role, then with the role of a group, until the provider ends the session.

import { accessible, alive, expect, open, row, test } from "./kit.js";
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
