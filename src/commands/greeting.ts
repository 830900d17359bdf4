// What `sonde serve` prints besides its log: where the API is, its first key, and what to try.
// Lines fit a terminal of 80 columns, except for long paths.
import { relative } from "node:path";
import { styleText } from "node:util";
import type { Demo } from "../compose/demo.ts";
import type { System } from "../compose/process.ts";
import type { Config } from "../config/config.ts";
import { SETTINGS } from "../config/settings.ts";
import { assignment, shellWord } from "../model/shell-word.ts";
import { installed } from "../runtime/installation.ts";
import { reachable } from "../runtime/ops-client.ts";

export interface Greeted {
  /** The file with the first key, while that key is active. */
  readonly keyFile: string | undefined;
  readonly demo: Demo | undefined;
  readonly config: Config;
  /** A link to the pages that signs in once. */
  readonly link: string | undefined;
}

/** Returns "" if this process does not run the API. */
export function greeting(
  { api, ops, firstKey }: Pick<System, "api" | "ops" | "firstKey">,
  { keyFile, demo, config, link }: Greeted,
): string {
  if (!api) return "";
  const address = api.address() ?? "";
  const apiUrl = config.publicUrl ?? address;
  const opsAddress = ops.address();
  return [
    "",
    `  ${bold("Sonde is at")}        ${apiUrl}/`,
    ...(link === undefined ? [] : [`  ${bold("sign in, once")}      ${link}`]),
    `  interface          ${apiUrl}/api/2/`,
    `  documentation      ${apiUrl}/docs`,
    `  health, metrics    http://${reachable(opsAddress?.host ?? "")}:${opsAddress?.port}/readyz, /metrics`,
    ...(demo
      ? [
          `  demo target        http://${demo.address()}/`,
          "                     steady, slow, flaky, failing, cookies: called every minute",
        ]
      : []),
    ...keyLines(firstKey(), keyFile, `${apiUrl}/api/2/calls/?debug=1`),
    ...(demo ? tour(config, address, keyFile !== undefined) : []),
    "",
    "",
  ].join("\n");
}

function keyLines(key: string | undefined, file: string | undefined, url: string): string[] {
  if (key !== undefined)
    return [
      "",
      `  The first key (level OWNER), shown only once and saved in ${file}:`,
      `  ${bold(key)}`,
      "",
      ...request(`'Authorization: Bearer ${key}'`, url),
    ];
  return file === undefined
    ? []
    : ["", `  The key is in      ${file}`, "", ...request(keyFrom(file), url)];
}

/** The commands find the service, and its key in the data folder, by the settings before them. */
function tour({ host, dataDir }: Config, address: string, hasKey: boolean): string[] {
  const settings = [
    { of: SETTINGS.host, value: host },
    { of: SETTINGS.port, value: new URL(address).port || "80" },
    // npm runs commands in the folder of the installation.
    { of: SETTINGS.dataDir, value: dataDir, usual: installed(SETTINGS.dataDir.default ?? "") },
  ]
    .filter(({ of, value, usual = of.default }) => value !== usual)
    .map(({ of, value }) => `${assignment(of.env, value)} `);
  const sonde = `  ${settings.join("")}npm run --silent sonde --`;
  return [
    "",
    `  Or, in another terminal${hasKey ? "" : ", with your key in SONDE_API_KEY"}:`,
    "",
    `${sonde} calls list`,
    `${sonde} run 'Demo: slow' --wait`,
  ];
}

/** The message once the demo's history is filled. */
export function historyReady(apiUrl: string, keyFile: string | undefined): string {
  const key = keyFile === undefined ? '"Authorization: Bearer …"' : keyFrom(keyFile);
  return [
    "",
    '  Nine weeks of simulated results are ready, for calls named "Simulated: …".',
    '  Open "Simulated: sales report" to see which phase became slow, since when, and',
    "  where. Their scores are under Insights, and here:",
    "",
    ...request(key, `${apiUrl}/api/2/insights/rank/?weekly=true&debug=1`),
    "",
    "",
  ].join("\n");
}

const request = (header: string, url: string): string[] => [
  `  curl -H ${header} \\`,
  `    '${url}'`,
];

/** Returns the header, with the key read from its file by the shell. The shorter path names it. */
function keyFrom(file: string): string {
  const near = relative("", file);
  return `"Authorization: Bearer $(cat ${shellWord(near.length < file.length ? near : file)})"`;
}

/** Has no effect except on a terminal. */
const bold = (text: string): string => styleText("bold", text);
