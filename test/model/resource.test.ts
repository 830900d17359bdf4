// Creating and updating a resource: defaults, merging, read-only properties.
import { describe, expect, it } from "vitest";
import { callResource } from "../../src/model/call.ts";
import type { Call } from "../../src/model/call.ts";

const NOW = Date.parse("2026-10-01T12:34:56.789Z");
const LATER = NOW + 1000;
const identity = { id: "call-1", owner: "ann", now: NOW };
const minimal = {
  meta: { name: "home" },
  request: { method: "get", url: "https://Example.test:8443/a?b=c" },
};

const aCall = (body: unknown = minimal): Call => callResource.create(body, identity);
const update = (body: unknown, call = aCall()): Call => callResource.update(call, body, LATER);

describe("a call that is created", () => {
  it("keeps the given fields, and fills in the rest", () => {
    const { access, request } = aCall({
      ...minimal,
      access: { stats: true },
      request: { ...minimal.request, headers: [{ key: "a", value: "b" }] },
    });
    expect(access).toEqual({
      settings: false,
      results: false,
      stats: true,
      org: false,
    });
    expect(request.headers).toEqual([{ key: "a", value: "b" }]);
  });

  it("shares no default with another one", () => {
    const first = aCall();
    first.meta.tags.push("mine");
    expect(aCall().meta.tags).toEqual([]);
  });

  it.each([
    [
      "an id",
      { ...minimal, id: "mine" },
      "Additional properties are not allowed ('id' was unexpected)",
    ],
    [
      "a misspelt property",
      { ...minimal, request: { ...minimal.request, header: [] } },
      "Additional properties are not allowed ('header' was unexpected) in request",
    ],
    ["no meta", { request: minimal.request }, "'meta.name' is a required property"],
    ["no name", { ...minimal, meta: {} }, "'meta.name' is a required property"],
    ["no url", { ...minimal, request: { method: "GET" } }, "'request.url' is a required property"],
    [
      "a url that is too long",
      {
        ...minimal,
        request: { method: "GET", url: `http://a/${"x".repeat(17_000)}` },
      },
      `request.url: 'http://a/${"x".repeat(87)}... is too long (at most 16384 characters)`,
    ],
    [
      "null for a flag",
      { ...minimal, access: { org: null } },
      "access.org: null is not of type boolean",
    ],
    [
      "a bad method",
      { ...minimal, request: { ...minimal.request, method: "GE T" } },
      "request.method: 'GE T' is not an HTTP method",
    ],
    [
      "a bad url",
      { ...minimal, request: { ...minimal.request, url: "ftp://x" } },
      "request.url: 'ftp://x' is not a valid http or https URL",
    ],
    ["nothing", {}, "'meta.name' is a required property (and 2 other faults)"],
  ])("is refused with %s", (_, body, message) => {
    expect(() => aCall(body)).toThrow(expect.objectContaining({ code: "invalid", message }));
  });
});

describe("a call that is updated", () => {
  it("changes only the given fields and its last update", () => {
    const before = aCall();
    const after = update({ request: { parameters: [{ key: "q", value: "1" }] } }, before);
    expect(after).toEqual({
      ...before,
      meta: { ...before.meta, last_update: "2026-10-01T12:34:57.789000Z" },
      request: { ...before.request, parameters: [{ key: "q", value: "1" }] },
    });
  });

  it("replaces arrays", () => {
    const before = aCall({ ...minimal, meta: { name: "n", tags: ["a", "b"] } });
    expect(update({ meta: { tags: ["c"] } }, before).meta.tags).toEqual(["c"]);
    expect(update({ meta: { tags: [] } }, before).meta.tags).toEqual([]);
  });

  it("clears with null", () => {
    const before = aCall({ ...minimal, meta: { name: "n", description: "d" } });
    expect(update({ meta: { description: null } }, before).meta.description).toBeNull();
  });

  it("resets no other field to its default", () => {
    const before = aCall({ ...minimal, access: { org: true } });
    expect(update({ access: { stats: true } }, before).access).toEqual({
      settings: false,
      results: false,
      stats: true,
      org: true,
    });
  });

  it("updates its domain and method", () => {
    const after = update({
      request: { url: "http://other.test/", method: "post" },
    });
    expect(after.meta.domain).toBe("other.test");
    expect(after.request.method).toBe("POST");
  });

  it("leaves the original document unchanged", () => {
    const before = Object.freeze(aCall());
    update({ meta: { name: "new" }, request: { headers: [] } }, before);
    expect(before).toEqual(aCall());
  });

  it("ignores read-only properties, whatever their value", () => {
    const { id: _, ...whole } = aCall();
    const odd = { owner: 5, domain: null, created: ["2020"], last_update: { at: "noon" } };
    for (const meta of [whole.meta, { ...whole.meta, ...odd }])
      expect(update({ ...whole, meta: { ...meta, name: "new" } }).meta).toEqual({
        ...whole.meta,
        name: "new",
        last_update: "2026-10-01T12:34:57.789000Z",
      });
    expect(aCall({ ...minimal, meta: { name: "home", ...odd } })).toEqual(aCall());
  });

  it("accepts changes though its stored document breaks a newer rule", () => {
    const call = aCall();
    const old = { ...call, request: { ...call.request, method: "G E T" } };
    expect(update({ meta: { name: "new" } }, old).meta.name).toBe("new");
    expect(() => update({ request: { method: "G E T" } }, old)).toThrow("is not an HTTP method");
  });

  it.each([
    ["its own id", { id: "call-1" }, "Additional properties are not allowed ('id' was unexpected)"],
    ["another id", { id: "call-2" }, "Additional properties are not allowed ('id' was unexpected)"],
    ["null for a name", { meta: { name: null } }, "meta.name: null is not of type string"],
    ["null for an object", { request: null }, "request: null is not of type object"],
    ["an array for the body", [], "body: [] is not of type object"],
    [
      "half a pair",
      { request: { headers: [{ key: "a" }] } },
      "'request.headers[0].value' is a required property",
    ],
  ])("is refused with %s", (_, body, message) => {
    expect(() => update(body)).toThrow(expect.objectContaining({ code: "invalid", message }));
  });

  it("accepts an empty change", () => {
    const { meta, ...rest } = update({});
    expect({ ...rest, meta: { ...meta, last_update: meta.created } }).toEqual(aCall());
  });
});
