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
import { createTurns } from "./turns.ts";
import type { Turns } from "./turns.ts";

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
  const { write, isInTransaction, close } = connections;
  const turns = createTurns({
    connection: connectionOf(write),
    run: (statement) => void write(CompiledQuery.raw(statement)),
    isInTransaction,
  });
  const driver = driverOf(turns, close);
  const dialect = {
    createAdapter: () => adapter,
    createDriver: () => driver,
    createIntrospector: (kysely: Kysely<unknown>) => new SqliteIntrospector(kysely),
    createQueryCompiler: () => compiler,
  };
  const executor = new SqliteExecutor([compiler, adapter], turns, connections, turns);
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

const driverOf = (turns: Turns, close: () => void): Driver => ({
  init: async () => {},
  acquireConnection: () => {
    throw new Error("connections are taken in turns");
  },
  beginTransaction: async (_, { accessMode }: TransactionSettings) =>
    turns.begin(accessMode === "read only"),
  commitTransaction: async () => turns.end(),
  rollbackTransaction: async () => turns.undo(),
  releaseConnection: async () => {},
  destroy: () => turns.alone(close),
});

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
  /** Undefined for whoever has the turn. */
  readonly #turns: Turns | undefined;

  constructor(
    parts: Parts,
    provider: ConnectionProvider,
    connections: SqliteConnections,
    turns?: Turns,
  ) {
    super(...parts, provider);
    this.#parts = parts;
    this.#connections = connections;
    this.#turns = turns;
  }

  override async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { read, write } = this.#connections;
    if (!this.#turns) return write(query) as QueryResult<R>;
    if (isRead(query)) return read(query) as QueryResult<R>;
    return this.#turns.alone(() => write(query) as QueryResult<R>);
  }

  override withConnectionProvider(turn: ConnectionProvider): DefaultQueryExecutor {
    return new SqliteExecutor(this.#parts, turn, this.#connections);
  }
}
