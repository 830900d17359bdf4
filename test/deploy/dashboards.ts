// The Grafana dashboards as their files define them, and their queries as Prometheus gets them.
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { faultsIn } from "./type-check.ts";

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

// In JSON, an enum is its value.
const JSON_TYPES = `import type { Dashboard } from "@grafana/schema";
type Json<T> = T extends string ? \`\${T}\` : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
`;

/** Returns what is wrong with these dashboards by Grafana's types; empty if nothing is. */
export function typeFaults(texts: readonly string[]): Promise<string> {
  const checks = texts.map((text) => `void (${text.trim()} satisfies Json<Dashboard>);\n`);
  return faultsIn(JSON_TYPES + checks.join(""), "--module", "nodenext");
}
