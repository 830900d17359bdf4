// Keeps a page's settings in its address: a link leads to the same view.
import { useRoute } from "preact-iso";
import { withQuery } from "./api.ts";
import { useRouteFromHere } from "./shown.ts";

/** Resolves a page against the document's base, to the path that the router matches. */
export const pathOf = (page: string): string => new URL(page, document.baseURI).pathname;

/**
 * Returns the query of the page's address, also while the next page loads, and a function that
 * changes it; "" or undefined removes a name.
 */
export function useAddress(): readonly [
  Readonly<Record<string, string | undefined>>,
  (change: Readonly<Record<string, string | undefined>>) => void,
] {
  const { query } = useRoute();
  const route = useRouteFromHere();
  const change = (changed: Readonly<Record<string, string | undefined>>): void =>
    void route(withQuery(location.pathname, { ...query, ...changed }), true);
  return [query, change];
}
