// References stay valid when their targets are deleted concurrently.
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { runCommand } from "../../src/commands/command-line.ts";
import { create, createAuthSetting, createCall, startApi } from "../support/api.ts";
import type { List, TestApi } from "../support/api.ts";
import { makeFolder } from "../support/process.ts";
import { connect, settingsOf, storeKinds } from "../support/stores.ts";

const post = (api: TestApi, path: string, body: object) => api.send({ method: "POST", path, body });
const remove = (api: TestApi, path: string) => api.send({ method: "DELETE", path });

type Raw = ReturnType<typeof connect>["kysely"];

/** Starts one after the other while both wait, to write to the table or for each other. */
const inTurn = (
  raw: Raw,
  table: string,
  first: () => Promise<unknown>,
  second: () => Promise<unknown>,
) =>
  raw.transaction().execute(async (held) => {
    await sql`lock table ${sql.table(table)} in share mode`.execute(held);
    const started = [first()];
    await expect.poll(() => waitingIn(raw)).toBe(1);
    started.push(second());
    await expect.poll(() => waitingIn(raw)).toBe(2);
    return { ended: Promise.all(started) };
  });

async function waitingIn(raw: Raw): Promise<number> {
  const { rows } = await sql`select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(raw);
  return rows.length;
}

/** By its delay, no run is due before the deletion: its schedule would be kept. */
const UNDUE = { location_id: "", frequency: 1, run_delay: 600 };

describe.each(storeKinds)("concurrent requests on %s", (storeKind) => {
  it("never leave a reference to a deleted setting", async () => {
    await using api = await startApi({ storeKind });
    for (let round = 0; round < 5; round += 1) {
      const { id } = await createAuthSetting(api);
      const request = { method: "GET", url: "http://a.test", auth_id: id };
      const call = { meta: { name: "n" }, request };
      const [made, token, removed] = await Promise.all([
        post(api, "/calls/", call),
        post(api, "/tokens/", { meta: { name: "t", auth_id: id } }),
        remove(api, `/auth/${id}/`),
      ]);
      const isNamed = made.status === 201 || token.status === 201;
      expect(removed.status).toBe(isNamed ? 400 : 200);
    }
  });

  it("never leave a deleted call deployed or in a workflow", async () => {
    await using api = await startApi({ storeKind });
    for (let round = 0; round < 5; round += 1) {
      const { id } = await createCall(api);
      const call_ids = [id];
      const workflow = await create(api, "/workflows/", {
        meta: { name: "before" },
        workflow: { call_ids },
      });
      const deployment = { ...UNDUE, target_id: id };
      await Promise.all([
        post(api, "/workflows/", {
          meta: { name: "n" },
          workflow: { call_ids },
        }),
        post(api, `/workflows/${workflow.id}/`, { workflow: { call_ids } }),
        post(api, "/deployments/", { deployment }),
        remove(api, `/calls/${id}/`),
      ]);
      for (const path of [`/workflows/call/${id}/`, `/deployments/call/${id}/`])
        expect((await api.send<List>({ path })).body.results).toEqual([]);
    }
    expect(await api.store.schedules.listNew()).toEqual([]);
  });

  it("never duplicate a variable that is set and deleted", async () => {
    await using api = await startApi({ storeKind });
    const path = "/environment/global/a";
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        n % 4 === 3
          ? remove(api, path)
          : api.send({ method: "PUT", path, body: { value: String(n) } }),
      ),
    );
    const set = answers.filter((_, n) => n % 4 !== 3);
    expect(set.map(({ status }) => status < 300)).toEqual(set.map(() => true));
    const list = await api.send<List>({ path: "/environment/global" });
    expect(list.body.results.length).toBeLessThanOrEqual(1);
  });

  it("delete an object once, with one entry in the audit trail", async () => {
    await using api = await startApi({ storeKind });
    const path = "/environment/global/a";
    for (let round = 0; round < 5; round += 1) {
      await post(api, path, { value: "v" });
      const answers = await Promise.all(Array.from({ length: 6 }, () => remove(api, path)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      const call = await createCall(api);
      const deployment = { target_id: call.id, location_id: "", frequency: 1 };
      const deployed = await create(api, "/deployments/", { deployment });
      await Promise.all([
        remove(api, `/deployments/${deployed.id}/`),
        remove(api, `/calls/${call.id}/`),
      ]);
    }
    const audit = await api.store.audit.list({ limit: 100 });
    const deleted = audit.filter(({ action }) => action === "delete");
    expect(deleted.map(({ kind }) => kind).toSorted()).toEqual(
      ["call", "deployment", "variable"].flatMap((kind) => Array.from({ length: 5 }, () => kind)),
    );
  });

  // A SQLite file is locked as a whole.
  it.runIf(storeKind === "postgres")("repeat an answer that is forgotten meanwhile", async () => {
    await using api = await startApi({ storeKind });
    await using raw = connect(api.database).kysely;
    const ask = () =>
      api.send({
        method: "POST",
        path: "/reports/",
        body: { meta: { name: "n" } },
        headers: { "idempotency-key": "k" },
      });
    const first = await ask();
    await sql`create function forget() returns trigger language plpgsql as
      $$ begin delete from kept_answers; return null; end $$`.execute(raw);
    await sql`create trigger forget after insert on kept_answers
      for each statement execute function forget()`.execute(raw);
    expect(await ask()).toMatchObject({ status: 201, text: first.text });
  });

  it.runIf(storeKind === "postgres")("keep a deployment that has left a deleted call", async () => {
    await using api = await startApi({ storeKind });
    await using raw = connect(api.database).kysely;
    const [{ id: target_id }, { id: deleted }] = [await createCall(api), await createCall(api)];
    const deployment = { target_id: deleted, location_id: "", frequency: 1 };
    const path = `/deployments/${(await create(api, "/deployments/", { deployment })).id}/`;
    const { ended } = await inTurn(
      raw,
      "new_schedules",
      () => post(api, path, { deployment: { target_id } }),
      () => remove(api, `/calls/${deleted}/`),
    );
    expect(await ended).toEqual([
      expect.objectContaining({ status: 200 }),
      expect.objectContaining({ status: 200 }),
    ]);
    expect((await api.send({ path })).body).toMatchObject({ deployment: { target_id } });
  });

  it.runIf(storeKind === "postgres")(
    "change no deployment whose call is being deleted: the change waits",
    async () => {
      await using api = await startApi({ storeKind });
      await using raw = connect(api.database).kysely;
      const { id: target_id } = await createCall(api);
      const deployment = { ...UNDUE, target_id };
      const path = `/deployments/${(await create(api, "/deployments/", { deployment })).id}/`;
      const { deletion, change } = await raw.transaction().execute(async (held) => {
        await sql`lock table pending_runs in share mode`.execute(held);
        const deleting = remove(api, `/calls/${target_id}/`);
        await expect.poll(() => waitingIn(raw)).toBe(1);
        const changing = post(api, path, { deployment: { frequency: 2 } });
        await expect.poll(() => waitingIn(raw)).toBe(2);
        return { deletion: deleting, change: changing };
      });
      expect((await deletion).status).toBe(200);
      expect((await change).status).toBe(404);
      expect((await api.send({ path })).status).toBe(404);
      expect(await api.store.schedules.listNew()).toEqual([]);
    },
  );

  it.runIf(storeKind === "postgres")(
    "hold up no other deployment while a deletion waits for one",
    async () => {
      await using api = await startApi({ storeKind });
      await using raw = connect(api.database).kysely;
      const [{ id: target_id }, other] = [await createCall(api), await createCall(api)];
      const deployment = { target_id, location_id: "", frequency: 1 };
      await create(api, "/deployments/", { deployment });
      const { id } = await create(api, "/deployments/", { deployment });
      const { deletion } = await raw.transaction().execute(async (held) => {
        await sql`select from documents where id = ${id} for update`.execute(held);
        const started = remove(api, `/calls/${target_id}/`);
        await expect.poll(() => waitingIn(raw)).toBe(1);
        const late = { deployment: { ...deployment, target_id: other.id } };
        expect((await post(api, "/deployments/", late)).status).toBe(201);
        return { deletion: started };
      });
      expect((await deletion).status).toBe(200);
    },
  );

  it.runIf(storeKind === "postgres")("never leave a deployment at a removed location", async () => {
    await using api = await startApi({ storeKind });
    await using raw = connect(api.database).kysely;
    using folder = makeFolder();
    const env = settingsOf(api.database, folder.dataDir);
    const { id } = await createCall(api);
    const deployment = { target_id: id, location_id: "far", frequency: 1 };
    const deploy = () => create(api, "/deployments/", { deployment });
    const removeFar = () =>
      runCommand(["locations", "remove", "far"], env, () => undefined).then(
        () => "removed",
        (cause: Error) => cause.message,
      );
    await remove(api, `/deployments/${(await deploy()).id}/`);
    const refused = await inTurn(raw, "owner_usage", deploy, removeFar);
    expect(await refused.ended).toEqual([
      expect.objectContaining({ deployment: expect.objectContaining({ location_id: "far" }) }),
      "location 'far' has 1 deployment: delete or move it first",
    ]);
    await remove(api, `/calls/${id}/`);
    const agent = { agent_id: "a", location_id: "far", version: "1", in_flight: 0 };
    const now = await api.store.now();
    await api.store.agents.record({ ...agent, sent: now }, { now });
    const other = await createCall(api);
    const late = { deployment: { ...deployment, target_id: other.id } };
    const removed = await inTurn(raw, "agents", removeFar, () => post(api, "/deployments/", late));
    expect(await removed.ended).toEqual(["removed", expect.objectContaining({ status: 400 })]);
  });
});
