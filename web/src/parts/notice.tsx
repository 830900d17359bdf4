// Shown instead of a page's contents.
import type { ComponentChildren } from "preact";
import { ApiError } from "../api.ts";

/** Tells whether trying again may help: not if something is missing or forbidden. */
const mayPass = (error: Error): boolean =>
  !(error instanceof ApiError && [403, 404].includes(error.status));

/** Shows the error, in the API's words. */
export const Fault = ({
  error,
  retry,
}: {
  readonly error: Error | null;
  readonly retry?: () => unknown;
}) =>
  error && (
    <div class="notice fail" role="alert">
      <span>{error.message}</span>
      {retry && mayPass(error) && (
        <button class="button" type="button" onClick={() => void retry()}>
          Try again
        </button>
      )}
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
