// The environment in which the services of deploy/compose.yaml run without containers: the files of
// their images, volumes, and for each service a loopback address under its name.
import { randomInt } from "node:crypto";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { findProgram } from "../support/programs.ts";
import type { Service, ServiceMount } from "./compose-file.ts";
import { environmentOf, lastOf, readDockerfile } from "./dockerfile.ts";
import type { Stage } from "./dockerfile.ts";
import { layOutImage } from "./image-files.ts";
import { addProgram } from "./sandbox.ts";
import type { Sandbox } from "./sandbox.ts";

/** Programs other than Node that the services' scripts run; the base image has them. */
const TOOLS = ["sh", "cat", "chown", "grep", "head", "base64", "mv", "sed", "tr"];
const REPLICAS_FROM = 100;

const stages = readDockerfile(readFileSync("deploy/Dockerfile", "utf8"));
export const image = stages.at(-1) as Stage;
const user = lastOf(image, "USER").rest;

export interface Ground extends Disposable {
  /** Returns the host folder of a volume. */
  volume(name: string): string;
  addressOf(service: string, replica?: number): string;
  sandboxOf(service: Service, replica?: number): Sandbox;
}

/** `settings` go to every process, in addition to those of its service. */
export function createGround(
  services: readonly Service[],
  settings: Readonly<Record<string, string>>,
): Ground {
  const folder = mkdtempSync(join(tmpdir(), "sonde-compose-"));
  const net = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  const names = services.map(({ name }) => name);
  const addressOf = (name: string, replica = 0): string =>
    `${net}.${names.indexOf(name) + 1 + replica * REPLICAS_FROM}`;
  const volume = (name: string): string => join(folder, "volumes", name);
  // Shared, so that a dozen processes do not compile the same modules at once.
  const compiledCode = join(folder, "compiled");
  mkdirSync(compiledCode);
  giveToUser(compiledCode);
  const hosts = names.map((name) => `${addressOf(name)} ${name}`);
  const roots: Readonly<Record<string, string>> = {
    sonde: makeSondeRoot(join(folder, "sonde"), join(folder, "stages"), hosts),
    nats: makeNatsRoot(join(folder, "nats"), hosts),
  };

  const folderOf = ({ from, at }: ServiceMount, root: string): string => {
    if (from?.includes("/")) return resolve(from);
    if (from === undefined) {
      const inMemory = mkdtempSync(join(folder, "tmpfs-"));
      giveToUser(inMemory);
      return inMemory;
    }
    const path = volume(from);
    if (existsSync(path)) return path;
    mkdirSync(path, { recursive: true });
    // A new volume takes the owner of the image's folder.
    const covered = join(root, at);
    if (existsSync(covered)) chownSync(path, statSync(covered).uid, statSync(covered).gid);
    return path;
  };
  return {
    volume,
    addressOf,
    sandboxOf(service, replica = 0) {
      const root = roots[service.image] ?? "";
      const address = addressOf(service.name, replica);
      return {
        root,
        user: service.user ?? user,
        mounts: [
          ...service.mounts.map((mount) => ({
            folder: folderOf(mount, root),
            at: mount.at,
            writable: mount.writable,
          })),
          { folder: compiledCode, at: "/compiled", writable: true },
        ],
        env: {
          PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
          NODE_COMPILE_CACHE: "/compiled",
          ...environmentOf(image),
          ...service.environment,
          ...settings,
          SONDE_HOST: address,
          SONDE_OPS_HOST: address,
        },
      };
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function makeSondeRoot(root: string, work: string, hosts: readonly string[]): string {
  layOutImage(stages, root, work);
  addProgram(root, process.execPath, "/usr/local/bin/node");
  for (const tool of TOOLS) addProgram(root, required(tool), `/usr/bin/${tool}`);
  return withHosts(root, hosts);
}

function makeNatsRoot(root: string, hosts: readonly string[]): string {
  addProgram(root, required("nats-server"), "/nats-server");
  return withHosts(root, hosts);
}

function withHosts(root: string, hosts: readonly string[]): string {
  mkdirSync(join(root, "etc"));
  writeFileSync(join(root, "etc/hosts"), ["127.0.0.1 localhost", ...hosts, ""].join("\n"));
  return root;
}

function required(program: string): string {
  const path = findProgram(program);
  if (path === undefined) throw new Error(`${program} is not installed`);
  return path;
}

function giveToUser(path: string): void {
  const [uid, gid] = user.split(":").map(Number);
  chownSync(path, uid ?? 0, gid ?? 0);
}
