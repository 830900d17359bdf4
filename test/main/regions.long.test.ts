// Regions as an operator adds, rotates and removes them, with the example configurations of NATS in
// deploy/nats/ and real processes.
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseEnv } from "node:util";
import { expect, it } from "vitest";
import { runCommand } from "../../src/commands/command-line.ts";
import { httpClient } from "../support/client.ts";
import type { Client } from "../support/client.ts";
import { freePort } from "../support/free-port.ts";
import { natsAccounts } from "../support/nats-accounts.ts";
import { startNatsServer } from "../support/nats-server.ts";
import type { NatsServer } from "../support/nats-server.ts";
import { makeFolder, startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { startTarget } from "../support/target-server.ts";
import { until } from "../support/until.ts";
import { aTick, connectTo } from "../bus/buses.ts";

/** Between two signals, which would count as one if they came at once. */
const RELOAD_MS = 1000;
const KEY = "0123456789abcdefghijABCDEFGHIJ01";

/**
 * Returns an example of deploy/nats/ with the accounts and the store in `folder`, on other ports.
 */
const example = (name: string, folder: string, store = "store"): string =>
  readFileSync(join("deploy", "nats", name), "utf8")
    // Relative to the server's folder, which is beside it.
    .replace("include accounts.conf", `include "../${basename(folder)}/nats/accounts.conf"`)
    .replace("http: 127.0.0.1:8222", "")
    .replace("/var/lib/nats", JSON.stringify(join(folder, store)));

/** Reloads twice: nats-server 2.9 connects a new account to the hub's only on the second reload. */
async function reload({ pid }: NatsServer): Promise<void> {
  for (let time = 1; time <= 2; time += 1) {
    process.kill(pid, "SIGHUP");
    await delay(RELOAD_MS);
  }
}

/** Returns the outcome of a run at the location, ordered by hand. */
async function runAt(client: Client, location_id: string, url: string): Promise<string> {
  const call = await client.createCall(url);
  await client.send("POST", `/calls/${call}/run`, { location_id });
  const [result] = await client.ended(call);
  return result?.meta.result ?? "none";
}

const lostBus = ({ msg }: { readonly msg: string }) => msg.startsWith("NATS connection lost");

async function isReady(sonde: SondeProcess): Promise<boolean> {
  return (await fetch(`${await sonde.ops()}/readyz`)).ok;
}

it("a region is added from its bundle, rotated and removed, while the others continue", async () => {
  using folder = makeFolder();
  await using target = await startTarget((_, response) => void response.end("ok"));
  const port = await freePort();
  const settings = {
    SONDE_DATA_DIR: folder.dataDir,
    SONDE_NATS_URL: `nats://127.0.0.1:${port}`,
    SONDE_BOOTSTRAP_KEY: KEY,
    SONDE_LOCATION: "paris",
  };
  const sonde = (...args: string[]): Promise<number> => runCommand(args, settings, () => undefined);
  const out = join(folder.path, "nats");
  await sonde("locations", "add", "paris", "--bundle", join(folder.path, "paris.tar"));
  await sonde("locations", "nats-config", "--out", out);
  await using nats = await startNatsServer({
    port,
    jetstream: false, // would go on the command line, where a reload refuses it
    config: example("nats-server.conf", folder.path),
  });
  await using hub = startSonde(["serve", "--roles", "api,scheduler,aggregator"], {
    folder: folder.path,
    env: { ...settings, SONDE_NATS_NKEY_FILE: join(out, "hub.nk") },
  });
  /** Starts an agent as its README says, in an empty folder. */
  const startAgent = (id: string, archive = `${id}.tar`): SondeProcess => {
    const there = mkdtempSync(join(folder.path, "there-"));
    execFileSync("tar", ["-xf", join(folder.path, archive)], { cwd: there });
    const bundle = join(there, id);
    expect(readdirSync(bundle).toSorted()).toEqual([
      "README.md",
      "agent.env",
      "compose.yaml",
      "location-key",
      "nats.nk",
      "sonde-agent@.service",
    ]);
    expect(statSync(join(bundle, "nats.nk")).mode & 0o777).toBe(0o600);
    const environment = parseEnv(readFileSync(join(bundle, "agent.env"), "utf8"));
    const env = { ...environment, SONDE_EGRESS_ALLOW: target.authority };
    return startSonde(["serve"], { folder: bundle, env });
  };

  await using paris = startAgent("paris");
  const client = httpClient(await hub.api(), KEY);
  expect(await runAt(client, "paris", target.url)).toBe("COMPLETE");

  await sonde("locations", "add", "tokyo", "--bundle", join(folder.path, "tokyo.tar"));
  await sonde("locations", "nats-config", "--out", out);
  await reload(nats);
  await using tokyo = startAgent("tokyo");
  expect(await runAt(client, "tokyo", target.url)).toBe("COMPLETE");
  await tokyo.ready();

  await sonde("locations", "rotate", "tokyo");
  await sonde("locations", "env", "tokyo", "--bundle", join(folder.path, "tokyo-2.tar"));
  await sonde("locations", "nats-config", "--out", out);
  await reload(nats);
  // Both keys are valid now.
  await using renewed = startAgent("tokyo", "tokyo-2.tar");
  await renewed.ready();
  await tokyo.stop();
  expect(await runAt(client, "tokyo", target.url)).toBe("COMPLETE");

  await sonde("locations", "remove", "tokyo");
  await sonde("locations", "nats-config", "--out", out);
  await reload(nats);
  await until(async () => expect(await isReady(renewed)).toBe(false));
  expect(await runAt(client, "paris", target.url)).toBe("COMPLETE");
  expect([...hub.log(), ...paris.log()].filter(lostBus)).toEqual([]);
});

it("three servers start as a cluster from one configuration, with the accounts", async () => {
  using folder = makeFolder();
  await using stack = new AsyncDisposableStack();
  const accounts = natsAccounts(["paris"]);
  mkdirSync(join(folder.path, "nats"));
  writeFileSync(join(folder.path, "nats", "accounts.conf"), accounts.config);
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const servers = await Promise.all(
    ports.map(async (port, at) => {
      const name = `nats-${at + 1}`;
      const config = example("cluster.conf", folder.path, name)
        .replace("$NATS_NAME", name)
        .replace("0.0.0.0:6222", `127.0.0.1:${port}`)
        .replaceAll(/nats-(\d):6222/g, (_, n: string) => `127.0.0.1:${ports[Number(n) - 1]}`);
      return stack.use(await startNatsServer({ config, jetstream: false }));
    }),
  );
  const [first = "", , third = ""] = servers.map(({ url }) => url);
  // JetStream is unavailable while the servers elect a leader.
  const hub = stack.use(await until(() => connectTo(first, { nkey: accounts.hubSeed })));
  const agent = stack.use(
    await connectTo(third, { nkey: accounts.seedOf("paris"), locationId: "paris" }),
  );
  const taken: string[] = [];
  await agent.consumeTicks("paris", async (ticks) => {
    taken.push(...ticks.map(({ result_id }) => result_id));
  });
  const tick = aTick({ location_id: "paris" });
  await hub.publishTicks([tick]);
  await until(() => expect(taken).toEqual([tick.result_id]));
});
