// The data passed between the calls of a run: requests with their variables filled in, cookies, and
// the previous call's outcome.
import type { Result } from "../../../../src/model/result.ts";
import type { KeyValue } from "../../../../src/model/fields.ts";
import type { Workflow } from "../../../../src/model/workflow.ts";
import { send } from "../../api.ts";
import { Fault, Loading } from "../../parts/notice.tsx";
import { nameOfStep } from "../../parts/outcome-rows.ts";
import { useQuery } from "../../queries.ts";
import type { CallNames } from "../../call-names.ts";
import type { WorkflowOutcome } from "../../runs.ts";

interface PassedProps {
  readonly run: WorkflowOutcome;
  readonly calls: CallNames;
  readonly workflow: Workflow | undefined;
}

export function Passed({ run, calls, workflow }: PassedProps) {
  const { results } = run;
  const made = results.filter(({ meta }) => meta.result_category !== null);
  const ids = made.map(({ id }) => id);
  const { data, error, refetch } = useQuery<readonly Result[]>(
    ["results", "of-run", ids],
    ({ signal }) => Promise.all(ids.map((id) => send<Result>("GET", `results/${id}/`, { signal }))),
    { enabled: ids.length > 0 },
  );
  if (ids.length === 0) return null;
  const isLost =
    workflow?.workflow.handle_cookies === false &&
    data?.some(({ response }) => cookiesIn(response?.headers, "set-cookie") > 0);
  return (
    <section class="card" aria-labelledby="passed">
      <h2 id="passed">Requests and cookies</h2>
      <Fault error={error} retry={refetch} />
      {!data && !error && <Loading what="the requests" />}
      {isLost && (
        <p class="notice warn">
          Calls received cookies, but the workflow does not pass them to later calls. If those need
          them, turn on "Handle cookies" in the workflow.
        </p>
      )}
      {data && <RequestTable results={data} calls={calls} given={inheritedBy(run)} />}
      <p class="muted small">
        Cookie values are masked. A call can read how the one before it ended as{" "}
        <code>%%RESULT%%</code> and <code>%%HTTP_CODE%%</code>, unless the run's context sets these.
      </p>
    </section>
  );
}

/**
 * Returns the previous call's outcome, by result id, without the names set by the run's context.
 * Empty if any call of the run is hidden.
 */
function inheritedBy({ counts, results, context }: WorkflowOutcome): ReadonlyMap<string, string> {
  if (results.length < counts.calls) return new Map();
  const names = ["RESULT", "HTTP_CODE"].filter((name) => !Object.hasOwn(context ?? {}, name));
  return new Map(
    results.slice(1).map(({ id }, at) => {
      const { result: RESULT = "", http_code = null } = results[at]?.meta ?? {};
      const values: Readonly<Record<string, string>> = { RESULT, HTTP_CODE: `${http_code ?? ""}` };
      return [id, names.flatMap((name) => values[name] || []).join(", ")];
    }),
  );
}

interface RequestTableProps {
  readonly results: readonly Result[];
  readonly calls: CallNames;
  /** The outcome of the call before, by result id. */
  readonly given: ReadonlyMap<string, string>;
}

const RequestTable = ({ results, calls, given }: RequestTableProps) => (
  <div class="scroll-x">
    <table class="requests blocks">
      <thead>
        <tr>
          <th scope="col">Call</th>
          <th scope="col">Request</th>
          <th scope="col">Cookies sent</th>
          <th scope="col">Cookies received</th>
          <th scope="col">Previous outcome</th>
        </tr>
      </thead>
      <tbody>
        {results.map(({ id, meta, request, response }) => (
          <tr key={id}>
            <th scope="row" class="whole">
              <a href={`results/${id}`}>{nameOfStep(calls, meta.call_id)}</a>
            </th>
            <td class="mono whole">
              {request?.method} {request?.url ?? meta.url}
            </td>
            <td data-label="Cookies sent">
              {cookiesIn(request?.headers, "cookie") > 0 ? "Yes" : "–"}
            </td>
            <td data-label="Cookies received">
              {cookiesIn(response?.headers, "set-cookie") || "–"}
            </td>
            <td class="whole" data-label="Previous outcome">
              {given.get(id) || "–"}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/** Counts the headers of this name: each `Set-Cookie` is one cookie. */
const cookiesIn = (headers: readonly KeyValue[] | undefined, name: string): number =>
  headers?.filter(({ key }) => key.toLowerCase() === name).length ?? 0;
