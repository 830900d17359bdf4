// A path without a page.
import { useTitle } from "../title.ts";

const TITLE = "Page not found";

export function NotFoundPage() {
  useTitle(TITLE);
  return (
    <div class="empty">
      <h1>{TITLE}</h1>
      <a class="button" href="calls">
        Go to the calls
      </a>
    </div>
  );
}
