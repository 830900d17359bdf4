// Checks deploy/compose.yaml by its schema, and what each of its containers may do.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { STOP_DEADLINE_MS } from "../../src/compose/process.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import { readComposeFile, servicesIn } from "./compose-file.ts";

const FILE = "deploy/compose.yaml";
const file = readComposeFile();
const services = servicesIn(file);
const served = services.filter(
  ({ image, entrypoint }) => image === "sonde" && entrypoint === undefined,
);

it("fits the schema of compose files", () => {
  const dclint = "node_modules/dclint/bin/dclint.cjs";
  const linted = spawnSync(process.execPath, [dclint, "--quiet", FILE], { encoding: "utf8" });
  expect([linted.status, linted.stdout.trim()]).toEqual([0, ""]);
});

it("confines each container, pins its version and restarts it", () => {
  for (const [name, service] of Object.entries(file.services)) {
    expect([name, service]).toMatchObject([
      name,
      {
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
        restart: ["secrets", "init"].includes(name) ? "no" : "unless-stopped",
        image: expect.stringMatching(/:v?\d+\.\d+|:\$\{SONDE_VERSION:-\d+\.\d+\.\d+\}$/),
      },
    ]);
  }
});

it("publishes the API and Grafana, to this machine only", () => {
  const published = Object.entries(file.services).filter(([, { ports }]) => ports);
  expect(published.map(([name, { ports }]) => [name, ports])).toEqual([
    ["api", ["127.0.0.1:8080:8080"]],
    ["grafana", ["127.0.0.1:3000:3000"]],
  ]);
});

it("mounts volumes and files that exist", () => {
  for (const { from } of services.flatMap(({ mounts }) => mounts)) {
    const exists = from === undefined || from in file.volumes || existsSync(from);
    expect([from, exists]).toEqual([from, true]);
  }
});

it("gives each process of Sonde settings that it knows, and time to stop", () => {
  const known = Object.values(SETTINGS).flatMap(({ env }) => [env, `${env}_FILE`]);
  for (const { name, environment } of served) {
    expect(known).toEqual(expect.arrayContaining(Object.keys(environment)));
    const seconds = Number.parseInt(file.services[name]?.stop_grace_period ?? "", 10);
    expect(seconds).toBeGreaterThan(STOP_DEADLINE_MS / 1000);
  }
});

it("gives each agent its own data folder", () => {
  const agents = services.filter(({ name }) => name.startsWith("agent-"));
  const folders = agents.map(({ mounts }) => mounts.find(({ at }) => at === "/data")?.from);
  expect(new Set(folders).size).toBe(agents.length);
});

it("has every process of Sonde scraped", () => {
  const { scrape_configs } = parse(readFileSync("deploy/prometheus/prometheus.yml", "utf8")) as {
    readonly scrape_configs: readonly { readonly job_name: string }[];
  };
  expect(scrape_configs.find(({ job_name }) => job_name === "sonde")).toMatchObject({
    dns_sd_configs: [
      { names: served.map(({ name }) => name), port: Number(SETTINGS.opsPort.default) },
    ],
  });
});

it("has the servers that docs/deployment.md reloads after a new location", () => {
  const page = readFileSync("docs/deployment.md", "utf8");
  const reloaded = [...page.matchAll(/`kill --signal HUP ([\w -]+)`/g)].flatMap(([, names = ""]) =>
    names.split(" "),
  );
  expect(reloaded).toEqual(expect.arrayContaining(["nats-1", "nats-2", "nats-3", "prometheus"]));
  expect(Object.keys(file.services)).toEqual(expect.arrayContaining(reloaded));
});
