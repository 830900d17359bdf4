// The agent role: takes the ticks of its location, makes the calls, and reports them.
import type { Bus, Consumer } from "../bus/bus.ts";
import type { Heartbeat } from "../model/location.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import { createDeliveries } from "./deliveries.ts";
import { parseEgressAllow } from "../net/egress.ts";
import type { OwnNetwork } from "../net/egress.ts";
import { createHeartbeats } from "./heartbeats.ts";
import { createHttpCaller } from "./http/http-call.ts";
import type { HostResolver } from "../net/resolve-host.ts";
import { createKeptReports } from "./reporting/kept-reports.ts";
import { createHubClock } from "./hub-clock.ts";
import type { HubClock } from "./hub-clock.ts";
import type { AgentMetrics } from "./metrics.ts";
import { createTickOpener } from "./open-tick.ts";
import { createReportPublisher } from "./reporting/report-publisher.ts";
import { createTickRunner } from "./run-tick.ts";
import type { TickRunner } from "./run-tick.ts";
import { createSpool } from "./reporting/spool.ts";
import { createTickRuns } from "./tick-runs.ts";

export interface AgentSettings {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  readonly locationId: string;
  readonly agentId: string;
  readonly version: string;
  /**
   * Of the location, newest first: what secrets of ticks are sealed with where they come from
   * another process.
   */
  readonly locationKeys?: readonly Uint8Array[];
  readonly egress: {
    /** What may be called beyond public addresses; see `parseEgressAllow`. */
    readonly allow: readonly string[];
    readonly own?: OwnNetwork;
  };
  /** Shared with what else of the process looks names up; default: the agent's own. */
  readonly resolver?: HostResolver;
  /**
   * `host:port` of what answers wherever the agent's own network works; default none, which is not
   * to check.
   */
  readonly uplinkCheck?: readonly string[];
  /**
   * A file for the reports that the bus does not take; without one, they wait in memory. Of no use
   * with a bus inside the process, which is never away before the process is.
   */
  readonly spoolPath?: string;
  /** Runs made at a time; default 500. */
  readonly concurrency?: number;
}

const DEFAULT_CONCURRENCY = 500;
const STOP_WITHIN_MS = 10_000;

/** Throws `invalid` naming a wrong egress entry. */
export function createAgent(given: AgentSettings): Service {
  const { bus, locationId, agentId } = given;
  const settings: Settings = {
    ...given,
    clock: createHubClock(given.clock),
    log: given.log.child({ location_id: locationId, agent_id: agentId }),
    concurrency: given.concurrency ?? DEFAULT_CONCURRENCY,
  };
  const runner = createRunner(settings);
  const { spool, kept, publisher } = createReporting(settings);
  const runs = createTickRuns({ ...settings, runner, publisher, kept });
  const deliveries = createDeliveries(runs);
  const heartbeats = createHeartbeats({
    ...settings,
    read: () => heartbeatOf(settings, runs.inFlight()),
  });
  let consumer: Consumer | undefined;

  return {
    name: `agent of ${locationId}`,
    async start() {
      // The first tick is to find the hub's time known.
      await heartbeats.send();
      spool?.open();
      try {
        consumer = await bus.consumeTicks(locationId, (ticks) => deliveries.take(ticks));
      } catch (cause) {
        spool?.close(); // what did not start is not stopped
        throw cause;
      }
      heartbeats.begin();
      publisher.begin();
    },
    async stop() {
      heartbeats.end();
      const drained = consumer?.drain();
      deliveries.giveBack();
      publisher.finish();
      const overdue = setTimeout(() => {
        deliveries.cancel();
        publisher.abandon(new Error("the agent stopped before the bus answered"));
      }, STOP_WITHIN_MS);
      try {
        await drained;
      } finally {
        clearTimeout(overdue);
        publisher.end();
        spool?.close();
      }
    },
  };
}

/** What the parts of one agent share: the hub's time, and lines that name the agent. */
interface Settings extends AgentSettings {
  readonly clock: HubClock;
  readonly concurrency: number;
}

function createRunner(settings: Settings): TickRunner {
  const { clock, log, locationId, agentId, version } = settings;
  const { locationKeys = [], uplinkCheck = [], resolver } = settings;
  const { allow, own } = settings.egress;
  const egress = parseEgressAllow(allow, own);
  return createTickRunner({
    clock,
    log,
    caller: createHttpCaller({
      clock,
      egress,
      uplinkCheck,
      ...(resolver && { resolver }),
    }),
    reporter: { locationId, agentId },
    version,
    openTick: createTickOpener(locationKeys),
  });
}

function createReporting(settings: Settings) {
  const { clock, spoolPath: path } = settings;
  const spool = path ? createSpool({ ...settings, path }) : undefined;
  const kept = createKeptReports(clock, spool);
  const publisher = createReportPublisher({
    ...settings,
    ...(spool && { spool }),
    onDelivered: ({ run_id }) => kept.published(run_id),
  });
  return { spool, kept, publisher };
}

const heartbeatOf = (
  { agentId, locationId, version, clock }: Settings,
  in_flight: number,
): Heartbeat => ({
  agent_id: agentId,
  location_id: locationId,
  version,
  in_flight,
  sent: clock.now(),
});
