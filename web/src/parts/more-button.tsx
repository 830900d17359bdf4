// The button below a list that has more.
import type { Pages } from "../lists.ts";

export const MoreButton = ({
  list: { hasMore, isReading, readMore },
}: {
  readonly list: Pages<unknown>;
}) =>
  hasMore && (
    <button class="button" type="button" disabled={isReading} onClick={readMore}>
      Show more
    </button>
  );
