// An endpoint as data: what the server registers, what the OpenAPI document says, and what it does.
// Knows no HTTP server.
import type { TSchema } from "typebox";
import type { AccessLevel, Principal } from "../../model/access.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Dispatcher } from "../../dispatch/dispatch.ts";
import type { Store } from "../../store/store.ts";
import type { Changes } from "../change.ts";
import type { Cursors } from "./paging.ts";
import type { Parameters, Values } from "./parameters.ts";

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** What endpoints work with. */
export interface EndpointDeps {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly cursors: Cursors;
}

/** The names behind the colons of a path. */
export type PathParams<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Readonly<Record<Name, string>> & PathParams<Rest>
  : Path extends `${string}:${infer Name}`
    ? Readonly<Record<Name, string>>
    : unknown;

export interface ApiRequest<
  Path extends string = string,
  P extends Parameters = Parameters,
> extends Changes {
  readonly principal: Principal;
  readonly params: PathParams<Path>;
  readonly query: Values<P>;
  /** Parsed, not validated; `{}` where there is none. */
  readonly body: unknown;
  readonly ifMatch: string | undefined;
  /** Aborted when the caller has gone or the server stops: what waits, ends. */
  readonly ended: AbortSignal;
  /** Identifies the list that this request pages through: same path and filters, same caller. */
  readonly scope: string;
}

/** An answer with the status that it is sent with. */
export interface Reply {
  readonly status: 200 | 201;
  readonly answer: unknown;
}

interface EndpointShape<Path extends string, P extends Parameters> {
  readonly operationId: string;
  /** The first is the documented way; the others do the same. */
  readonly methods: readonly [Method, ...Method[]];
  /** Below `/api/2`, with its trailing slash where it has one. */
  readonly path: Path;
  /** Other paths of the same endpoint, with the same parameters. */
  readonly aliases?: readonly string[];
  readonly tag: string;
  readonly summary: string;
  readonly level: AccessLevel;
  readonly query?: P;
  readonly body?: TSchema;
  /** "of the answer": the handler gives a `Reply`. */
  readonly status?: 200 | 201 | "of the answer";
  readonly answer: TSchema;
  /** The answer is an object of which several versions may exist. */
  readonly versioned?: boolean;
  /** Honours `If-Match`. */
  readonly conditional?: boolean;
}

export interface Endpoint extends EndpointShape<string, Parameters> {
  handle(request: ApiRequest): Promise<unknown>;
}

/** Checks the handler against the path and the query parameters, and forgets their types. */
export const defineEndpoint = <
  const Path extends string,
  const P extends Parameters = Record<string, never>,
>(
  endpoint: EndpointShape<Path, P> & {
    handle(request: ApiRequest<Path, P>): Promise<unknown>;
  },
): Endpoint => endpoint;
