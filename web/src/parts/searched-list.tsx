// A list that was read page by page. The address keeps the search among the rows read so far.
import type { ComponentChildren } from "preact";
import { count } from "../../../src/model/count.ts";
import { useAddress } from "../address.ts";
import type { Pages } from "../lists.ts";
import { matches } from "../search.ts";
import { MoreButton } from "./more-button.tsx";

interface SearchedListProps<Row> {
  /** It has rows. */
  readonly list: Pages<Row>;
  /** One of the rows: "token". */
  readonly noun: string;
  /** What the search reads: "name or tag". */
  readonly by: string;
  /** The row's texts that it reads. */
  readonly texts: (row: Row) => readonly (string | null)[];
  /** Shows the rows found, at least one. */
  readonly children: (found: readonly Row[]) => ComponentChildren;
}

export function SearchedList<Row>({ list, noun, by, texts, children }: SearchedListProps<Row>) {
  const [{ q: text = "" }, change] = useAddress();
  const rows = list.rows ?? [];
  const found = rows.filter((row) => matches(texts(row), text));
  const several = `${noun}s`;
  const all = count(rows.length, noun);
  return (
    <section class="card" aria-label={capitalized(several)}>
      <header>
        <input
          class="search"
          type="search"
          aria-label={`Search the ${several}`}
          placeholder={`Search by ${by}`}
          value={text}
          onInput={({ currentTarget }) => change({ q: currentTarget.value })}
        />
        <span class="muted small" role="status">
          {text === "" ? all : `${found.length} of ${all}`}
          {list.hasMore && ", and more below"}
        </span>
      </header>
      {found.length > 0 ? children(found) : <p class="muted">No {noun} has all of these words.</p>}
      <MoreButton list={list} />
    </section>
  );
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
