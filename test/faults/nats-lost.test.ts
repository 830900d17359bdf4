// The API and readiness while NATS is down, and after it is back.
import { expect, it } from "vitest";
import { newApiKey } from "../../src/runtime/api-key.ts";
import { httpExchange } from "../support/client.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { runSonde, startSonde } from "../support/process.ts";
import { readinessOf } from "../support/service.ts";
import { until } from "../support/until.ts";

const RECONNECTING = expect.stringMatching(/^NATS at nats:.*: reconnecting/);

it("keeps an API without NATS ready, so that balancers still send it readers", async () => {
  await using nats = await startNatsServer();
  const key = newApiKey();
  await using hub = startSonde(["serve", "--roles", "api,scheduler,aggregator"], {
    env: { SONDE_BOOTSTRAP_KEY: key, SONDE_NATS_URL: nats.url },
  });
  await hub.ready();
  const exchange = httpExchange(await hub.api(), key);
  const newCall = { meta: { name: "a" }, request: { method: "GET", url: "http://127.0.0.1:9/" } };
  const created = await exchange({ method: "POST", path: "/api/2/calls/", body: newCall });
  const { id } = JSON.parse(created.text) as { readonly id: string };

  await nats.kill();
  const degraded = [{ part: "bus", reason: RECONNECTING }];
  await until(async () =>
    expect(await readinessOf(hub)).toEqual({ ok: true, body: { status: "ready", degraded } }),
  );
  const env = { SONDE_OPS_PORT: new URL(await hub.ops()).port };
  const status = await runSonde(["status", "--once"], { env });
  expect(status.stdout).toMatch(
    /^process +ready, but degraded: bus: NATS at nats:.*: reconnecting$/m,
  );
  const run = { path: `/api/2/calls/${id}/run/`, body: { location_id: "local" } };
  expect((await exchange({ method: "GET", path: `/api/2/calls/${id}/` })).status).toBe(200);
  expect((await exchange({ method: "POST", ...run })).status).toBe(503);

  await nats.restart();
  await until(async () =>
    expect(await readinessOf(hub)).toEqual({ ok: true, body: { status: "ready" } }),
  );
});

it("leaves a process whose agent has no NATS not ready, even with the API", async () => {
  await using nats = await startNatsServer();
  await using sonde = startSonde(["serve"], { env: { SONDE_NATS_URL: nats.url } });
  await sonde.ready();
  await nats.kill();
  const failing = [{ part: "agent", reason: RECONNECTING }];
  await until(async () =>
    expect(await readinessOf(sonde)).toEqual({
      ok: false,
      body: { status: "not ready", failing },
    }),
  );
});
