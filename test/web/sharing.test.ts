// What forms offer to share, and what readers see of it, in a real browser.
import { expect, it } from "vitest";
import { runSonde } from "../support/process.ts";
import { expectAccessible, startPages } from "../support/pages.ts";

const FIELDS = [
  ["/calls/new", /^Your organization sees the call/],
  ["/settings/new", /^Your organization may read and use/],
  ["/reports/new", /^Members of /],
  ["/workflows/new", /^Share with the organization/],
] as const;

type Pages = Awaited<ReturnType<typeof startPages>>;

/** Creates an EDITOR key in the organization acme; the client's owner has none. */
async function colleagueKey({ sonde }: Pages, owner = "ann"): Promise<string> {
  const create = ["keys", "create", "--owner", owner, "--org", "acme", "--level", "EDITOR"];
  const { stdout } = await runSonde(create, { env: { SONDE_DATA_DIR: sonde.dataDir } });
  return (JSON.parse(stdout) as { readonly api_key: string }).api_key;
}

/** Creates a call of the client's owner, and resolves to its id. */
const createShared = async ({ client }: Pages, access: object): Promise<string> => {
  const request = { method: "GET", url: "https://shop.example/" };
  const body = { meta: { name: "Shared" }, request, access };
  return (await client.send<{ readonly id: string }>("POST", "/calls/", body)).id;
};

it(
  "a form offers an organization to keys that have one, and to objects that are shared",
  { timeout: 120_000 },
  async () => {
    await using pages = await startPages();
    const key = await colleagueKey(pages);
    const { page, faults } = await pages.open("/calls/new", { key });
    const alone = await pages.open("/calls/new");

    for (const [path, label] of FIELDS) {
      await page.goto(`${pages.api}${path}`);
      const box = page.getByRole("checkbox", { name: label });
      await box.check();
      await box.uncheck();
      await box.check();
      await alone.page.goto(`${pages.api}${path}`);
      await alone.page
        .getByRole("checkbox", { name: /Everyone with|with everyone/ })
        .first()
        .waitFor();
      expect(await alone.page.getByRole("checkbox", { name: label }).count()).toBe(0);
    }

    // An object that was shared by other means keeps its box after unticking.
    const body = {
      meta: { name: "shared", domain: "shop.example" },
      settings: { auth_type: "BASIC" },
      access: { org_settings: true },
    };
    const { id } = await pages.client.send<{ readonly id: string }>("POST", "/auth/", body);
    await alone.page.goto(`${pages.api}/settings/${id}`);
    const box = alone.page.getByRole("checkbox", { name: FIELDS[1][1] });
    await box.uncheck();
    await box.check();
    await box.uncheck();
    await alone.page.getByRole("button", { name: "Save", exact: true }).click();
    await alone.page.getByRole("status").getByText("Saved").waitFor();
    expect(await pages.client.send("GET", `/auth/${id}/`)).toMatchObject({
      access: { org_settings: false },
    });

    // What is ticked is saved.
    await page.goto(`${pages.api}/settings/new`);
    await page.getByLabel("Name", { exact: true }).fill("ours");
    await page.getByLabel("Domain").fill("shop.example");
    await page.getByRole("checkbox", { name: FIELDS[1][1] }).check();
    await page.getByRole("button", { name: "Create the setting" }).click();
    await page.getByRole("heading", { name: "ours", level: 1, exact: true }).waitFor();
    expect(await page.getByRole("checkbox", { name: FIELDS[1][1] }).isChecked()).toBe(true);
    expect([...faults, ...alone.faults]).toEqual([]);
  },
);

it(
  "statistics that may not be read are not asked for again and again",
  { timeout: 120_000 },
  async () => {
    await using pages = await startPages();
    const id = await createShared(pages, { settings: true, stats: true });
    const { page, requested } = await pages.open(`/calls/${id}`, {
      key: await colleagueKey(pages),
    });
    const asked = (): number => requested.filter((url) => url.includes("kind=DAY&limit=57")).length;
    const measured = page.getByLabel("Which calls");
    await measured.waitFor();
    await pages.client.send("PUT", `/calls/${id}/`, { access: { stats: false } });
    const before = asked();
    await measured.selectOption({ index: 1 });
    // A page that asked again and again did so about once in each of these round trips.
    const asks = "fetch('api/2/session/').then((answer) => answer.text())";
    for (let n = 0; n < 100; n += 1) await page.evaluate(asks);
    expect(asked() - before).toBeLessThan(5);
  },
);

it("someone else's call is not said to have no schedule", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const id = await createShared(pages, { settings: true });
  await pages.client.deploy(id);
  const { page } = await pages.open(`/calls/${id}`, { key: await colleagueKey(pages) });
  await page.getByText("You have not scheduled it. Its owner's deployments are not").waitFor();
  expect(await page.getByText("Not scheduled yet.").count()).toBe(0);
});

it.each(["ann", "owner"])(
  "a reader of another organization, '%s', is offered nothing that only members may do",
  { timeout: 120_000 },
  async (name) => {
    await using pages = await startPages();
    const id = await createShared(pages, { settings: true, org: true });
    const shared = { meta: { name: "Shared" }, access: { public: true, org: true } };
    const create = async (path: string): Promise<string> =>
      (await pages.client.send<{ readonly id: string }>("POST", `/${path}/`, shared)).id;
    const workflow = await create("workflows");
    const report = await create("reports");
    const { page, faults } = await pages.open("/calls", {
      key: await colleagueKey(pages, name),
    });
    const offered = page.getByText(/^(Run now|Deploy|Edit|Delete|Save)$/);
    const open = async (path: string): Promise<void> => {
      await page.goto(`${pages.api}/${path}`);
      await page.getByRole("heading", { name: "Shared", level: 1, exact: true }).waitFor();
    };

    await open(`calls/${id}`);
    await page.getByText("The owner does not share the runs of this call with you.").waitFor();
    expect(await offered.count()).toBe(0);
    expect(await page.getByText("API Call not found").count()).toBe(0);
    await open(`workflows/${workflow}`);
    await page.getByText("Only owner may change it.").waitFor();
    expect(await offered.count()).toBe(0);
    await open(`reports/${report}`);
    expect(await offered.count()).toBe(0);
    await page.goto(`${pages.api}/calls/${id}/edit`);
    await page.getByText("Only its owner can change it. You can change a copy.").waitFor();
    expect(faults).toEqual([]);
  },
);

it("a call says which of its parts are not shared", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const { page, faults } = await pages.open("/calls", { key: await colleagueKey(pages) });
  const notShared = page.getByText(/^The owner does not share the /);
  const downloads = page.getByRole("link", { name: /^Download as CSV/ });
  const open = async (access: object): Promise<void> => {
    await page.goto(`${pages.api}/calls/${await createShared(pages, access)}`);
    await page.getByRole("heading", { name: "Shared", level: 1, exact: true }).waitFor();
    await notShared.first().waitFor();
  };

  await open({ settings: true });
  expect(await notShared.allTextContents()).toEqual([
    "The owner does not share the statistics of this call with you.",
    "The owner does not share the runs of this call with you.",
  ]);
  expect(await downloads.count()).toBe(0);
  await expectAccessible(page);

  await open({ settings: true, stats: true });
  expect(await notShared.count()).toBe(1);
  expect(await downloads.allTextContents()).toEqual(["Download as CSV: statistics"]);
  await page.getByRole("heading", { name: "No calls in this range" }).waitFor();
  await page.getByText("No call was made in the last 24 hours.").waitFor();
  expect(await page.getByText(/^Run it now/).count()).toBe(0);
  await page.getByRole("group", { name: "Range" }).getByText("Hour").click();
  await page.getByText(/^Each point of this range is one call/).waitFor();

  await open({ settings: true, results: true });
  expect(await notShared.count()).toBe(1);
  await page.getByText("No runs yet.").waitFor();
  expect(await page.getByText("API Call not found").count()).toBe(0);
  await page.getByText("Owner: owner, shared with everyone (call, results)").waitFor();
  expect(faults).toEqual([]);
});

it("a call names a setting that is no longer shared", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const key = await colleagueKey(pages);
  const setting = {
    meta: { name: "Shop", domain: "shop.example" },
    settings: { auth_type: "BASIC" },
    access: { settings: true },
  };
  const { id } = await pages.client.send<{ readonly id: string }>("POST", "/auth/", setting);
  const { page } = await pages.open("/calls/new", { key });
  await page.getByLabel("URL", { exact: true }).fill("https://shop.example./"); // the same host
  await page.getByLabel("Name", { exact: true }).fill("Home");
  const field = page.getByRole("combobox", { name: "Authentication setting" });
  await field.selectOption("Shop (BASIC, shop.example)");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("heading", { name: "Home", level: 1, exact: true }).waitFor();
  await pages.client.send("PUT", `/auth/${id}/`, { ...setting, access: { settings: false } });
  await page.goto(`${page.url()}/edit`);
  const shown = (): Promise<string> => field.locator("option:checked").innerText();
  await expect.poll(shown).toBe("Deleted, or no longer shared with you");
});

it("the sign-in over unsaved changes says of which organization the key must be", async () => {
  await using pages = await startPages();
  const { page } = await pages.open("/reports/new", { key: await colleagueKey(pages) });
  await page.getByLabel("Name", { exact: true }).fill("Unsaved");
  const other = await page.context().newPage();
  await other.goto(`${pages.api}/reports`);
  await other.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("Sign in with a key of ann of acme (EDITOR) to continue.").waitFor();
});
