// Shown instead of a page that could not be loaded, or failed while shown.
import { Component } from "preact";
import type { ComponentChildren, ComponentType } from "preact";
import { lazy } from "preact-iso";

/** Loads the code of a page when it is first opened. */
export function page<Props>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return lazy(() => load().catch(() => NotLoaded));
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

const PageFault = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) => (
  <div class="empty" role="alert">
    <h1>{title}</h1>
    <p>{children}</p>
    <button class="button" type="button" onClick={() => location.reload()}>
      Reload
    </button>
  </div>
);
