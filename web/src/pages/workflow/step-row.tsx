// A call in the order of a workflow, with the controls that move and remove it.
import type { ComponentChildren } from "preact";
import type { Call } from "../../../../src/model/call.ts";
import { CallText } from "../../parts/call-text.tsx";

interface StepRowProps {
  readonly at: number;
  readonly count: number;
  /** Whether the workflow has the call more than once. */
  readonly isRepeated: boolean;
  /** Null: a call that the reader may not see. Undefined: not read yet. */
  readonly call: Call | null | undefined;
  readonly fault: string | undefined;
  readonly handle: object;
  /** Pixels, while it is dragged. */
  readonly draggedBy: number | undefined;
  /** The edge at which a dragged row would be dropped. */
  readonly edge: "before" | "after" | undefined;
  readonly onMove: (to: number) => void;
  readonly onRemove: () => void;
}

export function StepRow(props: StepRowProps) {
  const { at, count, isRepeated, call, fault, handle, draggedBy, edge, onMove, onRemove } = props;
  const place = `call ${at + 1}`;
  const name = call ? call.meta.name + (isRepeated ? ` (${place})` : "") : place;
  const press = (event: KeyboardEvent): void => {
    const onHandle = (event.target as HTMLElement).dataset["control"] === "handle";
    if (!event.altKey && !onHandle) return;
    if (event.key === "ArrowUp") onMove(at - 1);
    else if (event.key === "ArrowDown") onMove(at + 1);
    else return;
    event.preventDefault();
  };
  return (
    <li
      class={["step", edge && `drop-${edge}`, draggedBy !== undefined && "dragged"]
        .filter(Boolean)
        .join(" ")}
      style={draggedBy === undefined ? {} : { transform: `translateY(${draggedBy}px)` }}
      onKeyDown={press}
    >
      <button
        class="grip"
        type="button"
        data-control="handle"
        aria-label={`Move ${name}: drag it, or use the up and down arrow keys`}
        {...handle}
      >
        <Icon path="M5.5 3v.01M10.5 3v.01M5.5 8v.01M10.5 8v.01M5.5 13v.01M10.5 13v.01" />
      </button>
      <span class="place" aria-hidden="true">
        {at + 1}
      </span>
      <div class="what">
        <CallText call={call} />
        {fault && (
          <span class="fault" role="alert">
            {fault}
          </span>
        )}
      </div>
      <Moves {...{ name, at, count, onMove, onRemove }} />
    </li>
  );
}

type MovesProps = Pick<StepRowProps, "at" | "count" | "onMove" | "onRemove">;

const Moves = ({ name, at, count, onMove, onRemove }: MovesProps & { readonly name: string }) => (
  <div class="moves">
    <RowButton
      control="up"
      label={`Move ${name} up`}
      isOff={at === 0}
      onClick={() => onMove(at - 1)}
    >
      <Icon path="M8 13V3M3.5 7.5 8 3l4.5 4.5" />
    </RowButton>
    <RowButton
      control="down"
      label={`Move ${name} down`}
      isOff={at === count - 1}
      onClick={() => onMove(at + 1)}
    >
      <Icon path="M8 3v10M3.5 8.5 8 13l4.5-4.5" />
    </RowButton>
    <RowButton control="remove" label={`Remove ${name}`} onClick={onRemove}>
      <Icon path="M4 4l8 8M12 4l-8 8" />
    </RowButton>
  </div>
);

/** Avoids `disabled`, which would lose the focus when a row reaches an end of the list. */
const RowButton = ({
  control,
  label,
  isOff = false,
  onClick,
  children,
}: {
  readonly control: string;
  readonly label: string;
  readonly isOff?: boolean;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
}) => (
  <button
    class="button quiet icon"
    type="button"
    data-control={control}
    aria-label={label}
    aria-disabled={isOff}
    title={label}
    onClick={onClick}
  >
    {children}
  </button>
);

const Icon = ({ path }: { readonly path: string }) => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <path
      d={path}
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
    />
  </svg>
);
