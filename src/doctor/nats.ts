// NATS: whether it accepts this process's credentials, has the streams with room to spare, and
// grants the user the permissions it needs and no others.
import type { BusFacts, StreamFacts } from "../bus/bus-facts.ts";
import { isHub } from "../config/config.ts";
import type { Config } from "../config/config.ts";
import { count } from "../model/count.ts";
import type { Check } from "./check.ts";
import { lengthOf, percent, sizeOf } from "./amounts.ts";
import type { Finding } from "./finding.ts";
import { failure, failureOf, ok, warning } from "./finding.ts";
import { needNats, reachableBus } from "./sources.ts";
import type { Sources } from "./sources.ts";

const NEEDS: readonly (keyof Config)[] = [
  "natsUrls",
  "natsCredentials",
  "natsNkey",
  "natsCa",
  "natsCert",
  "natsKey",
  "roles",
  "location",
];

export const natsCheck = (sources: Sources): Check => ({
  name: "nats",
  needs: NEEDS,
  async run() {
    needNats(sources.config);
    const { addresses, serverVersion, roundTripMs, clustered } = await sources.bus();
    return [
      ok(
        `NATS at ${addresses} answers in ${lengthOf(roundTripMs)} (nats-server ${serverVersion}${clustered ? ", a cluster" : ""})`,
      ),
    ];
  },
});

export const streamsCheck = (sources: Sources): Check => ({
  name: "streams",
  needs: [...NEEDS, "natsTicksMiB", "natsResultsMiB", "natsReplicas"],
  async run() {
    const facts = await reachableBus(sources);
    return isHub(sources.config) ? streamFindings(facts) : consumerFindings(facts, sources.config);
  },
});

const NEARLY_FULL = 0.8;

export function streamFindings({
  streams,
  clustered,
}: Pick<BusFacts, "streams" | "clustered">): Finding[] {
  if ("fault" in streams) return [failureOf(new Error(streams.fault))];
  return streams.flatMap((stream) => faultsOfStream(stream, clustered));
}

function faultsOfStream({ name, found, wanted, setting }: StreamFacts, clustered: boolean) {
  if (!found)
    return [
      failure(
        `the stream ${name} is missing`,
        "start a process with the role api, scheduler or aggregator, which creates it, or restart one",
      ),
    ];
  const { bytes, maxBytes, messages, replicas, lagging } = found;
  const faults: Finding[] = [];
  const share = maxBytes > 0 ? bytes / maxBytes : 0;
  const holds = `the stream ${name} holds ${count(messages, "message")}, ${sizeOf(bytes)}`;
  if (share > NEARLY_FULL)
    faults.push(
      (share > 0.95 ? failure : warning)(
        `${holds}: ${percent(share)} of its limit of ${sizeOf(maxBytes)} (allowed: ${percent(NEARLY_FULL)})`,
        name.endsWith("TICKS")
          ? `start agents where there are none, or raise ${setting}`
          : `start an aggregator, or raise ${setting}`,
      ),
    );
  if (maxBytes !== wanted.maxBytes)
    faults.push(
      warning(
        `the stream ${name} has the limit ${maxBytes < 0 ? "none" : sizeOf(maxBytes)}, and ${setting} asks for ${sizeOf(wanted.maxBytes)}`,
        "restart a process of the hub, whose log says what keeps the stream from changing",
      ),
    );
  if (replicas < wanted.replicas)
    faults.push(
      warning(
        `${count(replicas, "server keeps", "servers keep")} the stream ${name} (asked for: ${wanted.replicas}${clustered ? "" : ", and the server is in no cluster"})`,
        "run that many servers with JetStream in the cluster and restart a process of the hub, or lower SONDE_NATS_REPLICAS",
      ),
    );
  if (lagging.length > 0) faults.push(laggingFinding(name, replicas, lagging));
  return faults.length > 0 ? faults : [ok(`${holds} of at most ${sizeOf(maxBytes)}`)];
}

function laggingFinding(stream: string, replicas: number, lagging: readonly string[]): Finding {
  const finding = `the stream ${stream} has no current replica on ${lagging.join(", ")}`;
  const current = replicas - lagging.length;
  if (current > replicas / 2)
    return warning(finding, "start that server, or wait until it has caught up");
  return failure(
    `${finding}: it may store no message with ${current} of ${replicas}`,
    "start servers until more than half run",
  );
}

function consumerFindings({ tickConsumer }: BusFacts, { location }: Config): Finding[] {
  if (tickConsumer === "missing" || tickConsumer === undefined)
    return [
      failure(
        `the hub has not created the tick consumer of location ${location}`,
        `start the hub and an agent: the hub creates it at the agent's first heartbeat; \`sonde locations list\` on the hub shows whether it knows ${location}`,
      ),
    ];
  if ("fault" in tickConsumer)
    return [
      failure(
        `this user may not look up the tick consumer of location ${location} (${tickConsumer.fault})`,
        `give the NATS servers the accounts that \`sonde locations nats-config\` writes on the hub, and reload them: docs/regions.md`,
      ),
    ];
  const { pending, unacknowledged } = tickConsumer;
  return [
    ok(
      `${count(pending, "message")} of ticks of location ${location} ${pending === 1 ? "waits" : "wait"}, and ${unacknowledged} ${unacknowledged === 1 ? "is" : "are"} in flight`,
    ),
  ];
}

export const permissionsCheck = (sources: Sources): Check => ({
  name: "permissions",
  needs: NEEDS,
  run: async () => permissionFindings(await reachableBus(sources), sources.config),
});

export function permissionFindings(
  { subjects }: Pick<BusFacts, "subjects">,
  config: Pick<Config, "location" | "roles">,
): Finding[] {
  const denied = subjects.filter(({ needed, allowed }) => needed && !allowed);
  const open = subjects.filter(({ needed, allowed }) => !needed && allowed);
  const found: Finding[] = denied.map(({ subject }) =>
    failure(
      `the NATS user of this process may not use the subject ${subject}, which it needs`,
      "give the NATS servers the accounts that `sonde locations nats-config` writes, and reload them: docs/regions.md",
    ),
  );
  if (open.length > 0)
    found.push(
      warning(
        `the NATS user of this process may use the subjects ${open.map(({ subject }) => subject).join(", ")}, which are not those of location ${config.location} (allowed: its own only)`,
        "give each location its own credentials: `sonde locations nats-config` (docs/regions.md)",
      ),
    );
  if (found.length > 0) return found;
  return [
    ok(
      isHub(config)
        ? "the NATS user reaches the subjects of the hub"
        : `the NATS user reaches the subjects of location ${config.location} and no others`,
    ),
  ];
}
