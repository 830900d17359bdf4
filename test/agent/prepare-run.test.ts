import { describe, expect, it } from "vitest";
import { openTick } from "../../src/agent/prepare-run.ts";
import { createTickSealer } from "../../src/dispatch/dispatch.ts";
import { placeOf, tickValidator } from "../../src/model/tick.ts";
import type { Tick } from "../../src/model/tick.ts";
import { createSealer, locationKeyOf } from "../../src/runtime/secrets.ts";
import { newAuthorization, newToken } from "./authorize/authorizing.ts";
import { newCall, newTick } from "./calling.ts";

const [MASTER, OTHER] = [1, 2].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
];
const authorization = newAuthorization("OAUTH2", {
  token: newToken({ access_token: "hush-token" }),
});
const plain = newCall({}, { result_id: "plain" });
const secret = newCall({}, { result_id: "secret", authorization });
const tick: Tick = {
  ...newTick(plain),
  calls: [plain, secret],
  environment: { name: "hush-value" },
};

const seal = createTickSealer((location) => locationKeyOf(MASTER, location));
/** Opens with the location's keys under these master keys, the current one first. */
const openWith =
  (...masters: readonly Uint8Array[]) =>
  (sealed: Tick) => {
    const [current, ...old] = masters.map((master) => locationKeyOf(master, "here"));
    return openTick(sealed, current && createSealer({ current, old }));
  };

describe("a sealed tick", () => {
  it("contains no secret, and everything else", async () => {
    const sealed = tickValidator.parse(await seal(tick));
    // Too long to occur in a ciphertext by chance.
    expect(JSON.stringify(sealed)).not.toMatch(/hush-(token|value)/);
    expect(sealed).toEqual({
      ...newTick(plain),
      calls: [plain, newCall({}, { result_id: "secret" })],
      sealed: expect.stringMatching(/^eyJ[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/) as string,
    });
  });

  it("is left as it is without secrets", async () => {
    expect(await seal(newTick(plain))).toEqual(newTick(plain));
  });

  it.each([
    ["the key of its location", openWith(MASTER)],
    ["an older key beside the current one", openWith(OTHER, MASTER)],
  ])("is opened with %s", async (_, open) => {
    expect(await open(await seal(tick))).toEqual(tick);
  });

  it.each([
    ["no key", openWith(), tick, /^no_location_key: /],
    ["another key", openWith(OTHER), tick, /^wrong_location_key: /],
    [
      "the key of another location",
      openWith(MASTER),
      { ...tick, location_id: "there" },
      /^wrong_location_key: /,
    ],
  ])("is not opened with %s", async (_, open, given, reason) => {
    expect(await open(await seal(given))).toMatch(reason);
  });

  it.each(["{}", "not JSON", '{"authorizations":{"r":{"kind":"NEW"}}}'])(
    "is not opened if it contains %s",
    async (text) => {
      const sealer = createSealer({ current: locationKeyOf(MASTER, "here") });
      const sealed = await sealer.seal(text, placeOf(tick));
      const opened = await openWith(MASTER)({ ...newTick(plain), sealed });
      expect(opened).toMatch(/^agent_error: this agent cannot read the run's credentials/);
      expect(opened).not.toContain("NEW");
    },
  );

  it("does not open in another run", async () => {
    const { sealed = "" } = await seal(tick);
    const other = { ...(await seal(tick)), result_id: "other", sealed };
    expect(await openWith(MASTER)(other)).toMatch(/^wrong_location_key/);
  });
});
