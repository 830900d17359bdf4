// An endpoint as data: its registration, its description for the OpenAPI document, and its handler.
// Independent of the HTTP server.
import type { TSchema } from "typebox";
import type { AccessLevel, Principal } from "../model/access.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Dispatcher } from "../dispatch/dispatch.ts";
import type { Store } from "../store/store.ts";
import type { Budgets } from "./budgets.ts";
import type { Audit } from "./change.ts";
import type { Events } from "./events.ts";
import type { Exports } from "./exports.ts";
import type { Cursors } from "./http/paging.ts";
import type { Parameters, Values } from "./http/parameters.ts";
import type { Media } from "./http/streamed-answer.ts";

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** The services that handlers use. */
export interface EndpointDeps {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly budgets: Budgets;
  readonly exports: Exports;
  readonly events: Events;
}

/** The names behind the colons of a path. */
export type PathParams<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Readonly<Record<Name, string>> & PathParams<Rest>
  : Path extends `${string}:${infer Name}`
    ? Readonly<Record<Name, string>>
    : unknown;

/** `toApiRequest` in `serve-endpoint.ts` makes it. */
export interface ApiRequest<Path extends string = string, P extends Parameters = Parameters> {
  readonly principal: Principal;
  readonly params: PathParams<Path>;
  readonly query: Values<P>;
  /** Parsed, not validated; `{}` without a body. */
  readonly body: unknown;
  /** The secret of its session; undefined if it came with a key. */
  readonly session: string | undefined;
  /** From the header Last-Event-ID: the last event that the caller has. */
  readonly lastEventId: string | undefined;
  /** Aborted when the caller leaves or the server stops. */
  readonly ended: () => AbortSignal;
  /** Identifies the list that this request pages through: path, filters and caller. */
  readonly scope: () => string;
  /**
   * Runs `work` in a transaction (`carryOut` in `change.ts`) and resolves to its value, the answer
   * to the request. Call it at most once. A repeated request gets the first answer; `work` does not
   * run again. Changes of documents leave audit entries; report any other change to `audit`.
   */
  readonly change: <T>(work: (store: Store, audit: Audit) => Promise<T>) => Promise<T>;
  /** Drops the kept answer after the change was undone: a repeated request runs again. */
  readonly forget: () => Promise<void>;
  /** Throws `precondition_failed` when `If-Match` names another version of the document. */
  readonly assertMatches: (document: unknown) => void;
}

/** A header of an answer, for the OpenAPI document. */
export interface DescribedHeader {
  readonly description: string;
  readonly example: string;
}

type Status = 200 | 201;

/** An answer and its status. */
export interface Reply {
  readonly status: Status;
  readonly answer: unknown;
  /** The secret of the session that it opens, for the cookie; null removes the cookie. */
  readonly session?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

interface EndpointShape<Path extends string, P extends Parameters> {
  readonly operationId: string;
  /** The first is the documented one; the others do the same. */
  readonly methods: readonly [Method, ...Method[]];
  /** Below `/api/2`, with its trailing slash if it has one. */
  readonly path: Path;
  /** Other paths of the same endpoint, with the same parameters. */
  readonly aliases?: readonly string[];
  readonly tag: string;
  readonly summary: string;
  /** In addition to the summary and the schemas. */
  readonly description?: string;
  /** What a 404 says is not found; absent if the endpoint sends none. */
  readonly missing?: string;
  readonly level: AccessLevel;
  /** Accepts a one-time code instead of the key, and spends it. */
  readonly acceptsCode?: boolean;
  /**
   * Its answers last as long as their callers like: they do not keep a session open, and their
   * durations are not measured.
   */
  readonly lasting?: boolean;
  readonly query?: P;
  readonly body?: TSchema;
  /** Several, or one in a list: the handler returns a `Reply` with one of them. */
  readonly status?: Status | readonly Status[];
  readonly answer: TSchema;
  /** By media type; absent: JSON. The handler returns a `StreamedAnswer` of `answer` objects. */
  readonly media?: Readonly<Record<string, Media>>;
  /** The answer's own headers, apart from an ETag. */
  readonly headers?: Readonly<Record<string, DescribedHeader>>;
  /** An answer that is an object with an id carries an ETag. */
  readonly versioned?: boolean;
  /** Honours `If-Match`. */
  readonly conditional?: boolean;
}

export interface Endpoint extends EndpointShape<string, Parameters> {
  handle(request: ApiRequest): Promise<unknown>;
}

/** Checks the handler against the path and the query parameters, then drops their types. */
export const defineEndpoint = <
  const Path extends string,
  const P extends Parameters = Record<string, never>,
>(
  endpoint: EndpointShape<Path, P> & {
    handle(request: ApiRequest<Path, P>): Promise<unknown>;
  },
): Endpoint => endpoint;

/** Returns every method and path of the endpoint. */
export const routesOf = ({ methods, path, aliases = [] }: Endpoint) =>
  [path, ...aliases].flatMap((each) => methods.map((method) => ({ method, path: each })));

/** Names a schema: the OpenAPI document then has it once, under this name. */
export const named = <S extends TSchema>(name: string, schema: S): S => ({
  ...schema,
  $id: name,
});

/** Drops the defaults for a change: a client must not fill in what its caller leaves out. */
export const withoutDefaults = <S extends TSchema>(schema: S): S => dropDefaults(schema) as S;

function dropDefaults(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(dropDefaults);
  if (typeof node !== "object" || node === null) return node;
  const { default: _default, properties, ...rest } = node as Record<string, unknown>;
  const inner = Object.entries(rest).map(([name, value]) => [name, dropDefaults(value)]);
  if (properties === undefined) return Object.fromEntries(inner);
  // A property may be called `default`.
  const kept = Object.entries(properties as object).map(([name, value]) => [
    name,
    dropDefaults(value),
  ]);
  return { ...Object.fromEntries(inner), properties: Object.fromEntries(kept) };
}
