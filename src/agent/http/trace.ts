// Records one exchange. The trace fills in as the exchange proceeds: after a failure, it shows what
// was reached.
import type { Certificate } from "../../model/certificate.ts";
import type { Content } from "../../model/content.ts";
import type { Result } from "../../model/result.ts";
import type { HttpRequest } from "./http-request.ts";
import { NO_PHASES } from "../../model/timing.ts";
import type { Phase, Timing } from "../../model/timing.ts";
import type { Clock } from "../../runtime/clock.ts";

export interface Trace {
  readonly request: HttpRequest;
  /** Measures the exchange. */
  readonly clock: Clock;
  /** Milliseconds; null for a phase that was not reached or not completed. */
  readonly phases: Record<Phase, number | null>;
  /** Monotonic instants. */
  readonly started: number;
  ended: number;
  /** `Clock.busy` at the start and at the end. */
  readonly busyAtStart: number;
  busyAtEnd: number;
  /**
   * Milliseconds that the agent's other work held up the call while the thread was idle: in earlier
   * exchanges, and so far.
   */
  readonly heldAtStart: number;
  held: number;
  /**
   * Milliseconds of `Clock.busy` that delayed nothing, because the call only waited for its target:
   * in earlier exchanges, and so far.
   */
  readonly sparedAtStart: number;
  spared: number;
  sourceIp: string | null;
  destIp: string | null;
  /** The server's certificate, over https. */
  certificate: Certificate | null;
  /** Bytes of the body; null if nothing was sent, or received. */
  requestSize: number | null;
  responseSize: number | null;
  response: Result["response"];
  /** The decoded body of the response; null until it is complete. */
  content: Content | null;
}

/** `previous`: the call's previous exchange, which has ended. */
export function newTrace(request: HttpRequest, clock: Clock, previous?: Trace): Trace {
  const [started, busy] = [clock.monotonic(), clock.busy()];
  const spared = previous?.spared ?? 0;
  const held = previous ? previous.held + idleSince(previous, started, busy) : 0;
  return {
    request,
    clock,
    phases: { ...NO_PHASES },
    started,
    ended: started,
    busyAtStart: busy,
    busyAtEnd: busy,
    heldAtStart: held,
    held,
    sparedAtStart: spared,
    spared,
    sourceIp: null,
    destIp: null,
    certificate: null,
    requestSize: null,
    responseSize: null,
    response: null,
    content: null,
  };
}

/** How long the thread was idle after an exchange: other threads decoded the body. */
const idleSince = ({ ended, busyAtEnd }: Trace, now: number, busy: number): number =>
  Math.max(0, now - ended - (busy - busyAtEnd));

export function endTrace(trace: Trace): void {
  trace.ended = trace.clock.monotonic();
  trace.busyAtEnd = trace.clock.busy();
}

/**
 * Begins a wait, once the target has all that it needs to answer. The function returned ends it at
 * the answer, or anew at a later event that did not wait for the agent either. What the thread did
 * during the wait, up to its last look for events, delayed nothing.
 */
export function beginWait(trace: Trace): () => void {
  const { clock } = trace;
  const [spared, busy] = [trace.spared, clock.busy()];
  return () => void (trace.spared = spared + Math.max(0, clock.busyAtLastLook() - busy));
}

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;

const roundedOrNull = (ms: number | null): number | null => (ms === null ? null : rounded(ms));

/** `total` and `uncertainty` run from the start of the `first` exchange to the end of this one. */
export function timingOf(trace: Trace, first = trace): Timing {
  const { phases } = trace;
  const total = rounded(trace.ended - first.started);
  const busy = trace.busyAtEnd - first.busyAtStart;
  const held = trace.held - first.heldAtStart;
  const spared = trace.spared - first.sparedAtStart;
  return {
    dns: roundedOrNull(phases.dns),
    tcp: roundedOrNull(phases.tcp),
    handshake: roundedOrNull(phases.handshake),
    upload: roundedOrNull(phases.upload),
    processing: roundedOrNull(phases.processing),
    download: roundedOrNull(phases.download),
    total,
    // Each end reads two clocks in turn, so a fully busy interval may seem longer than it was.
    uncertainty: Math.min(rounded(busy - spared + held), total),
  };
}
