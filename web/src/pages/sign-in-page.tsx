// Signs in with a key, or with a one-time link whose code is in the fragment.
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { announce } from "../announcement.tsx";
import { KeyForm } from "../parts/key-form.tsx";
import { Logo } from "../parts/logo.tsx";
import { Fault } from "../parts/notice.tsx";
import { readSession, signIn } from "../session.ts";
import { useTitle } from "../title.ts";

const LINK_FAULT = "This link has been used, has expired, or is incomplete.";

const isCode = (text: string): boolean => /^[\w-]{43}$/.test(text);

/** Signs in with the code of a link. Rejects with what to tell the reader. */
async function follow(code: string): Promise<void> {
  history.replaceState(null, "", location.pathname);
  // Rejects keys: with a link to the sender's key, others would store secrets as the sender.
  if (!isCode(code)) throw new Error(LINK_FAULT);
  await signIn(code).catch((cause: Error) => {
    throw cause.message === "Unauthorized" ? new Error(LINK_FAULT) : cause;
  });
}

export function SignInPage() {
  useTitle("Sign in");
  const [fault, setFault] = useState<string>();
  const { path, route } = useLocation();
  const arrive = (): void => {
    if (path.endsWith("/sign-in")) route(new URL(document.baseURI).pathname, true);
  };
  useEffect(() => {
    const code = location.hash.slice(1);
    if (code === "") return;
    follow(code).then(arrive, ({ message }: Error) =>
      setFault(
        message === LINK_FAULT
          ? `${message} Sign in with a key, or get a new link as shown below.`
          : message,
      ),
    );
  }, []);
  return (
    <Card>
      <KeyForm fault={fault} onSignedIn={arrive} />
      <p class="muted small">
        No key? On the hub, <code>sonde keys link</code> prints a link that works once, within an
        hour.
      </p>
    </Card>
  );
}

/** The page of a link that is opened while someone is signed in. */
export function Arrival() {
  const { route } = useLocation();
  useEffect(() => {
    const code = location.hash.slice(1);
    const followed = code === "" ? Promise.resolve() : follow(code);
    void followed
      .catch(({ message }: Error) => announce(`${message} You are still signed in.`))
      .then(() => route(new URL(document.baseURI).pathname, true));
  }, []);
  return null;
}

/** Shown while it is not known who is signed in. */
export function NoAnswer() {
  const [error, setError] = useState<Error | null>(null);
  const ask = (): Promise<void> => readSession().catch(setError);
  useEffect(() => void ask(), []);
  return (
    <Card>
      <Fault error={error} retry={ask} />
    </Card>
  );
}

const Card = ({ children }: { readonly children: ComponentChildren }) => (
  <main class="sign-in">
    <div class="card">
      <h1 class="brand">
        <Logo />
        Sonde
      </h1>
      {children}
    </div>
  </main>
);
