// The phases of calls as bars on one scale of milliseconds, for the hops of a result or the steps
// of a workflow's run.
import type { Timing } from "../../../src/model/timing.ts";
import "../styles/phases.css";
import "../styles/waterfall.css";
import { formatMs } from "../number.ts";
import {
  BAR_ORDER,
  BETWEEN,
  lengthOf,
  msOf,
  nameOfBar,
  PHASE_NAMES,
  PHASE_ORDER,
  REDIRECTS,
  spansIn,
  ticksTo,
} from "./phases.ts";
import type { Span } from "./phases.ts";
import { State } from "./state.tsx";
import { ScrollRegion } from "./scroll-region.tsx";
import type { Tone } from "../tone.ts";

export interface WaterfallRow {
  readonly label: string;
  /** Relative to the document's base. */
  readonly href?: string;
  /** When it began, in milliseconds from the start of the whole. */
  readonly offsetMs: number;
  readonly timing: Timing;
  /** The part of the total that exchanges without rows took, before these phases. */
  readonly redirectsMs?: number;
  readonly state?: Tone;
  /** In place of the state's word, such as `200 OK`. */
  readonly word?: string;
  /** Says why it ended this way. */
  readonly note?: string;
  /** The pause before it, in milliseconds. */
  readonly pauseMs?: number;
}

interface WaterfallProps {
  /** Says what is shown, for screen readers: `Phases of the call`. */
  readonly title: string;
  readonly rows: readonly WaterfallRow[];
  /** A line for each phase with its number; otherwise a row is one bar with its total. */
  readonly detailed?: boolean;
}

export function Waterfall({ title, rows, detailed = false }: WaterfallProps) {
  const end = Math.max(...rows.map(({ offsetMs, timing }) => offsetMs + lengthOf(timing)), 0);
  const isTimed = end > 0;
  if (!isTimed && (detailed || rows.every(({ state }) => !state))) return <Untimed rows={rows} />;
  const Row = detailed ? PhaseLines : BarLine;
  return (
    <figure
      class={`waterfall ${rows.some(({ state }) => state) && !detailed ? "with-states" : ""}`}
      aria-label={title}
    >
      {isTimed && <Scale end={end} />}
      <ol>
        {rows.map((row) => (
          <Row {...row} end={end} />
        ))}
      </ol>
      {!detailed && <Legend rows={rows} />}
      {isTimed && (
        <details>
          <summary>
            Show as a table<span class="visually-hidden">: {title}</span>
          </summary>
          <ScrollRegion label={`${title}, as a table`}>
            <PhaseTable rows={rows} />
          </ScrollRegion>
        </details>
      )}
    </figure>
  );
}

/** A call whose name has no address was made, but has no times. */
const Untimed = ({ rows }: Pick<WaterfallProps, "rows">) => (
  <p class="muted">
    {rows.every(({ timing }) => timing.total === null)
      ? "No call was made, so there is nothing to time."
      : "The call ended before anything was timed."}
  </p>
);

/** A label beyond this share of the scale would leave the figure. */
const LABELLED = 0.85;

const Scale = ({ end }: { readonly end: number }) => (
  <div class="line scale" aria-hidden="true">
    <span class="label" />
    <span class="track">
      {ticksTo(end * LABELLED).map((ms) => (
        <span class="tick" style={{ insetInlineStart: percent(ms, end) }}>
          {ms === 0 ? "0" : shortMs(ms)}
        </span>
      ))}
    </span>
    <span />
  </div>
);

interface RowProps extends WaterfallRow {
  /** The end of the scale, in milliseconds. */
  readonly end: number;
}

const Label = ({ label, href, state, word }: WaterfallRow) => (
  <span class="label">
    {href === undefined ? label : <a href={href}>{label}</a>}
    {state && <State tone={state} {...(word !== undefined && { word })} />}
  </span>
);

function BarLine(row: RowProps) {
  const { offsetMs, timing, end, state, word, note, pauseMs = 0 } = row;
  const spans = spansIn(row);
  const isMade = spans.length > 0;
  return (
    <li class="line">
      <Label {...row} state={undefined} />
      {state && <State tone={state} {...(word !== undefined && { word })} />}
      {isMade || !note ? (
        <span class="track" aria-hidden="true">
          {pauseMs > 0 && (
            <span
              class="pause"
              title={`Pause: ${formatMs(pauseMs)}`}
              style={{
                insetInlineStart: percent(offsetMs - pauseMs, end),
                width: percent(pauseMs, end),
              }}
            />
          )}
          {spans.map((span) => (
            <Bar key={span.phase} span={span} offsetMs={offsetMs} end={end} />
          ))}
        </span>
      ) : (
        <span class="instead muted small">{note}</span>
      )}
      <span class="number">{isMade ? formatMs(lengthOf(timing)) : "–"}</span>
      {isMade && note && <span class="note muted small">{note}</span>}
    </li>
  );
}

function PhaseLines(row: RowProps) {
  const { offsetMs, timing, end } = row;
  return (
    <li class="hop">
      <div class="line head">
        <Label {...row} />
        <span class="number">{formatMs(lengthOf(timing))}</span>
      </div>
      <ul>
        {spansIn(row).map((span) => (
          <li class="line" key={span.phase}>
            <span class="label" title={nameOfBar(span.phase).meaning}>
              {span.name}
            </span>
            <span class="track" aria-hidden="true">
              <Bar span={span} offsetMs={offsetMs} end={end} />
            </span>
            <span class="number">{formatMs(span.ms)}</span>
          </li>
        ))}
      </ul>
    </li>
  );
}

interface BarProps {
  readonly span: Span;
  readonly offsetMs: number;
  readonly end: number;
}

const Bar = ({ span: { phase, name, from, ms }, offsetMs, end }: BarProps) => (
  <span
    class={`phase ${phase}`}
    title={`${name}: ${formatMs(ms)}`}
    style={{ insetInlineStart: percent(offsetMs + from, end), width: percent(ms, end) }}
  />
);

function Legend({ rows }: { readonly rows: readonly WaterfallRow[] }) {
  const reached = new Set(rows.flatMap(spansIn).map(({ phase }) => phase));
  return (
    <ul class="legend">
      {BAR_ORDER.filter((bar) => reached.has(bar)).map((bar) => (
        <li key={bar} title={nameOfBar(bar).meaning}>
          <span class={`swatch phase ${bar}`} aria-hidden="true" />
          {nameOfBar(bar).name}
        </li>
      ))}
    </ul>
  );
}

const PhaseTable = ({ rows }: { readonly rows: readonly WaterfallRow[] }) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Call</th>
        <th scope="col" class="number">
          Start
        </th>
        <th scope="col" class="number">
          {nameOfBar(REDIRECTS).name}
        </th>
        {PHASE_ORDER.map((phase) => (
          <th scope="col" class="number">
            {PHASE_NAMES[phase].name}
          </th>
        ))}
        <th scope="col" class="number">
          {nameOfBar(BETWEEN).name}
        </th>
        <th scope="col" class="number">
          Total
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr>
          <th scope="row">{row.label}</th>
          <td class="number">{formatMs(row.offsetMs)}</td>
          <td class="number">{formatMs(msOf(row, REDIRECTS))}</td>
          {PHASE_ORDER.map((phase) => (
            <td class="number">{formatMs(row.timing[phase])}</td>
          ))}
          <td class="number">{formatMs(msOf(row, BETWEEN))}</td>
          <td class="number">{formatMs(row.timing.total)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

const percent = (ms: number, end: number): string => `${(100 * ms) / end}%`;

/** Leaves out the decimals that a round number does not need. */
const shortMs = (ms: number): string =>
  ms >= 1000 ? `${Number((ms / 1000).toPrecision(6))} s` : `${Number(ms.toPrecision(6))} ms`;
