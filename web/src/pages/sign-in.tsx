// Signs in with a key, or by a one-time link with its code in the fragment.
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { KeyForm } from "../parts/key-form.tsx";
import { Logo } from "../parts/logo.tsx";
import { Fault } from "../parts/notice.tsx";
import { readSession, signIn } from "../session.ts";

const LINK_FAULT =
  "This link has been used, has expired, or is incomplete. Sign in with a key, or get a new link as shown below.";

const isCode = (text: string): boolean => /^[\w-]{43}$/.test(text);

export function SignIn() {
  const [fault, setFault] = useState<string>();
  const { path, route } = useLocation();
  const arrive = (): void => {
    if (path.endsWith("/sign-in")) route(new URL(document.baseURI).pathname, true);
  };
  useEffect(() => {
    const code = location.hash.slice(1);
    if (code === "") return;
    history.replaceState(null, "", location.pathname);
    // Rejects keys: with a link to the sender's key, others would store secrets as the sender.
    if (!isCode(code)) return setFault(LINK_FAULT);
    signIn(code).then(arrive, ({ message }: Error) =>
      setFault(message === "Unauthorized" ? LINK_FAULT : message),
    );
  }, []);
  return (
    <main class="sign-in">
      <div class="card">
        <h1 class="brand">
          <Logo />
          Sonde
        </h1>
        <KeyForm fault={fault} onSignedIn={arrive} />
        <p class="muted small">
          No key? On the hub, <code>sonde keys link</code> prints a link that works once, within an
          hour.
        </p>
      </div>
    </main>
  );
}

/** Shown while it is not known who is signed in. */
export function NoAnswer() {
  const [error, setError] = useState<Error | null>(null);
  const ask = (): Promise<void> => readSession().catch(setError);
  useEffect(() => void ask(), []);
  return (
    <main class="sign-in">
      <div class="card">
        <h1 class="brand">
          <Logo />
          Sonde
        </h1>
        <Fault error={error} retry={ask} />
      </div>
    </main>
  );
}
