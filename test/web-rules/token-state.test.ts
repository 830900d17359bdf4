// What the page of tokens says about each.
import { expect, it } from "vitest";
import { AUTH_TYPES } from "../../src/model/auth-setting.ts";
import type { AuthSetting, ShownAuthSetting } from "../../src/model/auth-setting.ts";
import { isRenewable } from "../../src/model/token-renewal.ts";
import type { Token } from "../../src/model/token.ts";
import { stateOf } from "../../web/src/pages/tokens/token-state.ts";

const NOW = Date.UTC(2026, 9, 1);
const GRANTS = ["", "client_credentials", "refresh_token", "password", "authorization_code"];
const REFRESH_TOKENS = [undefined, "", "a secret"];
const ADDRESSES = [null, "https://a.example/token"];

const cases = AUTH_TYPES.flatMap((auth_type) =>
  GRANTS.flatMap((grant_type) =>
    REFRESH_TOKENS.flatMap((refresh_token) =>
      ADDRESSES.map((access_token_url) => {
        const settings = { auth_type, access_token_url };
        const token = { access_token: "a", expire_time: "2026-10-02T00:00:00Z", grant_type };
        return {
          setting: { settings } as AuthSetting & ShownAuthSetting,
          token: {
            meta: { auth_type },
            token: refresh_token === undefined ? token : { ...token, refresh_token },
            api_response: {},
          } as Token,
        };
      }),
    ),
  ),
);

it("says that Sonde renews exactly the tokens that it does renew", () => {
  for (const { setting, token } of cases) {
    const { note } = stateOf(token, setting, NOW);
    const expected = isRenewable(setting, token)
      ? "Sonde renews it before then."
      : "Update it before then.";
    expect(note, JSON.stringify({ setting, token })).toBe(expected);
  }
});
