// `sonde locations`, run in this process.
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { nkeys } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { runCommand } from "../../src/commands/command-line.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import { createScheduleStore } from "../../src/store/ledger/schedules.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { makeFolder } from "../support/process.ts";
import { aSchedule } from "../support/runs.ts";

const MASTER = Buffer.alloc(32, 7).toString("base64");

function operator(environment: Record<string, string> = {}) {
  const folder = makeFolder();
  const sonde = async (...args: string[]): Promise<string> => {
    let printed = "";
    const env = { SONDE_DATA_DIR: folder.dataDir, SONDE_MASTER_KEY: MASTER, ...environment };
    await runCommand(args, env, (text) => (printed += text));
    return printed;
  };
  const setting = (text: string, name: string): string =>
    new RegExp(`^${name}=(.*)$`, "m").exec(text)?.[1] ?? "";
  return { ...folder, sonde, setting };
}

const publicKeyOf = (seed: string): string =>
  nkeys.fromSeed(Buffer.from(seed.trim())).getPublicKey();

describe("the credentials of a location's agents", () => {
  it("are files readable only by their user, named in agent.env", async () => {
    using hub = operator({ SONDE_NATS_URL: "tls://hub:s3cret@nats.test:4222,nats://[::1]" });
    const printed = await hub.sonde("locations", "add", "tokyo");
    const out = join(hub.path, "tokyo");
    const files = ["agent.env", "location-key", "nats.nk"].map((name) => join(out, name));
    expect(await hub.sonde("locations", "env", "tokyo", "--out", out)).toBe(
      files.map((file) => `wrote ${file}\n`).join(""),
    );
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
    const [environment, key, seed] = files.map((file) => readFileSync(file, "utf8"));
    expect(environment).toBe(`# Environment of an agent at location tokyo: sonde serve
SONDE_ROLES=agent
SONDE_LOCATION=tokyo
SONDE_LOCATION_KEY_FILE=location-key
SONDE_NATS_NKEY_FILE=nats.nk
SONDE_NATS_URL=tls://nats.test:4222,nats://[::1]
`);
    expect(hub.setting(printed, "SONDE_LOCATION_KEY")).toBe(key?.trim());
    expect(hub.setting(printed, "SONDE_NATS_NKEY")).toBe(seed?.trim());
  });

  it("are what kubectl takes, as docs/kubernetes.md and the chart's notes print them", async () => {
    using folder = makeFolder();
    const ca = join(folder.path, "ca.crt");
    writeFileSync(ca, rootCertificates[0] ?? "");
    const pages = ["docs/kubernetes.md", "deploy/helm/sonde/templates/NOTES.txt"];
    const commands = pages.flatMap((file) =>
      readFileSync(file, "utf8").match(/^.* locations add tokyo > tokyo\.env$/gm),
    );
    expect(commands).toHaveLength(pages.length);
    for (const command of commands) {
      const unset = / env (\w+)= /.exec(command ?? "")?.[1] ?? "";
      const settings = { SONDE_NATS_URL: "tls://[::1]:4223", SONDE_NATS_CA_FILE: ca, [unset]: "" };
      using hub = operator(settings);
      const printed = await hub.sonde("locations", "add", "tokyo");
      // kubectl reads neither quotes nor values of several lines.
      for (const line of printed.trimEnd().split("\n")) expect(line).toMatch(/^(#|\w+=[^'"]*$)/);
    }
  });

  it("are listed in the accounts of NATS by public key only", async () => {
    using hub = operator();
    const seeds = [];
    for (const id of ["paris", "tokyo"])
      seeds.push(hub.setting(await hub.sonde("locations", "add", id), "SONDE_NATS_NKEY"));
    await hub.sonde("locations", "nats-config", "--out", hub.path);
    const [accounts, hubSeed] = ["accounts.conf", "hub.nk"].map((name) =>
      readFileSync(join(hub.path, name), "utf8"),
    );
    const named = [...(accounts?.matchAll(/nkey: (\w+)/g) ?? [])].map(([, key]) => key);
    expect(named).toEqual([hubSeed ?? "", ...seeds].map(publicKeyOf));
    expect(accounts).not.toMatch(/SU[A-Z2-7]{56}/);
    expect(await hub.sonde("locations", "nats-config")).toBe(accounts);
    const audit = await hub.sonde("audit", "list");
    expect(audit).toContain('"action":"read","kind":"nats_user","object_id":"hub"');
  });

  it("change with a rotation, and the previous ones stay valid during its grace", async () => {
    using hub = operator();
    const first = await hub.sonde("locations", "add", "tokyo");
    const credentials = async () => {
      const environment = await hub.sonde("locations", "env", "tokyo");
      const accounts = await hub.sonde("locations", "nats-config");
      const users = [...accounts.matchAll(/nkey: (\w+), permissions/g)].map(([, key]) => key);
      return {
        keys: hub.setting(environment, "SONDE_LOCATION_KEY").split(","),
        user: publicKeyOf(hub.setting(environment, "SONDE_NATS_NKEY")),
        users,
      };
    };
    const before = await credentials();
    expect(hub.setting(first, "SONDE_LOCATION_KEY")).toBe(before.keys[0]);
    expect(await hub.sonde("locations", "rotate", "tokyo")).toContain("has key version 2");
    const during = await credentials();
    expect(during.keys).toEqual([expect.not.stringMatching(before.keys[0] ?? ""), before.keys[0]]);
    expect(during.users).toEqual([during.user, before.user]);
    expect(during.user).not.toBe(before.user);
    await expect(hub.sonde("locations", "rotate", "tokyo")).rejects.toThrow("two valid keys until");
    await hub.sonde("locations", "rotate", "tokyo", "--grace", "0");
    const after = await credentials();
    expect(after.users).toEqual([after.user]);
    expect([...during.keys, during.user]).not.toContain(after.keys[0]);
    expect(after.keys).toHaveLength(1);
    const listed = JSON.parse(await hub.sonde("locations", "list")) as object;
    expect(listed).toMatchObject({ id: "tokyo", key_version: 3, previous_key_until: null });
  });

  it.each([
    [["env", "nowhere"], "no location 'nowhere'; `sonde locations list` shows them"],
    [["env", "tokyo", "--out", ""], "--out: '' is not a folder"],
    [["rotate", "tokyo", "--grace", "1.5"], "'1.5' is not a whole number of hours from 0 to 720"],
    [
      ["env", "tokyo", "--out", "/proc/none"],
      /--out: cannot write into '\/proc\/none' \(E[A-Z]+\)/,
    ],
    [["nats-config", "--out", "FILE"], /--out: cannot write into '.*file' \(E[A-Z]+\)/],
    [["remove", "tokyo"], "location 'tokyo' is the only one: add another one first"],
  ])("(%j) are refused with the reason", async ([command = "", ...words], message) => {
    using hub = operator();
    await hub.sonde("locations", "add", "tokyo");
    const file = join(hub.path, "file");
    writeFileSync(file, "");
    const args = words.map((word) => (word === "FILE" ? file : word));
    await expect(hub.sonde("locations", command, ...args)).rejects.toThrow(message);
  });
});

describe("adding a location", () => {
  it("is undone when its bundle cannot be written", async () => {
    using hub = operator();
    const taken = join(hub.path, "taken.tar");
    writeFileSync(taken, "");
    await expect(hub.sonde("locations", "add", "tokyo", "--bundle", taken)).rejects.toThrow(
      /^--bundle: cannot write '.*taken\.tar' \(EEXIST\)/,
    );
    expect(await hub.sonde("locations", "list")).toBe("");
    expect(await hub.sonde("audit", "list")).toBe("");
    expect(await hub.sonde("locations", "add", "tokyo", "--bundle", `${taken}.2`)).toContain(
      "wrote ",
    );
  });

  it("explains how to install its agents so that a later version can replace them", async () => {
    using hub = operator();
    const bundle = join(hub.path, "tokyo.tar");
    await hub.sonde("locations", "add", "tokyo", "--bundle", bundle);
    const [, version = "none"] =
      /\n +ln -sfn (sonde-\S+) \/opt\/sonde\n/.exec(readFileSync(bundle, "utf8")) ?? [];
    expect(readFileSync("docs/deployment.md", "utf8")).toContain(`ln -sfn ${version} /opt/sonde\n`);
  });
});

describe("removing a location", () => {
  it("is refused while deployments run there, and then final", async () => {
    using hub = operator();
    mkdirSync(hub.dataDir);
    await hub.sonde("locations", "add", "paris");
    await hub.sonde("locations", "add", "tokyo");
    const database = openSqlite({ path: join(hub.dataDir, "sonde.db"), clock: systemClock });
    const schedules = createScheduleStore(database);
    await schedules.set(aSchedule({ deployment_id: "deployment", location_id: "tokyo" }));
    const removing = hub.sonde("locations", "remove", "tokyo");
    await expect(removing).rejects.toThrow("has 1 deployment: delete or move it first");
    await schedules.remove("deployment", Date.now());
    await database.kysely.destroy();
    expect(await hub.sonde("locations", "remove", "tokyo")).toMatch(
      /tokyo was removed; .* and a reload of NATS cut off its agents\.\n$/,
    );
    expect(await hub.sonde("locations", "list")).not.toContain("tokyo");
    expect(await hub.sonde("locations", "nats-config")).not.toContain("tokyo");
    await expect(hub.sonde("locations", "env", "tokyo")).rejects.toThrow("no location 'tokyo'");
    await expect(hub.sonde("locations", "add", "tokyo")).rejects.toThrow("choose another id");
  });
});
