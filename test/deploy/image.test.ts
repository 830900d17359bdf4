// The image of deploy/Dockerfile, without building it: its copied files, in an empty root.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpClient } from "../support/client.ts";
import { freePort } from "../support/free-port.ts";
import { V8_OPTIONS } from "../support/process.ts";
import { until } from "../support/until.ts";
import { argumentDefault, environmentOf, execForm, lastOf, readDockerfile } from "./dockerfile.ts";
import type { Stage } from "./dockerfile.ts";
import { layOutImage } from "./image-files.ts";
import { addProgram, requireSandbox, runInSandbox } from "./sandbox.ts";
import type { Sandbox } from "./sandbox.ts";

const dockerfile = readFileSync("deploy/Dockerfile", "utf8");
const page = readFileSync("docs/deployment.md", "utf8");
const stages = readDockerfile(dockerfile);
const image = stages.at(-1) as Stage;
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};

const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  readonly packages: Readonly<Record<string, { readonly dev?: true }>>;
};
const isDevelopmentAlone = (name: string): boolean =>
  lock.packages[`node_modules/${name}`]?.dev === true;

const folder = mkdtempSync(join(tmpdir(), "sonde-image-"));
const root = join(folder, "root");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("has the Node that the tests run on, from a base pinned by version", () => {
  const base = argumentDefault(dockerfile, "NODE_IMAGE");
  expect(base).toContain(`/node:${manifest.dependencies["node"]}-`);
  expect(process.versions.node).toBe(manifest.dependencies["node"]);
});

it("starts Node as `npm start` does", () => {
  const command = execForm(lastOf(image, "ENTRYPOINT"));
  expect(command).toEqual(["node", ...V8_OPTIONS, "/app/dist/main.js"]);
});

describe("the image's files in an empty root", () => {
  beforeAll(() => {
    requireSandbox();
    layOutImage(stages, root, join(folder, "stages"));
  });

  it("are the program, its pages and its production packages, readable by every user", () => {
    expect(readdirSync(root).toSorted()).toEqual(["app", "data"]);
    expect(readdirSync(join(root, "app")).toSorted()).toEqual([
      "dist",
      "node_modules",
      "package.json",
      "web",
    ]);
    expect(readdirSync(join(root, "app/web"))).toEqual(["dist"]);
    const [described = ""] = /^- The image holds.*?\./ms.exec(page) ?? [];
    const named = [...described.matchAll(/`([\w/]+)\/`/g)].map(([, path]) => path);
    expect(named).toEqual(["dist", "web/dist"]);
    const packages = readdirSync(join(root, "app/node_modules"));
    // A package that the program also needs is not for development alone.
    for (const name of Object.keys(manifest.devDependencies).filter(isDevelopmentAlone))
      expect(packages).not.toContain(name);
  });

  it("serve the demo to a user without rights, on a read-only root, until SIGTERM", async () => {
    addProgram(root, process.execPath, "/usr/local/bin/node");
    const [port, opsPort] = [await freePort(), await freePort()];
    const volume = lastOf(image, "VOLUME").rest;
    const sandbox: Sandbox = {
      root,
      user: lastOf(image, "USER").rest,
      mounts: [{ folder: join(root, volume), at: volume, writable: true }],
      env: {
        PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        ...environmentOf(image),
        SONDE_PORT: String(port),
        SONDE_OPS_PORT: String(opsPort),
      },
    };
    const command = [...execForm(lastOf(image, "ENTRYPOINT")), ...execForm(lastOf(image, "CMD"))];
    const health = execForm(lastOf(image, "HEALTHCHECK"));
    expect(await runToEnd(sandbox, health)).toEqual({
      code: 1,
      output: `sonde: no answer from http://127.0.0.1:${opsPort}/readyz (ECONNREFUSED): is \`sonde serve\` running?\n`,
    });
    const { child, pid } = runInSandbox(sandbox, [...command, "--demo"]);
    const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
    const exited = once(child, "exit");
    try {
      const dataDir = join(root, sandbox.env["SONDE_DATA_DIR"] ?? "");
      const key = await until(() => readFileSync(join(dataDir, "owner-key"), "utf8").trim());
      const client = httpClient(`http://127.0.0.1:${port}`, key);
      await until(async () => expect(await passedCalls(client)).not.toEqual([]));
      expect(await runToEnd(sandbox, health)).toEqual({ code: 0, output: "ready\n" });
      await expectPages(`http://127.0.0.1:${port}/`);
      expectConfined(pid() as number);
    } finally {
      const running = pid();
      if (running !== undefined) process.kill(running, "SIGTERM");
    }
    expect(await exited, await stderr).toEqual([0, null]);
    expect((await stdout).match(/"level":"(warn|error|fatal)".*/g)).toBeNull();
  });
});

/** Fails unless a browser would get a page there, and the script that it loads. */
async function expectPages(url: string): Promise<void> {
  const page = await fetch(url, { headers: { accept: "text/html" } });
  const html = await page.text();
  expect([page.status, html]).toEqual([200, expect.stringContaining("<title>Sonde</title>")]);
  const [, script = ""] = /<script[^>]+src="([^"]+)"/.exec(html) ?? [];
  expect((await fetch(new URL(script, url))).status).toBe(200);
}

/** Returns the ids of COMPLETE results of the demo's steady calls. */
async function passedCalls(client: ReturnType<typeof httpClient>): Promise<readonly string[]> {
  const { results } = await client.send<{
    readonly results: readonly { readonly id: string; readonly meta: { readonly name: string } }[];
  }>("GET", "/calls/?limit=1000");
  const steady = results.filter(({ meta }) => meta.name === "Demo: steady");
  const runs = await Promise.all(steady.map(({ id }) => client.results(id)));
  return runs
    .flat()
    .filter(({ meta }) => meta.result === "COMPLETE")
    .map(({ id }) => id);
}

async function runToEnd(
  sandbox: Sandbox,
  command: readonly string[],
): Promise<{ readonly code: unknown; readonly output: string }> {
  const { child } = runInSandbox(sandbox, command);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  return { code, output: stdout + stderr };
}

/** Fails if the process has more rights than its container would. */
function expectConfined(pid: number): void {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  expect(status).toMatch(/^Uid:\s+10001\s+10001\s+10001\s+10001$/m);
  expect(status).toMatch(/^CapEff:\s+0+$/m);
  expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
  const mounts = readFileSync(`/proc/${pid}/mountinfo`, "utf8");
  expect(mounts).toMatch(/ \/ ro,/);
}
