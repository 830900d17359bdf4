// Inspects and copies a whole file database as of one instant, while other processes may write.
import { closeSync, fsyncSync, openSync, realpathSync, statSync } from "node:fs";
import { backup, DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { MasterKeyRow } from "../keys/master-keys.ts";
import { NEWEST } from "../migrate.ts";

/** Called with the bytes copied so far, and the total. Throws to end the copy. */
export type OnCopied = (copied: number, total: number) => void;

/** Rows by table. */
export type RowCounts = Readonly<Record<string, number>>;

export type Snapshot = ReturnType<typeof openSnapshot>;

/** About 4 MB: larger steps are not faster. */
const PAGES_AT_ONCE = 1000;

/**
 * Opens a snapshot as of this call. It blocks no one; until it is closed, the database's
 * write-ahead log grows. `isInUse`: others may write to the file. Throws with one line for the
 * operator unless the file is a database of this Sonde or an older one.
 */
export function openSnapshot(file: string, { isInUse }: { readonly isInUse: boolean }) {
  const database = openRead(file, isInUse);
  try {
    database.exec("begin");
    const schema = schemaOf(database, file);
    return {
      file,
      /** The name of its newest migration. */
      schema,
      /** The keys that its secrets are sealed with. */
      masterKeys: (): MasterKeyRow[] =>
        hasTable(database, "master_keys")
          ? rowsOf<MasterKeyRow>(database, "select key_id, sealed_check from master_keys")
          : [],
      counts: (): RowCounts => countsOf(database),
      /** How many documents of each kind. */
      documents: (): RowCounts => documentsOf(database),
      /** The cursor of the lease with this name; undefined if it has none yet. */
      cursorOf: (lease: string): number | undefined =>
        rowsOf<{ cursor: number | null }>(
          database,
          "select cursor from leases where name = ?",
          lease,
        )[0]?.cursor ?? undefined,
      /** Writes a new file that only this user may read, and syncs it to disk. */
      async copyTo(path: string, onCopied: OnCopied): Promise<void> {
        closeSync(openSync(path, "wx", 0o600));
        const pageSize = rowsOf<{ page_size: number }>(database, "pragma page_size")[0]?.page_size;
        const inBytes = (pages: number): number => pages * (pageSize ?? 0);
        const pages = await backup(database, path, {
          rate: PAGES_AT_ONCE,
          progress: ({ totalPages, remainingPages }) =>
            onCopied(inBytes(totalPages - remainingPages), inBytes(totalPages)),
        });
        onCopied(inBytes(pages), inBytes(pages));
        syncFile(path);
      },
      [Symbol.dispose]: () => database.close(),
    };
  } catch (cause) {
    database.close();
    throw cause;
  }
}

/**
 * Reads every page and index of a copy that nobody writes. Returns its rows by table. Throws with
 * one line for the operator, which names the copied file, unless the copy is sound.
 */
export function checkCopyOf(file: string, copy: string): RowCounts {
  using database = openRead(copy, false);
  return explained(file, () => {
    const [found] = rowsOf<{ integrity_check: string }>(database, "pragma integrity_check(1)");
    if (found?.integrity_check === "ok") return countsOf(database);
    throw damaged(file, found?.integrity_check.replaceAll(/\s+/g, " ") ?? "no answer");
  });
}

/** Opens an unused file without a log as immutable: its disk may be read-only. */
function openRead(file: string, isInUse: boolean): DatabaseSync {
  return explained(file, () => {
    if (!statSync(file, { throwIfNoEntry: false })?.isFile())
      throw new Error(`there is no file ${file}`);
    const url = pathToFileURL(file);
    // SQLite keeps the log beside the file, not beside a link to it.
    const hasLog = statSync(`${realpathSync(file)}-wal`, { throwIfNoEntry: false }) !== undefined;
    if (!isInUse && !hasLog) url.searchParams.set("immutable", "1");
    const database = new DatabaseSync(url, { readOnly: true });
    try {
      database.exec("pragma busy_timeout = 5000; pragma schema_version");
      return database;
    } catch (cause) {
      database.close();
      throw cause;
    }
  });
}

function schemaOf(database: DatabaseSync, file: string): string {
  const isSondes = ["kysely_migration", "documents"].every((name) => hasTable(database, name));
  const applied = isSondes
    ? rowsOf<{ name: string }>(database, "select name from kysely_migration order by name")
    : [];
  const schema = applied.at(-1)?.name;
  if (schema === undefined) throw notSondes(file);
  if (schema <= NEWEST) return schema;
  throw new Error(
    `${file} is from a newer Sonde: it has schema ${schema}, and this Sonde supports schemas up to ${NEWEST}: use the Sonde that made it`,
  );
}

const hasTable = (database: DatabaseSync, name: string): boolean =>
  database.prepare("select 1 from sqlite_master where type = 'table' and name = ?").get(name) !==
  undefined;

function countsOf(database: DatabaseSync): RowCounts {
  const tables = rowsOf<{ name: string }>(
    database,
    "select name from sqlite_master where type = 'table' and name not like 'sqlite!_%' escape '!'",
  );
  return Object.fromEntries(
    tables.map(({ name }) => {
      const [counted] = rowsOf<{ rows: number }>(
        database,
        `select count(*) as rows from "${name}"`,
      );
      return [name, counted?.rows ?? 0];
    }),
  );
}

const documentsOf = (database: DatabaseSync): RowCounts =>
  Object.fromEntries(
    rowsOf<{ kind: string; rows: number }>(
      database,
      "select kind, count(*) as rows from documents group by kind order by kind",
    ).map(({ kind, rows }) => [kind, rows]),
  );

const rowsOf = <Row>(database: DatabaseSync, text: string, ...values: string[]): Row[] =>
  database.prepare(text).all(...values) as Row[];

export function syncFile(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

// SQLITE_CORRUPT, SQLITE_NOTADB: https://www.sqlite.org/rescode.html
const [CORRUPT, NOT_A_DATABASE] = [11, 26];

function explained<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const { code, errcode = 0, message } = cause as NodeJS.ErrnoException & { errcode?: number };
    if ((errcode & 0xff) === NOT_A_DATABASE) throw notSondes(file);
    if ((errcode & 0xff) === CORRUPT) throw damaged(file, message);
    if (errcode === 0 && !/^E[A-Z]+$/.test(code ?? "")) throw cause;
    throw new Error(
      `cannot read ${file} (${errcode === 0 ? code : message}): make it a file that this user may read, in a folder with room`,
      { cause },
    );
  }
}

const notSondes = (file: string): Error => new Error(`${file} is not a database of Sonde`);

const damaged = (file: string, what: string): Error =>
  new Error(`${file} is damaged (${what}): use another copy`);
