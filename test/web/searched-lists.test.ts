// The search in the lists of workflows, settings, tokens and reports, in a real browser.
import { expect, it } from "vitest";
import { expectAccessible, startPages } from "../support/pages.ts";

it("lists show the rows that have every word searched for", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const { client, api } = pages;
  const named = (name: string) => ({ meta: { name, domain: `${name}.example` } });
  for (const name of ["Basket", "Bill"]) {
    const { id: auth_id } = await client.send<{ id: string }>("POST", "/auth/", {
      ...named(name),
      settings: { auth_type: "BASIC" },
    });
    await client.send("POST", "/tokens/", { meta: { name, auth_id } });
    const meta = { name, description: `Of the ${name}`, tags: ["shop"] };
    await client.send("POST", "/workflows/", { meta });
    await client.send("POST", "/reports/", { meta });
  }
  const { page, faults } = await pages.open("/calls");
  const searches = [
    ["workflows", "Workflows", "workflow", "SHOP bask"],
    ["settings", "Settings", "setting", "basket.example"],
    ["tokens", "Tokens", "token", "basket.example"],
    ["reports", "Reports", "report", "shop the basket"],
  ] as const;
  for (const [path, region, one, words] of searches) {
    await page.goto(`${api}/${path}`);
    const list = page.getByRole("region", { name: region, exact: true });
    const rows = list.locator("tbody").getByRole("row");
    const status = list.getByRole("status");
    await expect.poll(() => rows.count()).toBe(2);
    expect(await status.textContent()).toBe(`2 ${one}s`);
    const search = list.getByRole("searchbox", { name: `Search the ${one}s` });
    await search.fill(words);
    await expect.poll(() => status.textContent()).toBe(`1 of 2 ${one}s`);
    expect(await rows.allTextContents()).toEqual([expect.stringContaining("Basket")]);
    await expectAccessible(page);
    // The address keeps the words.
    await page.goto(`${api}/calls`);
    await page.goBack();
    await expect.poll(() => status.textContent()).toBe(`1 of 2 ${one}s`);
    expect(await search.inputValue()).toBe(words);
    await search.fill("basket bill");
    await list.getByText(`No ${one} has all of these words.`).waitFor();
  }
  expect(faults).toEqual([]);
});
