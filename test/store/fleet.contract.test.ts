// The store's queries for the metrics of the whole system.
import { describe, expect, it } from "vitest";
import { newId } from "../../src/runtime/ids.ts";
import type { NewDocument } from "../../src/store/records.ts";
import { aCall, aRun, aSchedule, T0 } from "../support/runs.ts";
import { sharedStore, storeKinds } from "../support/stores.ts";

describe.each(storeKinds)("the fleet on %s", (kind) => {
  const { store } = sharedStore(kind);

  const deploy = (location_id: string, deployment_id = newId(T0), active_from = T0) =>
    store.schedules.set(aSchedule({ deployment_id, location_id, active_from }));

  it("counts each deployment once, page by page, at its current location", async () => {
    const moved = newId(T0);
    await deploy("tokyo", moved);
    await deploy("paris", moved, T0 + 60_000);
    for (const location of ["paris", "tokyo", "paris", "tokyo"]) await deploy(location);
    const counts = new Map<string, number>();
    let pages = 0;
    for (let after: string | undefined = ""; after !== undefined; pages += 1) {
      const { at, next } = await store.fleet.countDeployments(after, 2);
      for (const { location_id, deployments } of at)
        counts.set(location_id, (counts.get(location_id) ?? 0) + deployments);
      after = next;
    }
    expect(Object.fromEntries(counts)).toEqual({ paris: 3, tokyo: 2 });
    expect(pages).toBe(3);
  });

  it("counts the runs that expire first, by location", async () => {
    const run = (location_id: string, due_time: number) =>
      aRun({ location_id, due_time, expires_at: due_time + 1 });
    await store.pendingRuns.insert([run("paris", T0 + 1), run("paris", T0), run("tokyo", T0 + 2)]);
    const [paris, tokyo] = [
      { location_id: "paris", runs: 2, oldest_due: T0 },
      { location_id: "tokyo", runs: 1, oldest_due: T0 + 2 },
    ];
    expect(await store.fleet.pendingRuns(2)).toEqual([paris]);
    const all = await store.fleet.pendingRuns(10);
    expect(all.toSorted((a, b) => b.runs - a.runs)).toEqual([paris, tokyo]);
  });

  it("returns the first expiry of a token that is used but not renewed", async () => {
    const aToken = async (expire_time: string) => {
      const token: NewDocument = {
        ...aCall(),
        kind: "token",
        document: { token: { expire_time } },
        filters: {},
      };
      await store.documents.insert(token);
      return token.id;
    };
    await aToken("2027-01-01T00:00:00Z");
    const used = await Promise.all(
      ["2027-02-01T00:00:00Z", "2027-03-01T00:00:00Z", "2027-04-01T00:00:00Z"].map(aToken),
    );
    expect(await store.fleet.firstTokenExpiry()).toBeUndefined();
    for (const token_id of used) await store.documents.insert(aCall({ filters: { token_id } }));
    const [renewed = "", ...others] = used;
    await store.renewals.putOff(renewed, T0);
    for (const id of others) await store.renewals.putOff(id, null);
    expect(await store.fleet.firstTokenExpiry()).toBe("2027-03-01T00:00:00Z");
  });
});
