// A call of a workflow in two lines: its name, then its method and URL.
import type { Call } from "../../../src/model/call.ts";

export const CallText = ({
  call,
}: {
  /** Null: a call that the reader may not see. Undefined: not read yet. */
  readonly call: Call | null | undefined;
}) => {
  if (call === undefined) return <span class="muted">Loading …</span>;
  if (call === null) return <span class="muted">A call that is not shared with you.</span>;
  const { id, meta, request } = call;
  return (
    <>
      <a href={`calls/${id}`}>{meta.name}</a>
      <span class="muted small mono">
        {request.method} {request.url}
      </span>
    </>
  );
};
