// Checks manifests against the types of Kubernetes: the compiler finds unknown fields, missing
// required ones, and values of a wrong type.
import { faultsIn } from "./type-check.ts";

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
export const typeFaults = async (manifests: readonly Typed[]): Promise<string> =>
  faultsIn(manifests.map(typed).join("\n"));

function typed(manifest: Typed): string {
  const { apiVersion, kind } = manifest;
  const module = MODULES[apiVersion];
  if (module === undefined) throw new Error(`no types are known for ${apiVersion} ${kind}`);
  const type = `import("kubernetes-types/${module}").${kind}`;
  return `void (${JSON.stringify(manifest, null, 2)} satisfies ${type});`;
}
