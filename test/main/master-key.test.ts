// The master key, the audit trail and idempotency across a crash, with the real program.
import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { runCommand } from "../../src/commands/command-line.ts";
import { httpClient, httpExchange } from "../support/client.ts";
import { makeFolder, oneLine, runSonde, startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { migratedPostgres } from "../support/stores.ts";

const KEY = "0123456789abcdefghijABCDEFGHIJkl";
const newKey = (): string => randomBytes(32).toString("base64");

const exchangeWith = async (sonde: SondeProcess) => httpExchange(await sonde.api(), KEY);

const setVariable = async (sonde: SondeProcess, name: string) =>
  (await exchangeWith(sonde))({
    method: "POST",
    path: `/api/2/environment/global/${name}`,
    body: { value: `s3cret-${name}` },
  });

const getVariable = async (sonde: SondeProcess, name: string) => {
  const exchange = await exchangeWith(sonde);
  const path = `/api/2/environment/global/${name}`;
  const { status, text } = await exchange({ method: "GET", path });
  return status === 200 && text.includes(`s3cret-${name}`);
};

describe("a master key other than the database's", () => {
  it("is rejected with one line, and the right one still decrypts", async () => {
    using folder = makeFolder();
    const env = { SONDE_BOOTSTRAP_KEY: KEY };
    const options = { folder: folder.path, env };
    {
      await using sonde = startSonde(["serve"], options);
      await sonde.ready();
      expect((await setVariable(sonde, "A")).status).toBe(201);
    }
    const keyFile = join(folder.dataDir, "master-key");
    const kept = readFileSync(keyFile, "utf8");
    const refusal =
      /^sonde: the database is encrypted with the master key [0-9a-f]{12}, and this process has [0-9a-f]{12}: set SONDE_MASTER_KEY /;
    const other = await runSonde(["serve"], {
      ...options,
      env: { ...env, SONDE_MASTER_KEY: newKey() },
    });
    expect([other.code, other.stdout]).toEqual([1, ""]);
    expect(oneLine(other.stderr)).toMatch(refusal);

    rmSync(keyFile);
    const missing = await runSonde(["serve"], options);
    expect(missing.code).toBe(1);
    expect(oneLine(missing.stderr)).toMatch(refusal);

    writeFileSync(keyFile, kept);
    await using again = startSonde(["serve"], options);
    await again.ready();
    expect(await getVariable(again, "A")).toBe(true);
  });

  it("is rejected when two processes on one database each generated their own", async () => {
    const env = { SONDE_DATABASE_URL: await migratedPostgres(), SONDE_BOOTSTRAP_KEY: KEY };
    await using first = startSonde(["serve"], { env });
    await first.ready();
    const second = await runSonde(["serve"], { env });
    expect(second.code).toBe(1);
    expect(oneLine(second.stderr)).toContain(
      "set SONDE_MASTER_KEY to the same key in every process",
    );
  });
});

it("rotates to a new master key while it serves", async () => {
  using folder = makeFolder();
  const [before, after] = [newKey(), newKey()];
  const withKeys = (current: string, old?: string) => ({
    folder: folder.path,
    env: {
      SONDE_BOOTSTRAP_KEY: KEY,
      SONDE_MASTER_KEY: current,
      ...(old && { SONDE_MASTER_KEYS_OLD: old }),
    },
  });
  {
    await using sonde = startSonde(["serve"], withKeys(before));
    await sonde.ready();
    await setVariable(sonde, "A");
  }
  const unprepared = await runSonde(["serve"], withKeys(after));
  expect(unprepared.code).toBe(1);
  expect(oneLine(unprepared.stderr)).toContain("SONDE_MASTER_KEYS_OLD");
  {
    await using sonde = startSonde(["serve"], withKeys(after, before));
    await sonde.ready();
    expect(await getVariable(sonde, "A")).toBe(true);
    await setVariable(sonde, "B");
    const early = await runSonde(["keys", "rotate-master"], withKeys(after));
    expect(oneLine(early.stderr)).toContain("SONDE_MASTER_KEYS_OLD");
    const rotated = await runSonde(["keys", "rotate-master"], withKeys(after, before));
    expect([rotated.code, rotated.stderr]).toEqual([0, ""]);
    expect(rotated.stdout).toContain("variable: 2 checked, 1 re-encrypted\n");
    expect(await getVariable(sonde, "A")).toBe(true);
  }
  await using sonde = startSonde(["serve"], withKeys(after));
  await sonde.ready();
  expect([await getVariable(sonde, "A"), await getVariable(sonde, "B")]).toEqual([true, true]);
});

it("audits changes made on the command line, and lists them", async () => {
  using folder = makeFolder();
  const sonde = async (...args: string[]): Promise<string> => {
    let printed = "";
    const environment = { SONDE_DATA_DIR: folder.dataDir };
    await runCommand(args, environment, (text) => void (printed += text));
    return printed;
  };
  const listed = async (...options: string[]) =>
    (await sonde("audit", "list", ...options))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const { id, api_key } = JSON.parse(await sonde("keys", "create", "--owner", "bob")) as {
    id: string;
    api_key: string;
  };
  await sonde("keys", "revoke", id);
  await sonde("locations", "add", "paris");
  const printed = await sonde("locations", "env", "paris");
  await sonde("keys", "rotate-master");
  const entries = await listed();
  expect(entries[0]).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    actor: "command line",
    owner: "bob",
    org: null,
    address: null,
    action: "issue",
    kind: "api_key",
    object_id: id,
    object_owner: null,
    object_org: null,
    fields: [],
  });
  expect(entries.map(({ action, kind, object_id }) => [action, kind, object_id])).toEqual([
    ["issue", "api_key", id],
    ["revoke", "api_key", id],
    ["create", "location", "paris"],
    ["read", "location_key", "paris"],
    ["rotate", "master_key", expect.stringMatching(/^\S+$/)],
  ]);
  const locationKey = /^SONDE_LOCATION_KEY=(\S{40,})$/m.exec(printed)?.[1] ?? printed;
  for (const secret of [api_key, locationKey])
    expect(JSON.stringify(entries)).not.toContain(secret);
  expect(await listed("--limit", "1")).toEqual(entries.slice(4));
  expect(await listed("--owner", "bob")).toEqual(entries.slice(0, 2));
  expect(await listed("--owner", "bob", "--org", "acme")).toEqual([]);
  expect(await listed("--since", String(entries[1]?.["time"]))).toEqual(entries.slice(1));
});

const WITHOUT_OWNER = "--org 'acme' needs --owner: each owner is in one organization, or in none";

it.each([
  [
    "audit list",
    ["--since", "yesterday"],
    "--since: 'yesterday' is not an ISO 8601 date or date-time",
  ],
  ["audit list", ["--limit", "0"], "--limit: '0' is not a whole number from 1 to 100000"],
  ["audit list", ["--org", "acme"], WITHOUT_OWNER],
  ["keys create", ["--org", "acme"], WITHOUT_OWNER],
  ["keys create", ["--owner", ""], "--owner: '' is not a name"],
  ["keys create", ["--owner", "ann", "--org", ""], "--org: '' is not a name"],
])("rejects %s %j", async (command, options, message) => {
  using folder = makeFolder();
  const print = vi.fn<(text: string) => void>();
  const environment = { SONDE_DATA_DIR: folder.dataDir };
  const refused = runCommand([...command.split(" "), ...options], environment, print);
  await expect(refused).rejects.toThrow(expect.objectContaining({ message }));
  expect(print).not.toHaveBeenCalled();
});

it("creates each call once, even when killed before answering", async () => {
  using folder = makeFolder();
  const options = {
    folder: folder.path,
    env: { SONDE_BOOTSTRAP_KEY: KEY },
  };
  const create = async (sonde: SondeProcess, n: number) =>
    (await exchangeWith(sonde))({
      method: "POST",
      path: "/api/2/calls/",
      headers: { "idempotency-key": `create-${n}` },
      body: {
        meta: { name: `call ${n}` },
        request: { method: "GET", url: "https://target.test/" },
      },
    });
  const numbers = Array.from({ length: 40 }, (_, n) => n);
  const answered = new Map<number, string>();
  {
    await using sonde = startSonde(["serve"], options);
    await sonde.ready();
    const requests = numbers.map(async (n) => {
      const { status, text } = await create(sonde, n);
      if (status === 201) answered.set(n, text);
    });
    const settled = Promise.allSettled(requests);
    await Promise.race(requests.slice(5));
    await sonde.kill9();
    await settled;
  }
  await using sonde = startSonde(["serve"], options);
  await sonde.ready();
  for (const n of numbers) {
    const { status, text } = await create(sonde, n);
    expect(status, text).toBe(201);
    expect(text).toBe(answered.get(n) ?? text);
  }
  const list = await httpClient(await sonde.api(), KEY).send<{
    results: { meta: { name: string } }[];
  }>("GET", "/calls/?limit=1000");
  expect(list.results.map(({ meta }) => meta.name).toSorted()).toEqual(
    numbers.map((n) => `call ${n}`).toSorted(),
  );
  const audit = await runSonde(["audit", "list", "--limit", "1000"], options);
  const lines = audit.stdout.split("\n");
  const created = lines.filter((line) => line.includes('"kind":"call"'));
  expect(created).toHaveLength(numbers.length);
});
