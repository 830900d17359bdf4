// The server that the URL of a PostgreSQL database names. As for pg, its parameters take
// precedence.

const DEFAULT_PORT = 5432;

export interface DatabaseServer {
  /** A name or an address; for a Unix socket, its folder. */
  readonly host: string;
  readonly port: number;
  readonly isSocket: boolean;
}

export function databaseServerOf(url: string): DatabaseServer {
  const { hostname, port, searchParams } = new URL(url);
  const last = (name: string): string | undefined => searchParams.getAll(name).at(-1);
  const host = last("host") || decodeURIComponent(hostname) || "localhost";
  return {
    host,
    port: Number(last("port") || port || DEFAULT_PORT),
    isSocket: host.startsWith("/"),
  };
}

/** `host:port`, or the folder of a Unix socket. */
export function databaseAddressOf(url: string): string {
  const { host, port, isSocket } = databaseServerOf(url);
  return isSocket ? host : `${host}:${port}`;
}
