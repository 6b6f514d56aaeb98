// An incident from a bad image to its end: it opens, is acknowledged, names the publish before it, and closes after a rollback. Channels of
// a webhook and of a mail server, with a template.

import { accessibleAtEverySize, alive, describe, expect, fixture, open, publish, remove, row, step, test, toStep } from "./kit.js";
import { MailServer } from "./mail-server.js";

test("a bad image opens one incident that a user acknowledges, that leads to the rollback, and that closes after it", async ({ page }) => {
  // The delay of an incident, three publishes, and the retries of the pods.
  test.slow();
  const bad = fixture("bad", "image-does-not-exist.yaml");
  await describe(page, "gull", "gull", bad.replace(/image: \S+/, "image: nginx:1.29"));
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByRole("checkbox", { name: "eu-west-1" }).check();
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ })).toBeVisible();
  await toStep(page, "Review");
  await publish(page, "gull");
  await expect(page.getByText("1 of 1 clusters healthy with r1")).toBeVisible();
  await open(page, "/workloads/gull/edit/source");
  await page.getByLabel("Image", { exact: true }).fill("nginx:9.9");
  await toStep(page, "Review");
  await publish(page, "gull");
  await expect(row(page, "eu-west-1")).toContainText("Degraded");

  // The list was opened before the incident and is not reloaded.
  await open(page, "/incidents?workload=gull");
  const entry = row(page, "gull");
  await expect(entry).toContainText("eu-west-1");
  await expect(entry).toContainText("by nobody");
  await expect(page.getByRole("heading", { level: 1 })).toContainText(/incidents? (is|are) open, .*acknowledged/);
  await open(page, "/");
  const onFleet = page.getByRole("region", { name: "Open incidents" }).getByRole("link", { name: /gull fails on 1 cluster/ });
  await expect(onFleet, "on the fleet page").toContainText("Acknowledged by nobody");
  await open(page, "/incidents?workload=gull");
  await entry.getByRole("link", { name: "gull" }).click();
  await alive(page);
  await expect(page.getByRole("heading", { level: 1, name: "gull fails on 1 cluster" })).toBeVisible();
  await expect(page.getByText(/cannot pull image/).first()).toBeVisible();
  await expect(page.getByRole("region", { name: "Change before" })).toContainText("Revision 2 was published");
  await expect(page.getByRole("region", { name: "Notifications" })).toContainText("Nobody is notified");
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await expect(page.getByText(/^Acknowledged by demo/)).toBeVisible();
  await accessibleAtEverySize(page, "an incident");
  const address = new URL(page.url()).pathname;

  await page.getByRole("link", { name: "Roll back to r1…" }).click();
  await publish(page, "gull");
  await expect(page.getByText("1 of 1 clusters healthy with r3")).toBeVisible();
  await open(page, address);
  await expect(page.getByRole("heading", { level: 1, name: /^gull recovered on 1 cluster after/ })).toBeVisible();
  await open(page, "/incidents?workload=gull");
  await expect(page.getByRole("heading", { name: "No open incident of gull" })).toBeVisible();
  await page.getByRole("link", { name: "Closed" }).click();
  await expect(row(page, "gull")).toContainText("eu-west-1");
  await remove(page, "gull");
});

test("a channel is created, its test names why it fails, and a subscription uses it", async ({ page, faults }) => {
  // The receiver of the test does not exist.
  faults.expect(/channel_test|status 4\d\d|Failed to load resource/);
  await open(page, "/settings?tab=notifications");
  await expect(page.getByText("Create a channel first: a subscription sends incidents to a channel.")).toBeVisible();
  await page.getByRole("main").getByRole("link", { name: "Create channel" }).click();
  await page.getByLabel("Name", { exact: true }).fill("pager");
  await page.getByLabel("Address").fill("http://127.0.0.1:9/hook");
  await page.getByRole("button", { name: "Create channel" }).click();
  await expect(row(page, "pager")).toContainText("Not used yet");
  // The list of channels changes while a subscription is entered.
  await page.locator("summary", { hasText: "Create subscription" }).click();
  await page.getByLabel("Incidents of").selectOption("Owner");
  await page.getByLabel("Name or labels").fill("team-shop");
  await page.getByLabel("Quiet hours").fill("22:00-06:00 Europe/Berlin sat,sun");
  await page.getByRole("button", { name: "Test pager" }).click();
  await expect(page.getByText(/pager: The message was not sent/).first()).toBeVisible();
  await expect(page.getByLabel("Name or labels")).toHaveValue("team-shop");
  await page.getByRole("button", { name: "Create subscription" }).click();
  await expect(row(page, "owner team-shop")).toContainText("pager");
  await expect(row(page, "owner team-shop")).toContainText("22:00-06:00 Europe/Berlin sat,sun");
  // The form is open and empty for the next one.
  await expect(page.getByLabel("Name or labels")).toHaveValue("");
  await expect(page.getByLabel("Incidents of")).toHaveValue("workload");
  await page.getByLabel("Incidents of").selectOption("Owner");
  await page.getByLabel("Name or labels").fill("team-shop");

  // A subscription is deleted only after a question that names its channel and what it selects.
  const unsubscribe = page.getByRole("link", { name: "Delete… the subscription of pager for owner team-shop" });
  await unsubscribe.click();
  const question = page.getByRole("dialog", { name: "Delete the subscription of pager?" });
  await expect(question).toContainText("New incidents of owner team-shop are no longer sent to pager");
  await question.getByRole("link", { name: "Cancel" }).click();
  await expect(question).toHaveCount(0);
  await expect(row(page, "owner team-shop")).toContainText("pager");
  await unsubscribe.click();
  await question.getByRole("button", { name: "Delete subscription" }).click();
  await expect(page.getByRole("heading", { name: "No subscriptions" })).toBeVisible();
  // The form is as it was left: lists that change neither close it nor clear it.
  await expect(page.getByLabel("Incidents of")).toHaveValue("owner");
  await expect(page.getByLabel("Name or labels")).toHaveValue("team-shop");
  await page.getByRole("button", { name: "Create subscription" }).click();
  await expect(row(page, "owner team-shop")).toContainText("pager");

  // The end of one's own publishes, instead of incidents.
  await page.getByLabel("Incidents of").selectOption("publisher");
  await page.getByLabel("Name or labels").fill("");
  await page.getByRole("button", { name: "Create subscription" }).click();
  await expect(row(page, "publishes by demo")).toContainText("pager");

  await row(page, "pager").getByRole("link", { name: "Delete… pager" }).click();
  await page.getByRole("button", { name: "Delete channel" }).click();
  await expect(page.getByRole("heading", { name: "No channels" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "No subscriptions" })).toBeVisible();
});

test("a channel for e-mail is created and tested, and its template is refused with a line, previewed and saved", async ({ page, faults }) => {
  // The first template is not valid.
  faults.expect(/channel_template|status 4\d\d|Failed to load resource/);
  const mail = await MailServer.start();
  await open(page, "/settings?tab=notifications");
  await page.locator("summary", { hasText: "Create channel" }).click();
  await page.getByLabel("Name", { exact: true }).fill("letters");
  await page.getByLabel("Kind", { exact: true }).selectOption("E-mail");
  await page.locator("summary", { hasText: "Mail server, for e-mail" }).click();
  await page.getByLabel("Mail server", { exact: true }).fill("127.0.0.1");
  await page.getByLabel("Protection").selectOption("None (port 25, private addresses only)");
  await page.getByLabel("Port", { exact: true }).fill(String(mail.port));
  await page.getByLabel("Sender", { exact: true }).fill("flotilla@example.com");
  await page.getByLabel("Recipients", { exact: true }).fill("ops@example.com, ben@example.com");
  await page.getByRole("button", { name: "Create channel" }).click();
  await expect(row(page, "letters")).toContainText(`smtp://127.0.0.1:${mail.port}`);
  await expect(row(page, "letters")).toContainText("to ops@example.com, ben@example.com");
  await page.getByRole("button", { name: "Test letters" }).click();
  await expect(page.getByText("letters: The receiver accepted the message.").first()).toBeVisible();
  expect(mail.messages).toHaveLength(1);
  expect(mail.messages[0]).toContain("Subject: [Flotilla] Test of a channel");
  expect(mail.messages[0]).toContain("To: ops@example.com, ben@example.com");

  await page.locator("summary", { hasText: "Template of letters" }).click();
  const template = page.getByLabel("Text of the messages to letters");
  await template.fill("first\n{{ clusterz }}");
  await page.getByRole("button", { name: "Preview" }).click();
  await expect(page.getByText(/Line 2 of the template: There is no variable clusterz/).first()).toBeVisible();
  await template.fill("{{ workload }} {% for one in clusters %}[{{ one }}]{% endfor %}");
  await page.getByRole("button", { name: "Preview" }).click();
  const sample = page.getByRole("region", { name: "Sample message" });
  await expect(sample).toContainText("shop-web [eu-west-1][eu-west-2][us-east-1]");
  await expect(page.getByText("nothing was saved")).toBeVisible();
  await accessibleAtEverySize(page, "a template");
  await page.getByRole("button", { name: "Save template" }).click();
  await expect(page.getByText("The template was saved.")).toBeVisible();
  await open(page, "/settings?tab=notifications");
  await expect(page.getByLabel("Text of the messages to letters")).toHaveValue(/^\{\{ workload \}\} /);

  // A form belongs to its channel: what was typed for one is not shown under the name of another when the list changes.
  await page.locator("summary", { hasText: "Create channel" }).click();
  await page.getByLabel("Name", { exact: true }).fill("zulu");
  await page.getByLabel("Address", { exact: true }).fill("https://ops.example.com/hook");
  await page.getByRole("button", { name: "Create channel" }).click();
  await page.locator("summary", { hasText: "Template of zulu" }).click();
  const later = page.getByLabel("Text of the messages to zulu");
  await later.fill("{{ reason }}");
  await row(page, "letters").getByRole("link", { name: "Delete… letters" }).click();
  await page.getByRole("button", { name: "Delete channel" }).click();
  await expect(row(page, "letters")).toHaveCount(0);
  await expect(page.locator("summary", { hasText: "Template of letters" })).toHaveCount(0);
  await expect(later).toHaveValue("{{ reason }}");
  await row(page, "zulu").getByRole("link", { name: "Delete… zulu" }).click();
  await page.getByRole("button", { name: "Delete channel" }).click();
  await expect(row(page, "zulu")).toHaveCount(0);
  await mail.stop();
});
