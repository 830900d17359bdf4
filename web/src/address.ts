// Keeps a page's settings in its address: a link leads to the same view.
import { useLocation } from "preact-iso";

/** Resolves a page against the document's base, to the path that the router matches. */
export const pathOf = (page: string): string => new URL(page, document.baseURI).pathname;

/** Returns the address's query and a function that changes it; undefined removes a name. */
export function useAddress(): readonly [
  Readonly<Record<string, string | undefined>>,
  (change: Readonly<Record<string, string | undefined>>) => void,
] {
  const { path, query, route } = useLocation();
  const change = (changed: Readonly<Record<string, string | undefined>>): void => {
    const all = Object.entries({ ...query, ...changed });
    const given = all.flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] satisfies [string, string]],
    );
    const text = new URLSearchParams(given).toString();
    route(text === "" ? path : `${path}?${text}`, true);
  };
  return [query, change];
}
