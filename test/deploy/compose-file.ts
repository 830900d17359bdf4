// Reads deploy/compose.yaml: each service as its container would see it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const FOLDER = "deploy";

export interface Service {
  readonly name: string;
  /** Without its version. */
  readonly image: string;
  /** Undefined if the image's own applies. */
  readonly entrypoint: readonly string[] | undefined;
  readonly command: readonly string[] | undefined;
  readonly user: string | undefined;
  readonly replicas: number;
  /** Merges `env_file` and `environment`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly mounts: readonly ServiceMount[];
  readonly dependsOn: Readonly<Record<string, { readonly condition: string }>>;
  /** The words of its health check; undefined if the image's own applies. */
  readonly health: readonly string[] | undefined;
}

export interface ServiceMount {
  /** The name of a volume, a path, or undefined for an empty folder in memory. */
  readonly from: string | undefined;
  readonly at: string;
  readonly writable: boolean;
}

interface Written {
  readonly image: string;
  readonly entrypoint?: string[];
  readonly command?: string[];
  readonly user?: string;
  readonly ports?: string[];
  readonly stop_grace_period?: string;
  readonly deploy?: { readonly replicas: number };
  readonly env_file?: string;
  readonly environment?: Record<string, string>;
  readonly volumes?: string[];
  readonly tmpfs?: string[];
  readonly depends_on?: Service["dependsOn"];
  readonly healthcheck?: { readonly test?: string[] };
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, Written>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

export const readComposeFile = (): ComposeFile =>
  parse(readFileSync(join(FOLDER, "compose.yaml"), "utf8"), { merge: true }) as ComposeFile;

export const servicesIn = ({ services }: ComposeFile): readonly Service[] =>
  Object.entries(services).map(([name, written]) => ({
    name,
    image: written.image.replace(/:[^/]*$/, ""),
    entrypoint: written.entrypoint,
    command: written.command,
    user: written.user,
    replicas: written.deploy?.replicas ?? 1,
    environment: {
      ...(written.env_file && readEnvironmentFile(join(FOLDER, written.env_file))),
      ...written.environment,
    },
    mounts: [
      ...(written.volumes ?? []).map(volumeMount),
      ...(written.tmpfs ?? []).map((text) => ({
        from: undefined,
        at: text.split(":")[0] as string,
        writable: true,
      })),
    ],
    dependsOn: written.depends_on ?? {},
    health: written.healthcheck?.test?.slice(1),
  }));

function volumeMount(text: string): ServiceMount {
  const [source = "", at = "", mode] = text.split(":");
  const from = source.startsWith(".") ? join(FOLDER, source) : source;
  return { from, at, writable: mode !== "ro" };
}

function readEnvironmentFile(path: string): Record<string, string> {
  const lines = readFileSync(path, "utf8").matchAll(/^([A-Z_]+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}
