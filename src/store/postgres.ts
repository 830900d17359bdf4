// PostgreSQL 15 or later: pg behind Kysely's PostgreSQL dialect.
import { CompiledQuery, Kysely, PostgresDialect, sql } from "kysely";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { Pool, types } from "pg";
import type { PoolClient } from "pg";
import { isUnavailable, unavailable } from "../model/errors.ts";
import { textOfInsert } from "./bulk.ts";
import type { BulkValue, RunBulk } from "./bulk.ts";
import type { Schema } from "./schema.ts";
import type { Database } from "./database.ts";

export interface PostgresOptions {
  /** `postgres://…` */
  readonly url: string;
  readonly maxConnections?: number;
  /** 0: none. */
  readonly queryTimeoutMs?: number;
  /** Called when the pool loses an idle connection. */
  readonly onConnectionLost?: (error: Error) => void;
}

const CONNECT_TIMEOUT_MS = 5000;
const QUERY_TIMEOUT_MS = 30_000;

export function openPostgres({
  url,
  maxConnections = 10,
  queryTimeoutMs = QUERY_TIMEOUT_MS,
  onConnectionLost,
}: PostgresOptions): Database {
  const pool = new Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    application_name: "sonde",
    types: { getTypeParser },
  });
  pool.on("error", (error) => onConnectionLost?.(error));
  const kysely = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool: guardedPool(pool) }),
  });
  return {
    kysely,
    rowLocks: true,
    runBulk: runForAll,
    isTransient,
    numbers: new Map(),
    afterCommit: (work) => work(),
    async timeOf(connection) {
      const { rows } = await sql<{ now: number }>`
        select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`.execute(connection);
      return Math.floor(rows[0]?.now ?? 0);
    },
  };
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

/** As PostgreSQL writes it: pg would quote and escape each number. */
const arrayOfNumbers = (values: readonly BulkValue[]): string =>
  `{${values.map((value) => value ?? "NULL").join(",")}}`;

/** Host and port of a database URL, for messages: never its password. */
export const addressOf = (url: string): string => {
  const { hostname, port } = new URL(url);
  return `${hostname || "localhost"}:${port || "5432"}`;
};

// Instants and counts are 64-bit integers below 2^53; by default pg returns them as text.
const INT8: number = types.builtins.INT8;
const getTypeParser: typeof types.getTypeParser = (oid: number, format?: unknown) =>
  oid === INT8 ? Number : types.getTypeParser(oid, format as "text");

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const isTransient = (error: unknown): boolean => ["40001", "40P01"].includes(codeOf(error));

/**
 * The server's fault, not the statement's: it is lost, out of resources, read-only (25006) or
 * interrupted.
 */
function isServersFault(error: unknown): boolean {
  const code = codeOf(error);
  const lostServer = /^(08...|25006|53...|55P03|57014|57P0[1-5]|58...|E[A-Z]+)$/.test(code);
  return (
    lostServer ||
    (error instanceof Error &&
      /terminated|timeout|not queryable/i.test(error.message) &&
      code === "")
  );
}

/** The server rejects the user, or the database does not exist. */
export const isRefused = (error: unknown): boolean => /^(28...|3D000)$/.test(codeOf(error));

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";

function toUnavailable(cause: unknown): unknown {
  if (!isServersFault(cause)) return cause;
  const reason = cause instanceof AggregateError ? codeOf(cause) : (cause as Error).message;
  return unavailable(`database unavailable: ${reason}`, {
    part: "the database",
    cause,
  });
}

function guardedPool(pool: Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: () =>
      pool.connect().then(guardedClient, (cause: unknown) => {
        throw toUnavailable(cause);
      }),
  };
}

function guardedClient(client: PoolClient): PostgresPoolClient {
  let broken = false;
  const onError = (): void => {
    broken = true; // the current query rejects with the reason
  };
  client.on("error", onError);
  const query = async (text: string, parameters: readonly unknown[]): Promise<unknown> => {
    try {
      return await client.query(text, [...parameters]);
    } catch (cause) {
      const error = toUnavailable(cause);
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
