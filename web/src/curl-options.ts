// The command line of curl: which options there are, and which of them take a value.

/** Long names by letter. */
const LETTERS: Readonly<Record<string, string>> = {
  "0": "http1.0",
  "1": "tlsv1",
  "2": "sslv2",
  "4": "ipv4",
  "6": "ipv6",
  "#": "progress-bar",
  A: "user-agent",
  b: "cookie",
  c: "cookie-jar",
  C: "continue-at",
  d: "data",
  D: "dump-header",
  e: "referer",
  E: "cert",
  f: "fail",
  F: "form",
  g: "globoff",
  G: "get",
  H: "header",
  i: "include",
  I: "head",
  j: "junk-session-cookies",
  J: "remote-header-name",
  k: "insecure",
  K: "config",
  L: "location",
  m: "max-time",
  n: "netrc",
  N: "no-buffer",
  o: "output",
  O: "remote-name",
  p: "proxytunnel",
  q: "disable",
  r: "range",
  R: "remote-time",
  s: "silent",
  S: "show-error",
  T: "upload-file",
  u: "user",
  U: "proxy-user",
  v: "verbose",
  w: "write-out",
  x: "proxy",
  X: "request",
  y: "speed-time",
  Y: "speed-limit",
  z: "time-cond",
  Z: "parallel",
};

const TAKES_VALUE = new Set(
  `abstract-unix-socket aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout
  connect-to continue-at cookie cookie-jar create-file-mode crlfile data data-ascii data-binary
  data-raw data-urlencode dns-servers doh-url dump-header etag-compare etag-save expect100-timeout
  form form-string happy-eyeballs-timeout-ms header interface json keepalive-time key key-type
  limit-rate local-port max-filesize max-redirs max-time netrc-file noproxy oauth2-bearer output
  output-dir pass pinnedpubkey proto proto-default proxy proxy-header proxy-user range rate referer
  request request-target resolve retry retry-delay retry-max-time service-name socks4 socks4a socks5
  socks5-hostname speed-limit speed-time stderr time-cond tls-max tls13-ciphers trace trace-ascii
  unix-socket upload-file url url-query user user-agent write-out`.split(/\s+/),
);

export interface Option {
  /** The long name; `url` for what is no option. */
  readonly name: string;
  /** Empty for an option that takes none. */
  readonly value: string;
  /** The option as it was given. */
  readonly written: string;
}

export interface CommandLine {
  readonly options: readonly Option[];
  /** The shell's operator that ends the command. */
  readonly end?: string;
}

const OPERATOR = /^(?:\|\|?|&&?|;|\d?[<>]{1,2}.*)$/;

/** Reads the words that follow `curl`, up to an operator of the shell. */
export function readOptions(words: readonly string[]): CommandLine {
  const options: Option[] = [];
  const left = words.toReversed(); // taking the first of a long list is slow
  for (let word = left.pop(); word !== undefined; word = left.pop()) {
    if (OPERATOR.test(word)) return { options, end: word };
    if (word.startsWith("--")) {
      const name = word.slice(2);
      options.push({
        name,
        value: TAKES_VALUE.has(name) ? (left.pop() ?? "") : "",
        written: word,
      });
    } else if (word.startsWith("-") && word !== "-") readLetters(word, left, options);
    else options.push({ name: "url", value: word, written: word });
  }
  return { options };
}

/** As in `-sSXPOST`: the rest of the word, or else the next one of those left, is the value. */
function readLetters(word: string, left: string[], options: Option[]): void {
  for (let at = 1; at < word.length; at += 1) {
    const letter = word.charAt(at);
    const name = LETTERS[letter] ?? letter;
    const written = `-${letter}`;
    if (TAKES_VALUE.has(name)) {
      const rest = word.slice(at + 1);
      options.push({ name, value: rest === "" ? (left.pop() ?? "") : rest, written });
      return;
    }
    options.push({ name, value: "", written });
  }
}
