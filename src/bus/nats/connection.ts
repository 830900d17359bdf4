// The connection to NATS: addresses with or without credentials, errors that an operator
// understands, and its true state.
import { connect, credsAuthenticator, errors } from "@nats-io/transport-node";
import type { NatsConnection, NodeConnectionOptions, Status } from "@nats-io/transport-node";
import type { Logger } from "../../runtime/logger.ts";
import { invalid, unavailable } from "../../model/errors.ts";

export interface NatsLinkOptions {
  /**
   * `nats://` or `tls://` URLs; a user and password in the first that has them are used for all.
   */
  readonly servers: readonly string[];
  /** The content of a `.creds` file. */
  readonly credentials?: string;
  /** As the server's monitoring shows this client. */
  readonly name: string;
  readonly inboxPrefix?: string;
  readonly pingIntervalMs: number;
  readonly log: Logger;
}

export interface NatsLink {
  readonly connection: NatsConnection;
  /** The servers, without credentials. */
  readonly addresses: string;
  /** Undefined while the server answers, else what is wrong. */
  fault(): string | undefined;
  /** Calls back each time the connection has been made anew; returns how to stop that. */
  onReconnect(listener: () => void): () => void;
  /** False when the connection does not come up in time. */
  isUpWithin(ms: number): Promise<boolean>;
  /** Everything that was sent before has reached the server, or the connection is not up. */
  flush(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5000;
const RECONNECT_WAIT_MS = 250;
const FLUSH_TIMEOUT_MS = 2000;

/**
 * Rejects, with a message that says what to do, when no server can be reached or the credentials
 * are refused.
 */
export async function openNatsLink(options: NatsLinkOptions): Promise<NatsLink> {
  const servers = options.servers.map(parseServer);
  const addresses = servers.map(({ address }) => address).join(", ");
  const { name, pingIntervalMs, inboxPrefix } = options;
  const settings: NodeConnectionOptions = {
    ...authentication(servers, options.credentials),
    servers: servers.map(({ host }) => host),
    name,
    ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
    ...(servers.some(({ tls }) => tls) ? { tls: {} } : {}),
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: pingIntervalMs,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    reconnectJitter: RECONNECT_WAIT_MS,
    ignoreAuthErrorAbort: true, // credentials may be refused for a moment while the server reloads
    noAsyncTraces: true,
  };
  const connection = await connect(settings).catch((cause: unknown) => {
    throw startFault(cause, addresses);
  });
  return followLink(connection, addresses, options.log);
}

function followLink(connection: NatsConnection, addresses: string, log: Logger): NatsLink {
  let fault: string | undefined;
  let reconnecting = false;
  const reconnectListeners = new Set<() => void>();
  let up = Promise.withResolvers<void>();
  up.resolve();

  const down = (reason: string): void => {
    if (fault === undefined) {
      up = Promise.withResolvers();
      log.warn({ nats: addresses, reason }, "NATS connection was lost");
    }
    fault = reason;
  };
  const restored = (): void => {
    if (fault !== undefined) log.info({ nats: addresses }, "NATS is back");
    fault = undefined;
    up.resolve();
  };
  const follow = (status: Status): void => {
    // A ping is about to be sent; when it is the second under way, the first went a whole interval
    // without an answer.
    if (status.type === "ping" && status.pendingPings > 1) down("the server does not answer");
    else if (status.type === "ping" && !reconnecting) restored();
    else if (status.type === "disconnect") {
      reconnecting = true;
      down("reconnecting");
    } else if (status.type === "reconnect") {
      reconnecting = false;
      restored();
      for (const listener of reconnectListeners) listener();
    } else if (status.type === "error")
      log.warn({ nats: addresses, err: status.error }, "NATS refused");
  };
  void (async () => {
    for await (const status of connection.status()) follow(status);
    const cause = await connection.closed();
    fault = "closed";
    if (cause) log.error({ nats: addresses, err: cause }, "NATS connection was given up");
  })();

  return {
    connection,
    addresses,
    fault: () => fault,
    onReconnect(listener) {
      reconnectListeners.add(listener);
      return () => reconnectListeners.delete(listener);
    },
    isUpWithin: (ms) => within(up.promise, ms),
    async flush() {
      if (fault === undefined && !connection.isClosed())
        await within(connection.flush(), FLUSH_TIMEOUT_MS);
    },
  };
}

/** False when it rejects, or has not resolved by then. */
async function within(promise: Promise<void>, ms: number): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  const done = promise.then(
    () => true,
    () => false,
  );
  return Promise.race([done, timeout]).finally(() => clearTimeout(timer));
}

interface ServerAddress {
  readonly host: string;
  readonly address: string;
  readonly tls: boolean;
  readonly user: string;
  readonly password: string;
}

function parseServer(text: string): ServerAddress {
  const url = URL.parse(/^\w+:\/\//.test(text) ? text : `nats://${text}`);
  if (!url || !["nats:", "tls:"].includes(url.protocol) || url.hostname === "")
    throw invalid(
      "an address of NATS is not of the form nats://host:port or tls://host:port (percent-encode special characters of a password)",
    );
  const host = `${url.hostname}:${url.port || "4222"}`;
  return {
    host,
    address: `${url.protocol}//${host}`,
    tls: url.protocol === "tls:",
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  };
}

function authentication(
  servers: readonly ServerAddress[],
  credentials: string | undefined,
): NodeConnectionOptions {
  if (credentials !== undefined) {
    const authenticator = credsAuthenticator(Buffer.from(credentials));
    try {
      authenticator("");
    } catch (cause) {
      throw invalid("the NATS credentials are not the content of a .creds file", { cause });
    }
    return { authenticator };
  }
  const server = servers.find(({ user }) => user !== "");
  if (!server) return {};
  const { user, password: pass } = server;
  return pass === "" ? { token: user } : { user, pass };
}

function startFault(cause: unknown, addresses: string): Error {
  if (cause instanceof errors.AuthorizationError)
    return unavailable(
      `NATS at ${addresses} refused the credentials: check the user and password in SONDE_NATS_URL, or the credentials file`,
      { cause },
    );
  const reason = cause instanceof Error ? cause.message : String(cause);
  return unavailable(
    `cannot reach NATS at ${addresses} (${reason}): start nats-server with JetStream (-js), or set SONDE_NATS_URL`,
    { cause },
  );
}
