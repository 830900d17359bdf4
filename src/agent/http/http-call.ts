// One HTTP call: fresh connections and exchanges, redirects included, within a hard deadline.
import { randomUUID } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { SecureContext } from "node:tls";
import type { ResultCode } from "../../model/result.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Behaviour } from "./behaviour.ts";
import type { HttpRequest } from "./http-request.ts";
import { connect } from "./connect.ts";
import type { Attempt, Network } from "./connect.ts";
import { createCookies, setCookiesOf, withCookies } from "./cookie-jar.ts";
import type { Cookies } from "./cookie-jar.ts";
import { createDeadline } from "../../runtime/deadline.ts";
import type { EgressRules } from "../../net/egress.ts";
import { exchange } from "./exchange.ts";
import { agentFailure, CallFailure } from "./failure.ts";
import { nextRequest } from "./redirect.ts";
import { createHostResolver } from "../../net/resolve-host.ts";
import type { HostResolver } from "../../net/resolve-host.ts";
import { newTrace } from "./trace.ts";
import type { Trace } from "./trace.ts";
import { createUplink } from "./uplink.ts";

export interface CallOutcome {
  readonly result: ResultCode;
  /** Null when there is nothing to say; otherwise it begins with a failure's code. */
  readonly message: string | null;
  /** The exchanges that ended in a redirect which was followed. */
  readonly hops: readonly Trace[];
  readonly last: Trace;
}

export interface HttpCaller {
  /** What the target does is an outcome. Rejects with the reason of `cancel` only. */
  call(
    request: HttpRequest,
    behaviour: Behaviour,
    cancel?: AbortSignal,
    /** What it finds there it sends, and leaves there what it is given; by default its own. */
    cookies?: Cookies,
  ): Promise<CallOutcome>;
}

export interface HttpCallerSettings {
  readonly clock: Clock;
  readonly egress: EgressRules;
  readonly resolver?: HostResolver;
  readonly secureContext?: SecureContext;
  readonly certifiedContext?: Network["certifiedContext"];
  /** `host:port` of what answers wherever the agent's own network works. */
  readonly uplinkCheck?: readonly string[];
}

export function createHttpCaller({
  clock,
  egress,
  resolver = createHostResolver({ clock }),
  secureContext = createSecureContext(),
  certifiedContext = createSecureContext,
  uplinkCheck = [],
}: HttpCallerSettings): HttpCaller {
  const network: Network = {
    clock,
    egress,
    resolver,
    secureContext,
    certifiedContext,
  };
  const uplink = createUplink({ addresses: uplinkCheck, clock, resolver });
  return {
    async call(request, behaviour, cancel, cookies = createCookies(clock)) {
      const hops: Trace[] = [];
      let bare = request;
      let last = newTrace(withCookies(bare, cookies), clock);
      const { timeoutMs, insecureTls } = behaviour;
      const deadline = createDeadline(timeoutMs, cancel);
      const end = last.started + timeoutMs;
      const attempt: Attempt = {
        insecureTls,
        signal: deadline.signal,
        left: () => end - clock.monotonic(),
      };
      try {
        for (;;) {
          await visit(network, last, attempt);
          const { response } = last;
          cookies.store(bare.url, setCookiesOf(response?.headers ?? []));
          const seen = { request: bare, response };
          const next = nextRequest(seen, behaviour, hops.length);
          if (!next) break;
          bare = await signed(next, clock);
          hops.push(last);
          last = newTrace(withCookies(bare, cookies), clock);
        }
        return { result: resultOf(last), message: null, hops, last };
      } catch (cause) {
        cancel?.throwIfAborted();
        const failure = await uplink.judge(failureOf(cause, spentBy(last, hops), behaviour));
        return {
          result: failure.result,
          message: failure.message,
          hops,
          last,
        };
      } finally {
        deadline.clear();
      }
    },
  };
}

/** Throws a `CallFailure` for what cannot be signed. */
async function signed(request: HttpRequest, clock: Clock): Promise<HttpRequest> {
  if (!request.sign) return request;
  const nonce = randomUUID().replaceAll("-", "");
  const built = await request.sign(request, { now: clock.now(), nonce });
  if ("request" in built) return built.request;
  throw new CallFailure(
    "redirect_invalid",
    `the request that it asks for cannot be signed: ${built.reason}`,
  );
}

// A deadline that is noticed this late says that the agent stood still, and nothing of the target.
const STALLED_MS = 500;

function failureOf(cause: unknown, spentMs: number, { timeoutMs }: Behaviour): CallFailure {
  if (spentMs > timeoutMs + STALLED_MS)
    return new CallFailure(
      "agent_error",
      `the agent was held up; it ended the call ${Math.round(spentMs - timeoutMs)} ms after its deadline`,
      { cause },
    );
  return cause instanceof CallFailure ? cause : agentFailure(cause);
}

const spentBy = (last: Trace, [first = last]: readonly Trace[]): number =>
  last.ended - first.started;

async function visit(network: Network, trace: Trace, attempt: Attempt): Promise<void> {
  try {
    const socket = await connect(network, trace, attempt);
    try {
      await exchange(socket, trace, network.clock, attempt.signal);
    } finally {
      socket.destroy();
    }
  } catch (cause) {
    trace.ended = network.clock.monotonic();
    throw cause;
  }
}

function resultOf({ response }: Trace): ResultCode {
  const status = response?.status_code ?? 0;
  if (status < 400) return "COMPLETE";
  return status < 500 ? "HTTP_CLIENT_ERROR" : "HTTP_SERVER_ERROR";
}
