// The frame of every page: the menu with the current page, settings, and the signed-in user.
import type { ComponentChildren } from "preact";
import type { AccessLevel } from "../../src/model/access.ts";
import { useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { liveState } from "./events.ts";
import { focusMain } from "./focus.ts";
import { leaving } from "./history-guard.ts";
import { announce, Announcement } from "./announcement.tsx";
import { CheckField } from "./parts/field.tsx";
import { Logo } from "./parts/logo.tsx";
import { PageBoundary } from "./parts/page-fault.tsx";
import { chooseLocalTime, isLocalTime } from "./parts/time.tsx";
import { has, session, signOut } from "./session.ts";
import { chooseTheme, THEMES, theme } from "./theme.ts";
import type { Theme } from "./theme.ts";

interface Place {
  readonly to: string;
  readonly name: string;
  /** Lower levels do not see the link; VIEWER by default. */
  readonly level?: AccessLevel;
}

const PLACES: readonly { readonly title: string; readonly places: readonly Place[] }[] = [
  {
    title: "Monitor",
    places: [
      { to: "calls", name: "Calls" },
      { to: "workflows", name: "Workflows" },
      { to: "insights", name: "Insights" },
      { to: "reports", name: "Reports" },
      { to: "locations", name: "Locations" },
    ],
  },
  {
    title: "Configure",
    places: [
      { to: "settings", name: "Authentication" },
      { to: "tokens", name: "Tokens" },
      { to: "environment", name: "Environment" },
      { to: "keys", name: "API keys", level: "OWNER" },
      { to: "audit", name: "Audit", level: "OWNER" },
    ],
  },
];

/** Pages that belong to a place with another name. */
const WITHIN: Readonly<Record<string, string>> = {
  results: "calls",
  "workflow-results": "workflows",
};

export function Layout({ children }: { readonly children: ComponentChildren }) {
  const { path } = useLocation();
  const [isOpen, setOpen] = useState(false);
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    setOpen(false); // the menu of a narrow screen
    focusMain();
  }, [path]);
  const skip = (event: Event): void => {
    event.preventDefault(); // a link to `#main` would lead to the document's base
    focusMain();
  };
  return (
    <div class="frame">
      <div class={isOpen ? "side open" : "side"}>
        <header class="row bar">
          <a class="skip" href="calls" onClick={skip}>
            Skip to the content
          </a>
          <a class="brand" href="calls">
            <Logo />
            Sonde
          </a>
          <button
            class="button quiet menu"
            type="button"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            Menu
          </button>
          <NotLive />
        </header>
        <Places path={path} />
        <SideFooter />
      </div>
      <main id="main" tabIndex={-1}>
        <PageBoundary path={path}>{children}</PageBoundary>
      </main>
      <Announcement />
    </div>
  );
}

function Places({ path }: { readonly path: string }) {
  const first = path.slice(new URL(document.baseURI).pathname.length).split("/", 1)[0] || "calls";
  const here = WITHIN[first] ?? first;
  return (
    <nav aria-label="Pages">
      {PLACES.map(({ title, places }) => (
        <>
          <h2>{title}</h2>
          <ul>
            {places
              .filter(({ level = "VIEWER" }) => has(level))
              .map(({ to, name }) => (
                <li>
                  <a href={to} aria-current={to === here ? "page" : undefined}>
                    {name}
                  </a>
                </li>
              ))}
          </ul>
        </>
      ))}
    </nav>
  );
}

const THEME_NAMES: Readonly<Record<Theme, string>> = {
  system: "System",
  light: "Light",
  dark: "Dark",
};

const LIVE_WORDS = { off: "Paused", live: "Live", reconnecting: "Reconnecting …" } as const;

/** Shows whether the page is live. */
const Live = () => (
  <span class={`live-state ${liveState.value}`} role="status">
    {LIVE_WORDS[liveState.value]}
  </span>
);

/** For narrow windows, whose menu hides `Live`. */
const NotLive = () => (liveState.value === "reconnecting" ? <Live /> : null);

function SideFooter() {
  const { owner, org, access_level } = session.value ?? {};
  return (
    <footer>
      <Live />
      <label class="field">
        Theme
        <select
          value={theme.value}
          onChange={({ currentTarget }) =>
            chooseTheme(THEMES.find((one) => one === currentTarget.value) ?? "system")
          }
        >
          {THEMES.map((one) => (
            <option value={one}>{THEME_NAMES[one]}</option>
          ))}
        </select>
      </label>
      <CheckField
        label="Local time instead of UTC"
        value={isLocalTime.value}
        onChange={chooseLocalTime}
      />
      <a href="docs">Documentation</a>
      <span>
        {owner}
        {org ? ` of ${org}` : ""} <span class="muted">({access_level} key)</span>
      </span>
      <button class="button" type="button" onClick={() => leaving(() => void leave())}>
        Sign out
      </button>
    </footer>
  );
}

const leave = (): Promise<void> =>
  signOut().catch(({ message }: Error) => announce(`You are still signed in. ${message}`));
