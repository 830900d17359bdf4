// Connects to PostgreSQL 15 or later: pg behind Kysely's PostgreSQL dialect.
import { CompiledQuery, Kysely, PostgresDialect, sql } from "kysely";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { Pool, types } from "pg";
import type { PoolClient } from "pg";
import { isUnavailable, unavailable } from "../../model/errors.ts";
import { systemClock } from "../../runtime/clock.ts";
import { codeOf } from "../../runtime/error-code.ts";
import { textOfInsert } from "../bulk.ts";
import type { BulkValue, RunBulk } from "../bulk.ts";
import type { Schema } from "../schema.ts";
import type { Database } from "../database.ts";
import type { DatabaseMetrics } from "../metrics.ts";
import { isTlsFault, securedUrl } from "./postgres-tls.ts";

export interface PostgresOptions {
  /** `postgres://…` */
  readonly url: string;
  /** PEM of the CAs that verify its certificate; turns TLS on. */
  readonly ca?: string | undefined;
  readonly maxConnections?: number;
  /** After this time the server cancels a statement. 0: never, for work that may take hours. */
  readonly timeoutMs?: number;
  /** How long a statement waits for a lock. Default: no limit but that of the statement. */
  readonly lockTimeoutMs?: number;
  /** The server refuses every change. */
  readonly readOnly?: boolean;
  /** Called when the pool loses an idle connection. */
  readonly onConnectionLost?: (error: Error) => void;
  readonly metrics?: DatabaseMetrics | undefined;
}

/** Also limits the wait for a free pooled connection. */
const CONNECT_TIMEOUT_MS = 5000;
const TIMEOUT_MS = 30_000;
/** Gives the server time to cancel first; the client gives up only if it does not answer. */
const CANCEL_GRACE_MS = 3000;
/** A process that hangs in mid-transaction must not keep its locks. */
const IDLE_IN_TRANSACTION_MS = 10_000;

export function openPostgres(options: PostgresOptions): Database {
  const pool = poolOf(options);
  const numbers = new Map<string, number>();
  // It may lead to a promoted standby that lacks the names committed last.
  pool.on("connect", () => numbers.clear());
  pool.on("error", (error) => options.onConnectionLost?.(error));
  options.metrics?.watch(() => pool);
  const kysely = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool: guardedPool(pool, options.metrics) }),
  });
  return {
    kysely,
    rowLocks: true,
    runBulk: runForAll,
    isTransient,
    numbers,
    afterCommit: (work) => work(),
    async timeOf(connection) {
      const { rows } = await sql<{ now: number }>`
        select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`.execute(connection);
      return Math.floor(rows[0]?.now ?? 0);
    },
  };
}

function poolOf({
  url: given,
  ca,
  maxConnections = 10,
  timeoutMs = TIMEOUT_MS,
  lockTimeoutMs = 0,
  readOnly = false,
}: PostgresOptions): Pool {
  const { url, ssl } = securedUrl(given, ca);
  const isLimited = timeoutMs > 0;
  const settings = `
    set statement_timeout = ${timeoutMs}; set lock_timeout = ${lockTimeoutMs};
    set idle_in_transaction_session_timeout = ${isLimited ? IDLE_IN_TRANSACTION_MS : 0};
    set default_transaction_isolation = 'read committed';
    ${readOnly ? "set default_transaction_read_only = on" : ""}`;
  return new Pool({
    connectionString: url,
    ssl,
    max: maxConnections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: isLimited ? timeoutMs + CANCEL_GRACE_MS : 0,
    keepAlive: true,
    application_name: "sonde",
    types: { getTypeParser },
    // Overrides settings of the database or the role. The pool waits for this query.
    onConnect: (client) => client.query(settings) as unknown as undefined,
  });
}

const runForAll: RunBulk = async (kysely, insert, rows) => {
  const columns = Object.entries(insert.columns);
  const arrays = columns.map(([, type], n) => `$${n + 1}::${type}[]`).join(", ");
  const names = Object.keys(insert.columns).join(", ");
  const text = textOfInsert(
    insert,
    (expressions) => `select ${expressions} from unnest(${arrays}) as given (${names})`,
  );
  const values = columns.map(([column, type]) => {
    const given = rows.map((row) => row[column] ?? null);
    return type === "text" || type === "bytea" ? given : arrayOfNumbers(given);
  });
  await kysely.executeQuery(CompiledQuery.raw(text, values));
};

/** Writes an array literal: pg would quote and escape each number. */
const arrayOfNumbers = (values: readonly BulkValue[]): string =>
  `{${values.map((value) => value ?? "NULL").join(",")}}`;

// Instants and counts are 64-bit integers below 2^53; by default pg returns them as text.
const INT8: number = types.builtins.INT8;
const getTypeParser: typeof types.getTypeParser = (oid: number, format?: unknown) =>
  oid === INT8 ? Number : types.getTypeParser(oid, format as "text");

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const isTransient = (error: unknown): boolean => ["40001", "40P01"].includes(codeOf(error));

/**
 * Whether the fault is the server's, not the statement's: the server is lost, out of resources,
 * read-only (25006) or interrupted.
 */
function isServersFault(error: unknown): boolean {
  const code = codeOf(error);
  const lostServer = /^(08...|25006|25P03|53...|55P03|57014|57P0[1-5]|58...|E[A-Z]+)$/.test(code);
  return (
    lostServer ||
    isTlsFault(error) ||
    (error instanceof Error &&
      /terminated|timeout|not queryable/i.test(error.message) &&
      code === "")
  );
}

/** Whether the server is a standby, or its operator has made it read-only. */
export const isReadOnly = (error: unknown): boolean => codeOf(error) === "25006";

/** Whether the server is read-only, or has no room on its disk. */
const refusesChanges = (error: unknown): boolean => isReadOnly(error) || codeOf(error) === "53100";

/** Whether the server rejects the user, or the database does not exist. */
export const isRefused = (error: unknown): boolean => /^(28...|3D000)$/.test(codeOf(error));

/** Whether the user may not use a table, or create one. */
export const isForbidden = (error: unknown): boolean => codeOf(error) === "42501";

function toUnavailable(cause: unknown): unknown {
  if (!isServersFault(cause)) return cause;
  const reason = cause instanceof AggregateError ? codeOf(cause) : (cause as Error).message;
  return unavailable(`database unavailable: ${reason}`, {
    part: "the database",
    cause,
  });
}

function guardedPool(pool: Pool, metrics?: DatabaseMetrics): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: () =>
      pool.connect().then(
        (client) => guardedClient(client, metrics),
        (cause: unknown) => {
          const error = isExhausted(cause)
            ? exhausted(pool.options.max, cause)
            : toUnavailable(cause);
          metrics?.failed(error);
          throw error;
        },
      ),
  };
}

/** pg-pool gives this error no code. */
const isExhausted = (error: unknown): boolean =>
  error instanceof Error && error.message === "timeout exceeded when trying to connect";

const exhausted = (connections: number, cause: unknown): Error =>
  unavailable(
    `no connection to the database was free for ${CONNECT_TIMEOUT_MS / 1000} s: this process has ${connections} (SONDE_DATABASE_CONNECTIONS)`,
    { part: "the database", cause },
  );

function guardedClient(client: PoolClient, metrics?: DatabaseMetrics): PostgresPoolClient {
  let broken = false;
  const onError = (): void => {
    broken = true; // the current query rejects with the reason
  };
  client.on("error", onError);
  const query = async (text: string, parameters: readonly unknown[]): Promise<unknown> => {
    const began = systemClock.monotonic();
    try {
      const answer = await client.query(text, [...parameters]);
      metrics?.succeeded(systemClock.monotonic() - began);
      return answer;
    } catch (cause) {
      const error = toUnavailable(cause);
      metrics?.failed(error, refusesChanges(cause));
      broken ||= isUnavailable(error);
      throw error;
    }
  };
  return {
    query: query as PostgresPoolClient["query"],
    release() {
      client.off("error", onError);
      client.release(broken);
    },
  };
}
