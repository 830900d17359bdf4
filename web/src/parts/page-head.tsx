// The head of a page: its title and actions.
import type { ComponentChildren } from "preact";
import { useTitle } from "../title.ts";

interface PageHeadProps {
  readonly title: string;
  /** The page that it belongs to: a link above the title, relative to the document's base. */
  readonly above?: { readonly to: string; readonly name: string };
  /** Below the title. */
  readonly note?: ComponentChildren;
  /** Buttons. */
  readonly children?: ComponentChildren;
}

export function PageHead({ title, above, note, children }: PageHeadProps) {
  useTitle(title);
  return (
    <div class="page-head">
      <div>
        {above && (
          <a class="above" href={above.to}>
            {above.name}
          </a>
        )}
        <h1>{title}</h1>
        {note && <div class="muted">{note}</div>}
      </div>
      {children && <div class="row">{children}</div>}
    </div>
  );
}
