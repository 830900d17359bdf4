// What answers may still do when they arrive after the reader has gone on.
import { useLocation, useRoute } from "preact-iso";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Returns a function that tells whether its component is still shown. */
export function useShown(): () => boolean {
  const isShown = useRef(true);
  useLayoutEffect(
    () => () => {
      isShown.current = false;
    },
    [],
  );
  return () => isShown.current;
}

/**
 * Returns the router's `route`, which does nothing once the reader has left for another page. It
 * tells whether it went.
 */
export function useRouteFromHere(): (url: string, replace?: boolean) => boolean {
  const { route } = useLocation();
  const { path } = useRoute();
  const isShown = useShown();
  // A page is shown until the code of the next one is loaded.
  const isHere = (): boolean =>
    isShown() && (location.pathname.replace(/\/+$/, "") || "/") === path;
  return (url, replace) => {
    const goes = isHere();
    if (goes) route(url, replace);
    return goes;
  };
}
