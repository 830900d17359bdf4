// A field that finds one of many things as one types, by the combobox pattern of ARIA 1.2.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import "../styles/combobox.css";

/** The list is for choosing, not for reading: who types more sees fewer. */
const MOST_SHOWN = 50;

export interface Option {
  readonly id: string;
  readonly name: string;
  /** Beside the name; searched too. */
  readonly note?: string;
}

interface ComboboxProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly hint?: string;
  /** Undefined while they are read. */
  readonly options: readonly Option[] | undefined;
  /** Called when somebody first comes to the field. */
  readonly onOpen?: () => void;
  readonly onChoose: (option: Option) => void;
}

/** Every word of the text is in the name or the note. */
const finds =
  (text: string) =>
  ({ name, note = "" }: Option): boolean => {
    const whole = `${name} ${note}`.toLowerCase();
    return text
      .toLowerCase()
      .split(/\s+/)
      .every((word) => whole.includes(word));
  };

/** Is empty again after each choice, and keeps the focus: the next one can follow. */
export function Combobox(props: ComboboxProps) {
  const { label, placeholder, hint, options, onOpen, onChoose } = props;
  const id = useId();
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const found = isOpen ? (options ?? []).filter(finds(text)) : [];
  const shown = found.slice(0, MOST_SHOWN);
  const open = (): void => {
    onOpen?.();
    setOpen(true);
  };
  const choose = (option: Option | undefined): void => {
    if (!option) return;
    setText("");
    setActive(0);
    setOpen(false);
    onChoose(option);
  };
  const press = (event: KeyboardEvent): void => {
    const to = moved(event, active, shown.length);
    if (event.key === "Enter" && isOpen) choose(shown[active]);
    else if (event.key === "Escape" && isOpen) setOpen(false);
    else if (to !== undefined) {
      open();
      setActive(isOpen ? to : 0);
    } else return;
    event.preventDefault();
  };
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
        onFocus={() => onOpen?.()}
        onClick={open}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setActive(0);
          open();
        }}
      />
      <Options {...{ id, label, shown, active, choose }} isOpen={isOpen && shown.length > 0} />
      <span class="hint" id={`${id}-hint`} role="status">
        {isOpen ? summary(options, found.length) : hint}
      </span>
    </div>
  );
}

/** Where a key leads; undefined: nowhere. */
function moved({ key, altKey }: KeyboardEvent, active: number, count: number): number | undefined {
  if (altKey) return undefined;
  if (key === "ArrowDown") return count === 0 ? 0 : (active + 1) % count;
  if (key === "ArrowUp") return count === 0 ? 0 : (active - 1 + count) % count;
  return undefined;
}

function summary(options: readonly Option[] | undefined, found: number): string {
  if (!options) return "Loading …";
  if (options.length === 0) return "There is nothing to choose from.";
  if (found === 0) return "Nothing is found: try fewer letters.";
  if (found > MOST_SHOWN) return `The first ${MOST_SHOWN} of ${found}: type more to see fewer.`;
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
          // The field keeps the focus.
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
