// One Authentication Setting: a form for its owner, facts for others.
import type { ShownAuthSetting } from "../../../../src/model/auth-setting.ts";
import type { Call } from "../../../../src/model/call.ts";
import type { Token } from "../../../../src/model/token.ts";
import { pathOf } from "../../address.ts";
import type { List } from "../../api.ts";
import { announce } from "../../announcement.tsx";
import { DeleteButton } from "../../parts/delete-button.tsx";
import { NeedsLevel } from "../../parts/needs-level.tsx";
import { Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { invalidate, useRead, useVersioned } from "../../queries.ts";
import { has, mayChange } from "../../session.ts";
import "../../styles/settings.css";
import { SettingFacts } from "./setting-facts.tsx";
import { SettingForm } from "./setting-form.tsx";
import { useRouteFromHere } from "../../shown.ts";

const ABOVE = { to: "settings", name: "Authentication" };

export function SettingPage({ params }: { readonly params: { readonly id: string } }) {
  return params.id === "new" ? <NewSetting /> : <StoredSetting key={params.id} id={params.id} />;
}

function NewSetting() {
  const route = useRouteFromHere();
  const saved = async ({ id, meta }: ShownAuthSetting): Promise<void> => {
    await invalidate(["settings"]);
    announce(`Created the setting "${meta.name}"`);
    route(pathOf(`settings/${id}`), true);
  };
  return (
    <>
      <PageHead title="New authentication setting" above={ABOVE} />
      {has("EDITOR") ? (
        <SettingForm stored={undefined} onSaved={saved} />
      ) : (
        <NeedsLevel level="EDITOR" does="create settings" />
      )}
    </>
  );
}

type Shown = ShownAuthSetting & { readonly unreadable?: true };

function StoredSetting({ id }: { readonly id: string }) {
  const { data, error, refetch } = useVersioned<Shown>(
    ["settings", "stored", id],
    `auth/${encodeURIComponent(id)}/`,
  );
  const route = useRouteFromHere();
  if (!data)
    return (
      <>
        <PageHead title="Authentication setting" above={ABOVE} />
        <Fault error={error} retry={refetch} />
        {!error && <Loading what="the setting" />}
      </>
    );
  const { meta, unreadable } = data.object;
  const isWritable = mayChange(data);
  const deleted = async (): Promise<void> => {
    route(pathOf("settings"), true);
    await invalidate(["settings"]);
  };
  const saved = async (): Promise<void> => {
    announce("Saved");
    await invalidate(["settings"], ["tokens"]);
  };
  return (
    <>
      <PageHead title={meta.name} above={ABOVE} note={meta.description}>
        {isWritable && (
          <DeleteButton
            what={`the setting "${meta.name}"`}
            path={`auth/${id}/`}
            consequence="It can be deleted only if none of your calls or tokens use it. Other owners' calls that use it will no longer be made."
            onDeleted={deleted}
          />
        )}
      </PageHead>
      {unreadable && (
        <Fault
          error={new Error("The secrets of this setting cannot be decrypted: a key is missing.")}
        />
      )}
      <UsesOf id={id} />
      {isWritable ? (
        <SettingForm stored={data} onSaved={saved} />
      ) : (
        <SettingFacts setting={data.object} />
      )}
    </>
  );
}

function UsesOf({ id }: { readonly id: string }) {
  const calls = useRead<List<Call>>(["calls", "auth", id], `calls/auth/${id}/?limit=20`);
  const tokens = useRead<List<Token>>(["tokens", "auth", id], `tokens/auth/${id}/?limit=20`);
  return (
    <section class="card" aria-label="Used by">
      <dl class="facts wide">
        <Uses
          title="Tokens"
          list={tokens.data}
          linkOf={() => `tokens?setting=${id}`}
          none="None yet"
        />
        <Uses
          title="Calls"
          list={calls.data}
          linkOf={(call) => `calls/${call.id}`}
          none="No call uses it"
        />
      </dl>
    </section>
  );
}

function Uses<T extends { readonly id: string; readonly meta: { readonly name: string } }>({
  title,
  list,
  linkOf,
  none,
}: {
  readonly title: string;
  readonly list: List<T> | undefined;
  readonly linkOf: (one: T) => string;
  readonly none: string;
}) {
  return (
    <div>
      <dt>{title}</dt>
      <dd class="row">
        {list?.results.map((one) => (
          <a key={one.id} href={linkOf(one)}>
            {one.meta.name}
          </a>
        ))}
        {list?.meta.more && "and more"}
        {list?.results.length === 0 && <span class="muted">{none}</span>}
      </dd>
    </div>
  );
}
