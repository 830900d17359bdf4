// Shown instead of a page that could not be loaded, or failed while shown.
import { Component } from "preact";
import type { ComponentChildren, ComponentType } from "preact";
import { lazy } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { liveState } from "../events.ts";
import { useTitle } from "../title.ts";
import { Loading } from "./notice.tsx";

type Load<Props> = () => Promise<ComponentType<Props>>;

/** Loads the code of a page when it is first opened; if that fails, whenever it may succeed. */
export function page<Props extends object>(load: Load<Props>): ComponentType<Props> {
  return lazy(() => load().catch(() => loadedLater(load)));
}

/** Returns a page that loads itself when it is shown, and when Sonde is reached again. */
function loadedLater<Props extends object>(load: Load<Props>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function LoadedLater(props: Props) {
    const [state, setState] = useState<"first try" | "failed" | "loaded">("first try");
    const isLive = liveState.value === "live";
    useEffect(() => {
      if (loaded || (state === "failed" && !isLive)) return;
      const attempt = async (): Promise<void> => {
        await loadStyles();
        loaded = await load();
      };
      attempt().then(
        () => setState("loaded"),
        () => setState("failed"),
      );
    }, [isLive]);
    const Page = loaded;
    if (Page) return <Page {...props} />;
    return state === "failed" ? <NotLoaded /> : <Loading what="the page" />;
  };
}

/** Style sheets that could not be loaded: Vite asks for each only once. */
const failedStyles = new Set<HTMLLinkElement>();
addEventListener(
  "error",
  ({ target }) => {
    if (target instanceof HTMLLinkElement && target.rel === "stylesheet") failedStyles.add(target);
  },
  { capture: true },
);

async function loadStyles(): Promise<void> {
  const links = [...failedStyles];
  failedStyles.clear();
  await Promise.all(
    links.map(
      (link) =>
        new Promise((resolve, reject) => {
          const again = link.cloneNode() as HTMLLinkElement;
          again.addEventListener("load", resolve);
          again.addEventListener("error", reject);
          link.replaceWith(again);
        }),
    ),
  );
}

/** An update of Sonde replaces the files of its pages. */
const NotLoaded = () => (
  <PageFault title="This page could not be loaded">
    Sonde cannot be reached, or has been updated since.
  </PageFault>
);

interface BoundaryProps {
  readonly path: string;
  readonly children: ComponentChildren;
}

/** Recovers when the reader goes to another page. */
export class PageBoundary extends Component<BoundaryProps, { readonly error: Error | null }> {
  static override getDerivedStateFromError = (error: Error) => ({ error });

  override state = { error: null };

  override componentDidUpdate({ path }: BoundaryProps): void {
    if (this.state.error && path !== this.props.path) this.setState({ error: null });
  }

  override render({ children }: BoundaryProps, { error }: { readonly error: Error | null }) {
    return error ? <PageFault title="This page has failed">{error.message}</PageFault> : children;
  }
}

interface PageFaultProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

function PageFault({ title, children }: PageFaultProps) {
  useTitle(title);
  return (
    <div class="empty" role="alert">
      <h1>{title}</h1>
      <p>{children}</p>
      <button class="button" type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </div>
  );
}
