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

/** Returns an error of one line for the operator. */
export function listenFault(
  cause: unknown,
  { what, host, port, inUse, otherwise }: Listener,
): Error {
  const { code, message } = cause as NodeJS.ErrnoException;
  const advice =
    code === "EADDRINUSE" ? `the port is in use; ${inUse}` : `${code ?? message}; ${otherwise}`;
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return new Error(`${what} cannot listen on ${address}: ${advice}`, { cause });
}
