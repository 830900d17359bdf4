// Explains why a server cannot listen, in the same words for every server.

export interface Listener {
  readonly what: string;
  readonly host: string;
  readonly port: number;
  /** What to do about a port that another program uses. */
  readonly inUse: string;
  /** What to do about anything else. */
  readonly otherwise: string;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "the host name has no address",
  EACCES: "this user may not use the port",
};

/** Returns an error of one line for the operator. */
export function listenFault(
  cause: unknown,
  { what, host, port, inUse, otherwise }: Listener,
): Error {
  const { code = "", message } = cause as NodeJS.ErrnoException;
  const reason = REASONS[code] ?? (code || message);
  const advice = code === "EADDRINUSE" ? inUse : otherwise;
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return new Error(`${what} cannot listen on ${address}: ${reason}; ${advice}`, { cause });
}
