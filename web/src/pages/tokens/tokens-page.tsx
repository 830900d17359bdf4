// The tokens of the signed-in user.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ShownAuthSetting } from "../../../../src/model/auth-setting.ts";
import { useAddress } from "../../address.ts";
import { useAll, useList } from "../../lists.ts";
import { now } from "../../now.ts";
import { DeleteButton } from "../../parts/delete-button.tsx";
import { Empty, Fault, Loading } from "../../parts/notice.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { SearchedList } from "../../parts/searched-list.tsx";
import { State } from "../../parts/state.tsx";
import { Time } from "../../parts/time.tsx";
import { invalidate } from "../../queries.ts";
import { has } from "../../session.ts";
import "../../styles/settings.css";
import { AUTH_TYPES } from "../../auth-types.ts";
import { TokenForm } from "./token-form.tsx";
import { stateOf } from "./token-state.ts";
import type { ShownToken } from "./token-state.ts";

/** Sonde renews a new token within a minute of its creation. */
const READ_EVERY_MS = 30_000;

const changed = (): Promise<unknown> => invalidate(["tokens"], ["settings"]);

const useSettings = () => useAll<ShownAuthSetting>(["settings", "all"], "auth/");

export function TokensPage() {
  const [query] = useAddress();
  const authId = query["setting"] ?? "";
  const [edited, setEdited] = useState<ShownToken | "new" | null>(null);
  const settings = useSettings();
  const path = authId === "" ? "tokens/" : `tokens/auth/${encodeURIComponent(authId)}/`;
  const list = useList<ShownToken>(["tokens", authId], path, { everyMs: READ_EVERY_MS });
  const { rows, error, refetch } = list;
  const all = settings.data ?? [];
  const of = all.find(({ id }) => id === authId);
  const add = has("EDITOR") && all.length > 0 && (
    <button class="button primary" type="button" onClick={() => setEdited("new")}>
      New token
    </button>
  );
  return (
    <>
      <PageHead
        title={of ? `Tokens of ${of.meta.name}` : "Tokens"}
        {...(of && { above: { to: "tokens", name: "Tokens" } })}
        note="Credentials for the calls that name them. Only you see them."
      >
        {add}
      </PageHead>
      <Fault error={error} retry={refetch} />
      <Fault error={settings.error} retry={settings.refetch} />
      {!rows && !error && <Loading what="tokens" />}
      {rows?.length === 0 && (
        <NoTokens add={add} lacksSetting={settings.data !== undefined && all.length === 0} />
      )}
      {rows && rows.length > 0 && (
        <SearchedList
          list={list}
          noun="token"
          by="name or domain"
          texts={({ meta }) => [meta.name, meta.domain]}
        >
          {(found) => (
            <TokenTable
              tokens={found}
              settings={settings.data}
              onEdit={(token) => setEdited(token)}
            />
          )}
        </SearchedList>
      )}
      {edited && (
        <TokenForm
          stored={edited === "new" ? undefined : edited}
          settings={all}
          authId={authId || (all[0]?.id ?? "")}
          onSaved={changed}
          onClose={() => setEdited(null)}
        />
      )}
    </>
  );
}

interface NoTokensProps {
  readonly add: ComponentChildren;
  readonly lacksSetting: boolean;
}

const NoTokens = ({ add, lacksSetting }: NoTokensProps) => (
  <Empty title="No tokens yet">
    <p>A token belongs to an authentication setting. {lacksSetting && "Create a setting first."}</p>
    {add || (
      <a class="button" href="settings">
        Go to the settings
      </a>
    )}
  </Empty>
);

interface TokenTableProps {
  readonly tokens: readonly ShownToken[];
  /** Undefined: not known. */
  readonly settings: readonly ShownAuthSetting[] | undefined;
  readonly onEdit: (token: ShownToken) => void;
}

const TokenTable = ({ tokens, settings, onEdit }: TokenTableProps) => (
  <div class="scroll-x">
    <table class="middle blocks">
      <caption class="visually-hidden">Tokens</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Setting</th>
          <th scope="col">Type</th>
          <th scope="col">State</th>
          <th scope="col">Last change</th>
          {has("EDITOR") && (
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <TokenRow key={token.id} token={token} settings={settings} onEdit={onEdit} />
        ))}
      </tbody>
    </table>
  </div>
);

function TokenRow({
  token,
  settings,
  onEdit,
}: Pick<TokenTableProps, "settings" | "onEdit"> & { readonly token: ShownToken }) {
  const { id, meta } = token;
  const setting = settings?.find((one) => one.id === meta.auth_id);
  const { tone, word, note } = stateOf(token, setting, now());
  return (
    <tr>
      <th scope="row" class="name whole">
        {meta.name}
      </th>
      <td class="name whole" data-label="Setting">
        {setting ? (
          <a href={`settings/${setting.id}`}>{setting.meta.name}</a>
        ) : (
          settings && <span class="muted">no longer shared with you</span>
        )}
        <div class="mono small muted">{meta.domain}</div>
      </td>
      <td data-label="Type">{AUTH_TYPES[meta.auth_type].name}</td>
      <td class="name">
        <State tone={tone} word={word} />
        {settings && note && <div class="small muted">{note}</div>}
      </td>
      <td class="whole" data-label="Last change">
        <Time at={meta.last_update} />
      </td>
      {has("EDITOR") && (
        <td class="whole">
          <div class="row keep">
            <button class="button" type="button" onClick={() => onEdit(token)}>
              Edit<span class="visually-hidden"> {meta.name}</span>
            </button>
            <DeleteButton
              what={`the token "${meta.name}"`}
              path={`tokens/${id}/`}
              consequence="It can be deleted only if none of your calls use it."
              onDeleted={changed}
            />
          </div>
        </td>
      )}
    </tr>
  );
}
