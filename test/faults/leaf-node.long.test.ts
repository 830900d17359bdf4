// Agents of a remote location behind a leaf node, whose line to the hub is cut and heals.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { freePort } from "../support/free-port.ts";
import { natsAccounts } from "../support/nats-accounts.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { announcedSeed, between, randomOf } from "../support/seed.ts";
import { dueOf, isComplete, readinessOf, startService } from "../support/service.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

const LOCATION = "local";
const example = (name: string): string =>
  readFileSync(new URL(`../../deploy/nats/${name}`, import.meta.url), "utf8");

it("runs continue through the leaf node, and after its line was cut; no run is lost or counted twice", async (test) => {
  const random = randomOf(await announcedSeed(test));
  await using stack = new AsyncDisposableStack();
  const accounts = natsAccounts([LOCATION]);
  const leafPort = await freePort();
  const hub = stack.use(
    await startNatsServer({
      config: `${accounts.config}\n${example("leafnodes.conf")}`
        .replace("0.0.0.0:7422", `127.0.0.1:${leafPort}`)
        .replace("$SONDE_LEAF_PASSWORD", "secret")
        .replaceAll("tokyo", LOCATION),
    }),
  );
  const line = stack.use(await startTcpProxy(leafPort));
  const leaf = stack.use(
    await startNatsServer({
      config: example("leaf.conf")
        .replace("$SONDE_LEAF_URL", `"nats-leaf://${LOCATION}:secret@127.0.0.1:${line.port}"`)
        .replace(/^listen.*/m, ""),
      jetstream: false,
    }),
  );
  const service = stack.use(
    await startService({ natsUrl: hub.url, settings: { SONDE_NATS_NKEY: accounts.hubSeed } }),
  );
  service.start("scheduler,aggregator");
  const agent = service.start("agent", { SONDE_NATS_URL: leaf.url, SONDE_NATS_NKEY: "" });
  await service.completes();

  await systemClock.waitUntil(systemClock.now() + between(random, 0, 15_000));
  line.cut();
  const cut = systemClock.now();
  await until(async () => expect((await readinessOf(agent)).ok).toBe(false));
  await systemClock.waitUntil(cut + between(random, 45_000, 75_000));
  line.heal();
  await until(async () => expect((await readinessOf(agent)).ok).toBe(true));
  const healed = systemClock.now();
  await service.completes(healed);

  const { results } = await service.expectLedgerHolds();
  for (const each of results.filter((result) => !isComplete(result) && dueOf(result) > cut)) {
    expect(each.meta.result).toBe("MISSED");
    expect(dueOf(each)).toBeLessThan(healed + 5000);
  }
  expect(results.some((each) => isComplete(each) && dueOf(each) > healed)).toBe(true);
});
