// Kysely over node:sqlite. Transactions take turns on one connection; other reads have a connection
// of their own, so they never wait for a transaction, nor see what it has not committed.
import {
  CompiledQuery,
  DefaultQueryExecutor,
  Kysely,
  RawNode,
  SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type {
  ConnectionProvider,
  DatabaseConnection,
  Driver,
  QueryResult,
  TransactionSettings,
} from "kysely";
import type { Schema } from "../schema.ts";

/** Runs the query at once, on one connection. */
export type Execute = (query: CompiledQuery) => QueryResult<unknown>;

export interface SqliteConnections {
  readonly write: Execute;
  readonly read: Execute;
  /** Whether the writing connection is in a transaction. */
  readonly isInTransaction: () => boolean;
  readonly close: () => void;
}

export function kyselyOver(connections: SqliteConnections): Kysely<Schema> {
  const compiler = new SqliteQueryCompiler();
  const adapter = new WholeMigrationsAdapter();
  const driver = driverOf(connections);
  const turns = turnsOn(connectionOf(connections.write));
  const dialect = {
    createAdapter: () => adapter,
    createDriver: () => driver,
    createIntrospector: (kysely: Kysely<unknown>) => new SqliteIntrospector(kysely),
    createQueryCompiler: () => compiler,
  };
  const executor = new SqliteExecutor([compiler, adapter], turns, connections, false);
  return new Kysely<Schema>({ config: { dialect }, dialect, driver, executor });
}

/**
 * A migration that fails or is killed leaves no trace:
 * https://www.sqlite.org/lang_transaction.html
 */
class WholeMigrationsAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

const connectionOf = (execute: Execute): DatabaseConnection => ({
  executeQuery: async <R>(query: CompiledQuery) => execute(query) as QueryResult<R>,
  streamQuery: () => {
    throw new Error("rows are read in pages, not streamed");
  },
});

/** Hands the connection to one transaction, or one statement, at a time. */
function turnsOn(connection: DatabaseConnection): ConnectionProvider {
  let last: Promise<unknown> = Promise.resolve();
  return {
    provideConnection(consumer) {
      const turn = last.then(() => consumer(connection));
      last = turn.catch(() => {});
      return turn;
    },
  };
}

function driverOf({ write, isInTransaction, close }: SqliteConnections): Driver {
  const run = async (text: string): Promise<void> => void write(CompiledQuery.raw(text));
  return {
    init: async () => {},
    acquireConnection: async () => connectionOf(write),
    // Takes the write lock at the start, unless it only reads: a transaction must not conflict
    // between its reads and its writes.
    beginTransaction: (_, { accessMode }: TransactionSettings) =>
      run(accessMode === "read only" ? "begin" : "begin immediate"),
    commitTransaction: () => run("commit"),
    // On a full disk SQLite has rolled back already: a second rollback would hide its error.
    rollbackTransaction: async () => (isInTransaction() ? run("rollback") : undefined),
    releaseConnection: async () => {},
    destroy: async () => close(),
  };
}

/**
 * A text that begins with `with` may end in a write: one with the word of a write waits its turn,
 * even if it only reads.
 */
const READ_TEXT = /^\s*(?:select\b|with\b(?!.*\b(?:insert|update|delete|replace)\b))/is;

const isRead = ({ query, sql }: CompiledQuery): boolean =>
  SelectQueryNode.is(query) || (RawNode.is(query) && READ_TEXT.test(sql));

type Parts = readonly [compiler: SqliteQueryCompiler, adapter: SqliteAdapter];

/** Executes queries outside transactions, or those of whoever has the turn. */
class SqliteExecutor extends DefaultQueryExecutor {
  readonly #parts: Parts;
  readonly #connections: SqliteConnections;
  readonly #hasTurn: boolean;

  constructor(
    parts: Parts,
    turns: ConnectionProvider,
    connections: SqliteConnections,
    hasTurn: boolean,
  ) {
    super(...parts, turns);
    this.#parts = parts;
    this.#connections = connections;
    this.#hasTurn = hasTurn;
  }

  override async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { read, write } = this.#connections;
    if (this.#hasTurn) return write(query) as QueryResult<R>;
    if (isRead(query)) return read(query) as QueryResult<R>;
    return super.executeQuery(query);
  }

  override withConnectionProvider(turn: ConnectionProvider): DefaultQueryExecutor {
    return new SqliteExecutor(this.#parts, turn, this.#connections, true);
  }
}
