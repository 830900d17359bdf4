// Selects the contents of a call's charts: range, measure, location, which calls.
import { placeChoices } from "../../places.ts";
import type { Place } from "../../places.ts";
import { SelectField } from "../../parts/field.tsx";
import { Switch } from "../../parts/switch.tsx";
import { MEASURES, SPANS } from "./view.ts";
import type { View } from "./view.ts";

type Change = Readonly<Record<string, string | undefined>>;

interface ControlsProps {
  readonly view: View;
  readonly places: readonly Place[];
  readonly onChange: (change: Change) => void;
}

const SPAN_CHOICES = Object.entries(SPANS).map(([value, { name }]) => ({ value, name }));
const MEASURE_CHOICES = Object.entries(MEASURES).map(([value, name]) => ({
  value,
  name: value === "p50" ? "p50 (median)" : name,
}));
const CALLS = [
  { value: "", name: "Calls that passed" },
  { value: "all", name: "Every call made" },
];

export const Controls = ({ view, places, onChange }: ControlsProps) => (
  <section class="controls no-print" aria-label="What the charts show">
    <Switch
      label="Range"
      value={view.span ?? ""}
      choices={SPAN_CHOICES}
      onChange={(range) => onChange({ range, from: undefined, to: undefined })}
    />
    <SelectField
      label="Latency"
      value={view.measure}
      choices={MEASURE_CHOICES}
      onChange={(measure) => onChange({ measure })}
    />
    <SelectField
      label="Location"
      value={view.location ?? ""}
      choices={placeChoices(places, "All locations")}
      onChange={(location) => onChange({ location })}
    />
    <SelectField
      label="Which calls"
      value={view.type === "ALL" ? "all" : ""}
      choices={CALLS}
      onChange={(calls) => onChange({ calls })}
    />
  </section>
);
