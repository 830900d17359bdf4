// Lets a page hold on to the reader who goes back or forward. Browsers call what listens for it in
// order: this module is loaded before the router listens, and so can stop it.

type Ask = (event: PopStateEvent) => void;

let ask: Ask | undefined;
addEventListener("popstate", (event) => ask?.(event));

/** From now on; undefined: nobody asks. The browser has gone already when `asked` is called. */
export function holdHistory(asked: Ask | undefined): void {
  ask = asked;
}
