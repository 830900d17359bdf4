// Who the client is, behind proxies: the address that the audit trail and the limits know it by.
import { isIP } from "node:net";
import type { FastifyRequest, FastifyServerOptions } from "fastify";

/**
 * Whom to believe: the proxies with these addresses, or the last so many that a request passed.
 * Everybody could pass for a proxy of the second kind who can reach this server directly.
 */
export function trustedProxies(
  trusted: number | readonly string[] = [],
): NonNullable<FastifyServerOptions["trustProxy"]> {
  if (typeof trusted === "number") return (_address: string, hop: number) => hop < trusted;
  return trusted.length > 0 && [...trusted];
}

/** With a port, as some proxies write it: `203.0.113.7:52100`, `[2001:db8::7]:52100`. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/;

/**
 * The last address that no trusted proxy stands for; that of the connection where a proxy passed on
 * what is no address.
 */
export function clientAddress({ ip, socket }: FastifyRequest): string {
  const [, v6, v4] = WITH_PORT.exec(ip) ?? [];
  const address = v6 ?? v4 ?? ip;
  return isIP(address) > 0 ? address : (socket.remoteAddress ?? "");
}
