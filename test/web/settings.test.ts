// The pages of authentication settings, tokens and environment, in a real browser.
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { keepPicture } from "../support/browser.ts";
import type { Json } from "../support/client.ts";
import { MARKER, MARKUP } from "../support/hostile-text.ts";
import { expectAccessible, OWNER_KEY, startPages } from "../support/pages.ts";

const SECRETS = {
  password: "first-password-9f2c",
  replaced: "second-password-77d1",
  variable: "custom-variable-a81b",
  header: "manual-header-value-3c40",
  environment: "environment-value-5e6d",
};

/** Returns everything that the page keeps where a script, a reload or another page may see it. */
const kept = (page: Page): Promise<string> =>
  page.evaluate(`JSON.stringify([
    document.documentElement.outerHTML,
    [...document.querySelectorAll("input, textarea")].map((field) => field.value),
    { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state,
  ])`);

async function expectNoSecret(page: Page): Promise<void> {
  const text = await kept(page);
  for (const secret of Object.values(SECRETS)) expect(text).not.toContain(secret);
}

it(
  "credentials are entered, kept, replaced and deleted, and never shown again",
  { timeout: 180_000 },
  async () => {
    await using pages = await startPages();
    const { client, api } = pages;
    const { page, faults, requested } = await pages.open("/settings");
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const said = (text: string) => page.getByRole("status").getByText(text).waitFor();

    // A setting: the interface refuses a domain, and says so at the field.
    await page.getByRole("heading", { name: "No authentication settings yet" }).waitFor();
    await keepPicture(page, "settings-empty");
    await page.getByRole("link", { name: "New setting" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill(MARKUP);
    await page.getByLabel("Domain").fill("com");
    await page.getByLabel("Authentication type").selectOption("BASIC");
    await page.getByLabel("User name").fill("ann");
    await page.getByLabel("Password").fill(SECRETS.password);
    await button("Add a variable").click();
    const variable = page.getByRole("group", { name: "Custom variables" });
    await variable.getByLabel("Name").fill("tenant");
    await variable.getByLabel("Value").fill(SECRETS.variable);
    await button("Create the setting").click();
    await page.getByText(/^'com' is not a host below a public suffix/).waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.value")).toBe("com");
    await keepPicture(page, "settings-fault");
    await page.getByLabel("Domain").fill("shop.example");
    await button("Create the setting").click();
    await page.getByRole("heading", { name: MARKUP, level: 1 }).waitFor();
    await expectNoSecret(page);
    await expectAccessible(page);

    // Untouched fields stay as they are; a secret is replaced.
    const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    await page.getByLabel("Tags").fill("shop, tests");
    await button("Save").click();
    await said("Saved");
    expect(await client.send("GET", `/auth/${id}/`)).toMatchObject({
      meta: { tags: ["shop", "tests"] },
      keys: { client_id: "ann", client_secret: SECRETS.password },
      settings: { custom_variables: { tenant: SECRETS.variable } },
    });
    await button("Replace Password (client secret)").click();
    await page.getByLabel("Password").fill(SECRETS.replaced);
    await page.getByLabel("Authentication type").selectOption("MANUAL");
    await page.getByLabel("Authentication type").selectOption("BASIC");
    // The new password is still in its field.
    expect(await page.getByLabel("Password").inputValue()).toBe(SECRETS.replaced);
    // The key has no organization to share with.
    await page.getByLabel("Everyone with an API key may read and use this setting").check();
    const organization = page.getByLabel("Your organization may read and use this setting");
    expect(await organization.count()).toBe(0);
    await button("Save").click();
    await button("Replace Password (client secret)").waitFor();
    expect(await client.send("GET", `/auth/${id}/`)).toMatchObject({
      access: { org_settings: false, settings: true },
      keys: { client_secret: SECRETS.replaced },
    });
    await expectNoSecret(page);
    await keepPicture(page, "setting");

    // Somebody else changes it meanwhile: the change here is saved on top, and theirs stays.
    await page.getByLabel("Description").fill("Mine");
    await client.send("PUT", `/auth/${id}/`, {
      meta: { name: "Renamed elsewhere", domain: "shop.example" },
      access: { org_settings: true },
    });
    await button("Save").click();
    await page.getByRole("heading", { name: "The setting has been changed" }).waitFor();
    await expectAccessible(page);
    await button("Save my changes").click();
    await page.getByRole("heading", { name: "Renamed elsewhere", level: 1, exact: true }).waitFor();
    expect(await organization.isChecked()).toBe(true);
    expect(await client.send("GET", `/auth/${id}/`)).toMatchObject({
      meta: { name: "Renamed elsewhere", description: "Mine" },
      keys: { client_secret: SECRETS.replaced },
    });

    // A token of a MANUAL setting: one header keeps its value while another is added.
    await client.send("PUT", `/auth/${id}/`, {
      meta: { domain: "shop.example" },
      settings: { auth_type: "MANUAL" },
    });
    await page.goto(`${api}/tokens?setting=${id}`);
    await button("New token").first().click();
    await page.getByLabel("Name", { exact: true }).fill("mine");
    // Escape asks before it closes a form with unsaved changes, however often it is pressed.
    const question = page.getByRole("heading", { name: "Leave without saving?" });
    for (const _ of ["first", "second"]) {
      await page.keyboard.press("Escape");
      await question.waitFor();
      await page.keyboard.press("Escape");
      await question.waitFor({ state: "detached" });
      await expect.poll(() => page.evaluate("document.activeElement.value")).toBe("mine");
    }
    await button("Add a header").click();
    const headers = page.getByRole("group", { name: "Headers" });
    await headers.getByLabel("Name").fill("not a name");
    await headers.getByLabel("Value").fill(SECRETS.header);
    await button("Create").click();
    await page.getByText("'not a name' is not a valid header name").waitFor();
    // A fault of the whole list is shown below it.
    await headers.getByLabel("Name").fill("Host");
    await button("Add a header").click();
    await headers.getByLabel("Name").nth(1).fill("Host");
    await button("Create").click();
    await headers.getByText("'Host' is given more than once").waitFor();
    await button("Remove Host").nth(1).click();
    await headers.getByLabel("Name").fill("X-Tenant");
    await page.getByLabel("Expires at").fill("2020-01-01T00:00:00Z");
    await button("Create").click();
    await page.getByText(/^Expired \d+ d ago$/).waitFor();
    await expectNoSecret(page);
    await button("Edit mine").click();
    await button("Add a header").click();
    await headers.getByLabel("Name").nth(1).fill("X-Other");
    await headers.getByLabel("Value").nth(1).fill("other");
    await page.getByLabel("Expires at").fill("");
    await expectAccessible(page);
    await keepPicture(page, "token-form");
    await button("Save").click();
    await page.getByText("Does not expire", { exact: true }).waitFor();
    const [token] = (await client.send<{ results: Json[] }>("GET", "/tokens/")).results;
    expect(token?.["token"]).toMatchObject({
      headers: [
        { key: "X-Tenant", value: SECRETS.header },
        { key: "X-Other", value: "other" },
      ],
      expire_time: null,
    });
    await expectAccessible(page);

    // The interface refuses to delete a setting in use, in its own words.
    await page.goto(`${api}/settings/${id}`);
    await page.getByRole("button", { name: /^Delete the setting/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("This Authentication Setting is used by 1 Token").waitFor();
    await page.keyboard.press("Escape");
    await page.goto(`${api}/tokens`);
    await button('Delete the token "mine"').click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "No tokens yet" }).waitFor();

    // A variable's name is refused at the field; a value is set, changed and deleted.
    await page.goto(`${api}/environment`);
    await button("New variable").click();
    await page.getByLabel("Name", { exact: true }).fill("9 lives");
    await page.getByLabel("Value").fill(SECRETS.environment);
    await button("Save").click();
    await page.getByText(/^'9 lives' does not match/).waitFor();
    await expectAccessible(page);
    await page.getByLabel("Name", { exact: true }).fill("host");
    await page.getByLabel("Workspace", { exact: true }).fill("a/b <b>");
    // The session ends meanwhile: after signing in again, the variable is saved.
    await page.context().clearCookies();
    await button("Save").click();
    await page.getByRole("heading", { name: "Sign in again" }).waitFor();
    await page.getByLabel("API key").fill(OWNER_KEY);
    await button("Sign in").click();
    await page.getByRole("heading", { name: "a/b <b>" }).waitFor();
    await page.getByRole("rowheader", { name: "{{host}}" }).waitFor();
    await expectNoSecret(page);
    // A new variable replaces none.
    await button("New variable").click();
    await page.getByLabel("Name", { exact: true }).fill("host");
    await page.getByLabel("Value").fill("another");
    await button("Save").click();
    await page.getByText(/^'host' is in the workspace 'a\/b <b>' already/).waitFor();
    await button("Cancel").click();
    await button("Leave").click();
    await button("Change host").click();
    await page.getByLabel("New value").fill(`${SECRETS.environment}!`);
    await button("Save").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await said("Saved host");
    const path = `/environment/${encodeURIComponent("a/b <b>")}/host`;
    expect(await client.send("GET", path)).toMatchObject({
      workspace_variable: { value: `${SECRETS.environment}!` },
    });
    await expectNoSecret(page);
    await expectAccessible(page);
    await keepPicture(page, "environment");
    const workspaces = page.getByRole("navigation", { name: "Workspaces" }).getByRole("link");
    expect(await workspaces.allTextContents()).toEqual(["global0", "a/b <b>1"]);
    await button("Delete the variable host").click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await expect
      .poll(() => page.evaluate("document.activeElement.textContent"))
      .toBe("Delete the variable host");
    await button("Delete the variable host").click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "No variables here yet" }).waitFor();

    expect(await page.evaluate(`typeof ${MARKER}`)).toBe("undefined");
    expect(faults).toEqual([]);
    expect(requested.filter((url) => !url.startsWith(api))).toEqual([]);
  },
);

it("a read-only key sees everything but secrets", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const { client, api } = pages;
  const { id } = await client.send<{ id: string }>("POST", "/auth/", {
    meta: { name: "Shop", domain: "shop.example" },
    keys: { client_id: "ann", client_secret: SECRETS.password },
    settings: { auth_type: "BASIC", custom_variables: { tenant: SECRETS.variable } },
  });
  await client.send("POST", "/tokens/", {
    meta: { name: "mine", auth_id: id },
    token: { access_token: SECRETS.header },
  });
  await client.send("POST", "/environment/global/host", { value: SECRETS.environment });
  const { api_key: key } = await client.send<{ api_key: string }>("POST", "/api_keys/", {
    access_level: "VIEWER",
  });
  const { page, faults } = await pages.open("/settings", { key });
  const offered = () => page.locator("main").getByRole("button").allTextContents();

  await page.getByRole("link", { name: "Shop" }).click();
  await page.getByText("shop.example").waitFor();
  await expect.poll(() => page.getByText("hidden").count()).toBe(3);
  expect(await offered()).toEqual([]);
  await expectNoSecret(page);
  await expectAccessible(page);
  await keepPicture(page, "setting-viewer");
  await page.goto(`${api}/settings/new`);
  await page.getByText("You need an EDITOR or OWNER key to create settings").waitFor();
  await page.goto(`${api}/tokens`);
  await page.getByText("Does not expire").waitFor();
  expect(await offered()).toEqual([]);
  await page.goto(`${api}/environment`);
  await page.getByRole("cell", { name: "hidden" }).waitFor();
  expect(await offered()).toEqual(["Copy {{host}}"]);
  expect(faults).toEqual([]);
});

type Pages = Awaited<ReturnType<typeof startPages>>;

it("what cannot be read is not guessed", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  const { id } = await pages.client.send<{ id: string }>("POST", "/auth/", {
    meta: { name: "Shop", domain: "shop.example" },
    settings: { auth_type: "OAUTH2" },
  });
  await pages.client.send("POST", "/tokens/", {
    meta: { name: "Mine", auth_id: id },
    token: { access_token: SECRETS.password },
  });
  const { page } = await pages.open("/tokens");
  await page.getByRole("link", { name: "Shop" }).waitFor();
  const unavailable = { status: 503, json: { error_msg: "The store is not available" } };
  await page.route("**/api/2/auth/?*", (route) => route.fulfill(unavailable));
  await page.reload();
  await page.getByText("The store is not available").waitFor();
  await page.getByRole("rowheader", { name: "Mine", exact: true }).waitFor();
  expect(await page.getByText("no longer shared with you").count()).toBe(0);
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();

  await page.getByRole("link", { name: "Shop" }).click();
  await page.getByRole("link", { name: "Mine" }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole("link", { name: "Mine" }).click();
  await page.getByText("Sonde is not responding.").first().waitFor();
  await page.context().setOffline(false);
  await page.getByRole("rowheader", { name: "Mine", exact: true }).waitFor();
  await asksForRefreshToken(pages);
  await saysWhatTokenLacks(pages);
  await keepsUnreadToken(pages);
});

/** A call's form does not say that there is no token, nor show that the call has none. */
async function keepsUnreadToken({ client, ...pages }: Pages): Promise<void> {
  const make = async (path: string, body: object) =>
    (await client.send<{ id: string }>("POST", path, body)).id;
  const auth_id = await make("/auth/", {
    meta: { name: "Post", domain: "post.example" },
    settings: { auth_type: "OAUTH2" },
  });
  const token_id = await make("/tokens/", { meta: { name: "Stamp", auth_id } });
  const id = await make("/calls/", {
    meta: { name: "Send" },
    request: { method: "GET", url: "https://post.example/", auth_id, token_id },
  });
  const { page } = await pages.open("/calls");
  const lists = ["**/api/2/tokens/auth/**", "**/api/2/auth/?*"];
  const unavailable = { status: 503, json: { error_msg: "The store is not available" } };
  for (const list of lists) await page.route(list, (route) => route.fulfill(unavailable));
  await page.goto(`${pages.api}/calls/${id}/edit`);
  const card = page.getByRole("region", { name: "Authentication" });
  await expect.poll(() => card.getByText("The store is not available").count()).toBe(2);
  const shown = () => card.locator("option:checked").allTextContents();
  expect(await shown()).toEqual(["Not known", "Not known"]);
  expect(await card.getByText("You have no token").count()).toBe(0);
  await page.unrouteAll();
  await card.getByRole("button", { name: "Try again" }).first().click();
  await card.getByRole("button", { name: "Try again" }).last().click();
  await expect.poll(shown).toEqual(["Post (OAUTH2, post.example)", "Stamp"]);
}

/** Sonde obtains a token with a refresh token only if it has one. */
async function asksForRefreshToken({ client, ...pages }: Pages): Promise<void> {
  const { id: auth_id } = await client.send<{ id: string }>("POST", "/auth/", {
    meta: { name: "Bank", domain: "bank.example" },
    settings: { auth_type: "OAUTH2", access_token_url: "https://bank.example/token" },
  });
  const grant = { grant_type: "refresh_token" };
  await client.send("POST", "/tokens/", { meta: { name: "Missing", auth_id }, token: grant });
  await client.send("POST", "/tokens/", {
    meta: { name: "Stored", auth_id },
    token: { ...grant, refresh_token: SECRETS.password },
  });
  const { page } = await pages.open("/tokens");
  const row = (name: string) => page.getByRole("row", { name });
  await row("Missing").getByText("Enter its refresh token.").waitFor();
  expect(await row("Stored").getByText("Enter its refresh token.").count()).toBe(0);
}

/** Calls with a token that is empty and that nothing fills are not made. */
async function saysWhatTokenLacks({ client, ...pages }: Pages): Promise<void> {
  const make = async (name: string, auth_type: string, token = {}, settings = {}) => {
    const meta = { name, domain: "bank.example" };
    const body = { meta, settings: { auth_type, ...settings } };
    const { id: auth_id } = await client.send<{ id: string }>("POST", "/auth/", body);
    await client.send("POST", "/tokens/", { meta: { name, auth_id }, token });
  };
  const grant = { grant_type: "client_credentials" };
  await make("Nowhere", "OAUTH2", grant);
  await make("Assertion", "OAUTH2_JWT");
  await make("By hand", "OAUTH2");
  await make("Optional", "AMAZON");
  await make("Soon", "OAUTH2", grant, { access_token_url: "https://bank.example/token" });
  const { page } = await pages.open("/tokens");
  const says = (name: string, text: string) =>
    page.getByRole("row", { name }).getByText(text).waitFor();
  await says("Nowhere", "Enter the token URL of its setting.");
  await says("Assertion", "Enter the token URL of its setting.");
  await says("By hand", "Enter it: calls that use the token are not made.");
  await says("Optional", "Does not expire");
  const soon = page.getByRole("row", { name: "Soon" });
  expect(await soon.getByText("No access token").count()).toBe(0);
}

it("nothing that is typed is lost", { timeout: 120_000 }, async () => {
  await using pages = await startPages();
  await staysWhileSaving(pages);
  await keepsStoredHeaders(pages);
  await savesVariableOnce(pages);
  await namesVariableOnce(pages);
  await keepsPartsOpen(pages);
  await asksAgainForKey(pages);
  await keepsNewKey(pages);
});

/** The reader goes on typing before the answer to a form arrives. */
async function staysWhileSaving({ client, ...pages }: Pages): Promise<void> {
  const { page, faults } = await pages.open("/settings/new");
  const save = (name: string) => page.getByRole("button", { name, exact: true }).click();
  const said = (text: string) => page.getByRole("status").getByText(text).waitFor();
  const answer = Promise.withResolvers<void>();
  const asked = page.waitForRequest((request) => request.method() === "POST");
  await page.route("**/api/2/auth/**", async (route) => {
    if (route.request().method() !== "GET") await answer.promise;
    await route.continue();
  });
  const description = page.getByLabel("Description");
  await page.getByLabel("Name", { exact: true }).fill("Shop");
  await page.getByLabel("Domain").fill("shop.example");
  await save("Create the setting");
  await asked;
  await description.pressSequentially("typed meanwhile");
  answer.resolve();
  await said("Saved, except for your changes since then");
  expect(await description.inputValue()).toBe("typed meanwhile");
  expect(await page.evaluate("document.activeElement.value")).toBe("typed meanwhile");
  await save("Save");
  await page.getByRole("heading", { name: "Shop", level: 1, exact: true }).waitFor();
  const { results } = await client.send<{ results: Json[] }>("GET", "/auth/");
  expect(results).toMatchObject([{ meta: { name: "Shop", description: "typed meanwhile" } }]);
  expect(faults).toEqual([]);
}

/** The reader removes a header, saves, and adds another before the answer arrives. */
async function keepsStoredHeaders({ client, ...pages }: Pages): Promise<void> {
  const { id: auth_id } = await client.send<{ id: string }>("POST", "/auth/", {
    meta: { name: "By hand", domain: "hand.example" },
    settings: { auth_type: "MANUAL" },
  });
  const headers = ["X-Old", "X-Kept"].map((key) => ({ key, value: `secret of ${key}` }));
  const { id } = await client.send<{ id: string }>("POST", "/tokens/", {
    meta: { name: "Headers", auth_id },
    token: { headers },
  });
  const { page } = await pages.open("/tokens");
  const answer = Promise.withResolvers<void>();
  const asked = page.waitForRequest((request) => request.method() === "PUT");
  await page.route(`**/api/2/tokens/${id}/`, async (route) => {
    if (route.request().method() === "PUT") await answer.promise;
    await route.continue();
  });
  await page.getByRole("button", { name: "Edit Headers" }).click();
  const form = page.getByRole("dialog");
  const save = form.getByRole("button", { name: "Save", exact: true });
  await form.getByRole("button", { name: "Remove X-Old" }).click();
  await save.click();
  await asked;
  await form.getByRole("button", { name: "Add a header" }).click();
  await form.getByLabel("Name of header 2").fill("X-New");
  await form.getByLabel("Value of header 2").fill("typed meanwhile");
  answer.resolve();
  await page.getByRole("status").getByText("Saved, except for your changes since then").waitFor();
  await save.click();
  await form.waitFor({ state: "detached" });
  expect(await client.send("GET", `/tokens/${id}/`)).toMatchObject({
    token: { headers: [headers[1], { key: "X-New", value: "typed meanwhile" }] },
  });
}

/** Saves a new variable again, because the answer did not arrive. */
async function savesVariableOnce({ client, ...pages }: Pages): Promise<void> {
  const { page } = await pages.open("/environment");
  const save = page.getByRole("button", { name: "Save", exact: true });
  await page.getByRole("button", { name: "New variable" }).click();
  await page.getByLabel("Name", { exact: true }).fill("once");
  await page.getByLabel("Value").fill("kept");
  let lost = false;
  await page.route("**/api/2/environment/global/once", async (route) => {
    if (lost || route.request().method() !== "POST") return route.fallback();
    lost = true;
    await route.fetch();
    return route.abort();
  });
  await save.click();
  await page.getByText("Sonde is not responding.").waitFor();
  await save.click();
  await page.getByRole("rowheader", { name: "{{once}}" }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const expectKept = async () =>
    expect(await client.send("GET", "/environment/global/once")).toMatchObject({
      workspace_variable: { value: "kept" },
    });
  await expectKept();
  await page.getByRole("button", { name: /^Change/ }).click();
  await save.click();
  await page.getByText("A value is required").waitFor();
  await expectKept();
}

/** A second variable of the same name would replace the first, which nobody can read. */
async function namesVariableOnce({ client, ...pages }: Pages): Promise<void> {
  const { id } = await client.send<{ id: string }>("POST", "/auth/", {
    meta: { name: "Twice", domain: "shop.example" },
    settings: { auth_type: "NONE", custom_variables: { tenant: SECRETS.variable } },
  });
  const { page } = await pages.open(`/settings/${id}`);
  const save = page.getByRole("button", { name: "Save", exact: true });
  const variables = page.getByRole("group", { name: "Custom variables" });
  const stored = () => client.send("GET", `/auth/${id}/`);
  await page.getByRole("button", { name: "Add a variable" }).click();
  await variables.getByLabel("Name").nth(1).fill("tenant");
  await variables.getByLabel("Value").last().fill("another");
  await save.click();
  await variables.getByText("'tenant' is given twice").waitFor();
  expect(await stored()).toMatchObject({
    settings: { custom_variables: { tenant: SECRETS.variable } },
  });
  // A fault of one variable is shown at this one.
  await variables.getByLabel("Name").nth(1).fill("region");
  await variables.getByLabel("Value").last().fill("x".repeat(8193));
  await save.click();
  await variables.getByText(/ is too long \(at most 8192 characters\)$/).waitFor();
  await expect
    .poll(() => page.evaluate("document.activeElement.getAttribute('aria-label')"))
    .toBe("Name of variable 2");
  await variables.getByLabel("Value").last().fill("another");
  await save.click();
  await page.getByRole("status").getByText("Saved").waitFor();
  expect(await stored()).toMatchObject({
    settings: { custom_variables: { tenant: SECRETS.variable, region: "another" } },
  });

  // A run does not take one of two values either.
  const call = await client.createCall("https://shop.example/");
  await page.goto(`${pages.api}/calls/${call}`);
  const panel = page.getByRole("region", { name: "Run now" });
  await panel.locator("summary").click();
  for (const at of [1, 2]) {
    await panel.getByRole("button", { name: "Add a value" }).click();
    await panel.getByLabel(`Name of value ${at}`).fill("HOST");
  }
  await panel.getByRole("button", { name: "Run now" }).click();
  await panel.getByText("'HOST' is given twice").waitFor();
  await panel.getByLabel("Name of value 2").fill("host");
  await panel.getByRole("button", { name: "Run now" }).click();
  await panel.getByText("'HOST' and 'host' are the same variable").waitFor();
}

/** A part of a form that the reader has opened stays open when its last value is removed. */
async function keepsPartsOpen(pages: Pages): Promise<void> {
  const { page } = await pages.open("/settings/new");
  for (const [part, label] of [
    ["Client certificate", "Certificate (ssl_cert)"],
    ["Links", "Home page of the provider"],
  ] as const) {
    await page.locator("summary", { hasText: part }).click();
    await page.getByLabel(label).fill("x");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("y");
    expect(await page.getByLabel(label).inputValue()).toBe("y");
  }
  const call = await pages.client.createCall("https://shop.example/");
  const { page: run } = await pages.open(`/calls/${call}`);
  const panel = run.getByRole("region", { name: "Run now" });
  await panel.locator("summary").click();
  await panel.getByRole("button", { name: "Add a value" }).click();
  await panel.getByRole("button", { name: "Remove value 1" }).click();
  await expect.poll(() => run.evaluate("document.activeElement.textContent")).toBe("Add a value");
}

/** The answer with the new key breaks off, and so does a list. */
async function asksAgainForKey({ client, ...pages }: Pages): Promise<void> {
  const { page } = await pages.open("/keys");
  await page.getByRole("button", { name: "Issue a key" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Build server");
  const breakOff = (path: string, method: string) =>
    page.route(path, async (route) => {
      if (route.request().method() !== method) return route.fallback();
      const response = await route.fetch();
      return route.fulfill({ response, body: (await response.text()).slice(0, -9) });
    });
  const path = "**/api/2/api_keys/**";
  await breakOff(path, "POST");
  const issue = page.getByRole("button", { name: "Issue the key" });
  await issue.click();
  await page.getByText("Sonde's answer was cut off. Try again.").waitFor();
  await page.unroute(path);
  await issue.click();
  await page.getByRole("heading", { name: "The new key" }).waitFor();
  const { results } = await client.send<{ results: { name: string }[] }>("GET", "/api_keys/");
  expect(results.filter(({ name }) => name === "Build server")).toHaveLength(1);

  await breakOff(path, "GET");
  await page.goto(`${pages.api}/keys`);
  await page.getByText("Sonde's answer was cut off. Try again.").waitFor();
}

/** A key is shown only once: its dialog asks before it is closed without a copy. */
async function keepsNewKey(pages: Pages): Promise<void> {
  const { page } = await pages.open("/keys", {
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const dialog = (name: string) => page.getByRole("dialog", { name, exact: true });
  const { keyboard } = page;

  await button("Issue a key").click();
  await dialog("Issue a key").waitFor();
  await keyboard.press("Escape");
  await dialog("Issue a key").waitFor({ state: "detached" });
  await button("Issue a key").click();
  await page.getByLabel("Name", { exact: true }).fill("Laptop");
  await keyboard.press("Escape");
  await dialog("Leave without saving?").waitFor();
  await keyboard.press("Escape");
  await dialog("Leave without saving?").waitFor({ state: "detached" });
  await expect.poll(() => page.evaluate("document.activeElement.value")).toBe("Laptop");
  await keyboard.press("Enter");

  const shown = (await dialog("The new key").locator("code").textContent()) ?? "";
  for (const close of [() => keyboard.press("Escape"), () => button("Done").click()]) {
    await close();
    await dialog("Close without copying the key?").waitFor();
    await button("Stay").click();
    await dialog("Close without copying the key?").waitFor({ state: "detached" });
  }
  await page.evaluate("navigator.clipboard.writeText('')");
  // As over plain http.
  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error())");
  await button("Copy the key").click();
  await page.getByText("Copied", { exact: true }).waitFor();
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Copy the key");
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(shown);
  await keyboard.press("Escape");
  await dialog("The new key").waitFor({ state: "detached" });

  await button("Issue a key").click();
  await button("Issue the key").click();
  await dialog("The new key").waitFor();
  await keyboard.press("Escape");
  await button("Close").click();
  await dialog("The new key").waitFor({ state: "detached" });

  // The question before one is revoked is not cut off.
  await page.getByRole("button", { name: /^Revoke the key Laptop/ }).click();
  const question = page.getByRole("dialog");
  await question.getByText(/^Programs that use it are rejected/).waitFor();
  expect(await question.evaluate((shown) => shown.scrollWidth - shown.clientWidth)).toBe(0);
}
