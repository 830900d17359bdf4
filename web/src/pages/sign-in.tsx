// Signing in: with a key, or by a link that works once and carries its code in the fragment.
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { TextField } from "../parts/field.tsx";
import { Logo } from "../parts/logo.tsx";
import { signIn } from "../session.ts";

const LINK_FAULT =
  "This link was used, is not whole, or is older than an hour. Sign in with a key instead.";

const isCode = (text: string): boolean => /^[\w-]{43}$/.test(text);

export function SignIn() {
  const [key, setKey] = useState("");
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const { path, route } = useLocation();
  const attempt = async (credential: string, refused: string): Promise<void> => {
    setBusy(true);
    try {
      await signIn(credential);
      if (path.endsWith("/sign-in")) route(new URL(document.baseURI).pathname, true);
    } catch (cause) {
      const { message } = cause as Error;
      setFault(message === "Unauthorized" ? refused : message);
      setBusy(false);
    }
  };
  useEffect(() => {
    const code = location.hash.slice(1);
    if (code === "") return;
    history.replaceState(null, "", location.pathname);
    // Not a key: its owner's link would have others write their secrets as that owner.
    if (isCode(code)) void attempt(code, LINK_FAULT);
    else setFault(LINK_FAULT);
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    void attempt(key.trim(), "No active API key is like this one.");
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <h1 class="brand">
          <Logo />
          Sonde
        </h1>
        <TextField
          label="API key"
          hint="32 letters and digits. The first one is in the file owner-key of the data folder."
          fault={fault}
          value={key}
          onInput={setKey}
          input={{
            type: "password",
            autocomplete: "current-password",
            required: true,
            autofocus: true,
          }}
        />
        <button class="button primary" type="submit" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
