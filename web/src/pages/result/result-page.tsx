// One result: its phases, request, response and explanation.
import type { Call } from "../../../../src/model/call.ts";
import type { Result } from "../../../../src/model/result.ts";
import { withQuery } from "../../api.ts";
import type { List } from "../../api.ts";
import { nameOfLocation, useLocations } from "../../locations.tsx";
import { useOutcome } from "../../outcome.ts";
import { Fact } from "../../parts/fact.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { rowsOfCall } from "../../parts/outcome-rows.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { State } from "../../parts/state.tsx";
import { toneOf } from "../../tone.ts";
import { Sureness } from "../../parts/sureness.tsx";
import { Time } from "../../parts/time.tsx";
import { Waterfall } from "../../parts/waterfall.tsx";
import { useRead } from "../../queries.ts";
import { newestFirst, oldestFirst } from "../../run-times.ts";
import "../../styles/call.css";
import { CertificateCard, RequestCard, ResponseCard } from "./exchange.tsx";
import { adviceFor, OUTCOMES } from "../../advice.ts";

export function ResultPage({ params: { id } }: { readonly params: { readonly id: string } }) {
  const { data: result, error, refetch } = useOutcome<Result>("call", id);
  if (!result)
    return (
      <>
        <PageHead title="Result" above={{ to: "calls", name: "Calls" }} />
        {error ? <Fault error={error} retry={refetch} /> : <Loading what="the result" />}
      </>
    );
  return (
    <>
      <Head result={result} />
      <Ending result={result} />
      <section class="card">
        <h2>Where the time went</h2>
        <Waterfall title="Phases of the call" rows={rowsOfCall(result)} detailed />
        <Sureness result={result} />
      </section>
      <Facts result={result} />
      <div class="columns">
        <RequestCard result={result} />
        <ResponseCard result={result} />
      </div>
      {result.certificate && <CertificateCard certificate={result.certificate} />}
    </>
  );
}

function Head({ result: { id, meta } }: { readonly result: Result }) {
  const { data: call } = useRead<Call>(["calls", meta.call_id], `calls/${meta.call_id}/`);
  const at = meta.start_time ?? meta.due_time;
  const { previous, next } = useBeside(id, meta.call_id, at);
  return (
    <PageHead
      title={`Result of ${call?.meta.name ?? "a call"}`}
      above={{ to: `calls/${meta.call_id}`, name: call?.meta.name ?? "The call" }}
      note={<Time at={at} />}
    >
      <Beside id={previous} rel="prev">
        ← Previous
      </Beside>
      <Beside id={next} rel="next">
        Next →
      </Beside>
    </PageHead>
  );
}

/** Returns the ids of the call's results before and after one; `at` is its time. */
function useBeside(id: string, callId: string, at: string) {
  const after = new Date(Date.parse(at) + 1).toISOString();
  const read = (query: Readonly<Record<string, string | number>>) =>
    useRead<List<Result>>(
      ["calls", callId, "results", "beside", query],
      withQuery(`calls/${callId}/results/`, query),
    ).data?.results;
  const earlier = read({ order: "desc", to: at, limit: MOST_DELAYED });
  const later = read({ order: "asc", from: after, limit: MOST_DELAYED });
  // Runs missed at several locations were due at the same instant.
  const together = read({ order: "asc", from: at, to: after, limit: MOST_TOGETHER });
  if (!earlier || !later || !together) return {};
  const ids = together.map((one) => one.id);
  const place = ids.indexOf(id);
  return {
    previous: ids[place - 1] ?? newestFirst(earlier)[0]?.id,
    next: ids[place + 1] ?? oldestFirst(later)[0]?.id,
  };
}

const MOST_TOGETHER = 1000;
/** So many runs may have ids between those of two runs that follow each other. */
const MOST_DELAYED = 50;

interface BesideProps {
  /** Undefined: there is none, or it is not known yet; the button keeps its place. */
  readonly id: string | undefined;
  readonly rel: "prev" | "next";
  readonly children: string;
}

const Beside = ({ id, rel, children }: BesideProps) =>
  id === undefined ? (
    <button class="button" type="button" disabled>
      {children}
    </button>
  ) : (
    <a class="button" href={`results/${id}`} rel={rel}>
      {children}
    </a>
  );

function Ending({ result: { meta, response } }: { readonly result: Result }) {
  const { meaning } = OUTCOMES[meta.result];
  return (
    <section class="card" aria-label="How it ended">
      <div class="row">
        <State tone={toneOf(meta.result, meta.result_category)} word={meta.result} />
        {response && (
          <strong>
            {response.status_code} {response.status_string}
          </strong>
        )}
        <span class="mono url">{meta.url}</span>
      </div>
      {meta.message !== null && <pre>{meta.message}</pre>}
      <p>
        {meaning} <span class="muted">{adviceFor(meta.result, meta.message)}</span>
      </p>
    </section>
  );
}

function Facts({ result: { meta } }: { readonly result: Result }) {
  const places = useLocations();
  return (
    <section class="card" aria-label="Facts">
      <dl class="facts wide">
        <Fact name="Location">{nameOfLocation(places, meta.location_id)}</Fact>
        <Fact name="Agent">{meta.agent_id ?? "–"}</Fact>
        <Fact name="Started by">{meta.trigger === "MANUAL" ? "Run now" : "Schedule"}</Fact>
        <Fact name="Due">
          <Time at={meta.due_time} />
        </Fact>
        <Fact name="Started">{meta.start_time ? <Time at={meta.start_time} /> : "–"}</Fact>
        <Fact name="Ended">{meta.end_time ? <Time at={meta.end_time} /> : "–"}</Fact>
        <Fact name="Server address">{meta.dest_ip ?? "–"}</Fact>
        <Fact name="Redirects">{meta.redirects}</Fact>
        {meta.workflow_result_id !== null && (
          <Fact name="Workflow">
            <a href={`workflow-results/${meta.workflow_result_id}`}>Open the run</a>
          </Fact>
        )}
      </dl>
    </section>
  );
}
