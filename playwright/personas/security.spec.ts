import type { Page } from "@playwright/test";

import { addProject, expect, program, test } from "../support/signed-in.ts";
import { startUpstream } from "../support/upstream.ts";

/** Texts that would be markup, scripts or links without escaping. */
const corpus = [
  `<script>alert(1)</script>`,
  `"><img src=x onerror=alert(1)>`,
  `'"><svg onload=alert(1)>`,
  `</textarea><script>alert(1)</script>`,
  `</title><script>alert(1)</script>`,
  `</template><img src=x onerror=alert(1)>`,
  `javascript:alert(1)`,
  `<a href="javascript:alert(1)">press me</a>`,
  `<iframe srcdoc="<script>parent.alert(1)</script>"></iframe>`,
  `{{constructor.constructor('alert(1)')()}}`,
  `<b hx-get="/admin" hx-trigger="load">x</b>`,
  `<style>*{background:url(https://elsewhere.example/)}</style>`,
  `\u202e<script>alert(1)</script>\u200b`,
];
const everything = corpus.join(" ");

/** A tool definition with the corpus in every place. */
function hostile(name: string) {
  return {
    name,
    title: everything,
    description: everything,
    icons: [{ src: "javascript:alert(1)" }, { src: `https://elsewhere.example/"><script>alert(1)</script>` }],
    annotations: { title: everything, readOnlyHint: true },
    inputSchema: {
      type: "object",
      title: everything,
      description: everything,
      required: [corpus[1]],
      properties: {
        plain: { type: "string", title: everything, description: everything, default: corpus[3] },
        [corpus[1]]: { type: "string", description: everything },
        [corpus[2]]: { enum: corpus, description: everything },
        list: { type: "array", items: { type: "string" }, description: everything },
        group: { type: "object", description: everything, properties: { [corpus[5]]: { type: "string" }, names: { type: "array", items: { enum: corpus } } } },
        mixed: { oneOf: [{ type: "string", title: everything }, { type: "number" }], description: everything },
      },
    },
    outputSchema: { type: "object", description: everything, properties: { [corpus[0]]: { type: "string", description: everything } } },
  };
}

/** Fails the test if the page opened a dialog. */
function forbidDialogs(page: Page): string[] {
  const dialogs: string[] = [];
  page.on("dialog", async (dialog) => {
    dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  return dialogs;
}

// E04. The test function checks that the page violated no content security
// policy and contacted no other host.
test("text of upstream servers is escaped on every page", async ({ page, gateway }) => {
  test.slow();
  const dialogs = forbidDialogs(page);
  const names = ["good", ...corpus.map((text) => text.slice(0, 60))];
  const upstream = await startUpstream({
    name: everything,
    title: everything,
    instructions: everything,
    tools: names.map(hostile),
    call: (name) => {
      if (name === "good") {
        return {
          content: [
            { type: "text", text: everything },
            { type: "image", mimeType: `image/png"><script>alert(1)</script>`, data: "AAAA" },
            { type: "image", mimeType: "image/svg+xml", data: "PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIj48L3N2Zz4=" },
            { type: "image", mimeType: "image/png", data: `"><script>alert(1)</script>` },
            { type: "resource_link", uri: "javascript:alert(1)", name: everything },
            { type: "resource", resource: { uri: "javascript:alert(1)", mimeType: "text/html", text: everything } },
            { type: everything },
          ],
          structuredContent: { [corpus[0]]: everything, list: corpus },
        };
      }
      throw new Error(everything);
    },
  });
  await addProject(gateway, "hostile", { bad: upstream.url }, { description: everything });

  const list = `/admin/projects/hostile/tools`;
  const client = await program(gateway);
  const { items: servers } = await (await client.get("/api/projects/hostile/servers")).json();
  const { items: tools } = await (await client.get("/api/projects/hostile/tools")).json();
  await client.dispose();
  expect(tools.length, "synced tools").toBeGreaterThan(5);
  for (const path of ["/admin", "/admin/projects/hostile", "/admin/projects/hostile/servers", `/admin/projects/hostile/servers/${servers[0].id}`, list, `${list}?query=${encodeURIComponent(everything.slice(0, 200))}`, "/admin/audit"]) {
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1 })).toHaveCount(1);
  }
  for (const { name } of tools.slice(0, 6) as { name: string }[]) {
    await page.goto(`${list}/${encodeURIComponent(name)}`);
    await expect(page.getByRole("heading", { level: 2, name: "Playground" })).toBeVisible();
    await page.getByRole("button", { name: "Edit as JSON" }).click();
    await page.getByLabel("Arguments as JSON").fill(JSON.stringify({ [corpus[1]]: everything }));
    await page.getByRole("button", { name: "Run" }).click();
    await expect(page.getByRole("heading", { level: 3, name: "Result" })).toBeVisible();
  }
  // The form with hostile values, rejected once.
  await page.goto(`${list}/bad__good`);
  await page.getByRole("textbox", { name: "plain" }).fill(everything);
  await page.getByRole("textbox", { name: /mixed/ }).fill(`${everything}`);
  await page.getByRole("textbox", { name: corpus[1] }).first().fill(corpus[4]);
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText(/use valid JSON/i).first()).toBeVisible();

  expect(dialogs).toEqual([]);
  const alien = await page.evaluate(() => document.querySelectorAll("iframe, img[onerror], svg[onload], a[href^='javascript'], main script").length);
  expect(alien, "elements that were text").toBe(0);
  await upstream.stop();
});

test("audit filters and the sign-in page escape their parameters", async ({ page }) => {
  const dialogs = forbidDialogs(page);
  for (const text of corpus) {
    const typed = encodeURIComponent(text);
    await page.goto(`/admin/audit?actor=${typed}&action=${typed}&object=${typed}&project=${typed}&since=${typed}`);
    await page.goto(`/admin/people?query=${typed}`);
  }
  expect(dialogs).toEqual([]);
});
