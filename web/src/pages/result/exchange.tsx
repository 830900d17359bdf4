// The request and the response, shown as text: none of it is parsed as HTML.
import { useState } from "preact/hooks";
import type { Certificate } from "../../../../src/model/certificate.ts";
import type { Content } from "../../../../src/model/content.ts";
import { count } from "../../../../src/model/count.ts";
import type { KeyValue } from "../../../../src/model/fields.ts";
import type { Result } from "../../../../src/model/result.ts";
import { missingOf } from "../../api.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { formatBytes } from "../../number.ts";
import { State } from "../../parts/state.tsx";
import type { Tone } from "../../tone.ts";
import { Time } from "../../parts/time.tsx";
import { useRead } from "../../queries.ts";
import { curlOf, hasSecrets } from "./curl.ts";
import { daysText, prettyJson } from "./words.ts";

interface ExchangeProps {
  readonly result: Result;
}

/** Whether there never was a request. */
const notMade = ({ meta, timing }: Result): boolean =>
  meta.result_category === null && timing.total === null;

export const RequestCard = ({ result, result: { request } }: ExchangeProps) => (
  <section class="card">
    <header>
      <h2>Request</h2>
      {request && <CopyButton text={curlOf(request)} label="Copy as cURL" />}
    </header>
    {request ? (
      <>
        <p class="mono url">
          {request.method} {request.url}
        </p>
        {hasSecrets(curlOf(request)) && (
          <p class="muted small">Secrets are masked; in the cURL command they appear as SECRET.</p>
        )}
        <Headers headers={request.headers} of="request" />
        {request.body !== null && <Body text={request.body} of="request" />}
      </>
    ) : (
      <p class="muted">
        {notMade(result) ? "No request was sent." : "The request is no longer kept."}
      </p>
    )}
  </section>
);

export const ResponseCard = ({ result: { id, meta, request, response } }: ExchangeProps) => (
  <section class="card">
    <h2>Response</h2>
    {response ? (
      <>
        <p>
          <strong>
            {response.status_code} {response.status_string}
          </strong>{" "}
          <span class="muted">{formatBytes(meta.response_size)} on the wire</span>
        </p>
        <Headers headers={response.headers} of="response" />
        <ResponseBody id={id} />
      </>
    ) : (
      <p class="muted">
        {meta.http_code === null || request
          ? "No response arrived."
          : "The response is no longer kept."}
      </p>
    )}
  </section>
);

function Headers({ headers, of }: { readonly headers: readonly KeyValue[]; readonly of: string }) {
  if (headers.length === 0) return <p class="muted">No headers.</p>;
  return (
    <details open={headers.length <= 12}>
      <summary>
        {count(headers.length, "header")} of the {of}
      </summary>
      <div class="scroll-x">
        <table class="headers" aria-label={`Headers of the ${of}`}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            {headers.map(({ key, value }) => (
              <tr>
                <th scope="row" class="mono">
                  {key}
                </th>
                <td class="mono">{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function ResponseBody({ id }: { readonly id: string }) {
  const { data, error } = useRead<Content>(["results", id, "content"], `results/${id}/content`);
  if (missingOf(error)) return <p class="muted">No body was kept.</p>;
  if (error) return <Fault error={error} />;
  if (!data) return <Loading what="the body" />;
  if (data.content === null) return <p class="muted">{ABSENT[data.reason ?? "binary"]}</p>;
  return <Body text={data.content} of="response" type={data.content_type} />;
}

const ABSENT: Readonly<Record<NonNullable<Content["reason"]>, string>> = {
  binary: "The body is not text, so it was not kept.",
  too_large: "The body is longer than 32 KiB, so it was not kept.",
  report_full: "The run's report was full, so the body was not kept.",
};

/** Bodies with more lines or characters are folded at first. */
const [MOST_LINES, MOST_CHARACTERS] = [40, 4000];

interface BodyProps {
  readonly text: string;
  readonly of: string;
  readonly type?: string | null;
}

function Body({ text, of, type }: BodyProps) {
  const [isPretty, setPretty] = useState(true);
  const [isWhole, setWhole] = useState(false);
  const pretty = prettyJson(text);
  const shown = isPretty ? (pretty ?? text) : text;
  const folded = shown.slice(0, MOST_CHARACTERS).split("\n").slice(0, MOST_LINES).join("\n");
  const isLong = folded.length < shown.length;
  return (
    <div class="stack">
      <div class="row">
        <h3>Body of the {of}</h3>
        {type && <span class="muted small mono">{type}</span>}
        {pretty !== undefined && (
          <label class="row keep small">
            <input
              type="checkbox"
              checked={isPretty}
              onChange={({ currentTarget }) => setPretty(currentTarget.checked)}
            />
            Formatted<span class="visually-hidden"> body of the {of}</span>
          </label>
        )}
        <CopyButton text={text} label="Copy body" what={`of the ${of}`} />
      </div>
      <pre tabIndex={0} aria-label={`Body of the ${of}`}>
        {text === "" ? "(empty)" : isLong && !isWhole ? `${folded}\n…` : shown}
      </pre>
      {isLong && (
        <button
          class="button no-print"
          type="button"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? "Show less" : "Show all"}
        </button>
      )}
    </div>
  );
}

export const CertificateCard = ({ certificate }: { readonly certificate: Certificate }) => (
  <section class="card">
    <h2>Certificate</h2>
    <dl class="facts wide">
      <Fact name="Subject">{certificate.subject}</Fact>
      <Fact name="Issuer">{certificate.issuer}</Fact>
      <Fact name="Valid from">
        <Time at={certificate.valid_from} />
      </Fact>
      <Fact name="Expires">
        <Time at={certificate.expiry} />
      </Fact>
      <Fact name="Time left at the call">
        <State tone={toneOfDays(certificate.days)} word={daysText(certificate.days)} />
      </Fact>
    </dl>
  </section>
);

/** With fewer days left, the certificate should be renewed. */
const FEW_DAYS = 14;

const toneOfDays = (days: number): Tone => (days < 0 ? "fail" : days < FEW_DAYS ? "warn" : "pass");
