// Lets a page with unsaved changes hold on to its reader. Browsers call what listens for going back
// and forward in order: this module is loaded before the router listens, and so can stop it.

/** What leaves the page. */
export type Leave = () => void;

interface Hold {
  /** Of the page. */
  readonly href: string;
  readonly ask: (leave: Leave) => void;
}

let hold: Hold | undefined;

addEventListener("popstate", (event) => {
  if (!hold) return;
  // The browser has gone already: the page returns, and goes again if it may.
  event.stopImmediatePropagation();
  history.pushState(null, "", hold.href);
  hold.ask(() => history.back());
});

addEventListener("beforeunload", (event) => {
  if (hold) event.preventDefault();
});

/** Whether the page has something to lose. */
export const isHeld = (): boolean => hold !== undefined;

/** From now on, `ask` decides whether and when the reader leaves. Returns what ends that. */
export function holdReader(ask: (leave: Leave) => void): () => void {
  const mine: Hold = { href: location.href, ask };
  hold = mine;
  return () => {
    if (hold === mine) hold = undefined;
  };
}

/** Leaves the page, once its reader agrees where there is something to lose. */
export function leaving(leave: Leave): void {
  if (hold) hold.ask(leave);
  else leave();
}
