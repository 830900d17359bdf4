// The API and readiness while PostgreSQL is down, and after it is back.
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { newApiKey } from "../../src/runtime/api-key.ts";
import { httpExchange } from "../support/client.ts";
import { startPostgres } from "../support/postgres.ts";
import { startSonde } from "../support/process.ts";
import { until } from "../support/until.ts";

interface Answered {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

it("answers 503 and reports not ready while PostgreSQL is down, and recovers", async () => {
  await using postgres = await startPostgres();
  const key = newApiKey();
  await using sonde = startSonde(["serve"], {
    env: {
      SONDE_DATABASE_URL: await postgres.createDatabase(),
      SONDE_BOOTSTRAP_KEY: key,
    },
  });
  await sonde.ready();
  const [api, ops] = [await sonde.api(), await sonde.ops()];
  const exchange = httpExchange(api, key);
  const ask = async (path: string, body?: object): Promise<Answered> => {
    const method = body ? "POST" : "GET";
    const answer = await exchange({ method, path: `/api/2${path}`, ...(body && { body }) });
    return {
      status: answer.status,
      retryAfter: answer.headers.get("retry-after"),
      body: JSON.parse(answer.text) as Answered["body"],
    };
  };
  const newCall = {
    meta: { name: "a call" },
    request: { method: "GET", url: "http://127.0.0.1:9/" },
  };
  const create = (): Promise<Answered> => ask("/calls/", newCall);
  const before = await create();
  expect(before.status).toBe(201);

  const answers: Promise<Answered>[] = [];
  let killed: Promise<void> | undefined;
  while (answers.length < 300) {
    answers.push(answers.length % 2 === 0 ? create() : ask("/calls/"));
    if (answers.length === 100) killed = postgres.kill();
    if (answers.length === 200) await killed;
    await nextTurn();
  }
  const met = await Promise.all(answers);
  expect(met.filter(({ status }) => ![200, 201, 503].includes(status))).toEqual([]);
  expect(met.some(({ status }) => status === 503)).toBe(true);

  for (const gone of [await create(), await ask("/calls/")]) {
    expect(gone).toEqual({
      status: 503,
      retryAfter: "5",
      body: {
        error_msg: "the database is unavailable; try again in 5 s",
        error: 503,
      },
    });
  }
  await until(async () => {
    const readiness = await fetch(`${ops}/readyz`);
    expect([readiness.status, await readiness.json()]).toEqual([
      503,
      {
        status: "not ready",
        failing: [{ part: "database", reason: expect.any(String) }],
      },
    ]);
  });
  expect((await fetch(`${ops}/livez`)).status).toBe(200);

  await postgres.start();
  await until(async () => {
    expect((await ask(`/calls/${String(before.body["id"])}/`)).status).toBe(200);
    expect((await create()).status).toBe(201);
    expect((await fetch(`${ops}/readyz`)).status).toBe(200);
  });
  // Every call answered with 201 is stored.
  const created = met.filter(({ status }) => status === 201).length;
  const { body } = await ask("/calls/?limit=1000");
  expect((body["results"] as unknown[]).length).toBeGreaterThanOrEqual(created + 2);
});
