// The import rules, and the other rules for every source file. Failures name the offending files.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAst } from "vitest/node";

interface Rule {
  /** Our own files that the folder may import; folders end in a slash. */
  readonly ours: readonly string[];
  /** Packages that this folder may import; other folders may only if their own rule says so. */
  readonly packages: readonly string[];
  readonly builtins?: false;
}

const ROLE = ["model/", "runtime/"];
const STORE = ["store/store.ts", "store/records.ts"];
const RULES: Readonly<Record<string, Rule>> = {
  "model/": {
    ours: ["model/"],
    packages: ["typebox", "ipaddr.js", "hdr-histogram-js", "tldts"],
    builtins: false,
  },
  "runtime/": {
    ours: ["runtime/"],
    packages: [
      "pino",
      "pino-pretty",
      "prom-client",
      "node-cron",
      "jose",
      "@opentelemetry/api",
      "@opentelemetry/sdk-trace",
      "@opentelemetry/resources",
      "@opentelemetry/exporter-trace-otlp-http",
    ],
  },
  "bus/": {
    ours: ["model/", "runtime/", "bus/"],
    packages: ["typebox", "@nats-io/jetstream", "@nats-io/transport-node"],
  },
  "store/migrations/": {
    ours: ["model/", "store/"],
    packages: ["kysely", "hdr-histogram-js"],
  },
  "store/": {
    ours: ["model/", "runtime/", "store/"],
    packages: ["kysely", "minizlib", "pg"],
  },
  "dispatch/": {
    ours: [...ROLE, "dispatch/", "bus/bus.ts", ...STORE],
    packages: [],
  },
  "api/": {
    ours: [...ROLE, "api/", "dispatch/", ...STORE],
    packages: [
      "fastify",
      "@fastify/static",
      "@fastify/swagger",
      "@fastify/swagger-ui",
      "cookie",
      "openapi-sampler",
      "typebox",
    ],
  },
  "scheduler/": {
    ours: [...ROLE, "scheduler/", "dispatch/", ...STORE],
    packages: [],
  },
  "agent/http/": {
    ours: [...ROLE, "agent/http/", "net/"],
    packages: ["undici", "tough-cookie"],
  },
  "agent/reporting/": {
    ours: [...ROLE, "agent/reporting/", "agent/metrics.ts", "bus/bus.ts"],
    packages: [],
  },
  "agent/": { ours: [...ROLE, "agent/", "net/", "bus/bus.ts"], packages: [] },
  "aggregator/": {
    ours: [...ROLE, "aggregator/", "bus/bus.ts", ...STORE],
    packages: [],
  },
  "call-metrics/": { ours: [...ROLE, "call-metrics/", ...STORE], packages: [] },
  "fleet/": { ours: [...ROLE, "fleet/", "bus/bus.ts", ...STORE], packages: [] },
  "renewal/": {
    ours: [...ROLE, "renewal/", "net/", ...STORE],
    packages: ["undici"],
  },
  "tracing/": { ours: [...ROLE, "tracing/", "bus/bus.ts"], packages: [] },
  "demo/": { ours: [...ROLE, "demo/"], packages: [] },
  "simulation/": { ours: [...ROLE, "simulation/", ...STORE], packages: [] },
  "config/": {
    ours: ["model/", "config/", "runtime/client-certificate.ts"],
    packages: ["fastest-levenshtein"],
  },
  "net/": {
    ours: [...ROLE, "net/"],
    packages: ["ipaddr.js"],
  },
  // compose/ passes in the means to inspect a system.
  "doctor/": {
    ours: [...ROLE, "doctor/", "net/", "config/", "bus/bus-facts.ts", "store/inspection.ts"],
    packages: ["typebox"],
  },
  "status/": {
    ours: [
      ...ROLE,
      "status/",
      "client/table.ts",
      "doctor/",
      "config/",
      "store/inspection.ts",
      "store/results/recent-runs.ts",
      "store/records.ts",
    ],
    packages: [],
  },
  "compose/": { ours: [""], packages: [] },
  "version.ts": { ours: ["runtime/installation.ts"], packages: [] },
  "client/": { ours: ["model/", "client/"], packages: [], builtins: false },
  "commands/": { ours: [""], packages: ["commander", "@bomb.sh/tab"] },
  // Of the server, the pages know only the interface and its rules.
  "web/src/": {
    ours: ["web/src/", "model/"],
    packages: [
      "preact",
      "preact-iso",
      "@preact/signals",
      "@tanstack/query-core",
      "@tanstack/virtual-core",
      "uplot",
      "shlex",
    ],
    builtins: false,
  },
};

/** Code that is allowed in one file only, or in the files of one folder. */
const CONFINED: readonly (readonly [what: string, pattern: RegExp, place: string])[] = [
  [
    "process.env",
    /\bprocess\s*\.\s*env\b|import\s*\{[^}]*\benv\b[^}]*\}\s*from "node:process"/,
    "config/config.ts",
  ],
  ["Date.now", /\bDate\.now\b/, "runtime/clock.ts web/src/now.ts"],
  ["new Date()", /\bnew Date(?!\s*\(\s*[^)\s])/, "runtime/clock.ts"],
  ["Date()", /(?<!new )\bDate\(/, "runtime/clock.ts"],
  ["HTML from a text", /dangerouslySetInnerHTML|\binnerHTML\b|insertAdjacentHTML/, "nowhere"],
  [
    "SQL",
    /\bsql`|\b(?:SELECT .* FROM|INSERT INTO|DELETE FROM|CREATE TABLE)\b/,
    "store/ agent/reporting/spool-",
  ],
  ["node:sqlite", /"node:sqlite"/, "store/ agent/reporting/spool-"],
  ["the NATS client", /from "@nats-io\//, "bus/nats/"],
  ["TypeBox, but for its types", /^import \{.* from "typebox/m, "model/validate.ts"],
  ["prom-client", /from "prom-client"/, "runtime/metrics.ts"],
  ["node-cron", /from "node-cron"/, "runtime/cron.ts"],
  ["commander", /from "commander"/, "commands/"],
  ["pino", /from "pino"/, "runtime/logger.ts"],
  ["OpenTelemetry", /"@opentelemetry\//, "runtime/tracing.ts"],
  ["pino-pretty", /from "pino-pretty"/, "runtime/pretty-log.ts"],
];

const STARTS = ["main.ts", "compose/agent-worker-entry.ts", "web/src/main.tsx"];

/** Of the pages. */
const FRAME = ["web/src/app.tsx", "web/src/layout.tsx"];

const MAX_LINES = 250;
const MAX_FUNCTION_LINES = 60;
const MAX_COLUMNS = 100;

const FOLDERS = ["src", "test", "docs", "deploy", "bench", "web"].concat(
  Object.keys(RULES).flatMap((name) => (name.endsWith("/") ? [name.slice(0, -1)] : [])),
);

interface Source {
  /** Relative to src; for the pages, to the repository. */
  readonly path: string;
  readonly text: string;
  readonly code: string;
  readonly imports: readonly string[];
}

// The entry point of the command line.
const MAIN: Rule = { ours: ["commands/", "config/", "runtime/", "version.ts"], packages: [] };
// A new folder needs a row of its own.
const NO_RULE: Rule = { ours: [], packages: [], builtins: false };

const fileOf = (path: string): string => (path.startsWith("web/") ? path : join("src", path));

/**
 * Returns a relative import as `Source.path`, a package by its name, a module of Node unchanged.
 */
function resolveImport(path: string, specifier: string): string {
  if (specifier.startsWith("."))
    return `src:${normalize(join(dirname(fileOf(path)), specifier)).replace(/^src\//, "")}`;
  if (specifier.startsWith("node:")) return specifier;
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

function readSource(path: string): Source {
  const text = readFileSync(fileOf(path), "utf8");
  const code = text.replaceAll(/\/\*.*?\*\//gs, "").replaceAll(/^\s*\/\/.*$|\s\/\/ .*$/gm, "");
  const specifiers = code.matchAll(
    /^(?:import\s+(?:[^"'=()]*?\sfrom\s+)?|export\s[^"'=()]*?\sfrom\s+|.*\bimport\s*\(\s*)"([^"]+)"/gm,
  );
  return {
    path,
    text,
    code,
    imports: [...specifiers].map(([, to = ""]) => resolveImport(path, to)),
  };
}

const sources = globSync("**/*.ts", { cwd: "src" })
  .concat(globSync("web/src/**/*.{ts,tsx}"))
  .toSorted()
  .map(readSource);

const ruleOf = (path: string): Rule =>
  Object.entries(RULES).find(([prefix]) => path.startsWith(prefix))?.[1] ??
  (path === "main.ts" ? MAIN : NO_RULE);

function isAllowed(path: string, to: string): boolean {
  const { ours, packages, builtins } = ruleOf(path);
  if (to.startsWith("src:"))
    return ours.some((prefix) => to.slice("src:".length).startsWith(prefix));
  return to.startsWith("node:") ? builtins !== false : packages.includes(to);
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value;

function functionsIn(node: Node): Node[] {
  const nested = Object.values(node).flat().filter(isNode).flatMap(functionsIn);
  return /Function/.test(node.type) && "body" in node ? [node, ...nested] : nested;
}

/** Returns each function that is too long, as `first line: length`. */
function longFunctions({ path, text }: Source): string[] {
  const lineAt = (at: number): number => text.slice(0, at).split("\n").length;
  return functionsIn(parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }) as Node).flatMap(
    ({ start, end }) => {
      const [first, last] = [lineAt(start), lineAt(end)];
      const lines = last - first + 1;
      return lines > MAX_FUNCTION_LINES ? [`line ${first}: ${lines} lines`] : [];
    },
  );
}

/** Returns a file, or the folder with it, and what it imports, as neighbours in one folder. */
function neighbours(path: string, to: string): [from: string, into: string] {
  const [names, others] = [path.split("/"), to.replace(/^src:/, "").split("/")];
  const depth = names.findIndex((name, at) => name !== others[at]) + 1;
  return [names.slice(0, depth).join("/"), others.slice(0, depth).join("/")];
}

/** The neighbours that each file or folder imports. */
const imported = new Map<string, Set<string>>();
for (const { path, imports } of sources)
  for (const to of imports.filter((each) => each.startsWith("src:"))) {
    const [from, into] = neighbours(path, to);
    imported.set(from, (imported.get(from) ?? new Set()).add(into));
  }

/** Returns the chains of imports that lead from a file or folder back to itself. */
function cyclesFrom(start: string): string[] {
  const seen = new Set<string>();
  const walk = (from: string, way: string): string[] =>
    [...(imported.get(from) ?? [])].flatMap((next) => {
      if (next === start) return [`${way} → ${next}`];
      if (seen.has(next)) return [];
      seen.add(next);
      return walk(next, `${way} → ${next}`);
    });
  return walk(start, start);
}

const offenders = (offends: (source: Source) => readonly string[] | boolean): string[] =>
  sources.flatMap((source) => {
    const found = offends(source);
    if (typeof found === "boolean") return found ? [source.path] : [];
    return found.map((what) => `${source.path}: ${what}`);
  });

describe("the source", () => {
  it("is found", () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(50);
  });

  it("imports only what its folder may import", () => {
    const found = offenders(({ path, imports }) => imports.filter((to) => !isAllowed(path, to)));
    expect(
      found,
      "pass it in from compose/, or move it; a new folder needs a row in RULES",
    ).toEqual([]);
  });

  it("names adapters in compose/ only", () => {
    const adapters =
      /^src:(?:bus\/(?:in-process\.ts|nats\/)|store\/(?:open-store|sqlite\/sqlite|postgres\/postgres)\.ts)/;
    const isPlace = (path: string): boolean => /^(?:compose|bus|store)\//.test(path);
    const found = offenders(({ path, imports }) =>
      isPlace(path) ? [] : imports.filter((to) => adapters.test(to)),
    );
    expect(found, "take the port, and pass the adapter in from compose/").toEqual([]);
  });

  it("keeps each page apart, over parts/, over the other files of the pages", () => {
    const roomOf = (path: string) => /^(?:src:)?web\/src\/(parts|pages\/[^/]+)/.exec(path)?.[1];
    const found = offenders(({ path, imports }) => {
      if (FRAME.includes(path)) return [];
      const room = roomOf(path);
      const rooms = [undefined, room, ...(room?.startsWith("pages/") ? ["parts"] : [])];
      return imports.filter((to) => !rooms.includes(roomOf(to)));
    });
    expect(found, "move what pages share to parts/, or to web/src/ if it renders nothing").toEqual(
      [],
    );
  });

  it("imports each of its files somewhere, except where programs start", () => {
    const all = new Set(sources.flatMap(({ imports }) => imports));
    const found = offenders(({ path }) => !all.has(`src:${path}`) && !STARTS.includes(path));
    expect(found, "list it where its neighbours are listed, or delete it").toEqual([]);
  });

  it("has no import cycles, neither between files nor between folders", () => {
    const found = [...imported.keys()].flatMap(cyclesFrom);
    expect(found, "move what both need into a file of its own").toEqual([]);
  });

  it.each(CONFINED)("has %s only in its place", (_, pattern, place) => {
    const isPlace = (path: string): boolean =>
      place.split(" ").some((prefix) => path.startsWith(prefix));
    const found = offenders(({ path, code }) => pattern.test(code) && !isPlace(path));
    expect(found, `allowed in ${place}`).toEqual([]);
  });

  it("has named exports only, and no barrels", () => {
    expect(
      offenders(({ code }) => /^export default\b/m.test(code)),
      "default exports",
    ).toEqual([]);
    expect(
      offenders(({ code }) => /^export \*/m.test(code)),
      "re-exports of everything",
    ).toEqual([]);
    expect(
      offenders(({ path }) => /(^|\/)index\.ts$/.test(path)),
      "barrels",
    ).toEqual([]);
  });

  it("is named after its contents", () => {
    const names = /(^|\/)(utils?|helpers?|common|misc|shared)(\.ts$|\/)/;
    expect(
      offenders(({ path }) => names.test(path)),
      "names that say nothing",
    ).toEqual([]);
    expect(
      offenders(({ path }) => !/^[a-z0-9][a-z0-9-/]*\.tsx?$/.test(path)),
      "not in kebab-case",
    ).toEqual([]);
  });

  it(`has no file of more than ${MAX_LINES} lines`, () => {
    const found = offenders(({ text }) => {
      const lines = text.trimEnd().split("\n").length;
      return lines > MAX_LINES ? [`${lines} lines`] : [];
    });
    expect(found, "move one of its nouns to a file of its own").toEqual([]);
  });

  it(`has no function of more than ${MAX_FUNCTION_LINES} lines`, () => {
    expect(offenders(longFunctions), "make one of its steps a function").toEqual([]);
  });

  it(`keeps comments within ${MAX_COLUMNS} columns, as the formatter keeps code`, () => {
    const found = offenders(({ text }) =>
      text
        .split("\n")
        .some((line) => line.length > MAX_COLUMNS && /^\s*(?:\/\/|\*|\/\*)/.test(line)),
    );
    expect(found).toEqual([]);
  });

  it("describes each file at its top, and silences no check", () => {
    expect(
      offenders(({ text }) => !/^(#!.*\n)?\/(?:\/|\*\*) /.test(text)),
      "need a comment of one or two lines at the top: what the file holds",
    ).toEqual([]);
    const silencers = /@ts-(?:ignore|expect-error|nocheck)|(?:oxlint|eslint)-disable|\bas any\b/;
    expect(
      offenders(({ text }) => silencers.test(text)),
      "silence a check: mend what it found",
    ).toEqual([]);
  });
});

/** Whether the text begins with a folder of this repository, or ends like one of its files. */
const isPath = (text: string): boolean =>
  !/[:*<>{}$=…]|^\//.test(text) &&
  (FOLDERS.some((folder) => text.startsWith(`${folder}/`)) ||
    /^[\w./-]+\.(?:ts|md|json|ya?ml|conf|toml)$/.test(text));

describe("the documents", () => {
  const FILES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

  it("keep ARCHITECTURE.md within 150 lines", () => {
    const lines = readFileSync("ARCHITECTURE.md", "utf8").trimEnd().split("\n");
    expect(lines.length, "lines: shorten it where it repeats the code").toBeLessThanOrEqual(150);
  });

  it.each(FILES)("%s names only paths that exist", (file) => {
    expect(existsSync(file), `${file} is missing`).toBe(true);
    const text = readFileSync(file, "utf8");
    const named = [
      ...text.matchAll(/`([^`\s]+)`/g),
      ...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g),
    ].map(([, path = ""]) => path);
    const paths = named.filter((path) => isPath(path));
    expect(paths.length, "paths named").toBeGreaterThan(0);
    const gone = paths.filter((path) => !existsSync(path) && !existsSync(join("src", path)));
    expect(gone, "paths that are gone").toEqual([]);
  });
});
