// @module-tag slow
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createHostResolver } from "../../src/net/resolve-host.ts";
import type { ResolverSettings } from "../../src/net/resolve-host.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { startBlackHole } from "../support/black-hole.ts";
import { freePort } from "../support/free-port.ts";
import { startNameServer } from "../support/name-server.ts";
import type { Answer, NameServer } from "../support/name-server.ts";
import { startTarget } from "../support/target-server.ts";
import { undisturbed } from "../support/undisturbed.ts";
import { call, codeOf, timingOfCall } from "../agent/calling.ts";
import { captureLog } from "../runtime/log-lines.ts";

const resolverOf = ({ address }: NameServer, settings: Partial<ResolverSettings> = {}) =>
  createHostResolver({
    clock: systemClock,
    servers: [address],
    hostsFile: "/nowhere",
    ...settings,
  });

/** Returns the sockets that are open in this process; those of earlier tests may yet close. */
function openSockets(): string[] {
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "closed";
    }
  });
  return links.filter((link) => link.startsWith("socket:"));
}

const openedSince = (before: readonly string[]): string[] =>
  openSockets().filter((socket) => !before.includes(socket));

describe("a name", () => {
  it.each([
    ["one address", ["192.0.2.1"], ["192.0.2.1"]],
    ["both families", ["2001:db8::1", "192.0.2.1"], ["192.0.2.1", "2001:db8::1"]],
    ["IPv6 only", ["2001:db8::1"], ["2001:db8::1"]],
    [
      "many addresses",
      Array.from({ length: 60 }, (_, at) => `192.0.2.${at + 1}`),
      Array.from({ length: 60 }, (_, at) => `192.0.2.${at + 1}`),
    ],
    [
      "more addresses than fit into a datagram",
      Array.from({ length: 300 }, (_, at) => `198.18.${at >> 8}.${at & 255}`),
      Array.from({ length: 300 }, (_, at) => `198.18.${at >> 8}.${at & 255}`),
    ],
  ])("with %s resolves to them, IPv4 first", async (_, answer, expected) => {
    await using server = await startNameServer(() => answer);
    const found = await undisturbed(() => resolverOf(server).resolve("a.example"));
    expect(found).toEqual(expected);
  });

  it("with a slow answer resolves, however quick earlier answers were", async () => {
    await using server = await startNameServer(async (name) => {
      if (name === "slow.example") await delay(1500);
      return ["192.0.2.1"];
    });
    const resolver = resolverOf(server);
    for (let others = 0; others < 40; others += 1) await resolver.resolve("quick.example");
    expect(await resolver.resolve("slow.example")).toEqual(["192.0.2.1"]);
  });

  it("leaves no query open once it is resolved", async () => {
    await using server = await startNameServer((_, family) =>
      family === 6 ? "silence" : ["192.0.2.1"],
    );
    const before = openSockets();
    const resolver = resolverOf(server);
    await Promise.all(Array.from({ length: 20 }, () => resolver.resolve("a.example")));
    await expect.poll(() => openedSince(before)).toEqual([]);
  });

  it("that is not looked up for lack of file descriptors fails with that cause", () => {
    const source = (path: string): string =>
      JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
    const script = `
      import { openSync } from "node:fs";
      import { createHostResolver } from ${source("net/resolve-host.ts")};
      import { systemClock } from ${source("runtime/clock.ts")};
      const resolver = createHostResolver({ clock: systemClock, servers: ["127.0.0.1:9"] });
      try { for (;;) openSync("/dev/null"); } catch {}
      await resolver.resolve("a.example").catch(({ cause }) => console.log(cause.code));`;
    const node = [process.execPath, "--input-type=module", "--eval", script];
    const { stdout, error, stderr } = spawnSync("prlimit", ["--nofile=100:100", ...node], {
      encoding: "utf8",
    });
    const found = stdout || `prlimit, of the package util-linux: ${error?.message ?? stderr}`;
    expect(found.trim()).toBe("EMFILE");
  });

  it("leaves no query open once its caller has given up", async () => {
    await using server = await startNameServer(() => "silence");
    const before = openSockets();
    const cancel = new AbortController();
    const lookup = resolverOf(server).resolve("a.example", { cancel: cancel.signal });
    await expect.poll(() => server.questions.length).toBeGreaterThan(0);
    expect(openedSince(before)).not.toEqual([]);
    cancel.abort();
    await expect.poll(() => openedSince(before)).toEqual([]);
    await expect(lookup).rejects.toThrow("dns_timeout");
  });

  it("has its IPv4 address even if that answer comes later", async () => {
    await using server = await startNameServer(async (_, family) => {
      if (family === 4) await delay(300);
      return ["192.0.2.1", "2001:db8::1"];
    });
    const found = await undisturbed(() => resolverOf(server).resolve("a.example"));
    expect(found).toEqual(["192.0.2.1", "2001:db8::1"]);
  });

  it("has its IPv4 address even if one query for it is lost", async () => {
    let isLost = false;
    await using server = await startNameServer((_, family) => {
      if (family === 6 || isLost) return ["192.0.2.1", "2001:db8::1"];
      isLost = true;
      return "silence";
    });
    const found = await undisturbed(() => {
      isLost = false;
      return resolverOf(server).resolve("a.example");
    });
    expect(found).toEqual(["192.0.2.1", "2001:db8::1"]);
  });

  it.each([
    [4, "2001:db8::1", 1900, 3000],
    [6, "192.0.2.1", 45, 200],
  ])(
    "resolves to the other address when IPv%i is not answered",
    async (lost, other, least, most) => {
      await using server = await startNameServer((_, family) =>
        family === lost ? "silence" : ["192.0.2.1", "2001:db8::1"],
      );
      const took = await undisturbed(async () => {
        const began = performance.now();
        expect(await resolverOf(server).resolve("a.example")).toEqual([other]);
        return performance.now() - began;
      });
      expect(took).toBeGreaterThan(least);
      expect(took).toBeLessThan(most);
    },
  );

  const NOT_FOUND = "dns_not_found: a.example has no address that may be called from here";

  it.each([
    ["does not exist", "NXDOMAIN", NOT_FOUND],
    ["has no address", [], NOT_FOUND],
    ["is its own alias", { cname: "a.example" }, NOT_FOUND],
    ["cannot be answered", "SERVFAIL", "dns_failure: a.example could not be looked up (ESERVFAIL)"],
    ["is refused", "REFUSED", "dns_failure: a.example could not be looked up (EREFUSED)"],
  ] satisfies [string, Answer, string][])(
    "that %s fails the call in its first phase",
    async (_, answer, message) => {
      await using server = await startNameServer(() => answer);
      const outcome = await call("http://a.example/", {
        resolver: resolverOf(server),
      });
      expect(outcome).toMatchObject({ result: "CONNECTION_ERROR", message });
      expect(timingOfCall(outcome)).toEqual({
        dns: null,
        tcp: null,
        handshake: null,
        upload: null,
        processing: null,
        download: null,
        total: expect.any(Number) as number,
        uncertainty: expect.any(Number) as number,
      });
    },
  );

  it.each([
    ["a.invalid", "dns_not_found: a.invalid has no address"],
    ["INVALID.", "dns_not_found: invalid has no address"],
  ])("%s is never sent to a name server", async (host, message) => {
    await using server = await startNameServer(() => ["127.0.0.1"]);
    await expect(resolverOf(server).resolve(host)).rejects.toThrow(message);
    expect(server.questions).toEqual([]);
  });

  describe("unknown to DNS", () => {
    const found = [
      { address: "fd12::5", family: 6 },
      { address: "10.0.0.5", family: 4 },
    ];

    it("is looked up by the system", async () => {
      await using server = await startNameServer(() => "NXDOMAIN");
      const asked: string[] = [];
      const resolver = resolverOf(server, {
        system: async (name) => {
          asked.push(name);
          return found;
        },
      });
      expect(await resolver.resolve("Printer.")).toEqual(["10.0.0.5", "fd12::5"]);
      expect(asked).toEqual(["printer"]);
    });

    it.each([
      ["has no address", async () => []],
      ["fails", () => Promise.reject(new Error("EAI_AGAIN"))],
      ["does not answer", () => new Promise<never>(() => undefined)],
    ])("is not found if the system %s either", async (_, system) => {
      await using server = await startNameServer(() => "NXDOMAIN");
      const resolver = resolverOf(server, { system });
      await expect(
        Promise.all([resolver.resolve("printer"), resolver.resolve("other")]),
      ).rejects.toThrow("dns_not_found: printer has no address");
    });

    it("occupies only one of the system's threads", async () => {
      await using server = await startNameServer(() => "NXDOMAIN");
      let [asking, most] = [0, 0];
      const resolver = resolverOf(server, {
        system: async () => {
          asking += 1;
          most = Math.max(most, asking);
          await delay(10);
          asking -= 1;
          return found;
        },
      });
      const names = ["a", "b", "c"].map((name) => resolver.resolve(name));
      expect(await Promise.all(names)).toHaveLength(3);
      expect(most).toBe(1);
    });

    it("reports how long it waited for other lookups, and if they left it no time", async () => {
      await using server = await startNameServer(() => "NXDOMAIN");
      const [asked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const resolver = resolverOf(server, {
        system: async (name) => {
          if (name === "slow") {
            asked.resolve();
            await free.promise;
          }
          return found;
        },
      });
      const slow = resolver.resolve("slow").catch((cause: Error) => cause.message);
      await asked.promise;
      const held: number[] = [];
      const onHeld = (ms: number): void => void held.push(ms);
      await expect(resolver.resolve("a", { onHeld })).rejects.toMatchObject({
        code: "dns_busy",
        message: "dns_busy: other lookups left no time to ask the system for a",
      });
      const waiting = resolver.resolve("b", { onHeld });
      await delay(100); // a stall ends in it, so that DNS answers before the next one begins
      await delay(500);
      free.resolve();
      expect(await waiting).toContain("10.0.0.5");
      expect(held).toHaveLength(2);
      expect(held[0]).toBe(2000);
      expect(held[1]).toBeGreaterThan(250); // some of it may pass before DNS has answered
      expect(await slow).toBe("dns_not_found: slow has no address");
    });

    it("waits for other lookups at the cost of certainty, also after a redirect", async () => {
      await using target = await startTarget(({ url }, response) => {
        response.writeHead(url === "/" ? 302 : 200, { location: "/next" }).end();
      });
      // As on a machine without other load.
      const clock = { ...systemClock, busy: () => 0, busyAtLastLook: () => 0 };
      const outcome = await undisturbed(async () => {
        await using server = await startNameServer(() => "NXDOMAIN");
        const [asked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const resolver = resolverOf(server, {
          system: async (name) => {
            asked.resolve();
            await (name === "other" ? free.promise : delay(50));
            return [{ address: "127.0.0.1", family: 4 }];
          },
        });
        const other = resolver.resolve("other").catch(() => "it took too long");
        await asked.promise;
        const calling = call(`http://web:${target.port}/`, { resolver, clock });
        await expect.poll(() => server.questions.length).toBeGreaterThanOrEqual(4);
        await delay(300); // some of it may pass before DNS has answered
        free.resolve();
        await other;
        return await calling;
      });
      expect(outcome.hops).toHaveLength(1);
      const { total, uncertainty } = timingOfCall(outcome);
      expect(uncertainty).toBeGreaterThan(150);
      // Its own two lookups are the target's.
      expect((total ?? 0) - (uncertainty ?? 0)).toBeGreaterThan(90);
    });

    it.each(["SERVFAIL", "silence"] as const)(
      "because of %s is not looked up by the system",
      async (answer) => {
        await using server = await startNameServer(() => answer);
        const system = vi.fn(async () => found);
        const outcome = await undisturbed(() =>
          call("http://a.example/", {
            resolver: resolverOf(server, { system }),
            behaviour: { timeoutMs: 300 },
          }),
        );
        expect(codeOf(outcome)).toMatch(/^dns_(failure|timeout)$/);
        expect(system).not.toHaveBeenCalled();
      },
    );
  });

  it("in the hosts file is not sent to a name server", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sonde-hosts-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const hosts = join(folder, "hosts");
    writeFileSync(
      hosts,
      "# a comment\n2001:db8::7 one.example\n192.0.2.7\tOne.example two.example # the second\n\n192.0.2.6 one.example\nnone one.example\n",
    );
    await using server = await startNameServer(() => ["192.0.2.1"]);
    const resolver = resolverOf(server, { hostsFile: hosts });
    expect(await resolver.resolve("one.example.")).toEqual([
      "192.0.2.7",
      "192.0.2.6",
      "2001:db8::7",
    ]);
    expect(await resolver.resolve("TWO.example")).toEqual(["192.0.2.7"]);
    expect(await resolver.resolve("localhost")).toEqual(["127.0.0.1", "::1"]);
    expect(server.questions).toEqual([]);
  });

  it("with a silent name server fails at the deadline, and delays no other", async () => {
    await using target = await startTarget();
    await using server = await startNameServer((name) =>
      name.startsWith("slow") ? "silence" : ["127.0.0.1"],
    );
    const { fast, slow } = await undisturbed(async () => {
      const resolver = resolverOf(server);
      const waiting = Array.from({ length: 50 }, (_, at) =>
        call(`http://slow${at}.example/`, {
          resolver,
          behaviour: { timeoutMs: 400 },
        }),
      );
      const url = `http://fast.example:${target.port}/`;
      const other = await call(url, { resolver });
      return { fast: other, slow: await Promise.all(waiting) };
    });
    expect(fast.result).toBe("COMPLETE");
    expect(timingOfCall(fast).total).toBeLessThan(350);
    for (const outcome of slow) {
      expect(codeOf(outcome)).toBe("dns_timeout");
      expect(timingOfCall(outcome).total).toBeLessThan(650);
    }
  });
});

describe("among several addresses", () => {
  it("the first that connects is called", async () => {
    await using target = await startTarget();
    await using server = await startNameServer(() => ["127.0.0.3", "127.0.0.1"]);
    const outcome = await call(`http://a.example:${target.port}/`, {
      resolver: resolverOf(server),
    });
    expect(outcome.message).toBeNull();
    expect(outcome.last.destIp).toBe("127.0.0.1");
  });

  it("IPv6 is called if IPv4 fails", async () => {
    await using target = await startTarget(undefined, { host: "::1" });
    await using server = await startNameServer(() => ["127.0.0.3", "::1"]);
    const outcome = await undisturbed(() =>
      call(`http://a.example:${target.port}/`, {
        resolver: resolverOf(server),
      }),
    );
    expect(outcome.message).toBeNull();
    expect(outcome.last.destIp).toBe("::1");
  });

  it("the next is called if one does not answer", async () => {
    const port = await freePort();
    await using target = await startTarget(undefined, { port });
    await using _ = await startBlackHole("127.0.0.2", port);
    await using server = await startNameServer(() => ["127.0.0.2", "127.0.0.1"]);
    const outcome = await undisturbed(() =>
      call(`http://a.example:${target.port}/`, {
        resolver: resolverOf(server),
      }),
    );
    expect(outcome.message).toBeNull();
    expect(outcome.last.destIp).toBe("127.0.0.1");
    expect(timingOfCall(outcome).tcp).toBeGreaterThan(1900);
    expect(timingOfCall(outcome).tcp).toBeLessThan(3000);
  });

  it("each is named if none connects", async () => {
    const port = await freePort();
    await using server = await startNameServer(() => ["127.0.0.1", "127.0.0.3"]);
    const outcome = await call(`http://a.example:${port}/`, {
      resolver: resolverOf(server),
    });
    expect(outcome.message).toBe(
      `connect_refused: 127.0.0.3:${port} refused the connection; the other addresses: connect_refused: 127.0.0.1:${port} refused the connection`,
    );
  });

  it("an unreachable one does not hide the failures of the others", async () => {
    const port = await freePort();
    // TCP cannot connect to a multicast address.
    await using server = await startNameServer(() => ["127.0.0.1", "ff02::1"]);
    const outcome = await undisturbed(() =>
      call(`http://a.example:${port}/`, {
        resolver: resolverOf(server),
        allow: ["127.0.0.1", "ff02::1"],
      }),
    );
    expect(outcome.message).toBe(
      `connect_refused: 127.0.0.1:${port} refused the connection; the other addresses: connect_unreachable: [ff02::1]:${port} cannot be reached (ENETUNREACH)`,
    );
  });

  it("at most six are tried", async () => {
    await using target = await startTarget(undefined, { host: "127.0.0.8" });
    const { port } = target;
    const addresses = [2, 3, 4, 5, 6, 7, 8].map((at) => `127.0.0.${at}`);
    await using server = await startNameServer(() => addresses);
    const resolver = resolverOf(server);
    const outcome = await call(`http://a.example:${port}/`, { resolver });
    expect(codeOf(outcome)).toBe("connect_refused");
    expect(outcome.message?.match(/127\.0\.0\.\d/g)).toHaveLength(6);
    expect(target.connections()).toBe(0);
  });

  it("each gets its share of a short timeout", async () => {
    const port = await freePort();
    await using target = await startTarget(undefined, { port });
    await using _ = await startBlackHole("127.0.0.2", port);
    await using server = await startNameServer(() => ["127.0.0.2", "127.0.0.1"]);
    const outcome = await undisturbed(() =>
      call(`http://a.example:${target.port}/`, {
        resolver: resolverOf(server),
        behaviour: { timeoutMs: 1000 },
      }),
    );
    expect(outcome.message).toBeNull();
    expect(timingOfCall(outcome).total).toBeGreaterThan(480);
  });

  it("one that the rules refuse is never dialled", async () => {
    const port = await freePort();
    await using target = await startTarget(undefined, { port });
    await using inside = await startTarget(undefined, {
      host: "127.0.0.2",
      port,
    });
    await using server = await startNameServer(() => ["127.0.0.2", "127.0.0.1"]);
    const outcome = await call(`http://a.example:${target.port}/`, {
      resolver: resolverOf(server),
      allow: [target.authority],
    });
    expect(outcome.result).toBe("COMPLETE");
    expect(outcome.last.destIp).toBe("127.0.0.1");
    expect(inside.connections()).toBe(0);
  });
});

it("a name that leads inside looks like one that does not exist, but not to the operator", async () => {
  await using server = await startNameServer((name) =>
    name === "inside.example" ? ["127.0.0.1", "10.0.0.7"] : "NXDOMAIN",
  );
  const { log, lines } = captureLog();
  const options = { resolver: resolverOf(server), allow: [], log };
  const [inside, missing] = await Promise.all(
    ["inside", "missing"].map(async (name) => {
      const { result, message, last } = await call(`http://${name}.example:81/`, options);
      const { phases, destIp, sourceIp, response, started, ended } = last;
      const shown = { result, message: message?.replace(name, "NAME"), total: ended - started };
      return { ...shown, phases, destIp, sourceIp, response };
    }),
  );
  expect(inside).toEqual(missing);
  expect(inside).toMatchObject({
    result: "CONNECTION_ERROR",
    message: "dns_not_found: NAME.example has no address that may be called from here",
    total: 0,
    phases: { dns: null },
    destIp: null,
  });
  expect(lines()).toMatchObject([
    { host: "inside.example", port: 81, addresses: ["127.0.0.1", "10.0.0.7"] },
  ]);
});

describe("a name that changes its address", () => {
  it("is looked up once, so that the checked address is dialled", async () => {
    const port = await freePort();
    await using target = await startTarget(undefined, { port });
    await using inside = await startTarget(undefined, {
      host: "127.0.0.2",
      port,
    });
    let asked = 0;
    await using server = await startNameServer(() => {
      asked += 1;
      return asked <= 2 ? ["127.0.0.1"] : ["127.0.0.2"];
    });
    const url = `http://a.example:${target.port}/`;
    const options = { resolver: resolverOf(server), allow: [target.authority] };
    expect((await call(url, options)).result).toBe("COMPLETE");
    expect(server.questions).toEqual(["a.example", "a.example"]);
    expect(codeOf(await call(url, options))).toBe("dns_not_found");
    expect(inside.connections()).toBe(0);
  });
});
