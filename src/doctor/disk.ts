// The disks of the data folder, and of PostgreSQL where it is on this machine.
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { isHub } from "../config/config.ts";
import { databaseServerOf } from "../model/database-url.ts";
import { codeOf } from "../runtime/error-code.ts";
import type { Inspection } from "../store/inspection.ts";
import type { Check } from "./check.ts";
import { percent, sizeOf } from "./amounts.ts";
import type { Finding } from "./finding.ts";
import { failure, ok, skipped, warning } from "./finding.ts";
import type { Sources } from "./sources.ts";

const ALLOWED_FREE = 0.15;
const NEEDED_FREE = 0.05;

export const diskCheck = (sources: Sources): Check => ({
  name: "disk",
  needs: ["dataDir"],
  async run() {
    const { dataDir, databaseUrl } = sources.config;
    const own = diskFinding(`the disk of the data folder ${dataDir}`, await spaceFor(dataDir));
    if (!databaseUrl || !isHub(sources.config)) return [own];
    const database = await sources.database().catch(() => undefined);
    const size = await database?.size();
    if (size) return [own, await databaseDisk(databaseUrl, size)];
    return [
      own,
      skipped("the disk of PostgreSQL: not checked, because PostgreSQL does not answer"),
    ];
  },
});

type DatabaseSize = NonNullable<Awaited<ReturnType<Inspection["size"]>>>;

export interface Space {
  readonly free: number;
  readonly size: number;
}

/** Returns the space of a folder's file system. */
async function spaceAt(path: string): Promise<Space> {
  const { bavail, blocks, bsize } = await statfs(path);
  return { free: bavail * bsize, size: blocks * bsize };
}

/** Returns the space of the file system that the folder will be on, if it does not exist yet. */
async function spaceFor(path: string): Promise<Space> {
  try {
    return await spaceAt(path);
  } catch (cause) {
    const above = dirname(path);
    if (above === path || codeOf(cause) !== "ENOENT") throw cause;
    return spaceFor(above);
  }
}

export function diskFinding(what: string, { free, size }: Space): Finding {
  const share = size > 0 ? free / size : 1;
  const text = `${what} has ${sizeOf(free)} of ${sizeOf(size)} free (${percent(share)})`;
  if (share >= ALLOWED_FREE) return ok(text);
  const advice =
    "free some space: docs/configuration.md, Retention, says how long Sonde keeps each kind of data; `sonde retention run --dry-run` counts what has expired";
  return (share < NEEDED_FREE ? failure : warning)(
    `${text.slice(0, -1)}; allowed: ${percent(ALLOWED_FREE)})`,
    advice,
  );
}

/**
 * Checks PostgreSQL's folder if it is here: the server does not report its free space. The folder
 * of a server in a container is not here, although its address is.
 */
export async function databaseDisk(url: string, { bytes, folder }: DatabaseSize): Promise<Finding> {
  const { host, isSocket } = databaseServerOf(url);
  const isHere = isSocket || ["localhost", "127.0.0.1", "[::1]"].includes(host);
  const space = isHere && folder ? await spaceAt(folder).catch(() => undefined) : undefined;
  if (space) return diskFinding(`the disk of PostgreSQL (${folder})`, space);
  return unseenDisk(bytes, isHere);
}

/** PostgreSQL shows its data folder only to members of pg_read_all_settings. */
const unseenDisk = (bytes: number, isHere: boolean): Finding =>
  skipped(
    isHere
      ? `the disk of PostgreSQL: not checked, because Sonde may not see where the data is: check it yourself, or \`grant pg_read_all_settings\` to its role; the database has ${sizeOf(bytes)}`
      : `the disk of PostgreSQL is on another machine: check it there; the database has ${sizeOf(bytes)}`,
  );
