// The locations: their agents, pending runs, and the punctuality and accuracy of their calls.
import type { AgentState, describeAgent } from "../../../src/model/agent.ts";
import type { Percentiles } from "../../../src/model/percentiles.ts";
import { SIMULATED_REGION } from "../../../src/model/simulated.ts";
import type { List } from "../api.ts";
import { formatAgo } from "../clock.ts";
import { now } from "../now.ts";
import { Fact } from "../parts/fact.tsx";
import { Empty, Fault, Loading } from "../parts/notice.tsx";
import { formatBytes, formatCount, formatMs } from "../number.ts";
import { PageHead } from "../parts/page-head.tsx";
import { State } from "../parts/state.tsx";
import type { Tone } from "../tone.ts";
import { Time } from "../parts/time.tsx";
import { ScrollRegion } from "../parts/scroll-region.tsx";
import { useRead } from "../queries.ts";
import "../styles/locations.css";

type Agent = ReturnType<typeof describeAgent> & { readonly agent_id: string };

interface LocationHealth {
  readonly id: string;
  readonly label: string;
  readonly region: string;
  readonly agents: readonly Agent[];
  readonly pending_runs: number;
  readonly oldest_due: string | null;
  readonly spool_reports: number;
  readonly recent_calls: number;
  readonly lateness: Percentiles | null;
  readonly uncertainty: Percentiles | null;
}

const EVERY_MS = 10_000;

export function LocationsPage() {
  const { data, error, refetch } = useRead<List<LocationHealth>>(
    ["agents", "health"],
    "agents/health/?limit=1000",
    { everyMs: EVERY_MS },
  );
  return (
    <>
      <PageHead
        title="Locations"
        note="Where agents make calls. Starts and uncertainty cover calls of the last hour. Refreshed every 10 seconds."
      />
      <Fault error={error} retry={refetch} />
      {!data && !error && <Loading what="locations" />}
      {data?.results.length === 0 && (
        <Empty title="No locations yet">
          <p>
            On the hub's machine, <code>sonde locations add ID</code> creates one and prints the
            settings for its agents.
          </p>
        </Empty>
      )}
      {data && byUrgency(data.results).map((one) => <Location key={one.id} location={one} />)}
    </>
  );
}

const URGENT_FIRST: readonly (Tone | undefined)[] = ["fail", "missed", "warn", "pass", undefined];

/** Returns locations without an agent that accepts runs first, otherwise in the same order. */
const byUrgency = (locations: readonly LocationHealth[]): LocationHealth[] =>
  URGENT_FIRST.flatMap((tone) => locations.filter((one) => stateOf(one)?.tone === tone));

function Location({ location }: { readonly location: LocationHealth }) {
  const { id, label, region, agents } = location;
  const title = label || id;
  return (
    <section class="card" aria-labelledby={`location-${id}`}>
      <header>
        <h2 id={`location-${id}`} class="name">
          {title}
        </h2>
        <span class="row">
          {title !== id && <span class="tag">{id}</span>}
          {region && <span class="tag">{region}</span>}
          <LocationState {...location} />
        </span>
      </header>
      <Load {...location} />
      {agents.length === 0 ? <NoAgent {...location} /> : <Agents agents={agents} of={title} />}
    </section>
  );
}

const NoAgent = ({ id, region }: Pick<LocationHealth, "id" | "region">) =>
  region === SIMULATED_REGION ? (
    <p class="muted">Its results are simulated: it needs no agent.</p>
  ) : (
    <p class="muted">
      No agent has reported from here. <code>sonde locations env {id}</code> prints the settings for
      one.
    </p>
  );

const TONES: Readonly<Record<AgentState, Tone>> = {
  ONLINE: "pass",
  STALE: "warn",
  DRAINING: "warn",
  OFFLINE: "missed",
  INCOMPATIBLE: "fail",
};

const WORDS: Readonly<Record<AgentState, string>> = {
  ONLINE: "Online",
  STALE: "Stale",
  DRAINING: "Draining",
  OFFLINE: "Offline",
  INCOMPATIBLE: "Incompatible",
};

/** Returns the state of its best agent: one that accepts runs is enough. Simulations need none. */
function stateOf({ agents, region }: Pick<LocationHealth, "agents" | "region">) {
  const order: readonly AgentState[] = ["ONLINE", "STALE", "DRAINING", "INCOMPATIBLE", "OFFLINE"];
  const best = order.find((state) => agents.some((agent) => agent.state === state));
  if (best !== undefined) return { tone: TONES[best], word: WORDS[best] };
  return region === SIMULATED_REGION ? undefined : ({ tone: "warn", word: "No agent" } as const);
}

function LocationState(location: LocationHealth) {
  const state = stateOf(location);
  return state ? <State {...state} /> : null;
}

function Load(location: LocationHealth) {
  const { pending_runs, oldest_due, spool_reports, recent_calls } = location;
  return (
    <dl class="facts load">
      <Fact
        name="Start lateness (up to 1 s by design)"
        hint="Runs due in the same second are spread over it, each in its own place: up to a second is expected."
      >
        <Spread of={location.lateness} />
      </Fact>
      <Fact name="Uncertainty of times">
        <Spread of={location.uncertainty} />
      </Fact>
      <Fact name="Calls measured">{formatCount(recent_calls)}</Fact>
      <Fact name="Your queued runs">
        {formatCount(pending_runs)}
        {oldest_due && <span class="muted"> · first due {formatAgo(oldest_due, now())}</span>}
      </Fact>
      <Fact name="Spooled reports">{formatCount(spool_reports)}</Fact>
    </dl>
  );
}

const NAMES = ["p50", "p95", "p99"] as const;

const Spread = ({ of }: { readonly of: Percentiles | null }) =>
  of ? (
    <span class="row">
      {NAMES.map((name) => (
        <span key={name}>
          <span class="muted">{name}</span>&nbsp;{formatMs(of[name]).replace(" ", "\u00a0")}
        </span>
      ))}
    </span>
  ) : (
    <>–</>
  );

const Agents = ({ agents, of }: Pick<LocationHealth, "agents"> & { readonly of: string }) => (
  <ScrollRegion label={`Agents of ${of}`}>
    <table class="middle blocks">
      <caption class="visually-hidden">Agents of {of}</caption>
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col">State</th>
          <th scope="col">Version</th>
          <th scope="col">Last seen</th>
          <th scope="col" class="number">
            Running
          </th>
          <th scope="col" class="number">
            Held
          </th>
          <th scope="col" class="number">
            Spool
          </th>
          <th scope="col" class="number">
            Clock offset
          </th>
        </tr>
      </thead>
      <tbody>
        {agents.map((agent) => (
          <AgentRow key={agent.agent_id} agent={agent} />
        ))}
      </tbody>
    </table>
  </ScrollRegion>
);

function AgentRow({ agent }: { readonly agent: Agent }) {
  const { state, drain_ordered, in_flight, capacity, spool_reports, spool_bytes } = agent;
  return (
    <tr>
      <th scope="row" class="whole">
        <code>{agent.agent_id}</code>
      </th>
      <td class="whole">
        <State tone={TONES[state]} word={WORDS[state]} />
        {drain_ordered && <span class="muted"> ordered to drain</span>}
      </td>
      <td data-label="Version">{agent.version}</td>
      <td class="whole" data-label="Last seen">
        <Time at={agent.last_seen} />
      </td>
      <td class="number" data-label="Running">
        {formatCount(in_flight)}
        {capacity !== null && <span class="muted"> of {formatCount(capacity)}</span>}
      </td>
      <td class="number" data-label="Held">
        {formatCount(agent.held)}
      </td>
      <td class="number" data-label="Spool">
        {formatCount(spool_reports)}
        {spool_bytes > 0 && <span class="muted"> · {formatBytes(spool_bytes)}</span>}
      </td>
      <td class="number" data-label="Clock offset">
        {formatMs(agent.clock_offset_ms)}
      </td>
    </tr>
  );
}
