// Defines checks, and runs them concurrently and independently, each with a time limit.
import type { Config } from "../config/config.ts";
import { untilAborted } from "../runtime/deadline.ts";
import type { Finding, ReportedFinding } from "./finding.ts";
import { failureOf, skipped } from "./finding.ts";

export interface Check {
  readonly name: string;
  /** The settings that it needs to be valid. */
  readonly needs?: readonly (keyof Config)[];
  readonly run: () => Promise<readonly Finding[]>;
}

/** Thrown by a check that does not apply or cannot run, with the reason as a sentence. */
export class NotApplicable extends Error {
  override readonly name = "NotApplicable";
}

/** Longer than any attempt to connect takes. */
const LIMIT_MS = 12_000;

/** Returns findings in the order of the checks. Never rejects. */
export async function runChecks(
  checks: readonly Check[],
  invalid: ReadonlyMap<keyof Config, string>,
  limitMs = LIMIT_MS,
): Promise<ReportedFinding[]> {
  const found = await Promise.all(
    checks.map(async (check) => {
      const findings = await findingsOf(check, invalid, limitMs);
      return findings.map(({ state, finding, advice = null }) => ({
        check: check.name,
        state,
        finding,
        advice,
      }));
    }),
  );
  return found.flat();
}

async function findingsOf(
  { needs = [], run }: Check,
  invalid: ReadonlyMap<keyof Config, string>,
  limitMs: number,
): Promise<readonly Finding[]> {
  const lacks = needs.flatMap((name) => invalid.get(name) ?? []);
  if (lacks.length > 0)
    return [skipped(`not checked, because ${lacks.join(", ")} has no valid value`)];
  const limit = AbortSignal.timeout(limitMs);
  try {
    return await untilAborted(run(), limit, () => tooSlow(limitMs));
  } catch (cause) {
    return [cause instanceof NotApplicable ? skipped(cause.message) : failureOf(cause)];
  }
}

const tooSlow = (limitMs: number): Error =>
  new Error(
    `no result within the check's limit of ${limitMs / 1000} s: run \`sonde doctor\` again, and check the load of this machine and its servers`,
  );
