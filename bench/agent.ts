// The agent's own CPU for a call, from tick to report, beside that of a bare undici request over a fresh connection.
// Both call the same target, in turns. Goal: at most 1.5 times over plain http, where little else costs anything.
import { startCaller } from "./caller.ts";
import { show, spreadOf } from "./statistics.ts";
import { startTarget } from "./target.ts";

const ROUNDS = 15;
const CALLS = { http: 3000, https: 600 };

const [target, stopTarget] = await startTarget();
for (const scheme of ["http", "https"] as const) await compare(scheme);
stopTarget();

async function compare(scheme: "http" | "https"): Promise<void> {
  const url = `${scheme}://127.0.0.1:${target[scheme]}/`;
  const calls = CALLS[scheme];
  const bare = startCaller("bare", url, target.authority);
  const agent = startCaller("agent", url, target.authority);
  const rounds: { bare: number; agent: number; ratio: number }[] = [];
  for (let round = -2; round < ROUNDS; round += 1) {
    const [b, a] = [await bare.measure(calls), await agent.measure(calls)];
    // The first ones are for the compiler.
    if (round >= 0) rounds.push({ bare: b, agent: a, ratio: a / b });
  }
  bare.stop();
  agent.stop();
  console.log(
    `CPU milliseconds for a call over ${scheme}: minimum, median, maximum of ${ROUNDS} rounds`,
  );
  for (const [name, key] of [
    ["bare undici", "bare"],
    ["agent", "agent"],
    ["ratio", "ratio"],
  ] as const) {
    const { min, median, max } = spreadOf(rounds.map((round) => round[key]));
    console.log(
      `${name.padEnd(12)} ${show(min)}  ${show(median)}  ${show(max)}`,
    );
  }
}
