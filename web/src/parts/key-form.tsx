// The form that signs in with a key.
import { useState } from "preact/hooks";
import { useSending } from "../form.ts";
import { signIn } from "../session.ts";
import { TextField } from "./field.tsx";

interface KeyFormProps {
  /** What went wrong before. */
  readonly fault?: string | undefined;
  readonly onSignedIn?: () => void;
}

export function KeyForm({ fault: before, onSignedIn }: KeyFormProps) {
  const [key, setKey] = useState("");
  const { isBusy, submit, faultBeside } = useSending(async () => {
    await signIn(key.trim());
    setKey("");
    onSignedIn?.();
  });
  const fault = faultBeside()?.message;
  return (
    <form class="stack" onSubmit={submit}>
      <TextField
        label="API key"
        hint={
          <>
            32 letters and digits. The hub saves the first one in <code>.sonde/owner-key</code>, or
            as <code>owner-key</code> in its <code>SONDE_DATA_DIR</code>.
          </>
        }
        fault={fault === "Unauthorized" ? "No active API key matches." : (fault ?? before)}
        value={key}
        onInput={setKey}
        input={{
          type: "password",
          autocomplete: "current-password",
          required: true,
          autofocus: true,
        }}
      />
      <div class="row">
        <button class="button primary" type="submit" disabled={isBusy}>
          Sign in
        </button>
      </div>
    </form>
  );
}
