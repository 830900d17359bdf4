// Selects a report's period, its calls, and the comparison of its rows.
import { useAddress } from "../../address.ts";
import { useFocusAfter } from "../../focus.ts";
import { now } from "../../now.ts";
import { SelectField } from "../../parts/field.tsx";
import { Switch } from "../../parts/switch.tsx";
import { dayOf, nameOfPeriod, wordOf } from "../../periods.ts";
import { MEASURE_NAMES, MEASURES, periodsBeside, REPORT_KINDS } from "../../reports.ts";
import type { ReportPeriod } from "../../reports.ts";

interface ReportControlsProps {
  readonly period: ReportPeriod;
  readonly change: ReturnType<typeof useAddress>[1];
}

const capital = (word: string): string => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;

export const ReportControls = ({ period, change }: ReportControlsProps) => (
  <div class="row report-controls no-print">
    <Switch
      label="Period"
      value={period.kind}
      choices={REPORT_KINDS.map((kind) => ({ value: kind, name: capital(wordOf(kind)) }))}
      onChange={(kind) => change({ kind: kind.toLowerCase() })}
    />
    <Steps period={period} change={change} />
    <SelectField
      label="Times of"
      value={period.type}
      choices={[
        { value: "COMPLETE", name: "calls that passed" },
        { value: "ALL", name: "every call made" },
      ]}
      onChange={(type) => change({ type: type.toLowerCase() })}
    />
    <SelectField
      label="Best and worst by"
      value={period.by}
      choices={MEASURE_NAMES.map((name) => ({ value: name, name: MEASURES[name].name }))}
      onChange={(by) => change({ by })}
    />
  </div>
);

function Steps({ period: { kind, start }, change }: ReportControlsProps) {
  const { before, after } = periodsBeside(kind, start, now());
  const word = wordOf(kind);
  useFocusAfter(after !== undefined);
  return (
    <div class="row steps" role="group" aria-label={`Which ${word}`}>
      <button
        class="button"
        type="button"
        aria-label={`The ${word} before`}
        onClick={() => change({ time: dayOf(before) })}
      >
        ←
      </button>
      <strong role="status">{nameOfPeriod(kind, start)}</strong>
      <button
        class="button"
        type="button"
        aria-label={`The ${word} after`}
        aria-disabled={after === undefined}
        onClick={() => after !== undefined && change({ time: dayOf(after) })}
      >
        →
      </button>
      {after !== undefined && (
        <button class="button quiet" type="button" onClick={() => change({ time: dayOf(now()) })}>
          This {word}
        </button>
      )}
    </div>
  );
}
