// The button below a list that has more.
import type { Pages } from "../lists.ts";

export const MoreButton = ({
  list: { hasMore, isReading, readMore },
}: {
  readonly list: Pick<Pages<unknown>, "hasMore" | "isReading" | "readMore">;
}) =>
  hasMore && (
    // Not disabled: that would take the focus away from the keyboard.
    <button
      class="button no-print"
      type="button"
      aria-disabled={isReading}
      onClick={() => isReading || readMore()}
    >
      Show more
    </button>
  );
