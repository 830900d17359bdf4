// CPU per call of the agent, compared with a bare undici request over a fresh connection: from tick
// to report, and of the whole agent behind nats-server. All take turns on the same target. Goal: at
// most 1.5 times the bare request, from tick to report over plain HTTP.
import { CONCURRENCY, startCaller } from "./caller.ts";
import type { Caller } from "./caller.ts";
import { startRole } from "./role.ts";
import { show, spreadOf } from "./statistics.ts";
import { startTarget } from "./target.ts";

const ROUNDS = 15;
const CALLS = { http: 3000, https: 600 };

const [target, stopTarget] = await startTarget();
for (const scheme of ["http", "https"] as const) await compare(scheme);
stopTarget();

async function compare(scheme: "http" | "https"): Promise<void> {
  const url = `${scheme}://127.0.0.1:${target[scheme]}/`;
  const bare = startCaller("bare", url, target.authority);
  const others = await startOthers(scheme, url);
  const cpu = new Map<Caller, number[]>();
  for (let round = -2; round < ROUNDS; round += 1)
    for (const caller of [bare, ...others.values()]) {
      const used = await caller.measure(CALLS[scheme]);
      // The first rounds warm up the compiler.
      if (round >= 0) cpu.set(caller, [...(cpu.get(caller) ?? []), used]);
    }
  await Promise.all([bare, ...others.values()].map((caller) => caller.stop()));
  const yardstick = cpu.get(bare) ?? [];
  console.log(
    `CPU milliseconds for a call over ${scheme}: minimum, median, maximum of ${ROUNDS} rounds`,
  );
  print("bare undici", yardstick);
  for (const [name, caller] of others) {
    const used = cpu.get(caller) ?? [];
    print(name, used);
    print(
      "  ratio",
      used.map((one, round) => one / (yardstick[round] ?? NaN)),
    );
  }
}

/** Without the whole agent over HTTPS, where it would not trust the target. */
async function startOthers(scheme: string, url: string): Promise<Map<string, Caller>> {
  const agent = startCaller("agent", url, target.authority);
  const callers = new Map([["agent, tick to report", agent]]);
  if (scheme === "https") return callers;
  const role = await startRole(url, CONCURRENCY);
  if (role) callers.set("agent over NATS", role);
  else console.log("nats-server is not installed: skipping the whole agent");
  return callers;
}

function print(name: string, values: readonly number[]): void {
  const { min, median, max } = spreadOf(values);
  console.log(`${name.padEnd(22)} ${show(min)}  ${show(median)}  ${show(max)}`);
}
