// One HTTP call: exchanges over fresh connections, redirects included, within a hard deadline.
import { createSecureContext } from "node:tls";
import type { Behaviour } from "../../model/behaviour.ts";
import type { ResultCode } from "../../model/result.ts";
import type { EgressRules } from "../../net/egress.ts";
import { createHostResolver } from "../../net/resolve-host.ts";
import type { HostResolver } from "../../net/resolve-host.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createDeadline } from "../../runtime/deadline.ts";
import type { Logger } from "../../runtime/logger.ts";
import { connect } from "./connect.ts";
import type { Attempt, Network } from "./connect.ts";
import { createCookies, siteOf, withCookies, withoutCookies } from "./cookies.ts";
import type { Cookies } from "./cookies.ts";
import { exchange } from "./exchange.ts";
import { AgentFailure, CallFailure } from "./failure.ts";
import { momentAt } from "./http-request.ts";
import type { HttpRequest } from "./http-request.ts";
import { redirectedRequest } from "./redirect.ts";
import { endTrace, newTrace } from "./trace.ts";
import type { Trace } from "./trace.ts";
import { createUplink } from "./uplink.ts";

export interface CallOutcome {
  readonly result: ResultCode;
  /** Null if there is nothing to report; otherwise it begins with a failure code. */
  readonly message: string | null;
  /** Exchanges that ended in a followed redirect. */
  readonly hops: readonly Trace[];
  readonly last: Trace;
  /** What failed in the agent itself, for its log. */
  readonly fault?: unknown;
}

export interface HttpCallerSettings {
  readonly clock: Clock;
  readonly egress: EgressRules;
  readonly resolver?: HostResolver;
  readonly log?: Logger;
  /** The trusted authorities, in PEM; default: those of Node. */
  readonly ca?: string;
  /** `host:port` of servers that answer whenever the agent's own network works. */
  readonly uplinkCheck?: readonly string[];
}

export type HttpCaller = ReturnType<typeof createHttpCaller>;

export function createHttpCaller({
  clock,
  egress,
  resolver = createHostResolver({ clock }),
  ca,
  uplinkCheck = [],
  log,
}: HttpCallerSettings) {
  const secureContext = createSecureContext({ ca });
  const network: Network = { egress, resolver, log, ca, secureContext };
  const uplink = createUplink({ addresses: uplinkCheck, clock, resolver });
  return {
    /**
     * Resolves whatever the target does; rejects only on `cancel`, with its reason. The call reads
     * and fills `cookies`; without them, its redirects share a jar of their own.
     */
    async call(
      request: HttpRequest,
      behaviour: Behaviour,
      cancel?: AbortSignal,
      cookies?: Cookies,
    ): Promise<CallOutcome> {
      const { timeoutMs, insecureTls } = behaviour;
      const first = newTrace(cookies ? withCookies(request, cookies) : request, clock);
      const deadline = createDeadline(timeoutMs, cancel);
      const attempt: Attempt = { insecureTls, deadline };
      const progress: Progress = { hops: [], last: first };
      try {
        await followToEnd(network, progress, { request, behaviour, attempt, cookies });
        return { result: resultOf(progress.last), message: null, ...progress };
      } catch (cause) {
        cancel?.throwIfAborted();
        const spentMs = progress.last.ended - first.started;
        const failure = failureOf(cause, spentMs, timeoutMs);
        const { result, message } = await uplink.judge(failure);
        const fault = failure instanceof AgentFailure ? failure.cause : undefined;
        return { result, message, ...progress, fault };
      } finally {
        deadline.clear();
      }
    },
  };
}

interface Progress {
  readonly hops: Trace[];
  last: Trace;
}

interface Plan {
  /** The call's own request, before cookies are added. */
  readonly request: HttpRequest;
  readonly behaviour: Behaviour;
  readonly attempt: Attempt;
  readonly cookies: Cookies | undefined;
}

/** Makes the call and follows its redirects; after a failure, `progress` holds what was reached. */
async function followToEnd(
  network: Network,
  progress: Progress,
  { request, behaviour, attempt, cookies }: Plan,
): Promise<void> {
  const { clock } = progress.last;
  let [own, jar] = [request, cookies];
  const newer = new Set<string>();
  for (;;) {
    await visit(network, progress, attempt);
    const { status_code = 0, headers = [] } = progress.last.response ?? {};
    const isRedirect = status_code >= 300 && status_code <= 399;
    if (!isRedirect) return void jar?.store(siteOf(own), headers);
    jar ??= createCookies(clock);
    const { set, deleted } = jar.store(siteOf(own), headers);
    // Cookies set by a redirect are newer than the call's own, which otherwise win.
    for (const name of set) newer.add(name);
    own = withoutCookies(own, deleted);
    const next = redirectedRequest(own, { status_code, headers }, behaviour, progress.hops.length);
    own = await signed(next, clock);
    progress.hops.push(progress.last);
    progress.last = newTrace(withCookies(own, jar, newer), clock, progress.last);
  }
}

async function visit(
  network: Network,
  { hops, last: trace }: Progress,
  attempt: Attempt,
): Promise<void> {
  try {
    const socket = await connect(network, trace, attempt);
    try {
      await exchange(socket, trace, attempt.deadline);
    } finally {
      socket.destroy();
    }
  } catch (cause) {
    // A body that arrived whole but does not decode ended the exchange with its last byte.
    if (trace.phases.download === null) endTrace(trace);
    // The time it took would reveal why the name has no address.
    if (cause instanceof CallFailure && cause.code === "dns_not_found") trace.ended = trace.started;
    throw hops.length > 0 ? ofRedirect(cause) : cause;
  }
}

/** Names the redirect: the call's own host is not refused. */
const ofRedirect = (cause: unknown): unknown =>
  cause instanceof CallFailure && cause.code === "egress_refused"
    ? new CallFailure(
        "egress_refused",
        "the redirect leads to an address that is neither public nor allowed at this location",
      )
    : cause;

/** Throws a `CallFailure` if the request cannot be signed. */
async function signed(request: HttpRequest, clock: Clock): Promise<HttpRequest> {
  if (!request.sign) return request;
  const built = await request.sign(request, momentAt(clock.now()));
  if ("request" in built) return built.request;
  throw new CallFailure(
    "redirect_invalid",
    `the redirected request cannot be signed: ${built.reason}`,
  );
}

// A deadline noticed this late means that the agent stalled; it says nothing about the target.
const STALLED_MS = 500;

function failureOf(cause: unknown, spentMs: number, timeoutMs: number): CallFailure {
  if (spentMs > timeoutMs + STALLED_MS)
    return new CallFailure(
      "agent_error",
      `the agent stalled; it ended the call ${Math.round(spentMs - timeoutMs)} ms after its deadline`,
      { cause },
    );
  return cause instanceof CallFailure ? cause : new AgentFailure(cause);
}

function resultOf({ response }: Trace): ResultCode {
  const status = response?.status_code ?? 0;
  if (status < 400) return "COMPLETE";
  return status < 500 ? "HTTP_CLIENT_ERROR" : "HTTP_SERVER_ERROR";
}
