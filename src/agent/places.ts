// Decides which waiting run gets the agent's next place: no owner's runs may delay those of others.
import { createHeap } from "../runtime/heap.ts";
import type { Heap } from "../runtime/heap.ts";

/** A run that wants a place. */
export interface Claim {
  /** The same for all runs of an owner. */
  readonly owner: string;
  readonly isManual: boolean;
  /** It may hold its place longer than others can wait for one. */
  readonly isLong: boolean;
  /** Epoch milliseconds, like `latest`: no place before then. */
  readonly instant: number;
  /** No place after then; at or after `instant`. */
  readonly latest: number;
}

/**
 * Manual and long runs together get at most this share of the places, but at least one. The rest is
 * for short runs, since no run is cut short for another.
 */
const LIMITED_SHARE = 0.5;

/**
 * An owner that shares the agent gets a place only while it holds fewer than this many times the
 * free places, which leaves some for the next owner: the dynamic thresholds of Choudhury and Hahne
 * (1998), https://doi.org/10.1109/90.664262
 */
const TIMES_FREE = 4;

/**
 * A place goes to scheduled runs before manual ones; within each, to the owner that holds the
 * fewest places; then to the run that was due first.
 */
export function createPlaces<C extends Claim>(count: number) {
  const owners = createOwners<C>();
  const waiting = createWaiting<C>();
  /** Claims that wait or have a place. */
  const runs = new Map<C, Run<C>>();
  const free: Free = { all: count, limited: Math.max(1, Math.floor(count * LIMITED_SHARE)) };
  let added = 0;

  /** The owner of a kind's first run holds the fewest places: if it has no room, none has. */
  function withRoom(kind: Kind): Run<C> | undefined {
    const first = waiting.first(kind);
    return first && hasRoom(kind, first.owner, free, owners.count() === 1) ? first : undefined;
  }
  function hold({ claim, owner }: Run<C>, places: 1 | -1): void {
    free.all -= places;
    if (kindOf(claim) !== "short") free.limited -= places;
    owner.held += places;
    waiting.reorder(owner);
  }
  function end(claim: C): Run<C> {
    const run = runs.get(claim) as Run<C>;
    runs.delete(claim);
    owners.leave(run.owner);
    return run;
  }

  return {
    add(claim: C): void {
      const run = { claim, owner: owners.enter(claim.owner), number: (added += 1) };
      runs.set(claim, run);
      waiting.add(run);
    },
    /** Returns the claim that gets a place now, if any; `take` gives it the place. */
    next(now: number): C | undefined {
      waiting.lineUp(now);
      const [short, long] = [withRoom("short"), withRoom("long")];
      const scheduled = short && long ? (isSooner(long, short) ? long : short) : (short ?? long);
      return (scheduled ?? withRoom("manual"))?.claim;
    },
    take: (claim: C): void => hold(waiting.remove(runs.get(claim) as Run<C>), 1),
    /** Frees the place that a claim took. */
    release: (claim: C): void => hold(end(claim), -1),
    /** Removes a claim that waits. */
    withdraw: (claim: C): void => void waiting.remove(end(claim)),
    /** Returns a waiting claim whose `latest` has passed. */
    expired(now: number): C | undefined {
      waiting.lineUp(now);
      const claim = waiting.firstToExpire()?.claim;
      return claim && claim.latest < now ? claim : undefined;
    },
    /** When `next` or `expired` may return a claim again, after returning nothing. */
    changesAt(): number {
      const instant = waiting.firstEarly()?.claim.instant ?? Infinity;
      return Math.min(instant, (waiting.firstToExpire()?.claim.latest ?? Infinity) + 1);
    },
    areFree: () => free.all > 0,
  };
}

type Kind = "short" | "long" | "manual";

const kindOf = ({ isManual, isLong }: Claim): Kind =>
  isManual ? "manual" : isLong ? "long" : "short";

/** All free places, and how many more manual and long runs together may take. */
interface Free {
  all: number;
  limited: number;
}

function hasRoom(
  kind: Kind,
  { held }: { readonly held: number },
  { all, limited }: Readonly<Free>,
  isAlone: boolean,
): boolean {
  if (all === 0) return false;
  if (kind === "short") return isAlone || held < TIMES_FREE * all;
  return held < TIMES_FREE * (isAlone ? limited : Math.min(all, limited));
}

interface Owner<C extends Claim> {
  readonly name: string;
  /** Its runs, waiting or with places. */
  runs: number;
  /** Places that its runs hold. */
  held: number;
  readonly queues: Map<Kind, Queue<C>>;
}

interface Run<C extends Claim> {
  readonly claim: C;
  readonly owner: Owner<C>;
  /** Rises in order of arrival. */
  readonly number: number;
}

/** One owner's due runs of one kind, the earliest first; never empty. */
type Queue<C extends Claim> = Heap<Run<C>>;

function createOwners<C extends Claim>() {
  const owners = new Map<string, Owner<C>>();
  return {
    count: () => owners.size,
    /** Counts one more run of the owner. */
    enter(name: string): Owner<C> {
      const owner = owners.get(name) ?? { name, runs: 0, held: 0, queues: new Map() };
      owners.set(name, owner);
      owner.runs += 1;
      return owner;
    },
    leave(owner: Owner<C>): void {
      owner.runs -= 1;
      if (owner.runs === 0) owners.delete(owner.name);
    },
  };
}

/** Runs without a place. */
function createWaiting<C extends Claim>() {
  const early = createHeap<Run<C>>(isEarlier);
  const due = createHeap<Run<C>>((a, b) => a.claim.latest < b.claim.latest);
  const lines = { short: createLine<C>(), long: createLine<C>(), manual: createLine<C>() };
  return {
    add: (run: Run<C>): void => early.add(run),
    lineUp(now: number): void {
      for (let run = early.first(); run && run.claim.instant <= now; run = early.first()) {
        early.remove(run);
        due.add(run);
        const kind = kindOf(run.claim);
        const queue = run.owner.queues.get(kind) ?? createHeap<Run<C>>(isEarlier);
        const isNew = !queue.first();
        queue.add(run);
        run.owner.queues.set(kind, queue);
        if (isNew) lines[kind].add(queue);
        else lines[kind].update(queue);
      }
    },
    /** Removes and returns a run. */
    remove(run: Run<C>): Run<C> {
      if (early.remove(run)) return run;
      due.remove(run);
      const kind = kindOf(run.claim);
      const queue = run.owner.queues.get(kind) as Queue<C>;
      queue.remove(run);
      if (queue.first()) lines[kind].update(queue);
      else {
        run.owner.queues.delete(kind);
        lines[kind].remove(queue);
      }
      return run;
    },
    /** Call it when the owner's places have changed. */
    reorder({ queues }: Owner<C>): void {
      for (const [kind, queue] of queues) lines[kind].update(queue);
    },
    /** The first due run of a kind. */
    first: (kind: Kind): Run<C> | undefined => lines[kind].first()?.first(),
    firstEarly: () => early.first(),
    firstToExpire: () => due.first(),
  };
}

/** The queues of one kind, that of the owner with the fewest places first. */
const createLine = <C extends Claim>() =>
  createHeap<Queue<C>>((a, b) => isSooner(a.first() as Run<C>, b.first() as Run<C>));

const isEarlier = <C extends Claim>(a: Run<C>, b: Run<C>): boolean =>
  a.claim.instant === b.claim.instant ? a.number < b.number : a.claim.instant < b.claim.instant;

const isSooner = <C extends Claim>(a: Run<C>, b: Run<C>): boolean =>
  a.owner.held === b.owner.held ? isEarlier(a, b) : a.owner.held < b.owner.held;
