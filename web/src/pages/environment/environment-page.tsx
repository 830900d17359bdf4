// Environment variables: workspaces, and the variables of one of them. Values are never shown.
import { useState } from "preact/hooks";
import { pathOf, useAddress } from "../../address.ts";
import { withQuery } from "../../api.ts";
import { useList } from "../../lists.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { DeleteButton } from "../../parts/delete-button.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { Empty, Fault, Loading } from "../../parts/notice.tsx";
import { formatCount } from "../../number.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { Time } from "../../parts/time.tsx";
import { invalidate } from "../../queries.ts";
import { has, session } from "../../session.ts";
import "../../styles/environment.css";
import { VariableForm } from "./variable-form.tsx";
import { variablePath } from "./variable.ts";
import type { ShownVariable } from "./variable.ts";
import { useRouteFromHere } from "../../shown.ts";

/** Runs look here if they name no workspace, or theirs has no such variable. */
const GLOBAL = "global";

interface Workspace {
  readonly workspace: string;
  readonly variables: number;
}

const changed = (): Promise<unknown> => invalidate(["environment"]);

export function EnvironmentPage() {
  const [query] = useAddress();
  const route = useRouteFromHere();
  const chosen = query["workspace"] ?? GLOBAL;
  const [edited, setEdited] = useState<ShownVariable | "new" | null>(null);
  const workspaces = useList<Workspace>(["environment"], "environment/");
  const saved = async (workspace: string, isDone: boolean): Promise<void> => {
    await changed();
    if (isDone && workspace !== chosen) route(urlOf(workspace));
  };
  return (
    <>
      <PageHead title="Environment" note={<Hint />}>
        {has("EDITOR") && (
          <button class="button primary" type="button" onClick={() => setEdited("new")}>
            New variable
          </button>
        )}
      </PageHead>
      <Fault error={workspaces.error} retry={workspaces.refetch} />
      <div class="environment">
        <Workspaces list={workspaces} chosen={chosen} />
        <Variables
          key={chosen}
          workspace={chosen}
          onNew={() => setEdited("new")}
          onEdit={setEdited}
        />
      </div>
      {edited && (
        <VariableForm
          stored={edited === "new" ? undefined : edited}
          workspace={chosen}
          onSaved={saved}
          onClose={() => setEdited(null)}
        />
      )}
    </>
  );
}

const urlOf = (workspace: string): string => withQuery(pathOf("environment"), { workspace });

/** A name may consist of spaces only. */
const shown = (workspace: string): string => (workspace.trim() === "" ? "(blank)" : workspace);

const Hint = () => (
  <p>
    A call uses a variable as <code>{"{{name}}"}</code> in its URL, parameters, headers and body. A
    run looks in the workspace that its context names as <code>WORKSPACE</code>, then in{" "}
    <code>{GLOBAL}</code>.
    {session.value?.org && ` Everyone in ${session.value.org} uses the same variables.`}
  </p>
);

function Workspaces({
  list,
  chosen,
}: {
  readonly list: ReturnType<typeof useList<Workspace>>;
  readonly chosen: string;
}) {
  const { rows } = list;
  const known = rows ?? [];
  // Not in the list: it has only those with variables, page by page.
  const empty = [...new Set([GLOBAL, chosen])]
    .filter((name) => known.every(({ workspace }) => workspace !== name))
    .map((workspace) => ({ workspace, variables: list.hasMore ? undefined : 0 }));
  const all = [...empty, ...known];
  return (
    <nav class="card" aria-label="Workspaces">
      <h2>Workspaces</h2>
      <ul>
        {all.map(({ workspace, variables }) => (
          <li key={workspace}>
            <a href={urlOf(workspace)} aria-current={workspace === chosen ? "page" : undefined}>
              <span class="name">{shown(workspace)}</span>
              <span class="number muted">
                {rows && variables !== undefined && formatCount(variables)}
              </span>
            </a>
          </li>
        ))}
      </ul>
      <MoreButton list={list} />
    </nav>
  );
}

function Variables({
  workspace,
  onNew,
  onEdit,
}: {
  readonly workspace: string;
  readonly onNew: () => void;
  readonly onEdit: (variable: ShownVariable) => void;
}) {
  const path = `environment/${encodeURIComponent(workspace)}`;
  const list = useList<ShownVariable>(["environment", workspace], path);
  const { rows, error, refetch } = list;
  return (
    <section class="card" aria-labelledby="workspace">
      <h2 id="workspace" class="name">
        {shown(workspace)}
      </h2>
      <Fault error={error} retry={refetch} />
      {!rows && !error && <Loading what="variables" />}
      {rows?.length === 0 && (
        <Empty title="No variables here yet">
          <p>
            Put what differs between environments, such as a host or a password, into variables:
            their values are stored encrypted, and masked in results.
          </p>
          {has("EDITOR") && (
            <button class="button" type="button" onClick={onNew}>
              Add the first variable
            </button>
          )}
        </Empty>
      )}
      {rows && rows.length > 0 && (
        <div class="scroll-x">
          <table class="middle blocks">
            <thead>
              <tr>
                <th scope="col">Variable, as calls use it</th>
                <th scope="col">Value</th>
                <th scope="col">Last change</th>
                <th scope="col">
                  <span class="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((variable) => (
                <VariableRow key={variable.id} variable={variable} onEdit={onEdit} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <MoreButton list={list} />
    </section>
  );
}

function VariableRow({
  variable,
  onEdit,
}: {
  readonly variable: ShownVariable;
  readonly onEdit: (variable: ShownVariable) => void;
}) {
  const {
    meta: { workspace, updated },
    workspace_variable: { name },
    unreadable,
  } = variable;
  const reference = `{{${name}}}`;
  return (
    <tr>
      <th scope="row" class="name whole">
        <div class="row keep reference">
          <code>{reference}</code>
          <CopyButton text={reference} what={reference} />
        </div>
      </th>
      <td class="muted whole" data-label="Value">
        {unreadable ? "cannot be decrypted: a key is missing" : "hidden"}
      </td>
      <td class="whole" data-label="Last change">
        <Time at={updated} />
      </td>
      <td class="whole">
        <div class="row keep end">
          {has("EDITOR") && (
            <>
              <button class="button" type="button" onClick={() => onEdit(variable)}>
                Change<span class="visually-hidden"> {name}</span>
              </button>
              <DeleteButton
                what={`the variable ${name}`}
                path={variablePath(workspace, name)}
                consequence="Calls that use it will send the placeholder as written, and their results say so."
                onDeleted={changed}
              />
            </>
          )}
        </div>
      </td>
    </tr>
  );
}
