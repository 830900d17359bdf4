// Asks before a page with unsaved changes is left: by a link, by going back, by closing it.
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { holdHistory } from "../../history-guard.ts";
import { Dialog } from "../../parts/dialog.tsx";

type Leave = () => void;

export function LeaveGuard({ isChanged }: { readonly isChanged: boolean }) {
  const [leave, setLeave] = useState<Leave>();
  const { route } = useLocation();
  useEffect(() => {
    if (!isChanged) return undefined;
    return guard((go) => setLeave(() => go), route);
  }, [isChanged]);
  if (!leave || !isChanged) return null;
  return (
    <Dialog title="Leave without saving?" onClose={() => setLeave(undefined)}>
      <p>What you changed here is lost.</p>
      <footer>
        <button class="button" type="button" onClick={() => setLeave(undefined)}>
          Stay
        </button>
        <button class="button danger" type="button" onClick={leave}>
          Leave
        </button>
      </footer>
    </Dialog>
  );
}

/** Hands what would have left the page to `ask`. Returns what ends the watch. */
function guard(ask: (go: Leave) => void, route: (path: string) => void): () => void {
  const here = location.href;
  const watch = new AbortController();
  const { signal } = watch;
  const end = (): void => {
    watch.abort();
    holdHistory(undefined);
  };
  const onClick = (event: MouseEvent): void => {
    const link = linkOf(event);
    if (!link) return;
    event.preventDefault();
    event.stopPropagation();
    ask(() => {
      end();
      route(link.pathname + link.search);
    });
  };
  // The browser has gone already: the page returns, and goes again if it may.
  holdHistory((event) => {
    event.stopImmediatePropagation();
    history.pushState(null, "", here);
    ask(() => {
      end();
      history.back();
    });
  });
  addEventListener("click", onClick, { capture: true, signal });
  addEventListener("beforeunload", (event) => event.preventDefault(), { signal });
  return end;
}

/** The link to another of the pages that a plain click follows. */
function linkOf(event: MouseEvent): HTMLAnchorElement | undefined {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
    return undefined;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link?.href || link.target !== "" || link.classList.contains("skip")) return undefined;
  const { origin, pathname } = new URL(document.baseURI);
  const isPage = link.origin === origin && !link.pathname.startsWith(`${pathname}docs`);
  return isPage ? link : undefined;
}
