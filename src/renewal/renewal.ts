// Renews the tokens that calls use, ahead of their expiry, alongside the scheduler. A claim in the
// database keeps other processes from renewing the same token.
import { isUnavailable } from "../model/errors.ts";
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { DueToken } from "../store/records.ts";
import { createFairQueue } from "./fair-queue.ts";
import { renewToken } from "./renew-token.ts";
import type { RenewalOptions, RenewalOutcome } from "./renew-token.ts";

/** Time to save the answer, including database outages; counted from the claim. */
const SAVE_WITHIN_MS = 80_000;
/** Longer than the time to save, by what a last attempt may take. */
const CLAIM_MS = 120_000;
const PLACES = 40;
const PLACES_OF_OWNER = 10;

export function createRenewalService(options: RenewalOptions): Service {
  const renewal = createTokenRenewal(options);
  const cron = createCron({
    name: "token renewal",
    expression: "* * * * * *",
    log: options.log,
    work: () => renewal.beat(),
  });
  return {
    ...cron,
    async stop() {
      await cron.stop();
      await renewal.stop();
    },
  };
}

export type TokenRenewal = ReturnType<typeof createTokenRenewal>;

export function createTokenRenewal(options: RenewalOptions) {
  const { store, log, metrics } = options;
  const pauses = createPauses();

  // A fault with one token does not affect the others; the token stays claimed for a while.
  const work = async ({ id }: DueToken): Promise<void> => {
    try {
      const now = await store.now();
      const claimed = now + CLAIM_MS;
      if (!(await store.renewals.claim(id, now, claimed))) return;
      const tooLate = AbortSignal.timeout(SAVE_WITHIN_MS);
      const pauseMs = pauses.next(id);
      const outcome = await renewToken(options, { id, now, claimed, tooLate, pauseMs });
      if (outcome?.outcome === "failed") pauses.begin(id, now);
      else pauses.end(id);
      if (outcome) report(options, id, outcome);
    } catch (err) {
      // The next beat that reaches the database offers the waiting tokens again.
      if (isUnavailable(err)) queue.offer([]);
      metrics.attempts.inc({ outcome: "failed" });
      log.error({ err, token_id: id }, "token renewal failed");
    }
  };
  const queue = createFairQueue({ places: PLACES, placesOfOwner: PLACES_OF_OWNER, work });

  return {
    /** Starts renewing tokens that are due, as places allow; does not wait for them. */
    async beat(): Promise<void> {
      const now = await store.now();
      pauses.forgetBefore(now);
      metrics.failing.set(pauses.count());
      const due = await store.renewals.listDue(now);
      metrics.due.set(due.length);
      queue.offer(due);
    },
    /** Resolves when every token that was due is renewed or has failed. */
    settled: (): Promise<void> => queue.settled(),
    /** Starts nothing new; still saves answers: an endpoint may accept nothing else. */
    stop(): Promise<void> {
      queue.offer([]);
      return queue.settled();
    },
  };
}

function report({ metrics, log }: RenewalOptions, token_id: string, result: RenewalOutcome): void {
  metrics.attempts.inc({ outcome: result.outcome });
  if (result.outcome === "failed")
    log.warn({ token_id, reason: result.reason }, "token not renewed");
  else if (result.outcome === "superseded") log.info({ token_id }, "token changed during renewal");
  else log.info({ token_id }, "token renewed");
}

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 300_000;

/** Tracks how long to leave a token alone after a failure: 10 s, doubling, at most 5 min. */
export function createPauses() {
  const pauses = new Map<string, { ms: number; endsAt: number }>();
  const next = (id: string): number => {
    const last = pauses.get(id);
    return last ? Math.min(last.ms * 2, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS;
  };
  return {
    /** Milliseconds of the pause if the token fails now. */
    next,
    begin(id: string, now: number): void {
      const ms = next(id);
      pauses.set(id, { ms, endsAt: now + ms });
    },
    end: (id: string): void => void pauses.delete(id),
    count: (): number => pauses.size,
    /** Forgets tokens whose pause is long over: deleted, unused, or renewed by another process. */
    forgetBefore(now: number): void {
      for (const [id, { endsAt }] of pauses) if (endsAt + LONGEST_PAUSE_MS < now) pauses.delete(id);
    },
  };
}
