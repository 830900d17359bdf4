// Reads from the API, shared and kept fresh by query-core.
import { QueryClient, QueryObserver } from "@tanstack/query-core";
import type { QueryObserverOptions, QueryObserverResult } from "@tanstack/query-core";
import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, LateError, send, sendVersioned } from "./api.ts";
import type { Versioned } from "./api.ts";
import { session } from "./session.ts";

const FRESH_MS = 30_000;

/** Tells whether another attempt soon may succeed. */
const mayPass = (error: Error): boolean =>
  !(error instanceof LateError) &&
  !(error instanceof ApiError && error.status >= 400 && error.status < 500);

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      // Sonde may be on this machine or its network, also while the browser has no connection.
      networkMode: "always",
      refetchOnReconnect: true,
      retry: (failures, error) => failures < 2 && mayPass(error),
    },
  },
});

// Refreshes stale data when the page is back in view, and resumes reads that waited for it.
queries.mount();

effect(() => {
  if (session.value === null) queries.clear(); // the next reader may see other things
});

/** Keys are paths in steps, so that a prefix names everything below: `["calls", id, "results"]`. */
export type Key = readonly unknown[];

export interface ReadOptions<T = never> {
  /** False: do not read yet. */
  readonly enabled?: boolean;
  /** The interval at which to read again, in milliseconds; it may depend on the last answer. */
  readonly everyMs?: number | ((last: T | undefined) => number | undefined);
}

/** Reads what the API answers to GET `path`; nothing while `path` is undefined. */
export function useRead<T>(
  key: Key,
  path: string | undefined,
  { enabled = true, everyMs }: ReadOptions<T> = {},
): QueryObserverResult<T> {
  return useQuery<T>(key, ({ signal }) => send<T>("GET", path ?? "", { signal }), {
    enabled: enabled && path !== undefined,
    ...(everyMs !== undefined && { everyMs }),
  });
}

/** Like `useRead`, with the object's version: what a form begins with. */
export function useVersioned<T>(
  key: Key,
  path: string | undefined,
): QueryObserverResult<Versioned<T>> {
  const read = ({ signal }: { readonly signal: AbortSignal }) =>
    sendVersioned<T>("GET", path ?? "", { signal });
  return useQuery<Versioned<T>>(key, read, { enabled: path !== undefined });
}

export function useQuery<T>(
  key: Key,
  read: (context: { readonly signal: AbortSignal }) => Promise<T>,
  { enabled = true, everyMs }: ReadOptions<T> = {},
): QueryObserverResult<T> {
  const options: QueryObserverOptions<T> = {
    queryKey: key,
    queryFn: read,
    enabled,
    refetchInterval:
      typeof everyMs === "function"
        ? ({ state }) => everyMs(state.data) ?? false
        : (everyMs ?? false),
  };
  const [observer] = useState(() => new QueryObserver(queries, options));
  const [, renderAgain] = useState({});
  useEffect(() => observer.subscribe(renderAgain), [observer]);
  const asked = JSON.stringify([key, enabled, everyMs]);
  useEffect(() => observer.setOptions(options), [observer, asked]);
  // The observer follows in the effect: until then, its own result may be for another key.
  return observer.getOptimisticResult(queries.defaultQueryOptions(options));
}

/** Returns the last value that was not undefined, while `key` stays the same. */
export function useKept<T>(key: string, value: T | undefined): T | undefined {
  const kept = useRef<{ readonly key: string; readonly value: T } | undefined>(undefined);
  if (value !== undefined) kept.current = { key, value };
  return kept.current?.key === key ? kept.current.value : undefined;
}

export interface Last<T> {
  readonly value: T;
  /** Whether something else was asked for, and is not read yet. */
  readonly isOld: boolean;
}

/** Like `useKept`, also while something else is asked for, unless that cannot be read. */
export function useLast<T>(
  key: string,
  asked: string,
  value: T | undefined,
  error: Error | null,
): Last<T> | undefined {
  const last = useKept(key, value && { value, asked });
  const isOld = last?.asked !== asked;
  return last && !(isOld && error) ? { value: last.value, isOld } : undefined;
}

/** Reads again what was read under these keys. */
export const invalidate = (...keys: readonly Key[]): Promise<unknown> =>
  Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })));
