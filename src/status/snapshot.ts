// The state of the service at one moment, as seen from this machine: from the store and the local
// process.
import type { Sources as DoctorSources } from "../doctor/sources.ts";
import { agentStateOf } from "../model/agent.ts";
import type { AgentState, ListedAgent } from "../model/agent.ts";
import { MINUTE_MS, SCHEDULER_LEASE } from "../model/slots.ts";
import { readSamples } from "../runtime/metric-samples.ts";
import { readinessIn } from "../runtime/ops-client.ts";
import type { Readiness } from "../runtime/ops-server.ts";
import type { Inspection } from "../store/inspection.ts";
import type { Lease, PendingAt } from "../store/records.ts";
import type { FailingCall, RecentRuns } from "../store/results/recent-runs.ts";

interface Sources extends Pick<DoctorSources, "version" | "config" | "clock" | "ops"> {
  /** Undefined on a machine that runs only agents. */
  readonly database: DoctorSources["database"] | undefined;
}

export interface Snapshot {
  readonly version: string;
  readonly roles: readonly string[];
  /** By the database's clock if it could be asked, otherwise by this machine's. */
  readonly now: number;
  readonly process: ProcessView;
  /** Undefined on a machine that runs only agents; the reason if the database cannot be read. */
  readonly service: ServiceView | string | undefined;
}

export interface ProcessView {
  /** `ready`, or what is wrong. */
  readonly readiness: string;
  /** The process's agents together; undefined without any. */
  readonly agent:
    | {
        readonly inFlight: number;
        readonly held: number;
        readonly spooled: number;
        /** Seconds by which the hub's time is ahead; undefined until it is measured. */
        readonly clockOffset: number | undefined;
      }
    | undefined;
}

export interface ServiceView {
  readonly lease: Lease | undefined;
  /** Results of calls that were due in the last minute. */
  readonly runs: readonly RecentRuns[];
  readonly pending: readonly PendingAt[];
  readonly locations: readonly LocationView[];
  readonly failing: readonly FailingCall[];
}

export interface LocationView {
  readonly id: string;
  readonly deployments: number;
  readonly states: ReadonlyMap<AgentState, number>;
  readonly inFlight: number;
  readonly spooled: number;
}

const FAILING_SHOWN = 10;

/** Never rejects. */
export async function takeSnapshot(sources: Sources): Promise<Snapshot> {
  const { version, config, clock, database } = sources;
  const [process, stored] = await Promise.all([
    viewProcess(sources),
    database && viewService(database),
  ]);
  return {
    version,
    roles: config.roles,
    now: stored?.now ?? clock.now(),
    process,
    service: stored?.service,
  };
}

async function viewProcess({ config: { opsPort }, ops }: Sources): Promise<ProcessView> {
  if (opsPort === 0)
    return { readiness: "not known: set SONDE_OPS_PORT to its port", agent: undefined };
  try {
    const [{ status, text }, metrics] = await Promise.all([ops("/readyz"), ops("/metrics")]);
    const samples = readSamples(metrics.text);
    const inFlight = samples.sum("sonde_agent_in_flight_runs");
    return {
      readiness: readinessOf(status, text),
      agent:
        inFlight === undefined
          ? undefined
          : {
              inFlight,
              held: samples.sum("sonde_agent_held_ticks") ?? 0,
              spooled: samples.sum("sonde_agent_spooled_reports") ?? 0,
              clockOffset: samples.sum("sonde_agent_clock_offset_seconds"),
            },
    };
  } catch (cause) {
    return { readiness: (cause as Error).message, agent: undefined };
  }
}

function readinessOf(status: number, text: string): string {
  const { failing, degraded } = readinessIn(text);
  if (status !== 200) return `not ready: ${failing ? reasonsOf(failing) : text}`;
  return degraded ? `ready, but degraded: ${reasonsOf(degraded)}` : "ready";
}

const reasonsOf = (faults: Readiness["failing"]): string =>
  faults.map(({ part, reason }) => `${part}: ${reason}`).join("; ");

async function viewService(
  open: () => Promise<Inspection>,
): Promise<{ readonly now?: number; readonly service: ServiceView | string }> {
  try {
    const database = await open();
    const now = await database.now();
    return {
      now,
      service: {
        lease: await database.lease(SCHEDULER_LEASE),
        runs: await database.recentRuns(now - MINUTE_MS, now),
        pending: await database.pending(now),
        locations: locationsOf(await database.agents.list(), await database.deployments(), now),
        failing: await database.failingCalls(now - MINUTE_MS, now, FAILING_SHOWN),
      },
    };
  } catch (cause) {
    return { service: (cause as Error).message };
  }
}

function locationsOf(
  agents: readonly ListedAgent[],
  deployments: ReadonlyMap<string, number>,
  now: number,
): LocationView[] {
  const ids = new Set([...deployments.keys(), ...agents.map(({ location_id }) => location_id)]);
  return [...ids].toSorted().map((id) => {
    const there = agents.filter(({ location_id }) => location_id === id);
    const states = Map.groupBy(there, (agent) => agentStateOf(agent, now));
    const online = there.filter((agent) => agentStateOf(agent, now) !== "OFFLINE");
    return {
      id,
      deployments: deployments.get(id) ?? 0,
      states: new Map([...states].map(([state, some]) => [state, some.length])),
      inFlight: online.reduce((sum, { in_flight }) => sum + in_flight, 0),
      spooled: there.reduce((sum, { spool_reports }) => sum + spool_reports, 0),
    };
  });
}
