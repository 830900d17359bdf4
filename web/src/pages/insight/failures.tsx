// Where a report's points went: how calls failed, the slowest that passed, and the worst hours.
import { HOUR_MS } from "../../../../src/model/periods.ts";
import type { ListedResult, ResultCode } from "../../../../src/model/result.ts";
import { missingOf, withQuery } from "../../api.ts";
import type { List } from "../../api.ts";
import { callAt } from "../../insights.ts";
import type { InsightReport } from "../../insights.ts";
import { nameOfLocation, useLocations } from "../../locations.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { formatCount, formatMs } from "../../number.ts";
import { Time } from "../../parts/time.tsx";
import { useRead } from "../../queries.ts";
import { OUTCOMES } from "../../advice.ts";

interface ReportProps {
  readonly report: InsightReport;
}

export const Failures = ({ report }: ReportProps) => (
  <section class="card">
    <h2>Runs that did not pass</h2>
    {report.failures.length === 0 && <p class="muted">Every run passed.</p>}
    {report.failures.map(({ result, count }) => (
      <FailuresOf key={result} report={report} result={result} count={count} />
    ))}
  </section>
);

interface FailuresOfProps extends ReportProps {
  readonly result: ResultCode;
  readonly count: number;
}

/** Shows the latest of them when opened or printed. */
const FailuresOf = ({ report, result, count }: FailuresOfProps) => (
  <details>
    <summary>
      <strong>{formatCount(count)}</strong> {result}{" "}
      <span class="muted small">{OUTCOMES[result].meaning}</span>
    </summary>
    <Latest report={report} result={result} />
  </details>
);

const LATEST = 10;

function Latest({ report, result }: ReportProps & { readonly result: ResultCode }) {
  const { call_id, start_date, end_date } = report;
  const asked = { type: result, from: start_date, to: end_date, order: "desc", limit: LATEST };
  const { data, error } = useRead<List<ListedResult>>(
    ["insights", report.id, "results", result],
    withQuery(`calls/${call_id}/results/`, asked),
  );
  const places = useLocations();
  if (missingOf(error))
    return <p class="muted">The results of this call are not shared with you.</p>;
  if (!data) return error ? <Fault error={error} /> : <Loading what="results" />;
  if (data.results.length === 0)
    return <p class="muted">These results are too old and have been removed.</p>;
  return (
    <ul class="plain">
      {data.results.map(({ id, meta }) => (
        <li key={id}>
          <a href={`results/${id}`}>
            <Time at={meta.start_time ?? meta.due_time} />
          </a>{" "}
          {nameOfLocation(places, meta.location_id)}
          <span class="muted">
            {meta.http_code !== null && ` · status ${meta.http_code}`}
            {meta.message !== null && ` · ${meta.message}`}
          </span>
        </li>
      ))}
      {data.meta.more && <li class="muted">… and earlier ones: the latest {LATEST} are shown.</li>}
    </ul>
  );
}

export function SlowestCalls({ report: { call_id, outliers, parts } }: ReportProps) {
  const places = useLocations();
  const { error } = useRead(
    ["insights", "results of", call_id],
    outliers.length > 0 ? withQuery(`calls/${call_id}/results/`, { limit: 1 }) : undefined,
  );
  const isShared = !missingOf(error);
  return (
    <section class="card">
      <h2>Outliers, slowest first</h2>
      {outliers.length === 0 ? (
        <p class="muted">
          {parts.availability.passed === 0 ? "No call passed." : "No call took unusually long."}
        </p>
      ) : (
        <div class="scroll-x">
          <table class="blocks" aria-label="Outliers">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Location</th>
                <th scope="col" class="number">
                  Latency
                </th>
              </tr>
            </thead>
            <tbody>
              {outliers.map(({ result_id, time, location_id, latency }) => (
                <tr key={result_id}>
                  <th scope="row" class="whole">
                    <a href={isShared ? `results/${result_id}` : undefined}>
                      <Time at={time} />
                    </a>
                  </th>
                  <td>{nameOfLocation(places, location_id)}</td>
                  <td class="number" data-label="Latency">
                    {formatMs(latency)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

interface WorstHoursProps extends ReportProps {
  /** Whether the reader may see the call. */
  readonly isLinked: boolean;
}

const hourAt = (call_id: string, start: number): string => callAt(call_id, start, start + HOUR_MS);

export const WorstHours = ({ report: { call_id, worst_hours }, isLinked }: WorstHoursProps) => (
  <section class="card">
    <h2>Worst hours</h2>
    {worst_hours.length === 0 ? (
      <p class="muted">No call was made.</p>
    ) : (
      <div class="scroll-x">
        <table class="blocks" aria-label="Worst hours">
          <thead>
            <tr>
              <th scope="col">Hour from</th>
              <th scope="col" class="number">
                Passed
              </th>
              <th scope="col" class="number">
                Average time
              </th>
            </tr>
          </thead>
          <tbody>
            {worst_hours.map(({ time, made, passed, mean_test_length }) => (
              <tr key={time}>
                <th scope="row" class="whole">
                  <a href={isLinked ? hourAt(call_id, Date.parse(time)) : undefined}>
                    <Time at={time} />
                  </a>
                </th>
                <td class="number" data-label="Passed">
                  {formatCount(passed)} of {formatCount(made)}
                </td>
                <td class="number" data-label="Average time">
                  {formatMs(mean_test_length)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
  </section>
);
