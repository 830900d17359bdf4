// The pages of an owner with more objects than the longest page of the interface has.
import { expect, it } from "vitest";
import { startPages } from "../support/pages.ts";

/** One more than the longest page of the interface. */
const MANY = 1001;

it("pages know every setting, token and deployment", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const { client, api } = pages;
  const makeMany = async (path: string, body: (n: number) => object): Promise<string> => {
    let last = "";
    for (let n = 1; n <= MANY; n += 1)
      last = (await client.send<{ id: string }>("POST", path, body(n))).id;
    return last;
  };
  const auth_id = await makeMany("/auth/", (n) => ({
    meta: { name: `Setting ${n}`, domain: "shop.example" },
    settings: { auth_type: "BASIC" },
  }));
  const token_id = await makeMany("/tokens/", (n) => ({ meta: { name: `Token ${n}`, auth_id } }));
  const call = await client.send("POST", "/calls/", {
    meta: { name: "Shop" },
    request: { method: "GET", url: "https://shop.example/", auth_id, token_id },
  });
  // All are due at second 0, but the last one.
  await makeMany("/deployments/", (n) => ({
    deployment: {
      target_id: call["id"],
      location_id: "local",
      frequency: 1440,
      run_delay: n < MANY ? 0 : 30,
    },
  }));
  const workflow = await client.send("POST", "/workflows/", {
    meta: { name: "Shopping" },
    workflow: { call_ids: [call["id"]] },
  });
  await client.send("POST", "/deployments/", {
    deployment: { target_id: workflow["id"], location_id: "local", frequency: 720 },
  });

  const { page, faults } = await pages.open(`/calls/${String(call["id"])}/edit`);
  const chosen = (label: string) => page.getByLabel(label, { exact: true }).locator(":checked");
  await expect
    .poll(() => chosen("Authentication setting").textContent())
    .toBe(`Setting ${MANY} (BASIC, shop.example)`);
  await expect.poll(() => chosen("Token").textContent()).toBe(`Token ${MANY}`);

  await page.goto(`${api}/tokens?setting=${auth_id}`);
  await page.getByRole("heading", { name: `Tokens of Setting ${MANY}`, level: 1 }).waitFor();

  await page.goto(`${api}/workflows`);
  await page.getByRole("cell", { name: "every 12 hours", exact: true }).waitFor();

  const other = await client.createCall("https://other.example/");
  await page.goto(`${api}/calls/${other}`);
  await page.getByRole("button", { name: "Deploy", exact: true }).first().click();
  const delay = page.getByRole("dialog").getByLabel("Delay, in seconds");
  await page.getByRole("dialog").getByLabel("Runs").selectOption("every minute");
  await expect.poll(() => delay.inputValue()).toBe("15");
  expect(faults).toEqual([]);
});
