import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { createCall, startApi } from "../support/api.ts";
import { connect, storeKinds } from "../support/stores.ts";

describe.each(storeKinds)("run now on %s", (storeKind) => {
  it.runIf(storeKind === "postgres")(
    "leaves an ordered run to the scheduler if the database fails, and repeats its answer",
    async () => {
      await using api = await startApi({ storeKind });
      const { id } = await createCall(api);
      await using raw = connect(api.database).kysely;
      await sql`create function fail() returns trigger language plpgsql as $$ begin
        raise 'no space left' using errcode = '53100'; end $$`.execute(raw);
      await sql`create trigger fail before update on pending_runs
        for each statement execute function fail()`.execute(raw);
      const run = {
        method: "POST",
        path: `/calls/${id}/run`,
        body: {},
        headers: { "idempotency-key": "k1" },
      } as const;
      expect((await api.send(run)).status).toBe(503);
      const left = await api.store.pendingRuns.listUnpublished(Number.MAX_SAFE_INTEGER, 9);
      const again = await api.send(run);
      expect([again.status, [again.body["result_id"]]]).toEqual([
        200,
        left.map(({ result_id }) => result_id),
      ]);
      expect(await api.store.results.listOfCall(id, { after: "", limit: 9 })).toEqual([]);
    },
  );
});
