// The settings of the commands that use the REST API.
import { optional } from "./setting.ts";
import { baseUrl, matching } from "./setting-values.ts";

export const CLIENT_SETTINGS = {
  apiUrl: optional({
    env: "SONDE_API_URL",
    option: "--api-url",
    defaultMeaning: "the API at `SONDE_HOST` and `SONDE_PORT`",
    meaning:
      "Address of the API for commands such as `sonde calls list`; same as `--api-url`; see [cli.md](cli.md)",
    allowed: "an http:// or https:// URL without user, query and fragment",
    parse: (text) => baseUrl(text)?.replace(/\/api\/2$/, ""),
  }),
  apiKey: optional({
    env: "SONDE_API_KEY",
    secret: true,
    defaultMeaning: "on the service's machine, the first key in the data folder",
    meaning: "API key for these commands: 32 letters and digits",
    allowed: "32 characters of A-Z, a-z, 0-9",
    parse: matching(/^[A-Za-z0-9]{32}$/),
  }),
};
