// Where a service listens, as its clients name it.

/** The host of a URL that reaches a listener on `host` from this machine. */
export function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
