// The private folder of a process, created on first use, and the keys generated in it.
import { randomBytes, randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { codeOf, codeOrText } from "./error-code.ts";

export type DataDir = ReturnType<typeof openDataDir>;

const KEY_BYTES = 32;

/** Throws with one line for the operator when the folder cannot be used. */
export function openDataDir(directory: string) {
  try {
    makeFolder(directory);
  } catch (cause) {
    throw new Error(
      codeOf(cause) === "EEXIST"
        ? `the data folder ${directory} is not a folder: remove it, or set SONDE_DATA_DIR`
        : `the data folder ${directory} cannot be created (${codeOrText(cause)}): make it writable, or set SONDE_DATA_DIR`,
      { cause },
    );
  }
  const existing = existingDataDir(directory);
  const { path } = existing;
  const unwritable = (file: string, cause: unknown): Error =>
    new Error(
      `${path(file)} cannot be written (${codeOrText(cause)}): make the folder writable, with room in it, or set SONDE_DATA_DIR`,
      { cause },
    );
  const writeFirst = (file: string, content: string): void => {
    try {
      writeFileSync(path(file), content, { mode: 0o600, flag: "wx", flush: true });
    } catch (cause) {
      if (codeOf(cause) === "EEXIST") return; // another process was first
      rmSync(path(file), { force: true }); // half a key would look like a key
      throw unwritable(file, cause);
    }
  };
  return {
    ...existing,
    /** Writes the file for this user alone (mode 0600), atomically. */
    write(file: string, content: string): void {
      try {
        replaceFile(path(file), content, 0o600);
      } catch (cause) {
        throw unwritable(file, cause);
      }
    },
    /**
     * Returns the key in the file, generated on first use; processes that start together get the
     * same.
     */
    key(file: string): Uint8Array {
      if (existing.read(file) === undefined)
        writeFirst(file, randomBytes(KEY_BYTES).toString("base64"));
      const key = existing.existingKey(file);
      if (key) return key;
      throw new Error(`${path(file)} was removed while it was being created: start again`);
    },
  };
}

/** Opens the folder as it is, even if it is missing: creates nothing in it. */
export function existingDataDir(directory: string) {
  const path = (file: string): string => join(directory, file);
  /** The content of the file; undefined when there is none. */
  const read = (file: string): string | undefined => {
    try {
      return readFileSync(path(file), "utf8");
    } catch (cause) {
      if (codeOf(cause) === "ENOENT") return undefined;
      throw new Error(
        `${path(file)} cannot be read (${codeOrText(cause)}): make it a file that this user may read, or set SONDE_DATA_DIR`,
        { cause },
      );
    }
  };
  return {
    path,
    read,
    /** Undefined if there is no file. Throws if the file holds no key. */
    existingKey(file: string): Uint8Array | undefined {
      const text = read(file);
      if (text === undefined) return undefined;
      const key = Buffer.from(text, "base64");
      if (key.length === KEY_BYTES) return key;
      throw new Error(
        `${path(file)} does not hold a key of ${KEY_BYTES} bytes in base64: restore it from a backup`,
      );
    },
  };
}

/** Replaces the file whole or not at all, with this mode, not that of the previous file. */
export function replaceFile(path: string, content: string, mode: number): void {
  const temporary = `${path}.${randomUUID()}`;
  try {
    writeFileSync(temporary, content, { mode, flush: true });
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** False for a file that this user cannot see, as in the folder of another user. */
export function isMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/**
 * Creates the folder, for this user alone, and its parents, unless it exists. Without mkdir's
 * `recursive`, which never returns below /proc.
 */
export function makeFolder(directory: string): void {
  const above = dirname(directory);
  if (above !== directory && !existsSync(above)) makeFolder(above);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (cause) {
    if (!isFolder(directory)) throw cause; // otherwise another process was first
  }
}

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
