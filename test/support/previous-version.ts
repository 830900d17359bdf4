// Checks out the program as it was before the newest migration, from the history of this clone.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NEWEST } from "../../src/store/migrate.ts";

const ROOT = join(import.meta.dirname, "../..");

export interface PreviousVersion extends Disposable {
  readonly commit: string;
  /** Its entry point, for `startSonde`. */
  readonly main: string;
}

export function checkOutPreviousVersion(): PreviousVersion {
  const commit = previousCommit();
  const folder = mkdtempSync(join(tmpdir(), "sonde-previous-"));
  const archive = join(folder, "source.tar");
  git("archive", `--output=${archive}`, commit, "src", "package.json");
  execFileSync("tar", ["-xf", archive, "-C", folder]);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return {
    commit,
    main: join(folder, "src/main.ts"),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

/** Returns the commit before the one that added the newest migration. */
function previousCommit(): string {
  try {
    const file = `src/store/migrations/${NEWEST}.ts`;
    const added = git("log", "-1", "--diff-filter=A", "--format=%H", "--", file);
    return git("rev-parse", "--verify", "--quiet", added === "" ? "HEAD" : `${added}^`);
  } catch (cause) {
    throw new Error(
      `this clone does not have the commit before ${NEWEST}, from which the test takes the previous version: git fetch --unshallow`,
      { cause },
    );
  }
}

const git = (...args: readonly string[]): string =>
  execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: "pipe" }).trim();
