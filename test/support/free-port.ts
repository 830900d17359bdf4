// Free ports: for servers that cannot choose one or need the same one again, and for closed ports.
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import type { Socket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Server } from "node:net";

// Below the ephemeral ports (from 32768 on Linux, 49152 by RFC 6335): no outgoing connection may
// take the port before it is used.
const FIRST = 10_000;
const END = 32_768;

// Each test worker has its own share of ports; the global setup has the first.
const SHARES = 8;
const SHARE = Math.floor((END - FIRST) / SHARES);
const worker = Number(process.env["VITEST_POOL_ID"] ?? 0) % SHARES;
const given = new Set<number>();

/** Returns a port of 127.0.0.1 that is free for TCP and UDP; a different one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + worker * SHARE + randomInt(SHARE);
    if (given.has(port)) continue;
    given.add(port);
    const isFree =
      (await binds(createServer(), (probe) => probe.listen(port, "127.0.0.1"))) &&
      (await binds(createSocket("udp4"), (probe) => probe.bind(port, "127.0.0.1")));
    if (isFree) return port;
  }
}

/** Closes the probe again. */
async function binds<T extends Server | Socket>(probe: T, bind: (probe: T) => void) {
  bind(probe);
  const isBound = await once(probe, "listening").then(
    () => true,
    () => false,
  );
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return isBound;
}
