import { beforeAll, afterAll, describe, expect, it } from "vitest";
import { DEFAULT_BEHAVIOUR } from "../../../src/model/behaviour.ts";
import { parseEgressAllow } from "../../../src/net/egress.ts";
import { CallFailure } from "../../../src/agent/http/failure.ts";
import { createHttpCaller } from "../../../src/agent/http/http-call.ts";
import { createHostResolver } from "../../../src/net/resolve-host.ts";
import { createUplink } from "../../../src/agent/http/uplink.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { startBlackHole } from "../../support/black-hole.ts";
import type { BlackHole } from "../../support/black-hole.ts";
import { freePort } from "../../support/free-port.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { startNameServer } from "../../support/name-server.ts";
import { silent, startRawTarget } from "../../support/target-server.ts";
import { undisturbed } from "../../support/undisturbed.ts";
import { codeOf, requestOf, timingOfCall } from "../calling.ts";

const resolver = createHostResolver({ clock: systemClock });
const failed = new CallFailure("connect_timeout", "nobody answered");

let hole: BlackHole;
let down: string;
beforeAll(async () => {
  hole = await startBlackHole();
  down = `127.0.0.1:${hole.port}`;
});
afterAll(() => hole[Symbol.asyncDispose]());

/** Its address is unroutable, so the check fails at once. */
const deadUplink = createUplink({
  addresses: ["224.0.0.1:1"],
  clock: systemClock,
  resolver,
});

const uplinkOf = (...addresses: string[]) =>
  createUplink({ addresses, clock: systemClock, resolver });

describe("a failure of the network", () => {
  it.each([
    "dns_not_found",
    "dns_timeout",
    "dns_failure",
    "connect_refused",
    "connect_timeout",
    "connect_unreachable",
    "reset",
    "timeout",
  ] as const)("(%s) may be the agent's own", async (code) => {
    const judged = await deadUplink.judge(new CallFailure(code, "it was so"));
    expect(judged.code).toBe("uplink_down");
  });

  it("is the agent's own if its uplink is down", async () => {
    const { judged, took } = await undisturbed(async () => {
      const began = performance.now();
      const judged = await uplinkOf(down).judge(failed);
      return { judged, took: performance.now() - began };
    });
    expect(took).toBeLessThan(2500);
    expect(judged.result).toBe("AGENT_ERROR");
    expect(judged.message).toBe(
      "uplink_down: the agent's own network is down, so this says nothing about the target: connect_timeout: nobody answered",
    );
  });

  it("is the agent's own if the name of the uplink is not found", async () => {
    const judged = await uplinkOf("hub.invalid:4222").judge(failed);
    expect(judged.code).toBe("uplink_down");
  });

  it("is the target's if one of several addresses answers", async () => {
    await using hub = await startRawTarget(() => undefined);
    const uplink = uplinkOf(down, `localhost:${hub.port}`);
    expect(await uplink.judge(failed)).toBe(failed);
  });

  it("is the target's if one of several addresses of a name answers", async () => {
    await using hub = await startRawTarget(() => undefined);
    await using names = await startNameServer(() => ["224.0.0.1", "127.0.0.1"]);
    const servers = [names.address];
    const uplink = createUplink({
      addresses: [`hub.example:${hub.port}`],
      clock: systemClock,
      resolver: createHostResolver({ clock: systemClock, servers }),
    });
    expect(await uplink.judge(failed)).toBe(failed);
  });

  it("is the target's if the uplink refuses the connection, which proves a network", async () => {
    const nobody = `127.0.0.1:${await freePort()}`;
    expect(await uplinkOf(nobody).judge(failed)).toBe(failed);
  });

  it("is the target's if there is no check", async () => {
    expect(await uplinkOf().judge(failed)).toBe(failed);
  });
});

it.each(["tls_expired", "malformed_response", "agent_error"] as const)(
  "a failure of another kind (%s) needs no check",
  async (code) => {
    await using hub = await startRawTarget(() => undefined);
    await uplinkOf(hub.authority).judge(new CallFailure(code, "it was so"));
    expect(hub.connections()).toBe(0);
  },
);

describe("a check", () => {
  it("is shared by calls that fail while it runs", async () => {
    await using hub = await startRawTarget(() => undefined);
    const uplink = uplinkOf(hub.authority);
    const judge = () => Promise.all(Array.from({ length: 50 }, () => uplink.judge(failed)));
    await judge();
    await expect.poll(() => hub.connections()).toBe(1);
    await judge();
    await expect.poll(() => hub.connections()).toBe(2);
  });

  it("is reused for a second if it fails, and not at all if it succeeds", async () => {
    const clock = createManualClock(0);
    await using hub = await startRawTarget(() => undefined);
    let address = "127.0.0.1";
    await using names = await startNameServer(() => [address]);
    const servers = [names.address];
    const uplink = createUplink({
      addresses: [`hub.example:${hub.port}`],
      clock,
      resolver: createHostResolver({ clock: systemClock, servers }),
    });
    const code = async () => (await uplink.judge(failed)).code;
    expect(await code()).toBe(failed.code);
    address = "224.0.0.1";
    expect(await code()).toBe("uplink_down");
    address = "127.0.0.1";
    await clock.advance(999);
    expect(await code()).toBe("uplink_down");
    await clock.advance(1);
    expect(await code()).toBe(failed.code);
  });
});

it("a call that fails with the uplink down is an AGENT_ERROR, timed without the check", async () => {
  await using target = await startRawTarget(silent);
  const caller = createHttpCaller({
    clock: systemClock,
    egress: parseEgressAllow(["127.0.0.1"]),
    uplinkCheck: [down],
  });
  const behaviour = { ...DEFAULT_BEHAVIOUR, timeoutMs: 100 };
  const request = requestOf(`http://${target.authority}`);
  const outcome = await undisturbed(() => caller.call(request, behaviour));
  expect(outcome.result).toBe("AGENT_ERROR");
  expect(codeOf(outcome)).toBe("uplink_down");
  expect(outcome.message).toContain(": timeout: ");
  expect(timingOfCall(outcome).total).toBeLessThan(350);
});
