// Finds the client behind proxies: the address that the audit trail and the limits use.
import { isIP } from "node:net";
import type { FastifyRequest, FastifyServerOptions } from "fastify";

/**
 * Returns which proxies to trust: those with these addresses, or the last `trusted` that a request
 * passed. With a number, anyone who can reach this server directly can pose as a proxy.
 */
export function trustedProxies(
  trusted: number | readonly string[] = [],
): NonNullable<FastifyServerOptions["trustProxy"]> {
  if (typeof trusted === "number") return (_address: string, hop: number) => hop < trusted;
  return trusted.length > 0 && [...trusted];
}

/** An address with a port, as some proxies write: `203.0.113.7:52100`, `[2001:db8::7]:52100`. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/;

/**
 * Returns the last address that is not a trusted proxy's, or that of the connection if a proxy
 * passed on something that is not an address.
 */
export function clientAddress({ ip, socket }: FastifyRequest): string {
  const [, v6, v4] = WITH_PORT.exec(ip) ?? [];
  const address = v6 ?? v4 ?? ip;
  return isIP(address) > 0 ? address : (socket.remoteAddress ?? "");
}
