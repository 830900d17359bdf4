// A run's context, as its result keeps it.
import type { Context } from "../../../../src/model/context.ts";
import type { WorkflowOutcome } from "../../runs.ts";

interface ContextCardProps {
  readonly run: WorkflowOutcome;
  /** Whether the reader may see a context. */
  readonly mayRead: boolean;
}

export function ContextCard({ run: { meta, context }, mayRead }: ContextCardProps) {
  const values = Object.entries(context ?? {});
  return (
    <section class="card" aria-labelledby="context">
      <h2 id="context">Context</h2>
      {values.length > 0 ? (
        <ContextTable context={values} />
      ) : (
        <NoContext trigger={meta.trigger} mayRead={mayRead} />
      )}
    </section>
  );
}

interface NoContextProps extends Pick<ContextCardProps, "mayRead"> {
  readonly trigger: WorkflowOutcome["meta"]["trigger"];
}

const NoContext = ({ trigger, mayRead }: NoContextProps) => (
  <>
    <p class="muted">
      {trigger === "SCHEDULE"
        ? "Scheduled runs have no context."
        : mayRead
          ? "The run had no context, or its context is no longer kept."
          : "Only people who may run the workflow see its runs' context."}
    </p>
    <p class="muted small">
      To pass values to a run, add them under "Context values" when you run the workflow, or as{" "}
      <code>context</code> in the request that runs it. Its calls use them as <code>%%NAME%%</code>.
    </p>
  </>
);

const ContextTable = ({ context }: { readonly context: readonly [string, unknown][] }) => (
  <>
    <div class="scroll-x">
      <table class="context">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {context.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">
                <span class="mono">{name}</span>
              </th>
              <td class="mono">{textOf(value) || <span class="muted">empty</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    <p class="muted small">
      Every call of the run could use these as <code>%%NAME%%</code>. Credentials are masked.
    </p>
  </>
);

const textOf = (value: Context[string]): string =>
  typeof value === "string" ? value : JSON.stringify(value);
