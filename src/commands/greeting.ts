// What `sonde serve` prints besides its log: where the API is, its first key, and what to try.
// Lines fit a terminal of 80 columns, except for long paths.
import { relative } from "node:path";
import { styleText } from "node:util";
import type { Demo } from "../compose/demo.ts";
import type { System } from "../compose/process.ts";
import { reachable } from "../runtime/ops-client.ts";

export interface Greeted {
  /** The file with the first key, while that key is active. */
  readonly keyFile: string | undefined;
  readonly demo: Demo | undefined;
  readonly publicUrl: string | undefined;
  /** A link to the pages that signs in once. */
  readonly link: string | undefined;
}

const TOUR = [
  "",
  "  Or, in another terminal:",
  "",
  "  npm run --silent sonde -- calls list",
  "  npm run --silent sonde -- run 'Demo: slow' --wait",
];

/** Returns "" if this process does not run the API. */
export function greeting(
  { api, ops, firstKey }: Pick<System, "api" | "ops" | "firstKey">,
  { keyFile, demo, publicUrl, link }: Greeted,
): string {
  if (!api) return "";
  const apiUrl = publicUrl ?? api.address() ?? "";
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
    ...(demo ? TOUR : []),
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
  return `"Authorization: Bearer $(cat ${near.length < file.length ? near : file})"`;
}

/** Has no effect except on a terminal. */
const bold = (text: string): string => styleText("bold", text);
