// The services of deploy/compose.yaml, started without containers, until each location has results.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { httpClient } from "../support/client.ts";
import type { Client } from "../support/client.ts";
import { startTarget } from "../support/target-server.ts";
import { readComposeFile, servicesIn } from "./compose-file.ts";
import { composeWithoutContainers } from "./compose-processes.ts";
import { requireSandbox } from "./sandbox.ts";

const RESULTS_WITHIN_MS = 150_000;

it("every location has results, and every process of Sonde ends with 0", async () => {
  requireSandbox();
  await using target = await startTarget((_, response) => response.end("ok"));
  const services = servicesIn(readComposeFile());
  await using composed = composeWithoutContainers(services, {
    SONDE_EGRESS_ALLOW: new URL(target.url).host,
  });
  const { ground } = composed;
  await composed.started();

  const key = readFileSync(join(ground.volume("hub-secrets"), "owner-key"), "utf8");
  const client = httpClient(`http://${ground.addressOf("api")}:8080`, key);
  const call = await client.createCall(target.url);
  for (const location_id of ["paris", "tokyo"]) await client.deploy(call, { location_id });
  await expect
    .poll(() => locationsWithResults(client, call), { timeout: RESULTS_WITHIN_MS, interval: 1000 })
    .toEqual(["paris", "tokyo"]);

  const codes = await composed.stop();
  for (const { name, replicas } of services.filter(isServed))
    expect([name, codes[name]]).toEqual([name, Array.from({ length: replicas }, () => 0)]);
});

it("gives the volume of a location that was added to the user of Sonde", async () => {
  requireSandbox();
  const added = { from: "location-berlin", at: "/volumes/location-berlin", writable: true };
  const secrets = servicesIn(readComposeFile())
    .filter(({ name }) => name === "secrets")
    .map((service) => ({ ...service, mounts: [...service.mounts, added] }));
  await using composed = composeWithoutContainers(secrets, {});
  await composed.started();
  const { uid, gid } = statSync(composed.ground.volume(added.from));
  expect([uid, gid]).toEqual([10_001, 10_001]);
});

const isServed = ({ image, entrypoint }: ReturnType<typeof servicesIn>[number]): boolean =>
  image === "sonde" && entrypoint === undefined;

interface Result {
  readonly meta: { readonly result: string; readonly location_id: string };
}

async function locationsWithResults(client: Client, call: string): Promise<string[]> {
  const path = `/calls/${call}/results/?limit=1000`;
  const { results } = await client.send<{ results: readonly Result[] }>("GET", path);
  const complete = results.filter(({ meta }) => meta.result === "COMPLETE");
  return [...new Set(complete.map(({ meta }) => meta.location_id))].toSorted();
}
