// A field that finds one of many options as the user types, by the combobox pattern of ARIA 1.2.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { matches } from "../search.ts";
import "../styles/combobox.css";

/** The list is for choosing, not for reading: typing more narrows it down. */
const MOST_SHOWN = 50;

export interface Option {
  readonly id: string;
  readonly name: string;
  /** Shown next to the name; searched too. */
  readonly note?: string;
}

interface ComboboxProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly hint?: string;
  /** Undefined while they are read. */
  readonly options: readonly Option[] | undefined;
  /** Called whenever the field gets the focus or its list opens. */
  readonly onOpen?: () => void;
  readonly onChoose: (option: Option) => void;
}

/** Clears itself after each choice and keeps the focus, ready for the next one. */
export function Combobox({ label, placeholder, hint, ...choosing }: ComboboxProps) {
  const id = useId();
  const { text, isOpen, active, found, ...act } = useChoosing(choosing);
  const shown = found.slice(0, MOST_SHOWN);
  return (
    <div class="field combobox">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-describedby={`${id}-hint`}
        aria-activedescendant={isOpen && shown[active] ? `${id}-${active}` : undefined}
        value={text}
        onFocus={() => choosing.onOpen?.()}
        onClick={act.open}
        onBlur={act.close}
        onKeyDown={(event) => act.press(event, shown)}
        onInput={({ currentTarget }) => act.type(currentTarget.value)}
      />
      <Options
        {...{ id, label, shown, active, choose: act.choose }}
        isOpen={isOpen && shown.length > 0}
      />
      <span class="hint" id={`${id}-hint`} role="status">
        {isOpen ? summary(choosing.options, found.length) : hint}
      </span>
    </div>
  );
}

function useChoosing({
  options,
  onOpen,
  onChoose,
}: Pick<ComboboxProps, "options" | "onOpen" | "onChoose">) {
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  /** The id of the marked option, since others may come and go above it. Undefined: the first. */
  const [marked, setMarked] = useState<string>();
  const open = (): void => {
    onOpen?.();
    setOpen(true);
  };
  const close = (): void => setOpen(false);
  const type = (typed: string): void => {
    setText(typed);
    setMarked(undefined);
    open();
  };
  const choose = (option: Option | undefined): void => {
    if (!option) return;
    setText("");
    setMarked(undefined);
    close();
    onChoose(option);
  };
  const move = (to: number, shown: readonly Option[]): void => {
    open();
    setMarked(isOpen ? shown[to]?.id : undefined);
  };
  const press = (event: KeyboardEvent, shown: readonly Option[]): void => {
    const to = moved(event, active, shown.length);
    if (to !== undefined) move(to, shown);
    else if (!isOpen) return;
    else if (event.key === "Enter") choose(shown[active]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };
  const found = isOpen
    ? (options ?? []).filter(({ name, note }) => matches([name, note], text))
    : [];
  const active = Math.max(
    0,
    found.slice(0, MOST_SHOWN).findIndex(({ id }) => id === marked),
  );
  return { text, isOpen, active, found, open, close, type, choose, press };
}

/** Returns the option that a key moves to; undefined if it moves nothing. */
function moved({ key, altKey }: KeyboardEvent, active: number, count: number): number | undefined {
  if (altKey) return undefined;
  if (key === "ArrowDown") return count === 0 ? 0 : (active + 1) % count;
  if (key === "ArrowUp") return count === 0 ? 0 : (active - 1 + count) % count;
  return undefined;
}

function summary(options: readonly Option[] | undefined, found: number): string {
  if (!options) return "Loading …";
  if (options.length === 0) return "Nothing to choose from.";
  if (found === 0) return "No matches. Try fewer letters.";
  if (found > MOST_SHOWN) return `First ${MOST_SHOWN} of ${found}. Type more to narrow them.`;
  return `${found} found. Choose with the arrow keys and Enter.`;
}

interface OptionsProps {
  readonly id: string;
  readonly label: string;
  readonly isOpen: boolean;
  readonly shown: readonly Option[];
  readonly active: number;
  readonly choose: (option: Option) => void;
}

function Options({ id, label, isOpen, shown, active, choose }: OptionsProps) {
  const current = useRef<HTMLLIElement>(null);
  useEffect(() => current.current?.scrollIntoView({ block: "nearest" }), [active, isOpen]);
  return (
    <ul id={`${id}-list`} role="listbox" aria-label={label} hidden={!isOpen}>
      {shown.map((option, at) => (
        <li
          key={option.id}
          id={`${id}-${at}`}
          role="option"
          aria-selected={at === active}
          ref={at === active ? current : null}
          // Keeps the focus in the field.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => choose(option)}
        >
          <span>{option.name}</span>
          {option.note && <span class="muted small">{option.note}</span>}
        </li>
      ))}
    </ul>
  );
}
