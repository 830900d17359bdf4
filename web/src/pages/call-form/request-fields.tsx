// The fields of a call's request.
import { Field, SelectField, TextField } from "../../parts/field.tsx";
import { PairRows } from "../../parts/pair-rows.tsx";
import { isCurl } from "../../curl/curl.ts";
import { fixedHostOf, withLineEnds } from "./call-draft.ts";
import type { CallDraft } from "./call-draft.ts";

/** The props of every part of the form. */
export interface PartProps {
  readonly draft: CallDraft;
  readonly onChange: (part: Partial<CallDraft>) => void;
  /** Returns what is wrong with the property at this path, in the API's words. */
  readonly faultAt: (path: string) => string | undefined;
}

interface RequestFieldsProps extends PartProps {
  /** Called with a cURL command that was pasted in place of a URL. */
  readonly onCurl: (text: string) => void;
}

export const RequestFields = (props: RequestFieldsProps) => {
  const { draft, onChange, faultAt } = props;
  return (
    <section class="card" aria-labelledby="request">
      <h2 id="request">Request</h2>
      <div class="method-and-url">
        <MethodField {...props} />
        <UrlField {...props} />
      </div>
      <PairRows
        title="Query parameters"
        noun="parameter"
        rows={draft.parameters}
        faultAt={(path) => faultAt(`request.parameters${path}`)}
        onChange={(parameters) => onChange({ parameters })}
      />
      <PairRows
        title="Headers"
        noun="header"
        rows={draft.headers}
        faultAt={(path) => faultAt(`request.headers${path}`)}
        onChange={(headers) => onChange({ headers })}
      />
      <TextField
        label="Body"
        lines={6}
        value={draft.body ?? ""}
        fault={faultAt("request.body")}
        hint="Sent as is, with the Content-Type from the headers."
        onInput={(text) => onChange({ body: text === "" ? null : withLineEnds(text, draft.body) })}
      />
      <p class="small muted">
        Variables: <code>{"{{name}}"}</code> is an environment value or a custom variable of the
        authentication setting, <code>%%NAME%%</code> a value of the run, such as{" "}
        <code>%%DATETIME%%</code> or <code>%%GUID%%</code>. They work in every field of the request.
      </p>
    </section>
  );
};

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const OTHER = "other";

function MethodField({ draft, onChange, faultAt }: PartProps) {
  const isListed = METHODS.includes(draft.method);
  return (
    <div class="stack">
      <SelectField
        label="Method"
        value={isListed ? draft.method : OTHER}
        choices={[...METHODS, OTHER].map((value) => ({
          value,
          name: value === OTHER ? "Other …" : value,
        }))}
        fault={isListed ? faultAt("request.method") : undefined}
        onChange={(method) => onChange({ method: method === OTHER ? "" : method })}
      />
      {!isListed && (
        <TextField
          label="Other method"
          value={draft.method}
          fault={faultAt("request.method")}
          onInput={(method) => onChange({ method })}
        />
      )}
    </div>
  );
}

function UrlField({ draft, onChange, faultAt, onCurl }: RequestFieldsProps) {
  const host = fixedHostOf(draft.url);
  const paste = (event: ClipboardEvent): void => {
    const text = event.clipboardData?.getData("text") ?? "";
    if (!isCurl(text)) return;
    event.preventDefault();
    onCurl(text);
  };
  return (
    <Field
      label="URL"
      hint={host === undefined ? "Or paste a cURL command here." : `Domain: ${host}`}
      fault={faultAt("request.url")}
    >
      {(control) => (
        <input
          type="text"
          inputMode="url"
          autocomplete="off"
          spellcheck={false}
          class="mono"
          placeholder="https://api.example.com/v1/status"
          {...control}
          value={draft.url}
          onPaste={paste}
          onInput={({ currentTarget }) => onChange({ url: currentTarget.value })}
          onBlur={({ currentTarget }) => onChange({ url: currentTarget.value.trim() })}
        />
      )}
    </Field>
  );
}
