// Lays out the image's files as deploy/Dockerfile says, without building it: what each stage copies
// and makes, on top of an empty base image.
import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { basename, dirname, join, matchesGlob, resolve } from "node:path";
import type { Instruction, Stage } from "./dockerfile.ts";

/** Writes the files of the last stage to the folder `root`, and those of the others to `work`. */
export function layOutImage(stages: readonly Stage[], root: string, work: string): void {
  const roots = new Map<string | undefined, string>();
  for (const [index, stage] of stages.entries()) {
    const isLast = index === stages.length - 1;
    const stageRoot = isLast ? root : join(work, String(index));
    mkdirSync(stageRoot, { recursive: true });
    roots.set(stage.name, stageRoot);
    layOutStage(stage, stageRoot, roots);
  }
}

function layOutStage(
  { instructions }: Stage,
  root: string,
  roots: ReadonlyMap<string | undefined, string>,
): void {
  let cwd = "/";
  for (const instruction of instructions) {
    if (instruction.name === "WORKDIR") {
      cwd = resolve(cwd, instruction.rest);
      mkdirSync(join(root, cwd), { recursive: true });
    }
    if (instruction.name === "COPY") copy(instruction, { root, cwd, roots });
    if (instruction.name === "RUN") run(instruction, root, join(root, cwd));
  }
}

function copy(
  { flags, rest }: Instruction,
  place: {
    readonly root: string;
    readonly cwd: string;
    readonly roots: ReadonlyMap<string | undefined, string>;
  },
): void {
  const words = rest.split(/\s+/);
  const target = words.pop() ?? "";
  const into = join(place.root, resolve(place.cwd, target));
  for (const source of words) {
    const from = flags["from"];
    // A folder's content goes into the target; so does a file if the target ends in a slash.
    const to = (path: string): string =>
      statSync(path).isFile() && target.endsWith("/") ? join(into, basename(path)) : into;
    if (from === undefined) {
      copyFromContext(source, to(source));
      continue;
    }
    const stage = place.roots.get(from);
    if (stage === undefined) throw new Error(`COPY --from=${from}: no stage before has this name`);
    const path = join(stage, source);
    // Hard links suffice: both stages exist only for a moment.
    mkdirSync(dirname(to(path)), { recursive: true });
    execFileSync("cp", ["-rlT", path, to(path)]);
  }
}

/**
 * Copies what .dockerignore lets through, with the modes of a clone made under the strictest umask.
 */
function copyFromContext(source: string, to: string): void {
  const isFile = statSync(source).isFile();
  const files = isFile ? [""] : globSync("**/*", { cwd: source }).filter((path) => isFileIn(path));
  function isFileIn(path: string): boolean {
    return statSync(join(source, path)).isFile();
  }
  const passing = files.filter((path) => isInContext(join(source, path)));
  if (passing.length === 0) throw new Error(`COPY ${source}: .dockerignore leaves nothing of it`);
  for (const path of passing) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    cpSync(join(source, path), join(to, path));
  }
  execFileSync("chmod", ["-R", "u=rwX,go=", to]);
}

const ignoreRules = readFileSync(".dockerignore", "utf8")
  .split("\n")
  .map((line) => line.trim())
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => ({ lets: line.startsWith("!"), pattern: line.replace(/^!/, "") }));

/** Applies the last rule that names the path or a folder above it. */
function isInContext(path: string): boolean {
  const above = path.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/"));
  const deciding = ignoreRules.findLast(({ pattern }) =>
    above.some((part) => matchesGlob(part, pattern)),
  );
  return deciding?.lets ?? true;
}

type Effect = (root: string, cwd: string, words: readonly string[]) => void;

/** What RUN commands do to the files; changes to the base image do not count. */
const COMMANDS: readonly (readonly [command: RegExp, effect: Effect])[] = [
  [/^npm ci --omit=dev /, (_, cwd) => installProductionPackages(join(cwd, "node_modules"))],
  [
    /^npm ci --ignore-scripts /,
    (_, cwd) => symlinkSync(resolve("node_modules"), join(cwd, "node_modules")),
  ],
  [
    /^npm run --silent build$/,
    (_, cwd) => void execFileSync("npm", ["run", "--silent", "build"], { cwd }),
  ],
  [/^chmod -R (\S+) \.$/, (_, cwd, [mode = ""]) => void execFileSync("chmod", ["-R", mode, cwd])],
  [
    /^install (-d -o \d+ -g \d+ -m \d+) (\/\S+)$/,
    (root, _, [options = "", path = ""]) =>
      void execFileSync("install", [...options.split(" "), join(root, path)]),
  ],
  [/^rm -rf( \/(usr\/local|opt)\/\S+)+$/, () => undefined],
];

function run({ rest }: Instruction, root: string, cwd: string): void {
  for (const [command, effect] of COMMANDS) {
    const found = command.exec(rest);
    if (found) return effect(root, cwd, found.slice(1));
  }
  throw new Error(`RUN ${rest}: add what it does to the files to COMMANDS, in image-files.ts`);
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: true; readonly devOptional?: true }>>;
}

/** Copies the packages that `npm ci --omit=dev` would install, according to package-lock.json. */
function installProductionPackages(to: string): void {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lock;
  const folder = "node_modules/";
  const needed = Object.entries(packages)
    .filter(([path, { dev, devOptional }]) => path.startsWith(folder) && !dev && !devOptional)
    .map(([path]) => path.slice(folder.length))
    // Nested packages come with the outer one. Node's is empty without its script.
    .filter((path) => !path.includes(folder) && path !== "node");
  mkdirSync(to);
  execFileSync("cp", ["-r", "--parents", ...needed, to], { cwd: folder });
  execFileSync("chmod", ["-R", "go=", to]);
}
