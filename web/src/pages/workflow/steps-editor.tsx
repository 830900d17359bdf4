// The calls of a workflow in their order: added from a list, moved by dragging or by keys, removed.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Call } from "../../../../src/model/call.ts";
import { movedTo } from "../../order.ts";
import { announce } from "../../announcement.tsx";
import { Combobox } from "../../parts/combobox.tsx";
import { useCalls, useRunnableCalls } from "../../call-names.ts";
import { dropEdge, useDragOrder } from "./drag-order.ts";
import { withStep } from "./draft.ts";
import type { Step } from "./draft.ts";
import { StepRow } from "./step-row.tsx";

interface StepsEditorProps {
  readonly steps: readonly Step[];
  readonly onChange: (steps: readonly Step[]) => void;
  /** Returns what is wrong with the call at this index. */
  readonly faultAt: (step: number) => string | undefined;
}

export function StepsEditor({ steps, onChange, faultAt }: StepsEditorProps) {
  const list = useRef<HTMLOListElement>(null);
  const [isChoosing, setChoosing] = useState(false);
  const choices = useRunnableCalls(isChoosing);
  const calls = useNames(steps, choices);
  const nameAt = (at: number): string => nameOf(calls(steps[at]?.callId));
  const focusAfter = useFocusAfterMove(list, steps);
  const move = (from: number, to: number): void => {
    if (to < 0 || to >= steps.length) {
      announce(`${nameAt(from)} is already ${to < 0 ? "first" : "last"}`);
      return;
    }
    focusAfter(steps[from]?.key);
    onChange(movedTo(steps, from, to));
    announce(`${nameAt(from)} is now call ${to + 1} of ${steps.length}`);
  };
  const remove = (at: number): void => {
    focusAfter(steps[at + 1]?.key ?? steps[at - 1]?.key);
    onChange(steps.toSpliced(at, 1));
    announce(`${nameAt(at)} is removed`);
  };
  const { drag, handle } = useDragOrder(list, move);
  return (
    <>
      {steps.length === 0 && (
        <p class="muted">No calls yet. Add the first one below: they run from top to bottom.</p>
      )}
      <ol class="steps" ref={list}>
        {steps.map(({ key, callId }, at) => (
          <StepRow
            key={key}
            {...{ at, fault: faultAt(at), call: calls(callId), count: steps.length }}
            isRepeated={steps.some((other) => other.key !== key && other.callId === callId)}
            handle={handle(at)}
            draggedBy={drag?.from === at ? drag.by : undefined}
            edge={drag ? dropEdge(drag, at) : undefined}
            onMove={(to) => move(at, to)}
            onRemove={() => remove(at)}
          />
        ))}
      </ol>
      <Combobox
        label="Add a call"
        placeholder="Search by name, method or URL"
        hint="Added at the end. A call may appear more than once."
        options={choices?.map(optionOf)}
        onOpen={() => setChoosing(true)}
        onChoose={({ id, name }) => {
          onChange(withStep(steps, id));
          announce(`${name} is now call ${steps.length + 1} of ${steps.length + 1}`);
        }}
      />
    </>
  );
}

const optionOf = ({ id, meta, request }: Call) => ({
  id,
  name: meta.name,
  note: `${request.method} ${request.url}`,
});

/** Null: a call that the reader may not see. */
const nameOf = (call: Call | null | undefined): string => call?.meta.name ?? "This call";

/** Returns a lookup of the calls that the workflow has or had, and of those that can be added. */
function useNames(steps: readonly Step[], choices: readonly Call[] | undefined) {
  const choiceOf = (id: string | undefined) => choices?.find((call) => call.id === id);
  // Only grows: a step that is removed here reads no name again.
  const others = useRef(new Set<string>());
  for (const { callId } of steps) if (!choiceOf(callId)) others.current.add(callId);
  const known = useCalls([...others.current]);
  return (id: string | undefined): Call | null | undefined => choiceOf(id) ?? known?.get(id ?? "");
}

/**
 * Keeps the focus on a row's control when rows move: browsers drop it when an element is moved.
 * Returns a function that takes the key of the row to focus; undefined: the field that adds one.
 */
function useFocusAfterMove(list: { readonly current: HTMLElement | null }, steps: readonly Step[]) {
  const wanted = useRef<{ readonly key: number | undefined; readonly control: string } | null>(
    null,
  );
  useLayoutEffect(() => {
    if (!wanted.current) return;
    const { key, control } = wanted.current;
    const row = list.current?.children[steps.findIndex((step) => step.key === key)];
    const next =
      key === undefined
        ? list.current?.nextElementSibling?.querySelector("input")
        : row?.querySelector<HTMLElement>(`[data-control="${control}"]`);
    next?.focus();
    wanted.current = null;
  }, [steps]);
  return (key: number | undefined): void => {
    const focused = document.activeElement as HTMLElement | null;
    const control = focused?.dataset["control"] ?? "handle";
    wanted.current = { key, control };
  };
}
