// Turns on the connection that writes: one transaction, or statement, at a time. Transactions that
// end in the same turn of the event loop are committed together: each commit writes all pages that
// have changed to the log, mostly the same ones.
import { setImmediate } from "node:timers";
import type { DatabaseConnection } from "kysely";

export interface TurnsSettings extends Statements {
  readonly connection: DatabaseConnection;
}

interface Statements {
  /** Runs a statement on the connection, at once. */
  readonly run: (statement: string) => void;
  /** Whether the connection is in a transaction. */
  readonly isInTransaction: () => boolean;
}

export type Turns = ReturnType<typeof createTurns>;

/** A transaction must not wait for an earlier one, which may be committed with it. */
export function createTurns({ connection, ...statements }: TurnsSettings) {
  let last: Promise<unknown> = Promise.resolve();
  const commitLater = (): void => void setImmediate(() => void take(async () => batch.commit()));
  const batch = createBatch(statements, commitLater);

  function take<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work);
    last = turn.catch(batch.lose);
    return turn.then(async (answer) => {
      await batch.committed();
      return answer;
    });
  }

  return {
    /** Resolves once the transaction is committed. */
    provideConnection: <T>(consumer: (given: DatabaseConnection) => Promise<T>): Promise<T> =>
      take(() => consumer(connection)),
    /** For work outside transactions. */
    alone: <T>(work: () => T): Promise<T> =>
      take(async () => {
        batch.commit();
        return work();
      }),
    /** Of the transaction whose turn it is. */
    begin: batch.begin,
    end: batch.end,
    undo: batch.undo,
  };
}

/**
 * The transactions that are committed together: those after the first are its savepoints. A large
 * one is mostly the first: SQLite copies each page that changes after a savepoint.
 */
function createBatch({ run, isInTransaction }: Statements, commitLater: () => void) {
  let open: { ended: number; readonly committed: PromiseWithResolvers<void> } | undefined;

  function commit(): void {
    const committed = open?.committed;
    open = undefined;
    if (!committed) return;
    try {
      run("commit");
      committed.resolve();
    } catch (cause) {
      if (isInTransaction()) run("rollback");
      committed.reject(cause);
    }
  }

  /** Call it after a failure: on a full disk, for example, SQLite rolls back all of them. */
  function lose(cause: unknown): void {
    if (isInTransaction()) return;
    open?.committed.reject(cause);
    open = undefined;
  }
  /**
   * Takes the write lock at the start, unless the transaction only reads: it must not conflict
   * between its reads and its writes.
   */
  function begin(readsOnly: boolean): void {
    if (readsOnly) {
      commit(); // the others need not wait for it
      return run("begin");
    }
    if (!open) {
      run("begin immediate");
      open = { ended: 0, committed: Promise.withResolvers() };
      open.committed.promise.catch(() => undefined); // each transaction reports it
      commitLater();
    } else run("savepoint turn");
  }
  function end(): void {
    if (!open) return run("commit");
    if (open.ended > 0) run("release turn");
    open.ended += 1;
  }
  function undo(): void {
    // On a full disk SQLite has rolled back already: a second rollback would hide its error.
    if (!isInTransaction()) return;
    if (open && open.ended > 0) {
      run("rollback to turn");
      return run("release turn");
    }
    open = undefined;
    run("rollback");
  }
  /** Rejects if they could not be committed. */
  const committed = () => open?.committed.promise;

  return { commit, committed, lose, begin, end, undo };
}
