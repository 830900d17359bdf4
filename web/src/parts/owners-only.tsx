// In place of a page that needs a key of level OWNER.
import { session } from "../session.ts";
import { PageHead } from "./page-head.tsx";

interface OwnersOnlyProps {
  readonly title: string;
  /** What such a key does here. */
  readonly what: string;
}

export const OwnersOnly = ({ title, what }: OwnersOnlyProps) => (
  <>
    <PageHead title={title} />
    <p class="notice">
      A key of level OWNER {what}. Yours has level {session.value?.access_level}.
    </p>
  </>
);
