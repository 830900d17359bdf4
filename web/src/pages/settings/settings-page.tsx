// The list of Authentication Settings.
import type { ShownAuthSetting } from "../../../../src/model/auth-setting.ts";
import type { Token } from "../../../../src/model/token.ts";
import { useAll, useList } from "../../lists.ts";
import { NeedsLevel } from "../../parts/needs-level.tsx";
import { Empty, Fault, Loading } from "../../parts/notice.tsx";
import { formatCount } from "../../number.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { SearchedList } from "../../parts/searched-list.tsx";
import { Tags } from "../../parts/tags.tsx";
import { has, isMine } from "../../session.ts";
import { AUTH_TYPES } from "../../auth-types.ts";

export function SettingsPage() {
  const list = useList<ShownAuthSetting>(["settings"], "auth/");
  const { rows, error, refetch } = list;
  return (
    <>
      <PageHead title="Authentication" note="How calls to a domain authenticate.">
        {has("EDITOR") && (
          <a class="button primary" href="settings/new">
            New setting
          </a>
        )}
      </PageHead>
      <Fault error={error} retry={refetch} />
      {!rows && !error && <Loading what="settings" />}
      {rows?.length === 0 && <NoSettings />}
      {rows && rows.length > 0 && (
        <SearchedList
          list={list}
          noun="setting"
          by="name, domain or tag"
          texts={({ meta }) => [meta.name, meta.domain, meta.owner, ...meta.tags]}
        >
          {(found) => <SettingsTable settings={found} />}
        </SearchedList>
      )}
    </>
  );
}

const NoSettings = () => (
  <Empty title="No authentication settings yet">
    <p>
      A setting keeps the credentials for one domain. Calls that name it send them to that domain,
      and nowhere else.
    </p>
    {has("EDITOR") ? (
      <a class="button primary" href="settings/new">
        New setting
      </a>
    ) : (
      <NeedsLevel level="EDITOR" does="create settings" />
    )}
  </Empty>
);

function SettingsTable({ settings }: { readonly settings: readonly ShownAuthSetting[] }) {
  const { data } = useAll<Token>(["tokens", "all"], "tokens/");
  const tokensOf = (id: string) =>
    data && formatCount(data.filter(({ meta }) => meta.auth_id === id).length);
  return (
    <div class="scroll-x">
      <table class="middle blocks">
        <caption class="visually-hidden">Authentication settings</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Domain</th>
            <th scope="col">Type</th>
            <th scope="col">Owner</th>
            <th scope="col">Shared with</th>
            <th scope="col" class="number">
              Your tokens
            </th>
          </tr>
        </thead>
        <tbody>
          {settings.map(({ id, meta, access, settings: { auth_type } }) => (
            <tr key={id}>
              <th scope="row" class="name whole">
                <a href={`settings/${id}`}>{meta.name}</a>
                <Tags tags={meta.tags} />
              </th>
              <td class="mono whole">{meta.domain}</td>
              <td data-label="Type">{AUTH_TYPES[auth_type].name}</td>
              <td data-label="Owner">{isMine(meta) ? "You" : meta.owner}</td>
              <td data-label="Shared with">{sharedWith(access)}</td>
              <td class="number" data-label="Your tokens">
                {tokensOf(id)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Names the widest circle that may read the setting, and whether its keys are shared too. */
export function sharedWith(access: ShownAuthSetting["access"]): string {
  const { settings, keys, org_settings, org_keys } = access;
  if (settings) return keys ? "Everyone, with keys" : "Everyone";
  if (org_settings) return org_keys ? "Organization, with keys" : "Organization";
  return "Nobody";
}
