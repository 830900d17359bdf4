// The calls of a workflow in their order, read-only.
import { useCalls } from "../call-names.ts";
import { CallText } from "./call-text.tsx";

export function Steps({ callIds }: { readonly callIds: readonly string[] }) {
  const calls = useCalls(callIds);
  return (
    <ol class="steps">
      {callIds.map((id, at) => (
        <li class="step">
          <span class="place" aria-hidden="true">
            {at + 1}
          </span>
          <div class="what">
            <CallText call={calls?.get(id)} />
          </div>
        </li>
      ))}
    </ol>
  );
}
