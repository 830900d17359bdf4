import { expect, it } from "vitest";
import { createCall, sharedApi, startApi } from "../../support/api.ts";
import type { Caller, List, TestApi } from "../../support/api.ts";

const api = sharedApi();

async function pages(
  { send }: TestApi,
  path: string,
  between: (page: number) => Promise<void> = async () => {},
): Promise<string[][]> {
  const found: string[][] = [];
  let cursor = "";
  do {
    const separator = path.includes("?") ? "&" : "?";
    const from = cursor === "" ? "" : `${separator}cursor=${cursor}`;
    const { body } = await send<List>({ path: `${path}${from}` });
    found.push(body.results.map(({ id }) => id));
    expect(body.meta.more).toBe(body.meta.next_cursor !== "");
    cursor = body.meta.next_cursor;
    await between(found.length);
  } while (cursor !== "");
  return found;
}

async function createCalls(api: TestApi, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push((await createCall(api)).id);
  return ids;
}

it("pages through everything in creation order", async () => {
  const [a, b, c, d, e] = await createCalls(api, 5);
  expect(await pages(api, "/calls/?limit=2")).toEqual([[a, b], [c, d], [e]]);
  expect(await pages(api, "/calls/?limit=5")).toEqual([[a, b, c, d, e]]);
  expect(await pages(api, "/calls/")).toEqual([[a, b, c, d, e]]);
});

it("neither repeats nor skips objects while others come and go", async () => {
  await using api = await startApi();
  const ids = await createCalls(api, 6);
  const found = await pages(api, "/calls/?limit=2", async (page) => {
    if (page > 2) return;
    await createCall(api);
    const gone = ids[page - 1];
    await api.send({ method: "DELETE", path: `/calls/${gone}/` });
  });
  expect(found.flat().slice(0, 6)).toEqual(ids);
  expect(new Set(found.flat()).size).toBe(8);
});

it("ends a page of large objects early: what one owner shares must not hold up others", async () => {
  await using api = await startApi();
  const request = { method: "POST", url: "http://a.test/", body: "x".repeat(500_000) };
  const ids: string[] = [];
  for (let n = 0; n < 10; n += 1) {
    const body = { meta: { name: "large" }, request, access: { settings: true } };
    ids.push((await api.send<{ id: string }>({ method: "POST", path: "/calls/", body })).body.id);
  }
  const expected = [ids.slice(0, 8), ids.slice(8)];
  expect(await pages(api, "/calls/?limit=1000")).toEqual(expected);
  expect(await pages(api, "/calls/overview/?limit=1000")).toEqual(expected);
});

it("answers an empty list with an empty page", async () => {
  await using api = await startApi();
  const { body } = await api.send({ path: "/calls/" });
  expect(body).toEqual({ meta: { more: false, next_cursor: "" }, results: [] });
});

it.each(["0", "-1", "1e9", "1001", "abc", "1.5", "", "99999999999"])(
  "refuses a limit of '%s'",
  async (limit) => {
    const answer = await api.send({ path: `/calls/?limit=${limit}` });
    expect([answer.status, answer.body]).toEqual([
      400,
      {
        error_msg: `limit: '${limit}' is not an integer from 1 to 1000`,
        error: 400,
      },
    ]);
  },
);

it("accepts a cursor with another limit", async () => {
  await using api = await startApi();
  const [, b, c] = await createCalls(api, 3);
  const first = await api.send<List>({ path: "/calls/?limit=1" });
  const { next_cursor } = first.body.meta;
  const rest = await api.send<List>({
    path: `/calls?limit=9&cursor=${next_cursor}`,
  });
  expect(rest.body.results.map(({ id }) => id)).toEqual([b, c]);
});

interface Misuse {
  readonly path?: string;
  readonly change?: (cursor: string) => string;
  readonly as?: (api: TestApi) => Promise<Caller>;
}

it.each<[string, Misuse]>([
  ["of another list", { path: "/deployments/" }],
  ["of another filter", { path: "/calls/?domain=other.test" }],
  ["of another caller", { as: (api) => api.caller("eve") }],
  ["of the same owner in another organization", { as: (api) => api.caller("ann", "org") }],
  [
    "that was edited",
    {
      change: (cursor) => `${cursor.startsWith("A") ? "B" : "A"}${cursor.slice(1)}`,
    },
  ],
  ["whose end was edited", { change: (cursor) => `${cursor.slice(0, -2)}AA` }],
  ["that was cut", { change: (cursor) => cursor.slice(0, -4) }],
  ["with something after it", { change: (cursor) => `${cursor}A` }],
  ["that is padded", { change: (cursor) => `${cursor}=` }],
  ["that was invented", { change: () => "AAAA" }],
  ["that is not base64url", { change: () => "%F0%9F%98%80" }],
  ["that is far too long", { change: (cursor) => cursor.repeat(200) }],
])("refuses a cursor %s", async (_what, { path = "/calls/", change, as }) => {
  await createCalls(api, 2);
  const first = await api.send<List>({ path: "/calls/?limit=1" });
  const { next_cursor } = first.body.meta;
  const cursor = change ? change(next_cursor) : next_cursor;
  const answer = await api.send({
    path: `${path}${path.includes("?") ? "&" : "?"}cursor=${cursor}`,
    as: as ? await as(api) : api.ann,
  });
  expect(answer.status).toBe(400);
  expect(answer.body["error_msg"]).toMatch(
    /^cursor: '.*' is not a cursor of this list with these filters and this order$|^cursor: '.*\.\.\. is not a cursor of this list with these filters and this order$/,
  );
});

it("refuses a cursor that another key signed", async () => {
  await using other = await startApi({ config: { cursorKey: new Uint8Array(32) } });
  await createCalls(other, 2);
  const { body } = await other.send<List>({ path: "/calls/?limit=1" });
  const answer = await api.send({
    path: `/calls/?cursor=${body.meta.next_cursor}`,
  });
  expect(answer.status).toBe(400);
});
