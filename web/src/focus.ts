// Moves the focus when the focused element is gone.
import { useEffect, useRef } from "preact/hooks";

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
