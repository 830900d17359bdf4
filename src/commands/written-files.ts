// Files that commands write for the operator.
import { join } from "node:path";
import { invalid } from "../model/errors.ts";
import { show } from "../model/validate.ts";
import { makeFolder, replaceFile } from "../runtime/data-dir.ts";

export interface WrittenFile {
  readonly name: string;
  readonly content: string;
  /** Only this user may read it. */
  readonly isSecret?: boolean;
}

/**
 * Replaces the files of these names in the folder, creating it if it is missing. Returns their
 * paths. Throws with one line for the operator.
 */
export function writeFiles(folder: string, files: readonly WrittenFile[]): string[] {
  if (folder === "") throw invalid("--out: '' is not a folder");
  try {
    makeFolder(folder);
    return files.map(({ name, content, isSecret = false }) => {
      const path = join(folder, name);
      replaceFile(path, content, isSecret ? 0o600 : 0o644);
      return path;
    });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw invalid(
      `--out: cannot write into ${show(folder)} (${code}): name a folder that this user may write`,
      { cause },
    );
  }
}
