// Shown instead of a page's contents.
import type { ComponentChildren } from "preact";
import { ApiError } from "../api.ts";

/** Tells whether trying again may help: not if something is wrong, missing or forbidden. */
const mayPass = (error: Error): boolean =>
  !(error instanceof ApiError && [400, 403, 404].includes(error.status));

interface FaultProps {
  readonly error: Error | null;
  readonly retry?: () => unknown;
  /** Offered where the request itself is wrong. */
  readonly remedy?: ComponentChildren;
}

/** Shows the error, in the API's words. */
export const Fault = ({ error, retry, remedy }: FaultProps) =>
  error && (
    <div class="notice fail" role="alert">
      <span>{error.message}</span>
      {retry && mayPass(error) && (
        <button class="button" type="button" onClick={() => void retry()}>
          Try again
        </button>
      )}
      {error instanceof ApiError && error.status === 400 && remedy}
    </div>
  );

/** Says that nothing is there yet, and what to do next. */
export const Empty = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
);

export const Loading = ({ what }: { readonly what: string }) => (
  <p class="muted" role="status">
    Loading {what} …
  </p>
);
