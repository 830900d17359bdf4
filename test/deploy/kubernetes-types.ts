// Checks manifests against the types of Kubernetes: the compiler finds unknown fields, missing
// required ones, and values of a wrong type.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Below node_modules, so that the compiler finds the types.
const CACHE = "node_modules/.cache/manifests";
const TSC = "node_modules/typescript/bin/tsc";
const OPTIONS = [
  "--ignoreConfig",
  "--noEmit",
  "--strict",
  "--skipLibCheck",
  "--pretty",
  "false",
  "--types",
  "",
];

/** Modules by `apiVersion`. */
const MODULES: Readonly<Record<string, string>> = {
  v1: "core/v1",
  "apps/v1": "apps/v1",
  "autoscaling/v2": "autoscaling/v2",
  "batch/v1": "batch/v1",
  "networking.k8s.io/v1": "networking/v1",
  "policy/v1": "policy/v1",
};

interface Typed {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * Returns what the compiler reports; empty if nothing is wrong. Throws on an unknown `apiVersion`.
 */
export async function typeFaults(manifests: readonly Typed[]): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "check-"));
  try {
    const file = join(folder, "manifests.ts");
    writeFileSync(file, manifests.map(typed).join("\n"));
    return await new Promise((resolve) => {
      execFile(process.execPath, [TSC, ...OPTIONS, file], (error, stdout, stderr) => {
        resolve(error === null ? "" : stdout + stderr);
      });
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function typed(manifest: Typed): string {
  const { apiVersion, kind } = manifest;
  const module = MODULES[apiVersion];
  if (module === undefined) throw new Error(`no types are known for ${apiVersion} ${kind}`);
  const type = `import("kubernetes-types/${module}").${kind}`;
  return `void (${JSON.stringify(manifest, null, 2)} satisfies ${type});`;
}
