// Lets a page with unsaved changes ask before its reader leaves. Browsers call `popstate` listeners
// in order: this module is loaded before the router listens, so it can stop the event.

/** Leaves the page. */
export type Leave = () => void;

interface Hold {
  /** Returns the address of the page: it may change while it is held. */
  readonly href: () => string;
  readonly ask: (leave: Leave) => void;
}

/** Of a page, and of a dialog on it: the last one asks. */
let holds: readonly Hold[] = [];

addEventListener("popstate", (event) => {
  const hold = holds.at(-1);
  if (!hold) return;
  // The browser has already left: return to the page, and leave again if the reader agrees.
  event.stopImmediatePropagation();
  history.pushState(null, "", hold.href());
  hold.ask(() => history.back());
});

addEventListener("beforeunload", (event) => {
  if (isHeld()) event.preventDefault();
});

/** Whether the page has unsaved changes. */
export const isHeld = (): boolean => holds.length > 0;

/** Lets `ask` decide whether and when the reader leaves, until the returned function is called. */
export function holdReader(hold: Hold): () => void {
  const mine = { ...hold };
  holds = [...holds, mine];
  return () => {
    holds = holds.filter((one) => one !== mine);
  };
}

/** Leaves the page; with unsaved changes, only once its reader agrees. */
export function leaving(leave: Leave): void {
  const hold = holds.at(-1);
  if (hold) hold.ask(leave);
  else leave();
}
