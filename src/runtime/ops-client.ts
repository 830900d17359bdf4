// Asks the ops server of a process on this machine.
import type { Readiness } from "./ops-server.ts";

const ANSWER_WITHIN_MS = 4_000;

export interface OpsAddress {
  readonly opsHost: string;
  /** Not 0. */
  readonly opsPort: number;
}

export interface OpsAnswer {
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

/** Rejects with one line when nobody answers. */
export async function askOps(address: OpsAddress, path: string): Promise<OpsAnswer> {
  const url = `http://${reachable(address.opsHost)}:${address.opsPort}${path}`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return { url, status: response.status, text: (await response.text()).trimEnd() };
  } catch (cause) {
    throw new Error(
      `no answer from ${url} (${reasonOf(cause as Error)}): is \`sonde serve\` running?`,
      { cause },
    );
  }
}

/** Returns the faults in an answer of /readyz; none if it is not Sonde's. */
export function readinessIn(text: string): Partial<Readiness> {
  try {
    const { failing, degraded } = JSON.parse(text) as Partial<Readiness>;
    return {
      ...(Array.isArray(failing) && { failing }),
      ...(Array.isArray(degraded) && { degraded }),
    };
  } catch {
    return {};
  }
}

/** Returns the URL host that reaches a listener on `host` from this machine. */
export function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

/** fetch's own message about a failed connection is always "fetch failed". */
const reasonOf = (error: Error): string =>
  error.cause instanceof Error
    ? ((error.cause as NodeJS.ErrnoException).code ?? error.cause.message)
    : error.message;
