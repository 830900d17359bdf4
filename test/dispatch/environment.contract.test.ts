// What is read of an owner's environment variables for its runs.
import { describe, expect, it } from "vitest";
import { buildTicks, unableToRun } from "../../src/dispatch/build-tick.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";
import { workspaceKey } from "../../src/model/environment.ts";
import type { NewDocument } from "../../src/store/records.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aCall, aRun, insertKey, T0 } from "../support/runs.ts";
import { damageSecrets } from "../support/stored-secrets.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";

function aVariable(place: string, name: string, value: string): NewDocument {
  const workspace = workspaceKey({ owner: "ann", org: null }, place);
  const document = { workspace_variable: { name, value } };
  return { ...aCall(), kind: "variable", document, filters: { workspace, name } };
}

describe.each(storeKinds)("the environment variables of a run, on %s,", (kind) => {
  /** `damaged`: stored so that they cannot be decrypted. */
  async function open(variables: readonly NewDocument[], damaged: readonly NewDocument[]) {
    const database = await createTestDatabase(kind);
    const opened = new Set<string>();
    const store = await database.open(createManualClock(T0), ({ id }) => void opened.add(id));
    for (const each of [...variables, ...damaged]) await store.documents.insert(each);
    for (const { id } of damaged) await damageSecrets(database, id);
    await insertKey(store, T0);
    const runOf = async (url: string) => {
      const call = aCall({ url });
      await store.documents.insert(call);
      return aRun({ target_id: call.id, context: { WORKSPACE: "blue" } });
    };
    const dispose = () => database[Symbol.asyncDispose]();
    return { store, opened, runOf, [Symbol.asyncDispose]: dispose };
  }

  it("are read only if it names them, each from one workspace", async () => {
    await using stack = await open(
      [aVariable("global", "host", "a.test"), aVariable("blue", "tier", "of blue")],
      [aVariable("global", "other", "of all"), aVariable("global", "tier", "of all")],
    );
    const run = await stack.runOf("https://a.test/{{host}}/{{tier}}/{{none}}?{{\0}}");
    const { ticks } = await buildTicks(stack.store, [run]);
    expect(ticks[0]?.environment).toEqual({ host: "a.test", tier: "of blue" });
    expect(ticks[0]?.calls[0]?.unable).toBeUndefined();
    expect(stack.opened).toEqual(new Set());
  });

  it("are not read if its owner's runs that wait have no room for them", async () => {
    const names = Array.from({ length: 20 }, (_, n) => `v${n}`);
    await using stack = await open(
      [aVariable("global", "host", "a.test")],
      names.map((name) => aVariable("blue", name, "x".repeat(60_000))),
    );
    const all = await stack.runOf(`https://a.test/${names.map((name) => `{{${name}}}`).join("")}`);
    const runs = [all, await stack.runOf("https://a.test/{{host}}")];
    const waiting = createWaitingRuns(1);
    const { ticks, unable } = await buildTicks(stack.store, runs, waiting);
    expect(unable).toEqual([unableToRun(all, waiting.refusal)]);
    expect(ticks.map(({ environment }) => environment)).toEqual([{ host: "a.test" }]);
    expect(stack.opened).toEqual(new Set());
  });
});
