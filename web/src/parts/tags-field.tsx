// The tags of an object: those it has, each with a button that removes it, and a field for more.
import { useState } from "preact/hooks";
import "../styles/tags-field.css";
import { Field } from "./field.tsx";

interface TagsFieldProps {
  readonly tags: readonly string[];
  readonly hint?: string;
  readonly fault?: string | undefined;
  readonly onChange: (tags: readonly string[]) => void;
}

/** Enter, a comma or leaving the field adds what is typed; Backspace in the empty field removes. */
export function TagsField({ tags, hint, fault, onChange }: TagsFieldProps) {
  const [text, setText] = useState("");
  const add = (typed: string): void => {
    const named = typed.split(",").map((tag) => tag.trim());
    const added = named.filter((tag, at) => tag !== "" && named.indexOf(tag) === at);
    setText("");
    if (added.length > 0) onChange([...tags, ...added.filter((tag) => !tags.includes(tag))]);
  };
  return (
    <Field label="Tags" hint={hint ?? "Enter or a comma adds a tag"} fault={fault}>
      {(control) => (
        <div class="tags-field">
          {tags.map((tag) => (
            <span key={tag} class="tag">
              {tag}
              <button
                type="button"
                aria-label={`Remove the tag ${tag}`}
                onClick={() => onChange(tags.filter((one) => one !== tag))}
              >
                ×
              </button>
            </span>
          ))}
          <input
            {...control}
            type="text"
            autocomplete="off"
            value={text}
            onInput={({ currentTarget: { value } }) =>
              value.includes(",") ? add(value) : setText(value)
            }
            onBlur={() => add(text)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && text.trim() !== "") {
                event.preventDefault();
                add(text);
              } else if (event.key === "Backspace" && text === "") onChange(tags.slice(0, -1));
            }}
          />
        </div>
      )}
    </Field>
  );
}
