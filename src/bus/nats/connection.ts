// The connection to NATS: addresses and credentials, errors with advice for the operator, and
// whether the server answers.
import { checkServerIdentity } from "node:tls";
import type { PeerCertificate } from "node:tls";
import { connect, credsAuthenticator, errors, nkeyAuthenticator } from "@nats-io/transport-node";
import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import { invalid, unavailable } from "../../model/errors.ts";
import { checkLocationId } from "../../model/location.ts";
import type { Logger } from "../../runtime/logger.ts";
import { textOf } from "./errors.ts";
import { createHealth } from "./health.ts";
import { publicKeyOf } from "./nkey.ts";
import { inboxPrefix } from "./topology.ts";

/** PEM texts. Any of them turns TLS on, as does a `tls://` URL. */
export interface NatsTls {
  /** Replaces the public CAs. */
  readonly ca?: string | undefined;
  /** The client certificate, for servers that ask for one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface NatsLinkOptions {
  /** `nats://` or `tls://` URLs; the first user and password among them apply to all. */
  readonly servers: readonly string[];
  /** The content of a `.creds` file. */
  readonly credentials?: string;
  /** The seed of a user's nkey. */
  readonly nkey?: string;
  readonly tls?: NatsTls;
  /** The name of this client in the server's monitoring. */
  readonly name: string;
  /** The agent's; the hub has none. */
  readonly locationId?: string | undefined;
  readonly pingIntervalMs: number;
  readonly log: Logger;
}

export type NatsLink = ReturnType<typeof followLink>;

const CONNECT_TIMEOUT_MS = 5000;
const RECONNECT_WAIT_MS = 250;
const FLUSH_TIMEOUT_MS = 2000;

/** Rejects with advice for the operator if none is reachable, or one refuses the credentials. */
export async function openNatsLink(options: NatsLinkOptions): Promise<NatsLink> {
  const servers = options.servers.map(parseServer);
  const addresses = servers.map(({ address }) => address).join(", ");
  const { name, pingIntervalMs, locationId } = options;
  const settings: NodeConnectionOptions = {
    ...authentication(servers, options),
    servers: servers.map(({ host }) => host),
    name,
    ...(locationId !== undefined && { inboxPrefix: inboxPrefix(checkLocationId(locationId)) }),
    ...encryption(servers, options.tls),
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
    throw startFault(cause, addresses, settings, options.nkey);
  });
  return followLink(connection, addresses, options.log);
}

/** `addresses`: the servers, without credentials. */
function followLink(connection: NatsConnection, addresses: string, log: Logger) {
  const health = createHealth(addresses, log);
  const listeners = new Set<() => void>();
  void (async () => {
    for await (const status of connection.status()) {
      health.follow(status);
      if (status.type === "reconnect") for (const listener of listeners) listener();
    }
    health.close(await connection.closed());
  })();
  return {
    connection,
    addresses,
    /** Whether the server is part of a cluster. */
    clustered: connection.info?.cluster !== undefined,
    /** Undefined while the server answers, otherwise what is wrong. */
    fault: health.fault,
    reconnects: health.reconnects,
    /** Calls back after each reconnection; returns a function that unsubscribes. */
    onReconnect(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Resolves with false when the connection is not up in time. */
    isUpWithin: (ms: number): Promise<boolean> => within(health.up(), ms),
    /** Resolves once the server has received everything or is out of reach, or after 2 s. */
    async flush(): Promise<void> {
      if (health.fault() === undefined && !connection.isClosed())
        await within(connection.flush(), FLUSH_TIMEOUT_MS);
    },
  };
}

/** Resolves with false when the promise rejects or does not resolve in time. */
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
      "a NATS address is not of the form nats://host:port or tls://host:port (percent-encode special characters in a password)",
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
  { credentials, nkey }: NatsLinkOptions,
): NodeConnectionOptions {
  if (nkey !== undefined) {
    checkNkey(nkey);
    return { authenticator: nkeyAuthenticator(Buffer.from(nkey)) };
  }
  if (credentials !== undefined) {
    // The client library expects the end of the last line, which a setting does not keep.
    const authenticator = credsAuthenticator(Buffer.from(`${credentials}\n`));
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

function checkNkey(seed: string): void {
  try {
    publicKeyOf(seed);
  } catch (cause) {
    throw invalid("the NATS nkey is not a user's seed: its checksum is wrong", { cause });
  }
}

function encryption(
  servers: readonly ServerAddress[],
  { ca, cert, key }: NatsTls = {},
): NodeConnectionOptions {
  const pem = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  const isOn = servers.some((server) => server.tls) || Object.keys(pem).length > 0;
  const hosts = servers.map(({ host }) => host.replace(/:\d+$/, "").replaceAll(/[[\]]/g, ""));
  const tls = {
    ...pem,
    // The client library withholds a host that is an address; Node then assumes "localhost".
    checkServerIdentity(name: string, certificate: PeerCertificate): Error | undefined {
      const names = name === "localhost" ? hosts : [name];
      const faults = names.map((each) => checkServerIdentity(each, certificate));
      return faults.includes(undefined) ? undefined : faults[0];
    },
  };
  return isOn ? { tls } : {};
}

function startFault(
  cause: unknown,
  addresses: string,
  settings: NodeConnectionOptions,
  nkey?: string,
): Error {
  if (cause instanceof errors.AuthorizationError)
    return unavailable(`NATS at ${addresses} ${refusal(settings, nkey)}`, { cause });
  const said = textOf(cause);
  // The client's words when the server, or a proxy before it, closes the connection at once.
  const reason = said.includes("an undefined error") ? "it closed the connection" : said;
  if (reason.includes("support 'tls'"))
    return unavailable(
      `NATS at ${addresses} does not offer TLS: give it a tls block, or use a nats:// URL without SONDE_NATS_CA and SONDE_NATS_CERT`,
      { cause },
    );
  if (isTlsFault(cause))
    return unavailable(
      `cannot trust NATS at ${addresses} (${reason}): check SONDE_NATS_CA, and that the server's certificate is valid and names the host in SONDE_NATS_URL`,
      { cause },
    );
  // In TLS 1.3, a server says too late for the client library what is wrong with a certificate.
  const certificate =
    settings.tls && cause instanceof errors.TimeoutError
      ? "; if it asks for client certificates, set SONDE_NATS_CERT and SONDE_NATS_KEY to a valid one"
      : "";
  return unavailable(
    `cannot reach NATS at ${addresses} (${reason}): start nats-server with JetStream (-js), or set SONDE_NATS_URL${certificate}`,
    { cause },
  );
}

function refusal({ authenticator, user, token }: NodeConnectionOptions, nkey?: string): string {
  if (nkey !== undefined)
    return `refused the nkey ${publicKeyOf(nkey)} of SONDE_NATS_NKEY: if no accounts.conf of the servers names it, run \`sonde locations nats-config --out …\` and reload them`;
  return (authenticator ?? user ?? token) === undefined
    ? "asks for credentials: set SONDE_NATS_NKEY, SONDE_NATS_CREDENTIALS, or a user and password in SONDE_NATS_URL"
    : "refused the credentials: check the user and password in SONDE_NATS_URL, or the credentials file";
}

/** Matches the codes of OpenSSL's certificate checks and of Node's host name check. */
const isTlsFault = (cause: unknown): boolean =>
  /CERT|SIGNATURE|ERR_TLS|ERR_SSL/.test((cause as NodeJS.ErrnoException).code ?? "");
