// The tags of an object: those it has, each with a button that removes it, and a field for more.
import { useRef, useState } from "preact/hooks";
import "../styles/tags.css";
import { announce } from "../announcement.tsx";
import { Field } from "./field.tsx";

interface TagsFieldProps {
  readonly tags: readonly string[];
  readonly fault?: string | undefined;
  readonly onChange: (tags: readonly string[]) => void;
}

/** Enter, a comma or leaving the field adds what is typed; Backspace in the empty field removes. */
export function TagsField({ tags, fault, onChange }: TagsFieldProps) {
  const [text, setText] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const add = (typed: string): void => {
    const named = typed.split(",").map((tag) => tag.trim());
    const added = [...new Set(named)].filter((tag) => tag !== "" && !tags.includes(tag));
    setText("");
    if (added.length === 0) return;
    onChange([...tags, ...added]);
    announce(`Added the tag ${added.join(", ")}`);
  };
  const remove = (tag: string): void => {
    onChange(tags.filter((one) => one !== tag));
    announce(`Removed the tag ${tag}`);
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = tags.at(-1);
    if (event.key === "Enter" && text.trim() !== "") {
      event.preventDefault();
      add(text);
    } else if (event.key === "Backspace" && text === "" && last !== undefined) remove(last);
  };
  return (
    <Field label="Tags" hint="Enter or a comma adds a tag." fault={fault}>
      {(control) => (
        <div class="tags-field">
          {tags.map((tag) => (
            <span key={tag} class="tag">
              {tag}
              <button
                type="button"
                aria-label={`Remove the tag ${tag}`}
                onClick={() => remove(tag)}
              >
                ×
              </button>
            </span>
          ))}
          <input
            {...control}
            ref={field}
            type="text"
            autocomplete="off"
            value={text}
            onInput={({ currentTarget: { value } }) =>
              value.includes(",") ? add(value) : setText(value)
            }
            onBlur={() => add(text)}
            onKeyDown={onKeyDown}
          />
        </div>
      )}
    </Field>
  );
}
