// Serves /livez, /readyz and /metrics of this process. Starts first and stops last, so that it
// answers while the other services drain.
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { untilAborted } from "./deadline.ts";
import { CONTENT_TYPES, formatOf } from "./exposition.ts";
import type { MetricsSnapshot } from "./exposition.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { listenFault } from "./listen-fault.ts";
import type { Logger } from "./logger.ts";
import { renderMetrics } from "./metrics.ts";
import type { Registry } from "./metrics.ts";
import { closeIfUnread } from "./unread-body.ts";

export interface ReadinessCheck {
  /** Its name in /readyz. */
  readonly part: string;
  /**
   * Rejects with the reason why the part is not ready; resolves with what fails in a ready part.
   */
  readonly check: () => Promise<string | undefined | void> | string | undefined | void;
}

export interface OpsServerOptions {
  readonly host: string;
  readonly port: number;
  /** Maximum open connections; further ones are closed. */
  readonly maxConnections: number;
  readonly registry: Registry;
  /** Asks each thread of this process for its metrics; default: there are no threads. */
  readonly threadMetrics?: () => Promise<readonly MetricsSnapshot[]>;
  readonly state: Lifecycle["state"];
  readonly checks: readonly ReadinessCheck[];
  readonly log: Logger;
}

export type OpsServer = ReturnType<typeof createOpsServer>;

interface Fault {
  readonly part: string;
  readonly reason: string;
}

export interface Readiness {
  readonly failing: readonly Fault[];
  /** Faults of ready parts. */
  readonly degraded: readonly Fault[];
}

type Answer = (response: ServerResponse, request: IncomingMessage) => Promise<void> | void;

const CHECK_TIMEOUT_MS = 2_000;
const REQUEST_TIMEOUT_MS = 5_000;
const STOP_GRACE_MS = 1_000;

export function createOpsServer(options: OpsServerOptions) {
  const { host, port, registry, threadMetrics = async () => [], log } = options;
  const readiness = createReadiness(options);
  const answers: Readonly<Record<string, Answer>> = {
    "/livez": (response) => send(response, 200, { status: "alive" }),
    "/readyz": async (response) => {
      const { failing, degraded } = await readiness();
      if (failing.length > 0) send(response, 503, { status: "not ready", failing });
      else send(response, 200, { status: "ready", ...(degraded.length > 0 && { degraded }) });
    },
    "/metrics": async (response, { headers }) => {
      const format = formatOf(headers.accept);
      const text = await renderMetrics(registry, await threadMetrics(), format);
      response.setHeader("content-type", CONTENT_TYPES[format]);
      response.setHeader("vary", "accept");
      response.end(text);
    },
  };
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      answer(answers, request, response).catch((err: unknown) => {
        log.error({ err }, "ops request failed");
        if (response.headersSent) response.destroy();
        else sendError(response, 500, "internal error");
      });
    },
  );

  server.maxConnections = options.maxConnections;

  return {
    name: "ops server",
    async start(): Promise<void> {
      await listen(server, host, port);
      log.info(addressOf(server.address()), "ops server listening");
    },
    async stop(): Promise<void> {
      if (!server.listening) return;
      server.close();
      const grace = setTimeout(() => server.closeAllConnections(), STOP_GRACE_MS);
      await once(server, "close");
      clearTimeout(grace);
    },
    /** Undefined while not listening. */
    address: () => addressOf(server.address()),
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening").catch((cause: unknown) => {
    throw listenFault(cause, {
      what: "the ops server",
      host,
      port,
      inUse: "choose another with SONDE_OPS_PORT",
      otherwise: "correct SONDE_OPS_HOST or SONDE_OPS_PORT",
    });
  });
}

async function answer(
  answers: Readonly<Record<string, Answer>>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.setHeader("cache-control", "no-store");
  response.setHeader("x-content-type-options", "nosniff");
  await closeIfUnread(request, response);
  const path = (request.url ?? "").replace(/\?.*$/, "");
  const found = Object.hasOwn(answers, path) ? answers[path] : undefined;
  if (!found) {
    const names = Object.keys(answers).join(", ");
    const fault = `not found: this port serves ${names}; the API is at SONDE_PORT`;
    return sendError(response, 404, fault);
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return sendError(response, 405, "method not allowed");
  }
  await found(response, request);
}

/**
 * Runs the checks at each call and logs changes: unreadiness at info until the process has been
 * ready once, then at warn.
 */
function createReadiness({ state, checks, log }: OpsServerOptions): () => Promise<Readiness> {
  let wasReady = true;
  let level: "info" | "warn" = "info";
  return async () => {
    const now = state();
    if (now !== "running") return { failing: [{ part: "process", reason: now }], degraded: [] };
    const outcomes = await Promise.all(checks.map(outcomeOf));
    const failing = outcomes.flatMap((outcome) => outcome.failing ?? []);
    const isReady = failing.length === 0;
    if (isReady !== wasReady)
      if (isReady) log.info("process ready again");
      else log[level]({ failing }, "process not ready");
    wasReady = isReady;
    if (isReady) level = "warn";
    return { failing, degraded: outcomes.flatMap((outcome) => outcome.degraded ?? []) };
  };
}

async function outcomeOf({
  part,
  check,
}: ReadinessCheck): Promise<{ readonly failing?: Fault; readonly degraded?: Fault }> {
  const tooLong = (): Error => new Error(`no answer within ${CHECK_TIMEOUT_MS / 1000} s`);
  try {
    const limit = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const reason = await untilAborted((async () => check())(), limit, tooLong);
    return typeof reason === "string" ? { degraded: { part, reason } } : {};
  } catch (cause) {
    return { failing: { part, reason: cause instanceof Error ? cause.message : String(cause) } };
  }
}

function addressOf(
  address: AddressInfo | string | null,
): { host: string; port: number } | undefined {
  if (address === null || typeof address === "string") return undefined;
  return { host: address.address, port: address.port };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(body)}\n`);
}

const sendError = (response: ServerResponse, error: number, error_msg: string): void =>
  send(response, error, { error_msg, error });
