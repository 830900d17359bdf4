// Runs one benchmark: reads its options from the command line, collects its figures, and ends with
// a table and a JSON file.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMet, ratioOf, tableOf } from "./figures.ts";
import type { Figure } from "./figures.ts";
import { parseOptions } from "./options.ts";
import type { Options } from "./options.ts";
import { readVersions } from "./versions.ts";

export interface Benchmark {
  readonly options: Options;
  /** Prints the current step. */
  readonly say: (text: string) => void;
  readonly add: (...figures: readonly Figure[]) => void;
  /** Notes what this run does not measure, and how to install the missing program. */
  readonly skip: (what: string) => void;
}

export async function runBenchmark(
  name: string,
  measure: (benchmark: Benchmark) => Promise<void>,
): Promise<void> {
  const { options } = parseOptions(process.argv.slice(2));
  const figures: Figure[] = [];
  const skipped: string[] = [];
  const say = (text: string): void => console.error(`${name}: ${text}`);
  await measure({
    options,
    say,
    add: (...some) => void figures.push(...some),
    skip(what) {
      if (skipped.includes(what)) return;
      skipped.push(what);
      say(`skipped: ${what}`);
    },
  });
  const versions = readVersions();
  const path = join(options.out, `${name}-${versions.date.replaceAll(/[:.]/g, "-")}.json`);
  mkdirSync(options.out, { recursive: true });
  writeFileSync(path, `${JSON.stringify(documentOf(), null, 2)}\n`);
  console.log(`\n${name}${options.smoke ? " (smoke: these figures mean nothing)" : ""}\n`);
  console.log(tableOf(figures));
  for (const what of skipped) console.log(`skipped: ${what}`);
  console.log(`\n${path}`);
  // Connections still open to a stopped server must not keep the process alive.
  process.exit(0);

  function documentOf(): object {
    const rows = figures.map((figure) => ({
      ...figure,
      ratio: ratioOf(figure),
      met: isMet(figure),
    }));
    return { benchmark: name, options, versions, figures: rows, skipped };
  }
}
