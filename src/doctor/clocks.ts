// Checks the clocks of this machine, of the database's server, of agents and of the hub.
import { isHub } from "../config/config.ts";
import { agentStateOf } from "../model/agent.ts";
import type { ListedAgent } from "../model/agent.ts";
import { count } from "../model/count.ts";
import type { Clock } from "../runtime/clock.ts";
import { readSamples } from "../runtime/metric-samples.ts";
import type { Inspection } from "../store/inspection.ts";
import type { Check } from "./check.ts";
import { NotApplicable } from "./check.ts";
import { lengthOf } from "./amounts.ts";
import type { Finding } from "./finding.ts";
import { failure, ok, skipped, warning } from "./finding.ts";
import { DATABASE, readableDatabase } from "./sources.ts";
import type { Sources } from "./sources.ts";
import { silenceFindings } from "./process.ts";

/** Certificates are checked by the machine's clock; slots come from the database's. */
const ALLOWED_MS = 1000;
const HARMFUL_MS = 60_000;
const SYNCHRONIZE = "synchronize it with time servers, for example with chrony";

export const clocksCheck = (sources: Sources): Check => ({
  name: "clocks",
  needs: [...DATABASE, "opsHost", "opsPort"],
  run: () => (isHub(sources.config) ? hubClocks(sources) : agentClock(sources)),
});

async function hubClocks(sources: Sources): Promise<Finding[]> {
  const database = await readableDatabase(sources);
  const own = database.hasClock
    ? offsetFinding("the database's", await measureAhead(database, sources.clock))
    : skipped("the embedded database uses this machine's clock");
  const agents = await database.agents.list();
  const now = await database.now();
  return [own, ...agentClocks(agents.filter((agent) => agentStateOf(agent, now) !== "OFFLINE"))];
}

/** Reports what the agent has measured, on a machine that runs only agents. */
async function agentClock({ ops }: Sources): Promise<Finding[]> {
  const answer = await ops("/metrics").catch((cause: unknown) => {
    throw new NotApplicable("not checked, because no agent here measures the hub's time", {
      cause,
    });
  });
  if (silenceFindings(answer.text).length > 0)
    return [skipped("not known, because the hub does not answer the agent here")];
  const offset = readSamples(answer.text).sum("sonde_agent_clock_offset_seconds");
  if (offset === undefined) return [skipped("the agent here has not measured the hub's time yet")];
  return [offsetFinding("the hub's", { ms: offset * 1000, error: 0 })];
}

interface Ahead {
  /** Milliseconds that the other clock is ahead of this machine's. */
  readonly ms: number;
  readonly error: number;
}

/**
 * Measures as RFC 5905 section 8 does, with one reading of the server; takes the shortest of three
 * trips.
 */
async function measureAhead(database: Inspection, clock: Clock): Promise<Ahead> {
  const trips: Ahead[] = [];
  for (let trip = 0; trip < 3; trip += 1) {
    const sent = clock.now();
    const there = await database.now();
    const received = clock.now();
    trips.push({ ms: there - (sent + received) / 2, error: (received - sent) / 2 + 1 });
  }
  return trips.reduce((best, trip) => (trip.error < best.error ? trip : best));
}

export function offsetFinding(whose: string, { ms, error }: Ahead): Finding {
  const off = Math.max(0, Math.abs(ms) - error);
  if (off <= ALLOWED_MS)
    return ok(
      `this machine's clock agrees with ${whose} within ${lengthOf(Math.ceil(Math.abs(ms) + error))}`,
    );
  const text = `this machine's clock is ${lengthOf(Math.abs(ms))} ${ms > 0 ? "behind" : "ahead of"} ${whose} (allowed: ${lengthOf(ALLOWED_MS)})`;
  return (off > HARMFUL_MS ? failure : warning)(text, SYNCHRONIZE);
}

/** Only warns: an agent with a wrong clock uses the hub's time. */
function agentClocks(agents: readonly ListedAgent[]): Finding[] {
  const measured = agents.filter(({ clock_offset_ms }) => clock_offset_ms !== null);
  const wrong = measured.filter(
    ({ clock_offset_ms }) => Math.abs(clock_offset_ms ?? 0) > ALLOWED_MS,
  );
  if (measured.length > 0 && wrong.length === 0)
    return [
      ok(
        `the clocks of ${count(measured.length, "agent")} agree with the hub's within ${lengthOf(ALLOWED_MS)}`,
      ),
    ];
  return wrong.map(({ agent_id, location_id, clock_offset_ms }) => {
    const ms = clock_offset_ms ?? 0;
    return warning(
      `the clock of agent ${agent_id} at ${location_id} is ${lengthOf(Math.abs(ms))} ${ms > 0 ? "behind" : "ahead of"} the hub's (allowed: ${lengthOf(ALLOWED_MS)}), so it uses the hub's`,
      "synchronize its machine with time servers, for example with chrony",
    );
  });
}
