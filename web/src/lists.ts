// Reads lists page by page.
import { InfiniteQueryObserver, partialMatchKey } from "@tanstack/query-core";
import type {
  InfiniteData,
  InfiniteQueryObserverOptions,
  QueryObserverResult,
} from "@tanstack/query-core";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { send, withQuery } from "./api.ts";
import type { List } from "./api.ts";
import { queries, useQuery } from "./queries.ts";
import type { Key } from "./queries.ts";

export interface Pages<T> {
  /** Undefined: nothing is read yet. */
  readonly rows: readonly T[] | undefined;
  /** Whether the rows are those of other filters, until these are read. */
  readonly isOld: boolean;
  readonly error: Error | null;
  readonly hasMore: boolean;
  /** Whether more is being read, or no more can be read yet. */
  readonly isReading: boolean;
  readonly readMore: () => void;
  readonly refetch: () => unknown;
}

type Options<T> = InfiniteQueryObserverOptions<
  List<T>,
  Error,
  InfiniteData<List<T>, string>,
  Key,
  string
>;

interface ListOptions {
  /** The query of the path. */
  readonly filters?: Readonly<Record<string, string | number>>;
  readonly everyMs?: number;
}

/** Reads what the API lists at `path`, one page at first; nothing while `path` is undefined. */
export function useList<T>(
  key: Key,
  path: string | undefined,
  { filters = {}, everyMs }: ListOptions = {},
): Pages<T> {
  const options: Options<T> = {
    queryKey: [...key, filters, "pages"],
    queryFn: ({ pageParam, signal }) =>
      send<List<T>>("GET", withQuery(path ?? "", { ...filters, cursor: pageParam }), { signal }),
    initialPageParam: "",
    getNextPageParam: ({ meta }) => (meta.more ? meta.next_cursor : undefined),
    placeholderData: (last, query) =>
      query && partialMatchKey(query.queryKey, key) && last?.pages[0]?.results.length
        ? last
        : undefined,
    enabled: path !== undefined,
    refetchInterval: everyMs ?? false,
  };
  const [observer] = useState(() => new InfiniteQueryObserver(queries, options));
  const [, renderAgain] = useState({});
  useEffect(() => observer.subscribe(renderAgain), [observer]);
  const asked = JSON.stringify([key, path, filters]);
  useLayoutEffect(() => observer.setOptions(options), [observer, asked]);
  const {
    data,
    error,
    isPlaceholderData: isOld,
    isFetching,
    ...result
  } = observer.getOptimisticResult(queries.defaultQueryOptions(options) as never);
  return {
    rows: data?.pages.flatMap(({ results }) => results),
    isOld,
    error,
    hasMore: data?.pages.at(-1)?.meta.more ?? false,
    isReading: isOld || result.isFetchingNextPage,
    readMore: () => {
      const cancelled = isFetching ? { queryKey: options.queryKey } : undefined;
      void result.fetchNextPage().then(() => cancelled && queries.invalidateQueries(cancelled));
    },
    refetch: result.refetch,
  };
}

/** The API's maximum page size. */
const LONGEST_PAGE = 1000;

/** Reads everything that the API lists at `path`, page after page. */
export async function readAll<T>(path: string, signal: AbortSignal): Promise<readonly T[]> {
  const pages = await readPages<List<T>>(withQuery(path, { limit: LONGEST_PAGE }), signal);
  return pages.flatMap(({ results }) => results);
}

/** Reads every page at `path`, whatever it lists. */
export async function readPages<P extends Pick<List<unknown>, "meta">>(
  path: string,
  signal: AbortSignal,
): Promise<readonly P[]> {
  const pages: P[] = [];
  let cursor: string | undefined;
  do {
    const page = await send<P>("GET", withQuery(path, { cursor }), { signal });
    pages.push(page);
    cursor = page.meta.more ? page.meta.next_cursor : undefined;
  } while (cursor !== undefined);
  return pages;
}

/** Like `readAll`, for a component. */
export const useAll = <T>(key: Key, path: string): QueryObserverResult<readonly T[]> =>
  useQuery<readonly T[]>(key, ({ signal }) => readAll<T>(path, signal));
