// The owner's API keys: issues them, shows each once, and revokes them.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { quote } from "shlex";
import { ACCESS_LEVELS } from "../../../src/model/access.ts";
import type { AccessLevel } from "../../../src/model/access.ts";
import { send } from "../api.ts";
import { useSending } from "../form.ts";
import { leaving } from "../history-guard.ts";
import { useList } from "../lists.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { DeleteButton } from "../parts/delete-button.tsx";
import { Dialog, DialogButtons } from "../parts/dialog.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { LeaveGuard } from "../parts/leave-guard.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { NeedsLevel } from "../parts/needs-level.tsx";
import { Fault, Loading } from "../parts/notice.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Time } from "../parts/time.tsx";
import { invalidate } from "../queries.ts";
import { has, readSession, session } from "../session.ts";

interface ApiKey {
  readonly id: string;
  readonly access_level: AccessLevel;
  readonly name: string | null;
  readonly created: string;
}

const MEANINGS: Readonly<Record<AccessLevel, string>> = {
  VIEWER: "VIEWER: reads, sees no secrets",
  EDITOR: "EDITOR: also writes and runs",
  OWNER: "OWNER: also issues and revokes keys",
};

export function KeysPage() {
  const [isIssuing, setIssuing] = useState(false);
  if (!has("OWNER"))
    return (
      <>
        <PageHead title="API keys" />
        <NeedsLevel level="OWNER" does="see, issue and revoke keys" />
      </>
    );
  return (
    <>
      <PageHead
        title="API keys"
        note="Each key acts as its owner. Programs send one with each request."
      >
        <button class="button primary" type="button" onClick={() => setIssuing(true)}>
          Issue a key
        </button>
      </PageHead>
      <KeyTable />
      {isIssuing && <IssueDialog onClose={() => setIssuing(false)} />}
    </>
  );
}

function KeyTable() {
  const list = useList<ApiKey>(["keys"], "api_keys/");
  const isLast = list.rows?.length === 1 && !list.hasMore;
  return (
    <section class="card" aria-label="Active keys">
      <Fault error={list.error} retry={list.refetch} />
      {!list.rows && !list.error && <Loading what="keys" />}
      {list.rows && (
        <div class="scroll-x">
          <table class="middle blocks">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Id</th>
                <th scope="col">Level</th>
                <th scope="col">Issued</th>
                <th scope="col">
                  <span class="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list.rows.map((key) => (
                <KeyRow key={key.id} apiKey={key} isLast={isLast} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <MoreButton list={list} />
    </section>
  );
}

interface KeyRowProps {
  readonly apiKey: ApiKey;
  /** Whether the owner has no other. */
  readonly isLast: boolean;
}

function KeyRow({ apiKey: { id, name, access_level, created }, isLast }: KeyRowProps) {
  const isOwn = id === session.value?.key_id;
  const revoked = async (): Promise<void> => {
    // Revoking the key of the session signs the reader out.
    await (isOwn ? readSession() : invalidate(["keys"]));
  };
  return (
    <tr>
      <th scope="row" class="whole">
        {name ?? <span class="muted">no name</span>}{" "}
        {isOwn && <span class="tag">you are signed in with it</span>}
      </th>
      <td class="whole" data-label="Id">
        <code>{id}</code>
      </td>
      <td data-label="Level">{access_level}</td>
      <td class="whole" data-label="Issued">
        <Time at={created} />
      </td>
      <td class="number whole">
        <DeleteButton
          what={name === null ? `the key ${id}` : `the key ${name} (${id})`}
          path={`api_keys/${encodeURIComponent(id)}/`}
          verb="Revoke"
          consequence={<Consequence isOwn={isOwn} isLast={isLast} />}
          onDeleted={revoked}
        />
      </td>
    </tr>
  );
}

const Consequence = ({ isOwn, isLast }: { readonly isOwn: boolean; readonly isLast: boolean }) => (
  <>
    {isOwn
      ? "You are signed in with this key: you will be signed out at once. Programs that use it are rejected."
      : "Programs that use it are rejected from now on, and its sessions end."}{" "}
    This cannot be undone.
    {isLast && (
      <>
        {" "}
        It is your last key: your deployments stop (UNABLE_TO_RUN) until somebody creates another
        one on the hub with <code>{createCommand()}</code>.
      </>
    )}
  </>
);

/** Creates another key of the same owner. */
function createCommand(): string {
  const { owner, org } = session.value ?? {};
  return `sonde keys create --level OWNER --owner ${quote(owner ?? "")}${org == null ? "" : ` --org ${quote(org)}`}`;
}

function IssueDialog({ onClose }: { readonly onClose: () => void }) {
  const [issued, setIssued] = useState<string>();
  const close = (): void => leaving(onClose);
  return (
    <Dialog title={issued === undefined ? "Issue a key" : "The new key"} onClose={close}>
      {issued === undefined ? (
        <IssueForm onClose={close} onIssued={setIssued} />
      ) : (
        <NewKey apiKey={issued} onClose={close} />
      )}
    </Dialog>
  );
}

/** Of a new key, unless the reader chooses another. */
const LEVEL = "VIEWER";

interface IssueFormProps {
  readonly onClose: () => void;
  readonly onIssued: (apiKey: string) => void;
}

function IssueForm({ onClose, onIssued }: IssueFormProps) {
  const [name, setName] = useState("");
  const [level, setLevel] = useState<AccessLevel>(LEVEL);
  const body = { access_level: level, ...(name !== "" && { name }) };
  const save = async (): Promise<void> => {
    const { api_key } = await send<{ readonly api_key: string }>("POST", "api_keys/", { body });
    onIssued(api_key);
    await invalidate(["keys"]);
  };
  const { isBusy, submit, faultAt, faultBeside } = useSending(save, { body });
  return (
    <form class="stack" onSubmit={submit}>
      <LeaveGuard isChanged={isBusy || name !== "" || level !== LEVEL} />
      <TextField
        label="Name"
        hint="What the key is for, such as Build server."
        value={name}
        onInput={setName}
        fault={faultAt("name")}
      />
      <SelectField
        label="Level"
        value={level}
        choices={ACCESS_LEVELS.map((value) => ({ value, name: MEANINGS[value] }))}
        onChange={setLevel}
      />
      <Fault error={faultBeside("name")} />
      <DialogButtons verb="Issue the key" isBusy={isBusy} onCancel={onClose} />
    </form>
  );
}

interface NewKeyProps {
  readonly apiKey: string;
  readonly onClose: () => void;
}

function NewKey({ apiKey, onClose }: NewKeyProps) {
  const row = useRef<HTMLDivElement>(null);
  const [isCopied, setCopied] = useState(false);
  // The form is gone, and the focus with it.
  useLayoutEffect(() => row.current?.querySelector("button")?.focus(), []);
  return (
    <>
      <LeaveGuard
        isChanged={!isCopied}
        question="Close without copying the key?"
        loss="It is not shown again."
        verb="Close"
      />
      <p>Copy it now: it is shown only once.</p>
      <div class="row" ref={row}>
        <code class="name">{apiKey}</code>
        <CopyButton text={apiKey} label="Copy the key" onCopied={() => setCopied(true)} />
      </div>
      <footer>
        <button class="button primary" type="button" onClick={onClose}>
          Done
        </button>
      </footer>
    </>
  );
}
