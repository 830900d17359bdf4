import { describe, expect, it } from "vitest";
import { reach } from "../../src/net/reach.ts";
import { createHostResolver } from "../../src/net/resolve-host.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { startBlackHole } from "../support/black-hole.ts";
import { freePort } from "../support/free-port.ts";
import { startNameServer } from "../support/name-server.ts";

const resolver = createHostResolver({ clock: systemClock });

describe("a host", () => {
  it("that refuses the connection answers", async () => {
    await expect(reach(`127.0.0.1:${await freePort()}`, resolver)).resolves.toBeUndefined();
  });

  it("that nothing routes to fails at once, with the failure of its first address", async () => {
    await using names = await startNameServer(() => ["224.0.0.1", "224.0.0.2"]);
    const ours = createHostResolver({ clock: systemClock, servers: [names.address] });
    await expect(reach("hub.example:1", ours)).rejects.toMatchObject({
      code: "ENETUNREACH",
      address: "224.0.0.1",
    });
  });

  it("whose name is not found fails with that", async () => {
    await expect(reach("hub.invalid:1", resolver)).rejects.toThrow("dns_not_found");
  });

  it("that says nothing fails after two seconds", async () => {
    await using hole = await startBlackHole();
    await expect(reach(`127.0.0.1:${hole.port}`, resolver)).rejects.toThrow("no answer within 2 s");
  });
});
