// What one exchange has done so far. It is filled in as the exchange proceeds, so that a failure
// leaves what was reached.
import type { Certificate } from "../../model/certificate.ts";
import type { Content } from "../../model/content.ts";
import type { Result, Timing } from "../../model/result.ts";
import type { HttpRequest } from "./http-request.ts";
import type { Phase } from "../../model/summary.ts";
import type { Clock } from "../../runtime/clock.ts";

export interface Trace {
  readonly request: HttpRequest;
  /** Milliseconds; null for a phase that was not reached or not completed. */
  readonly phases: Record<Phase, number | null>;
  /** Monotonic instants. */
  readonly started: number;
  ended: number;
  sourceIp: string | null;
  destIp: string | null;
  /** The server's, over https. */
  certificate: Certificate | null;
  /** Bytes of the body; null if nothing was sent, or received. */
  requestSize: number | null;
  responseSize: number | null;
  response: Result["response"];
  /** The decoded body of the response; null until it is complete. */
  content: Content | null;
}

export function newTrace(request: HttpRequest, clock: Clock): Trace {
  const started = clock.monotonic();
  return {
    request,
    phases: {
      dns: null,
      tcp: null,
      handshake: null,
      upload: null,
      processing: null,
      download: null,
    },
    started,
    ended: started,
    sourceIp: null,
    destIp: null,
    certificate: null,
    requestSize: null,
    responseSize: null,
    response: null,
    content: null,
  };
}

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;

const roundedOrNull = (ms: number | null): number | null => (ms === null ? null : rounded(ms));

/** `total` runs from `since` to the end of this exchange. */
export function timingOf({ phases, ended }: Trace, since: number): Timing {
  return {
    dns: roundedOrNull(phases.dns),
    tcp: roundedOrNull(phases.tcp),
    handshake: roundedOrNull(phases.handshake),
    upload: roundedOrNull(phases.upload),
    processing: roundedOrNull(phases.processing),
    download: roundedOrNull(phases.download),
    total: rounded(ended - since),
  };
}
