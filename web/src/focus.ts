// Moves the focus when the focused element is gone.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/** Moves the focus to the contents of the page, for screen readers and the keyboard. */
export function focusMain(): void {
  document.querySelector<HTMLElement>("#main")?.focus({ preventScroll: true });
}

/** Moves the focus to the contents of the page when what is shown goes, and the focus with it. */
export function useFocusAfter(isShown: boolean): void {
  const wasShown = useRef(isShown);
  useEffect(() => {
    if (wasShown.current && !isShown && document.activeElement === document.body) focusMain();
    wasShown.current = isShown;
  }, [isShown]);
}

/** Returns a function that focuses what a selector finds in `within`, once it is rendered again. */
export function useFocusNext(within: { readonly current: HTMLElement | null }) {
  const wanted = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    within.current?.querySelector<HTMLElement>(wanted.current)?.focus();
    wanted.current = undefined;
  });
  return (selector: string): void => {
    wanted.current = selector;
  };
}
