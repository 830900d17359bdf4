// The Grafana dashboards as their files define them, and their queries as Prometheus gets them.
import { execFile } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

const FILES = globSync("deploy/grafana/dashboards/*.json").toSorted();

export const dashboards = FILES.map((file) => ({
  file: basename(file),
  dashboard: JSON.parse(readFileSync(file, "utf8")) as Dashboard,
}));

/** Every query, with its panel. */
export const queries = dashboards.flatMap(({ dashboard }) =>
  dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ panel: `${dashboard.title}: ${title}`, expr })),
  ),
);

/** Returns the query with the values that Grafana gives its variables. */
export const filledIn = (
  expr: string,
  { call, range }: { readonly call: string; readonly range: string },
): string =>
  expr
    .replaceAll(/\$__(rate_interval|range|interval)\b/g, range)
    .replaceAll('call_id="$call"', `call_id="${call}"`)
    .replaceAll(/=~"\$\w+"/g, '=~".*"');

// Below node_modules, so that the compiler finds the types. In JSON, an enum is its value.
const CACHE = "node_modules/.cache/dashboards";
const TSC = "node_modules/typescript/bin/tsc";
const OPTIONS = ["--ignoreConfig", "--noEmit", "--strict", "--skipLibCheck", "--pretty", "false"];
const TARGET = ["--module", "nodenext", "--types", ""];
const JSON_TYPES = `import type { Dashboard } from "@grafana/schema";
type Json<T> = T extends string ? \`\${T}\` : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
`;

/**
 * Returns what the compiler reports when it checks these dashboards by Grafana's types; empty if
 * nothing is wrong.
 */
export async function typeFaults(texts: readonly string[]): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "check-"));
  try {
    const file = join(folder, "dashboards.ts");
    const checks = texts.map((text) => `void (${text.trim()} satisfies Json<Dashboard>);\n`);
    writeFileSync(file, JSON_TYPES + checks.join(""));
    return await new Promise((resolve) => {
      execFile(process.execPath, [TSC, ...OPTIONS, ...TARGET, file], (error, stdout, stderr) => {
        resolve(error === null ? "" : stdout + stderr);
      });
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
