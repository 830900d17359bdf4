// The export of a report: the API makes the file.
import { useState } from "preact/hooks";
import { LAST_INSTANT } from "../../../../src/model/instant.ts";
import { periodEnd } from "../../../../src/model/periods.ts";
import { urlOf, withQuery } from "../../api.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { SelectField, TextField } from "../../parts/field.tsx";
import { dayOf, wordOf } from "../../periods.ts";
import type { ReportPeriod } from "../../reports.ts";

const FORMATS = [
  { value: "csv", name: "CSV, for a spreadsheet" },
  { value: "ndjson", name: "NDJSON, for programs" },
] as const;

/** Years have four digits: browsers let more be typed. */
const DATE = { type: "date", max: "9999-12-31" } as const;

/** For the last day that exists, its last instant: the next one has a five-digit year. */
const endOf = (day: string): string =>
  new Date(Math.min(periodEnd("DAY", Date.parse(day)), LAST_INSTANT)).toISOString();

interface ExportProps {
  readonly id: string;
  readonly period: ReportPeriod;
}

export function Export(props: ExportProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button class="button no-print" type="button" onClick={() => setOpen(true)}>
        Export
      </button>
      {isOpen && <ExportDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function ExportDialog({
  id,
  period: { kind, type, start },
  onClose,
}: ExportProps & { readonly onClose: () => void }) {
  const [from, setFrom] = useState(dayOf(start));
  const [to, setTo] = useState(dayOf(periodEnd(kind, start) - 1));
  const [format, setFormat] = useState<(typeof FORMATS)[number]["value"]>("csv");
  const isRange = from !== "" && to !== "" && from <= to;
  // The last day is included.
  const end = isRange ? endOf(to) : "";
  return (
    <Dialog title="Export the report" onClose={onClose}>
      <p>
        One row per {wordOf(kind)}, call and location, with all statistics of{" "}
        {type === "COMPLETE" ? "the calls that passed" : "every call made"}.
      </p>
      <div class="fields">
        <TextField label="From (UTC)" value={from} onInput={setFrom} input={DATE} />
        <TextField
          label="To (UTC, inclusive)"
          value={to}
          onInput={setTo}
          input={DATE}
          fault={isRange ? undefined : "Enter a first and a last day, in this order."}
        />
        <SelectField label="Format" value={format} choices={FORMATS} onChange={setFormat} />
      </div>
      <footer>
        <button class="button" type="button" onClick={onClose}>
          Close
        </button>
        {isRange && (
          <a
            class="button primary"
            href={urlOf(withQuery(`reports/${id}/export`, { kind, type, from, to: end, format }))}
            download
          >
            Download
          </a>
        )}
      </footer>
    </Dialog>
  );
}
