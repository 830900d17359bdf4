// References stay valid when their targets are deleted concurrently.
import { describe, expect, it } from "vitest";
import { create, createAuthSetting, createCall, startApi } from "../support/api.ts";
import type { List, TestApi } from "../support/api.ts";
import { storeKinds } from "../support/stores.ts";

const post = (api: TestApi, path: string, body: object) => api.send({ method: "POST", path, body });
const remove = (api: TestApi, path: string) => api.send({ method: "DELETE", path });

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
      const deployment = { target_id: id, location_id: "", frequency: 1 };
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
});
