// Limits what one owner may have, so nobody can use up the database or a location for others.
import { identityOf, ownedBy } from "../model/access.ts";
import type { Actor } from "../model/access.ts";
import { AppError, TooManyError } from "../model/errors.ts";
import { DAY_MS } from "../model/periods.ts";
import type { ResourceKind } from "../model/resource.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Store } from "../store/store.ts";
import { createCounts } from "./counts.ts";

/** src/config/settings.ts says what each is for. */
export interface Limits {
  /** Per key, in this process. */
  readonly requestsPerMinute: number;
  /** Per owner and kind. The limits below are per owner, too. */
  readonly objects: number;
  /** Also for the answers that a process keeps in a day. */
  readonly definitionsMiB: number;
  readonly keys: number;
  /** Maximum unfinished manual runs. */
  readonly manualRuns: number;
}

const MIB = 1024 * 1024;
const RUNS_RETRY_AFTER_SECONDS = 5;

interface Kind {
  readonly kind: ResourceKind;
  /** For messages: "API Call". */
  readonly label: string;
}

export type Budgets = ReturnType<typeof createBudgets>;

/**
 * Checks changes against the limits. Call each check in the transaction of the change, after it:
 * concurrent changes then count too.
 */
export const createBudgets = (limits: Limits, clock: Clock) => ({
  checkKept: createKeptCheck(limits, clock),
  /** Throws `forbidden` if the owner has more objects, or larger ones, than it may have. */
  async checkCreated(store: Store, owner: Actor, { kind, label }: Kind): Promise<void> {
    const { objects, bytes } = await store.usage.of(owner, kind);
    if (objects > limits.objects)
      throw exceeded(
        `more than ${limits.objects} ${label}s`,
        "SONDE_MAX_OBJECTS",
        `delete ${label}s`,
      );
    assertBytes(bytes, limits);
  },
  /** Throws `forbidden` if the object has grown beyond what the owner may have. */
  async checkChanged(
    store: Store,
    owner: Actor,
    { kind }: Pick<Kind, "kind">,
    { before, after }: { readonly before: unknown; readonly after: unknown },
  ): Promise<void> {
    if (bytesOf(after) <= bytesOf(before)) return;
    assertBytes((await store.usage.of(owner, kind)).bytes, limits);
  },
  /** Throws `forbidden` if the owner has more active keys than it may have. */
  async checkIssued(store: Store, owner: Actor): Promise<void> {
    await store.usage.lock(owner);
    if ((await store.apiKeys.countOf(owner)) > limits.keys)
      throw exceeded(`more than ${limits.keys} active keys`, "SONDE_MAX_KEYS", "revoke keys");
  },
  /** Throws `too_many` if the owner has too many unfinished manual runs. */
  async checkOrdered(store: Store, owner: Actor): Promise<void> {
    await store.usage.lock(owner);
    if ((await store.usage.manualRuns(owner, limits.manualRuns + 1)) > limits.manualRuns)
      throw new TooManyError(
        `You have ${limits.manualRuns} unfinished manual runs, the maximum for one owner (SONDE_MAX_MANUAL_RUNS); try again when one has ended`,
        RUNS_RETRY_AFTER_SECONDS,
      );
  },
});

/**
 * Returns a check that throws `too_many` if this process has kept answers of more bytes for the
 * owner in a day than its definitions may have.
 */
function createKeptCheck({ definitionsMiB }: Limits, clock: Clock) {
  const countBytes = createCounts(clock, DAY_MS);
  return (owner: Actor, bytes: number): void => {
    const identity = identityOf(ownedBy(owner));
    const { count, secondsLeft } = countBytes(identity, bytes);
    if (count <= definitionsMiB * MIB) return;
    countBytes(identity, -bytes); // this answer is not kept
    throw new TooManyError(
      `Answers of more than ${definitionsMiB} MiB may not be kept for one owner in a day (SONDE_MAX_DEFINITIONS_MIB): send the request without Idempotency-Key`,
      secondsLeft,
    );
  };
}

const bytesOf = (document: unknown): number => Buffer.byteLength(JSON.stringify(document));

function assertBytes(bytes: number, { definitionsMiB }: Limits): void {
  if (bytes > definitionsMiB * MIB)
    throw exceeded(
      `definitions of more than ${definitionsMiB} MiB`,
      "SONDE_MAX_DEFINITIONS_MIB",
      "delete objects",
    );
}

const exceeded = (what: string, setting: string, remedy: string): AppError =>
  new AppError(
    "forbidden",
    `One owner may not have ${what}: ${remedy}, or ask the operator to raise ${setting}`,
  );
