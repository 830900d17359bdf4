// The effect of each curl option on the request.
import { MOST_REDIRECTS } from "../../../src/model/behaviour.ts";
import type { KeyValue } from "../../../src/model/fields.ts";
import { LONGEST_CALL_MS } from "../../../src/model/time-limits.ts";
import { isKnown } from "./curl-options.ts";
import type { Option } from "./curl-options.ts";

export interface BasicCredentials {
  readonly user: string;
  readonly password: string;
}

interface Data {
  /** As it is sent in a body. */
  readonly text: string;
  /** Its name and value before encoding. */
  readonly pair?: KeyValue;
}

/** What a command says, option by option. */
export interface Command {
  method?: string;
  isHead?: boolean;
  isGet?: boolean;
  isJson?: boolean;
  isCompressed?: boolean;
  basic?: BasicCredentials;
  /** The user and password belong to another scheme than Basic. */
  isNotBasic?: boolean;
  userAgent?: string;
  referer?: string;
  bearer?: string;
  readonly urls: string[];
  /** As `-H` gives them. */
  readonly headers: KeyValue[];
  /** The names of the headers that `-H` removes. */
  readonly removed: string[];
  readonly cookies: string[];
  readonly data: Data[];
  /** Added to the query as it stands. */
  readonly query: string[];
  readonly tags: string[];
  readonly faults: string[];
  readonly notes: string[];
  readonly leftOut: string[];
}

type Effect = (command: Command, value: string, written: string) => void;

const addData: Effect = (command, text, written) => {
  if (text.startsWith("@")) command.faults.push(readsFile(written, text.slice(1)));
  else command.data.push({ text });
};

const readsFile = (written: string, file: string): string =>
  `${written} reads the file ${file}: replace @${file} with its contents, using --data-raw.`;

const withoutEquivalent: Effect = (command, _value, written) => {
  command.isNotBasic = true;
  command.leftOut.push(written);
};

const refuseForm: Effect = ({ faults }, _value, written) =>
  void faults.push(
    `${written} sends a multipart form, which is not supported: use --data-urlencode, or fill in the body and its Content-Type by hand.`,
  );

const EFFECTS: Readonly<Record<string, Effect>> = {
  url: ({ urls }, value) => void urls.push(value),
  "url-query": ({ query }, value) => void query.push(urlEncoded(value).text),
  request: (command, value) => void (command.method = value),
  head: (command) => void (command.isHead = true),
  get: (command) => void (command.isGet = true),
  header: addHeader,
  "user-agent": (command, value) => void (command.userAgent = value),
  referer: (command, value) => void (command.referer = value.replace(/;auto$/, "")),
  "oauth2-bearer": (command, value) => void (command.bearer = value),
  cookie: ({ cookies, faults }, value, written) =>
    void (value.includes("=")
      ? cookies.push(value)
      : faults.push(`${written} reads cookies from the file ${value}: write them as name=value.`)),
  data: addData,
  "data-ascii": addData,
  "data-binary": addData,
  "data-raw": ({ data }, text) => void data.push({ text }),
  "data-urlencode": addEncoded,
  json(command, value, written) {
    command.isJson = true;
    addData(command, value, written);
  },
  form: refuseForm,
  "form-string": refuseForm,
  "upload-file": ({ faults }, file, written) =>
    void faults.push(`${written} sends the file ${file}: write its contents into the body.`),
  config: ({ faults }, file, written) =>
    void faults.push(`${written} reads options from the file ${file}: add them to the command.`),
  user(command, value) {
    const [, user = "", password = ""] = /^([^:]*):?(.*)$/s.exec(value) ?? [];
    command.basic = { user, password };
  },
  "aws-sigv4"(command, _value, written) {
    command.isNotBasic = true;
    command.notes.push(
      `${written} signs requests: choose an authentication setting of type AMAZON with these keys.`,
    );
  },
  digest: withoutEquivalent,
  ntlm: withoutEquivalent,
  negotiate: withoutEquivalent,
  anyauth: withoutEquivalent,
  insecure: ({ tags }) => void tags.push("insecure-tls"),
  "max-time": addTimeout,
  "max-redirs": addRedirects,
  compressed: (command) => void (command.isCompressed = true),
};

/** Options that change what curl prints or stores, or that Sonde applies anyway. */
const WITHOUT_EFFECT = new Set(
  `silent show-error verbose include fail fail-with-body fail-early output output-dir remote-name
  remote-name-all remote-header-name remote-time write-out dump-header stderr trace trace-ascii
  trace-time progress-bar location globoff no-buffer styled-output disable cookie-jar basic http1.1
  path-as-is keepalive-time create-dirs`.split(/\s+/),
);

export function applyOption(command: Command, { name, value, written }: Option): void {
  const effect = Object.hasOwn(EFFECTS, name) ? EFFECTS[name] : undefined;
  if (effect) effect(command, value, written);
  else if (!isKnown(name))
    command.faults.push(
      `${written} is not a known curl option: write its full name, or remove it and its value.`,
    );
  else if (!WITHOUT_EFFECT.has(name) && !name.startsWith("no-")) command.leftOut.push(written);
}

/** As in curl, `Name:` removes a header, `Name;` sends one without a value. */
function addHeader({ headers, removed, faults }: Command, line: string, written: string): void {
  if (line.startsWith("@")) return void faults.push(readsFile(written, line.slice(1)));
  const [, name = "", mark, text = ""] = /^(:?[^:;]*)([:;])(.*)$/s.exec(line) ?? [];
  const key = name.trim();
  const value = text.trim();
  // HTTP/2 pseudo-headers, such as `:method` and `:path`, begin with a colon.
  if (key === "" || name.startsWith(":")) return;
  if ((mark === ":") === (value !== "")) headers.push({ key, value });
  else removed.push(key);
}

function addEncoded({ data, faults }: Command, value: string, written: string): void {
  const [, file] = /^[^=@]*@(.*)$/s.exec(value) ?? [];
  if (file === undefined) data.push(urlEncoded(value));
  else faults.push(readsFile(written, file));
}

/** Expects `content`, `=content` or `name=content`; encodes the content. */
function urlEncoded(written: string): Data {
  const [, key = "", value = written] = /^([^=]*)=(.*)$/s.exec(written) ?? [];
  if (key === "") return { text: percentEncoded(value) };
  return { text: `${key}=${percentEncoded(value)}`, pair: { key, value } };
}

/** Encodes all but the unreserved characters of RFC 3986. */
const percentEncoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const LONGEST_S = LONGEST_CALL_MS / 1000;

function addTimeout({ tags, notes }: Command, value: string, written: string): void {
  const seconds = Number(value);
  if (!(seconds > 0)) return;
  tags.push(`timeout:${Math.min(seconds, LONGEST_S)}`);
  if (seconds > LONGEST_S)
    notes.push(`${written} ${value} is lowered to ${LONGEST_S} s, the maximum.`);
}

/** In curl, -1 means no limit. */
function addRedirects({ tags }: Command, value: string): void {
  const count = Number(value);
  if (!Number.isInteger(count)) return;
  tags.push(`max-redirects:${count < 0 ? MOST_REDIRECTS : Math.min(count, MOST_REDIRECTS)}`);
}
