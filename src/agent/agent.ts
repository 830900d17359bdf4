// The agent role: takes the ticks of its location, makes the calls, and reports the results.
import { hostname } from "node:os";
import type { AgentBus } from "../bus/bus.ts";
import type { EgressRules } from "../net/egress.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { createDuty } from "./duty.ts";
import { createHeartbeats } from "./heartbeats.ts";
import type { Condition } from "./heartbeats.ts";
import { createHttpCaller } from "./http/http-call.ts";
import { createHubClock } from "./hub-clock.ts";
import type { HubClock } from "./hub-clock.ts";
import { createIntake } from "./intake.ts";
import type { AgentMetrics } from "./metrics.ts";
import { createKeptReports } from "./reporting/kept-reports.ts";
import { createReportPublisher } from "./reporting/report-publisher.ts";
import { createSpool, takeOver } from "./reporting/spool.ts";
import type { Spool } from "./reporting/spool.ts";
import { createRunLog } from "./run-log.ts";

export interface AgentSettings {
  readonly bus: AgentBus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  readonly locationId: string;
  readonly agentId: string;
  readonly version: string;
  /** Allowed targets. */
  readonly egress: EgressRules;
  /**
   * `host:port` of servers that answer whenever the agent's own network works; default: no check.
   */
  readonly uplinkCheck?: readonly string[];
  /**
   * A file for reports that the bus does not accept. Default: they wait in memory, enough for an
   * in-process bus.
   */
  readonly spoolPath?: string;
  /** Spools of former agents to move into this one's; default: none. */
  readonly leftSpoolPaths?: readonly string[];
  /** Maximum calls at a time. */
  readonly concurrency: number;
}

const STOP_WITHIN_MS = 10_000;
/** Leaves the reports of the runs that it ends time to reach the bus or the spool. */
const CANCEL_AFTER_MS = 6000;

export type Agent = ReturnType<typeof createAgent>;

export function createAgent(given: AgentSettings) {
  const { locationId, agentId } = given;
  const settings: Settings = {
    ...given,
    clock: createHubClock(given.clock),
    log: given.log.child({ location_id: locationId, agent_id: agentId }),
  };
  settings.metrics.capacity.set(settings.concurrency);
  const { spool, kept, publisher } = createReporting(settings);
  const runLog = createRunLog(settings.log, settings.metrics);
  const caller = createHttpCaller(settings);
  const reporter = { locationId, agentId };
  const intake = createIntake({ ...settings, caller, reporter, runLog, kept, publisher });
  const duty = createDuty({ ...settings, intake });
  const condition = (): Condition => ({ state: duty.state(), ...intake.count(), ...sizeOf(spool) });
  const heartbeats = createHeartbeats({ ...settings, condition, duty });

  return {
    name: `agent of ${locationId}`,
    async start(): Promise<void> {
      await heartbeats.send(); // before the first tick: the hub's time and consent
      if (spool) openSpool(spool, settings);
      try {
        await duty.begin();
      } catch (cause) {
        spool?.close(); // a service that failed to start is not stopped
        throw cause;
      }
      heartbeats.begin();
      publisher.begin();
      runLog.begin();
      settings.log.info({ host: hostname(), pid: process.pid }, "agent started");
    },
    async stop(): Promise<void> {
      heartbeats.end();
      const drained = duty.end();
      publisher.finish();
      if (intake.count().in_flight > 0) void heartbeats.report();
      const cancelling = setTimeout(() => intake.cancel(), CANCEL_AFTER_MS);
      const overdue = setTimeout(
        () => publisher.abandon(new Error("the agent stopped before the bus answered")),
        STOP_WITHIN_MS,
      );
      try {
        await drained;
      } finally {
        clearTimeout(cancelling);
        clearTimeout(overdue);
        publisher.end();
        runLog.end();
        await heartbeats.report(); // lists then show at once that it has stopped
        spool?.close();
      }
    },
    /** Why the hub refuses this agent: a sentence for its operator; undefined if it does not. */
    refusal: duty.refusal,
  };
}

function sizeOf(spool: Spool | undefined): Pick<Condition, "spool"> {
  const [reports, bytes] = [spool?.size(), spool?.bytes()];
  return reports === undefined || bytes === undefined ? {} : { spool: { reports, bytes } };
}

/** The clock follows the hub's time, and each line of the log names the agent. */
interface Settings extends AgentSettings {
  readonly clock: HubClock;
}

function openSpool(spool: Spool, settings: Settings): void {
  spool.open();
  for (const path of settings.leftSpoolPaths ?? []) takeOver(spool, { ...settings, path });
}

function createReporting(settings: Settings) {
  const { clock, spoolPath: path } = settings;
  const spool = path ? createSpool({ ...settings, path }) : undefined;
  const kept = createKeptReports(clock, spool);
  const publisher = createReportPublisher({ ...settings, ...(spool && { spool }), kept });
  return { spool, kept, publisher };
}
