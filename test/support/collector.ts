// A collector of traces on loopback: takes OTLP over HTTP as JSON, and keeps the spans.
import { startTarget } from "./target-server.ts";
import type { HttpTarget } from "./target-server.ts";

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Attributes of the process that sent it. */
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface Collector extends AsyncDisposable {
  readonly target: HttpTarget;
  spans(): CollectedSpan[];
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, "attributes" | "resource"> & {
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

const valuesOf = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

const toMs = (nanos: string): number => Number(BigInt(nanos) / 1000n) / 1000;

export async function startCollector(): Promise<Collector> {
  const target = await startTarget((_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  return {
    target,
    spans: () =>
      target.requests
        .flatMap(({ body }) => (JSON.parse(body) as Sent).resourceSpans)
        .flatMap(({ resource, scopeSpans }) =>
          scopeSpans
            .flatMap(({ spans }) => spans)
            .map((span) => ({
              ...span,
              start: toMs(span.startTimeUnixNano),
              end: toMs(span.endTimeUnixNano),
              attributes: valuesOf(span.attributes),
              resource: valuesOf(resource.attributes),
            })),
        ),
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  };
}
