// Reads the outcome of a run as soon as it is recorded.
import { useEffect } from "preact/hooks";
import { onResult } from "./events.ts";
import { useRead } from "./queries.ts";
import { isEnded, outcomeKey, outcomePath } from "./runs.ts";
import type { Outcome, TargetKind } from "./runs.ts";

/** In case no event arrives, such as while the stream is broken. */
const ASK_EVERY_MS = 5000;

export function useOutcome<T extends Outcome>(kind: TargetKind, id: string) {
  const read = useRead<T>(outcomeKey(kind, id), outcomePath(kind, id), {
    everyMs: (last) => (isEnded(last) ? undefined : ASK_EVERY_MS),
  });
  const { refetch } = read;
  useEffect(() => onResult(({ result_id }) => void (result_id === id && refetch())), [id, refetch]);
  return read;
}
