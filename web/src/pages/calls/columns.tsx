// The columns of the table of calls.
import type { CallOverview } from "../../call-overview.ts";
import { formatAgo } from "../../clock.ts";
import { nameOfLocation } from "../../locations.tsx";
import { listed } from "../../places.ts";
import type { Place } from "../../places.ts";
import { CallState } from "../../parts/call-state.tsx";
import { formatMs, formatPercent, percentileText } from "../../number.ts";
import { formatTime } from "../../parts/time.tsx";
import { Strip } from "./strip.tsx";
import type { Column } from "./virtual-table.tsx";

/** With more locations, a cell shows their number in place of their names. */
const MOST_NAMED = 2;

export const columnsAt = (now: number, places: readonly Place[]): readonly Column[] => [
  {
    id: "state",
    title: "State",
    hint: "The worst of the last runs at the locations where the call is deployed.",
    sorts: true,
    cell: (call) => <CallState now={call.now} places={places} />,
  },
  { id: "name", title: "Call", sorts: true, names: true, cell: (call) => <Name call={call} /> },
  {
    id: "hours",
    title: "24 hours",
    hint: "One bar per hour: the worst outcome in it sets its colour and height.",
    cell: ({ day }) => (day ? <Strip {...day} /> : <span class="muted">–</span>),
  },
  {
    id: "pass",
    title: "Passed",
    hint: "Of the calls made in the last 24 hours.",
    sorts: true,
    cell: ({ day }) => formatPercent(day?.pass_percent),
  },
  ...(["p50", "p95"] as const).map((id) => ({
    id,
    title: id,
    hint: `In the last 24 hours, ${percentileText(id)}`,
    sorts: true,
    cell: ({ day }: CallOverview) => formatMs(day?.[id]),
  })),
  {
    id: "locations",
    title: "Locations",
    sorts: true,
    cell: ({ locations }) => {
      const names = locations.map((id) => nameOfLocation(places, id));
      const shown = names.length > MOST_NAMED ? `${names.length} locations` : listed(names);
      return <span title={listed(names)}>{shown || "–"}</span>;
    },
  },
  {
    id: "last",
    title: "Last run",
    sorts: true,
    cell: ({ state }) =>
      state ? (
        <time dateTime={state.time} title={formatTime(state.time)}>
          {formatAgo(state.time, Math.max(now, Date.parse(state.time)))}
        </time>
      ) : (
        "–"
      ),
  },
];

const Name = ({ call: { id, name, method, domain, tags } }: { readonly call: CallOverview }) => (
  <>
    <a href={`calls/${id}`} tabIndex={-1} title={name}>
      {name}
    </a>
    <span class="small muted request">
      <span>
        {method} {domain}
      </span>
      <FirstTags tags={tags} />
    </span>
  </>
);

/** There is room for one; the tooltip of the count names the others. */
const FirstTags = ({ tags: [first, ...others] }: Pick<CallOverview, "tags">) => (
  <>
    {first !== undefined && (
      <span class="tag" title={first}>
        {first}
      </span>
    )}
    {others.length > 0 && (
      <span class="more" title={others.join(", ")}>
        +{others.length}
      </span>
    )}
  </>
);
