// Moves the focus when the focused element is gone.

/** Moves the focus to the contents of the page, for screen readers and the keyboard. */
export function focusMain(): void {
  document.querySelector<HTMLElement>("#main")?.focus({ preventScroll: true });
}
