// Renews the tokens that calls use, ahead of their expiry; started with the scheduler role. Each by
// one process at a time.
import { randomUUID } from "node:crypto";
import { canRead, ownerOf } from "../model/access.ts";
import { shownAuthSetting } from "../model/auth-setting.ts";
import type { AuthSetting } from "../model/auth-setting.ts";
import { isUnavailable } from "../model/errors.ts";
import { cannotBeDecrypted } from "../model/secrets.ts";
import { isRenewable, renewalTime } from "../model/token-renewal.ts";
import type { Token } from "../model/token.ts";
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import { retry } from "../runtime/retry.ts";
import type { DueToken, StoredDocument } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { createFairQueue } from "./fair-queue.ts";
import type { RenewalMetrics } from "./metrics.ts";
import { createPauses } from "./pauses.ts";
import { saveRenewal } from "./save-renewal.ts";
import type { RenewalOutcome } from "./save-renewal.ts";
import { askForToken } from "./token-endpoint.ts";
import type { TokenAnswer, TokenNetwork } from "./token-endpoint.ts";
import { tokenRequest } from "./token-request.ts";

export interface RenewalOptions extends TokenNetwork {
  readonly store: Store;
  readonly log: Logger;
  readonly metrics: RenewalMetrics;
}

export interface TokenRenewal {
  /** Begins to renew what is due now, as far as there is room; what is under way goes on. */
  beat(): Promise<void>;
  /** Resolves when all that was begun, or waits for room, is saved or has failed. */
  settled(): Promise<void>;
  /**
   * Begins nothing more; what endpoints were asked for is still saved, for it may be all that they
   * accept from now on.
   */
  stop(): Promise<void>;
}

/**
 * From the claim on, over an outage of the database; it includes what the endpoint takes to answer.
 */
const SAVE_WITHIN_MS = 80_000;
/** Longer than that by what a last attempt to save may take. */
const CLAIM_MS = 120_000;
const PLACES = 40;
const PLACES_OF_OWNER = 10;
const SAVE_PAUSE_MS = 500;

export function createTokenRenewal(options: RenewalOptions): TokenRenewal {
  const { store, log, metrics } = options;
  const pauses = createPauses();

  const told = (token_id: string, outcome: RenewalOutcome): void => {
    metrics.attempts.inc({ outcome: outcome.outcome });
    if (outcome.outcome === "failed")
      log.warn({ token_id, reason: outcome.reason }, "token not renewed");
    else if (outcome.outcome === "superseded")
      log.info({ token_id }, "token changed during its renewal");
    else log.info({ token_id }, "token renewed");
  };

  /**
   * Whatever is wrong with one token is none of the others' business; it stays claimed for a while.
   */
  const work = async ({ id }: DueToken): Promise<void> => {
    try {
      const now = await store.now();
      const claimed = now + CLAIM_MS;
      if (!(await store.renewals.claim(id, now, claimed))) return;
      const tooLate = AbortSignal.timeout(SAVE_WITHIN_MS);
      const pauseMs = pauses.next(id);
      const attempt = { id, now, claimed, tooLate, pauseMs };
      const outcome = await renew(options, attempt);
      if (outcome?.outcome === "failed") pauses.begin(id, now);
      else pauses.end(id);
      if (outcome) told(id, outcome);
    } catch (err) {
      // The next beat that reaches the database offers them again.
      if (isUnavailable(err)) queue.offer([]);
      metrics.attempts.inc({ outcome: "failed" });
      log.error({ err, token_id: id }, "token could not be renewed");
    }
  };

  const queue = createFairQueue({
    places: PLACES,
    placesOfOwner: PLACES_OF_OWNER,
    work,
  });
  return {
    async beat() {
      const now = await store.now();
      pauses.forgetBefore(now);
      const due = await store.renewals.listDue(now);
      metrics.due.set(due.length);
      queue.offer(due);
    },
    settled: () => queue.settled(),
    stop() {
      queue.offer([]);
      return queue.settled();
    },
  };
}

interface Attempt {
  readonly id: string;
  readonly now: number;
  readonly claimed: number;
  /** Aborts when no other attempt to save may begin. */
  readonly tooLate: AbortSignal;
  readonly pauseMs: number;
}

/** Undefined where there is nothing to renew now. */
async function renew(
  options: RenewalOptions,
  { id, now, claimed, tooLate, pauseMs }: Attempt,
): Promise<RenewalOutcome | undefined> {
  const { store, metrics } = options;
  const [stored] = await store.documents.getMany("token", [id]);
  if (!stored) return undefined;
  if (stored.unreadable) {
    await store.renewals.release(id, claimed, now + pauseMs);
    return { outcome: "failed", reason: cannotBeDecrypted("the token") };
  }
  const token = stored.document as Token;
  const setting = await settingOf(store, stored);
  const document = setting?.document as AuthSetting | undefined;
  const time = document && isRenewable(document, token) ? renewalTime(token) : null;
  if (!document || time === null || time > now) {
    await store.renewals.release(id, claimed, time);
    return undefined;
  }
  const ended = metrics.duration.startTimer();
  const answered: TokenAnswer = setting?.unreadable
    ? { reason: cannotBeDecrypted("the authentication setting") }
    : await answerTo(document, token, now, options);
  const claim = { stored, asked: now, claimed, pauseMs };
  // The endpoint may accept nothing but this answer from now on: save it over an outage.
  const outcome = await retry(() => saveRenewal(store, claim, answered), {
    delayMs: () => SAVE_PAUSE_MS,
    isRetryable: (cause) => isUnavailable(cause) && !tooLate.aborted,
  });
  ended();
  return outcome;
}

async function answerTo(
  setting: AuthSetting,
  token: Token,
  now: number,
  network: TokenNetwork,
): Promise<TokenAnswer> {
  const request = await tokenRequest(setting, token, { now, id: randomUUID() });
  return typeof request === "string" ? { reason: request } : askForToken(request, network);
}

/** As the token's owner may use it. */
async function settingOf(store: Store, token: StoredDocument): Promise<StoredDocument | undefined> {
  const { auth_id } = (token.document as Token).meta;
  const [stored] = await store.documents.getMany("auth_setting", [auth_id]);
  const user = ownerOf(token);
  if (!stored || !canRead(user, stored)) return undefined;
  const setting = stored.document as AuthSetting;
  return shownAuthSetting(setting, user, stored).keys ? stored : undefined;
}

export function createRenewalService(options: RenewalOptions): Service {
  const { log } = options;
  const renewal = createTokenRenewal(options);
  const cron = createCron({
    name: "token renewal",
    expression: "* * * * * *",
    log,
    work: () => renewal.beat(),
  });
  return {
    name: cron.name,
    start: () => cron.start(),
    async stop() {
      await cron.stop();
      await renewal.stop();
    },
  };
}
