// Signing in by a link, and the pages of locations, keys and audit, in a real browser.
import { expect, it } from "vitest";
import { keepPicture, openPage, startBrowser } from "../support/browser.ts";
import { httpClient } from "../support/client.ts";
import { expectAccessible, startPages } from "../support/pages.ts";
import { runSonde } from "../support/process.ts";
import { startTarget } from "../support/target-server.ts";

const SIZE_OF_DIALOG = "getComputedStyle(document.querySelector('dialog[open]')).fontSize";
const SIZE_OF_PAGE = "getComputedStyle(document.body).fontSize";

it(
  "locations are watched, keys are issued and revoked, and the audit trail shows it",
  { timeout: 180_000 },
  async () => {
    await using target = await startTarget();
    await using pages = await startPages({ env: { SONDE_EGRESS_ALLOW: target.authority } });
    const { api, client, sonde } = pages;
    const call = await client.createCall(`${target.url}/`);
    await client.send("POST", `/calls/${call}/run?wait=30`, {});

    await using browser = await startBrowser();
    const { page, faults, requested } = await openPage(browser);
    await page.clock.install();
    const heading = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();
    const button = (name: string | RegExp) => page.getByRole("button", { name });

    // The link signs in, but only once.
    const { stdout } = await runSonde(["keys", "link"], {
      env: { SONDE_DATA_DIR: sonde.dataDir, SONDE_PUBLIC_URL: api },
    });
    const link = stdout.trim();
    await page.goto(link);
    await heading("Calls");
    expect(page.url()).not.toContain("#");
    const second = await openPage(browser);
    await second.page.goto(link);
    await second.page.getByText("This link has been used, has expired, or is incomplete").waitFor();
    await second.page.context().close();

    await page.getByRole("link", { name: "Locations" }).click();
    await heading("Locations");
    const agent = page.getByRole("row", { name: /agent-/ });
    await agent.getByText("Online").waitFor();
    await expect.poll(() => page.locator("dl").textContent()).toMatch(/Start lateness.*p50.*ms/);
    await expectAccessible(page);
    await keepPicture(page, "locations");

    // A page that is merely open does not extend its session.
    const isBackground = async (): Promise<boolean> => {
      const request = page.waitForRequest(/\/agents\/health\//);
      await page.clock.runFor(10_000);
      return (await request).headers()["sonde-background"] !== undefined;
    };
    expect(await isBackground()).toBe(false);
    await page.clock.fastForward(300_000);
    expect(await isBackground()).toBe(true);
    await page.mouse.click(600, 600);
    expect(await isBackground()).toBe(false);

    await page.getByRole("link", { name: "API keys" }).click();
    await heading("API keys");
    await page.getByText("you are signed in with it").waitFor();
    const own = page.getByRole("row", { name: "you are signed in with it" }).getByRole("button");
    await own.click();
    const warning = page.getByRole("dialog");
    await warning.getByText(/This cannot be undone\. It is your last key: your deploy/).waitFor();
    const command = "sonde keys create --level OWNER --owner owner";
    expect(await warning.locator("code").textContent()).toBe(command);
    await warning.getByRole("button", { name: "Cancel" }).click();
    await button("Issue a key").click();
    await page.getByLabel("Level").selectOption("EDITOR");
    const name = page.getByLabel("Name");
    await name.fill("x".repeat(1000));
    await button("Issue the key").click();
    await expect.poll(() => name.getAttribute("aria-invalid")).toBe("true");
    await name.fill("Build server");
    await button("Issue the key").click();
    const shown = page.getByRole("dialog", { name: "The new key" }).locator("code");
    const key = (await shown.textContent()) ?? "";
    expect(key).toMatch(/^[A-Za-z0-9]{32}$/);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Copy the key");
    await expectAccessible(page);
    await keepPicture(page, "key-issued");
    await button("Copy the key").click();
    await button("Done").click();
    expect(await page.content()).not.toContain(key);
    const byKey = httpClient(api, key);
    const { key_id } = await byKey.send<{ key_id: string }>("GET", "/session/");
    await expectAccessible(page);
    await keepPicture(page, "keys");

    // Only an owner gets the link here; the page tells others why.
    const editor = await pages.open("/keys", { key });
    await editor.page.getByText("You need an OWNER key").waitFor();
    expect(await editor.page.getByRole("link", { name: /^(API keys|Audit)$/ }).count()).toBe(0);

    const issued = page.getByRole("row", { name: `Build server ${key_id}` }).getByRole("button");
    await issued.click();
    const question = page.getByRole("dialog", {
      name: `Revoke the key Build server (${key_id})?`,
    });
    await question.getByText(/This cannot be undone\.$/).waitFor();
    await page.setViewportSize({ width: 1024, height: 800 }); // the table around it is small
    expect(await page.evaluate(SIZE_OF_DIALOG)).toBe(await page.evaluate(SIZE_OF_PAGE));
    await question.getByRole("button", { name: "Cancel" }).click();
    await own.click();
    await warning.getByText(/signed out at once.*This cannot be undone\.$/).waitFor();
    await warning.getByRole("button", { name: "Cancel" }).click();
    await issued.click();
    await question.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("row", { name: key_id }).waitFor({ state: "detached" });
    await expect(byKey.send("GET", "/session/")).rejects.toThrow("401");
    await editor.page.getByRole("link", { name: "Workflows" }).click();
    await editor.page.getByLabel("API key").waitFor();

    // The command names another owner in a shell's words.
    const { stdout: made } = await runSonde(
      ["keys", "create", "--level", "OWNER", "--owner", "Ann Lee", "--org", "Shop & Co"],
      { env: { SONDE_DATA_DIR: sonde.dataDir } },
    );
    const { api_key: hers } = JSON.parse(made) as { readonly api_key: string };
    const ann = await pages.open("/keys", { key: hers });
    await ann.page.getByRole("button", { name: "Revoke" }).click();
    expect(await ann.page.getByRole("dialog").locator("code").textContent()).toBe(
      "sonde keys create --level OWNER --owner 'Ann Lee' --org 'Shop & Co'",
    );

    await page.getByRole("link", { name: "Audit" }).click();
    await heading("Audit");
    const first = page.getByRole("row").nth(1);
    await expect
      .poll(() => first.textContent())
      .toMatch(/revoke.*api key Build server .*Your key.*127\.0\.0\.1/);
    await page
      .getByRole("link", { name: `calls ${target.url}/` })
      .first()
      .waitFor();
    await expectAccessible(page);
    await keepPicture(page, "audit");
    await page.getByLabel("Before (UTC)").fill("2026-01-01T00:00");
    await page.getByText("No changes in this period").waitFor();

    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of ["locations", "keys", "audit"]) {
      await page.goto(`${api}/${path}`);
      await page.getByRole("table").first().waitFor();
      const width = await page.evaluate("document.documentElement.scrollWidth");
      expect(width, path).toBe(360);
      await keepPicture(page, `${path}-narrow`);
    }
    for (const watched of [{ faults, requested }, editor]) {
      expect(watched.faults).toEqual([]);
      expect(watched.requested.filter((url) => !url.startsWith(api))).toEqual([]);
    }
  },
);
