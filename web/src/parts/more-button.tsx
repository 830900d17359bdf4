// The button below a list that has more, and what takes its place at the end of the list.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Pages } from "../lists.ts";

export function MoreButton({
  list: { hasMore, isReading, readMore },
}: {
  readonly list: Pick<Pages<unknown>, "hasMore" | "isReading" | "readMore">;
}) {
  const [isPressed, setPressed] = useState(false);
  const end = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    // The focus goes with the button.
    if (document.activeElement === document.body) end.current?.focus({ preventScroll: true });
  }, [hasMore]);
  if (!hasMore)
    return isPressed ? (
      <p class="muted no-print" tabIndex={-1} ref={end}>
        End of the list.
      </p>
    ) : null;
  const press = (): void => {
    if (isReading) return;
    setPressed(true);
    readMore();
  };
  return (
    // Not disabled: that would take the focus away from the keyboard.
    <button class="button no-print" type="button" aria-disabled={isReading} onClick={press}>
      Show more
    </button>
  );
}
