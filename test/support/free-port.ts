// A port for a server that cannot be told to choose one itself, or that needs the same one twice.
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

// Below those that systems give to outgoing connections (32768 and up on Linux, 49152 by RFC 6335): none of these
// takes the port between the moment it is found and the one it is used.
const FIRST = 10_000;
const END = 32_768;

/** Of 127.0.0.1, free for TCP and for UDP. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
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
