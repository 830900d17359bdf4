// A port for a server that cannot be told to choose one itself or needs the same one twice, or
// where nobody listens.
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

// Below those that systems give to outgoing connections (32768 and up on Linux, 49152 by RFC 6335):
// none of these takes the port between the moment it is found and the one it is used.
const FIRST = 10_000;
const END = 32_768;

// Nor does another worker of the tests: each has a share of its own, and the global setup the
// first.
const SHARES = 8;
const SHARE = Math.floor((END - FIRST) / SHARES);
const worker = Number(process.env["VITEST_POOL_ID"] ?? 0) % SHARES;
const given = new Set<number>();

/** Of 127.0.0.1, free for TCP and for UDP; another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + worker * SHARE + randomInt(SHARE);
    if (given.has(port)) continue;
    given.add(port);
    if ((await isFreeForTcp(port)) && (await isFreeForUdp(port))) return port;
  }
}

async function isFreeForTcp(port: number): Promise<boolean> {
  const probe = createServer();
  probe.listen(port, "127.0.0.1");
  const isFree = await once(probe, "listening").then(
    () => true,
    () => false,
  );
  if (isFree) await new Promise((resolve) => probe.close(resolve));
  return isFree;
}

async function isFreeForUdp(port: number): Promise<boolean> {
  const probe = createSocket("udp4");
  probe.bind(port, "127.0.0.1");
  const isFree = await once(probe, "listening").then(
    () => true,
    () => false,
  );
  await new Promise<void>((resolve) => probe.close(resolve));
  return isFree;
}
