// Fills in the form from a pasted cURL command.
import { useState } from "preact/hooks";
import type { CurlReading } from "../../curl/curl.ts";
import { TextField } from "../../parts/field.tsx";

interface CurlPasteProps {
  /** The last reading; undefined: none. */
  readonly reading: CurlReading | undefined;
  readonly onCurl: (text: string) => void;
}

export function CurlPaste({ reading, onCurl }: CurlPasteProps) {
  const [text, setText] = useState("");
  const refused = reading?.faults.join(" ");
  return (
    <section class="card" aria-labelledby="curl">
      <h2 id="curl">From a cURL command</h2>
      <TextField
        label="cURL command"
        lines={3}
        value={text}
        fault={refused === "" ? undefined : refused}
        hint={'From documentation, or from a browser with "Copy as cURL (bash)".'}
        onInput={setText}
      />
      <button
        class="button"
        type="button"
        disabled={text.trim() === ""}
        onClick={() => onCurl(text)}
      >
        Fill in the form
      </button>
      {reading && reading.notes.length > 0 && (
        <div class="notice warn">
          <ul>
            {reading.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}
