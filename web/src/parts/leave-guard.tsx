// Asks before a page with unsaved changes is left, by a link, by going back or by closing it.
import { useLocation } from "preact-iso";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { holdReader, leaving } from "../history-guard.ts";
import type { Leave } from "../history-guard.ts";
import { Dialog } from "./dialog.tsx";

interface LeaveGuardProps {
  readonly isChanged: boolean;
  readonly question?: string;
  readonly loss?: string;
  /** What the reader does in spite of it. */
  readonly verb?: string;
}

export function LeaveGuard({
  isChanged,
  question = "Leave without saving?",
  loss = "Your changes will be lost.",
  verb = "Leave",
}: LeaveGuardProps) {
  const [leave, setLeave] = useState<Leave>();
  const { route } = useLocation();
  const href = useRef("");
  useLayoutEffect(() => {
    href.current = location.href;
  });
  useLayoutEffect(() => {
    if (!isChanged) return undefined;
    const release = holdReader({
      href: () => href.current,
      ask: (go) => setLeave(() => () => (release(), go())),
    });
    const watch = new AbortController();
    const follow = (event: MouseEvent): void => {
      const link = linkOf(event);
      if (!link) return;
      event.preventDefault();
      event.stopPropagation();
      leaving(() => route(link.pathname + link.search));
    };
    addEventListener("click", follow, { capture: true, signal: watch.signal });
    return () => {
      watch.abort();
      release();
      setLeave(undefined); // nothing is left to ask about
    };
  }, [isChanged]);
  if (!leave || !isChanged) return null;
  return (
    <Dialog title={question} onClose={() => setLeave(undefined)}>
      <p>{loss}</p>
      <footer>
        <button class="button" type="button" onClick={() => setLeave(undefined)}>
          Stay
        </button>
        <button class="button danger" type="button" onClick={leave}>
          {verb}
        </button>
      </footer>
    </Dialog>
  );
}

/** Returns the link that a plain click follows, if it leads to one of these pages. */
function linkOf(event: MouseEvent): HTMLAnchorElement | undefined {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
    return undefined;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link?.href || link.target !== "" || link.classList.contains("skip")) return undefined;
  const { origin, pathname } = new URL(document.baseURI);
  const isPage = link.origin === origin && !link.pathname.startsWith(`${pathname}docs`);
  return isPage ? link : undefined;
}
