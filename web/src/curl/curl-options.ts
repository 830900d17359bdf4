// Parses curl's command line, by tables of its options.

/** Long names by letter. */
const LETTERS: Readonly<Record<string, string>> = {
  "0": "http1.0",
  "1": "tlsv1",
  "2": "sslv2",
  "4": "ipv4",
  "6": "ipv6",
  "3": "sslv3",
  ":": "next",
  a: "append",
  B: "use-ascii",
  h: "help",
  l: "list-only",
  M: "manual",
  P: "ftp-port",
  Q: "quote",
  t: "telnet-option",
  V: "version",
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
  `abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config
  connect-timeout connect-to continue-at cookie cookie-jar create-file-mode crlfile curves data
  data-ascii data-binary data-raw data-urlencode delegation dns-interface dns-ipv4-addr
  dns-ipv6-addr dns-servers doh-url dump-header ech egd-file engine etag-compare etag-save
  expect100-timeout form form-string ftp-account ftp-alternative-to-user ftp-method ftp-port
  ftp-ssl-ccc-mode happy-eyeballs-timeout-ms haproxy-clientip header hostpubmd5 hostpubsha256
  hsts interface ip-tos ipfs-gateway json keepalive-cnt keepalive-time key key-type knownhosts
  krb libcurl limit-rate local-port login-options mail-auth mail-from mail-rcpt max-filesize
  max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir parallel-max
  parallel-max-host pass pinnedpubkey preproxy proto proto-default proto-redir proxy
  proxy-cacert proxy-capath proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header
  proxy-key proxy-key-type proxy-pass proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers
  proxy-tlsauthtype proxy-tlspassword proxy-tlsuser proxy-user proxy1.0 pubkey quote random-file
  range rate referer request request-target resolve retry retry-delay retry-max-time
  sasl-authzid service-name sigalgs socks4 socks4a socks5 socks5-gssapi-service socks5-hostname
  speed-limit speed-time ssl-sessions stderr telnet-option tftp-blksize time-cond tls-max
  tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii trace-config unix-socket
  upload-file upload-flags url url-query user user-agent variable vlan-priority write-out`.split(
    /\s+/,
  ),
);

/** Options without a value; `--no-NAME` turns one off. */
const TAKES_NONE = new Set(
  `alpn anyauth append basic buffer ca-native cert-status clobber compressed compressed-ssh
  create-dirs crlf digest disable disable-eprt disable-epsv disallow-username-in-url
  doh-cert-status doh-insecure dump-ca-embed fail fail-early fail-with-body false-start follow
  form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-control get
  globoff haproxy-protocol head help http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3
  http3-only ignore-content-length include insecure ipv4 ipv6 junk-session-cookies keepalive
  list-only location location-trusted mail-rcpt-allowfails manual metalink mptcp negotiate netrc
  netrc-optional next npn ntlm ntlm-wb out-null parallel parallel-immediate path-as-is post301
  post302 post303 progress-bar progress-meter proxy-anyauth proxy-basic proxy-ca-native
  proxy-digest proxy-http2 proxy-insecure proxy-negotiate proxy-ntlm proxy-ssl-allow-beast
  proxy-ssl-auto-client-cert proxy-tlsv1 proxytunnel raw remote-header-name remote-name
  remote-name-all remote-time remove-on-error retry-all-errors retry-connrefused sasl-ir
  sessionid show-error silent skip-existing socks5-basic socks5-gssapi socks5-gssapi-nec ssl
  ssl-allow-beast ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort sslv2 sslv3
  styled-output suppress-connect-headers tcp-fastopen tcp-nodelay tftp-no-options tls-earlydata
  tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace-ids trace-time use-ascii verbose
  version xattr`.split(/\s+/),
);

/** Knows the options of the tables above; curl gains options with each version. */
export const isKnown = (name: string): boolean =>
  TAKES_VALUE.has(name) || TAKES_NONE.has(name.replace(/^no-/, ""));

export interface Option {
  /** The long name; `url` for an argument that is not an option. */
  readonly name: string;
  /** Empty for an option that takes none. */
  readonly value: string;
  /** The option as it was given. */
  readonly written: string;
}

export interface CommandLine {
  readonly options: readonly Option[];
  /** Ends the options, though a shell would read on. */
  readonly redirection?: string;
}

const REDIRECTION = /^\d?[<>]{1,2}.*$/;

/** Reads the words that follow `curl`, up to a redirection. */
export function readOptions(words: readonly string[]): CommandLine {
  const options: Option[] = [];
  const left = words.toReversed(); // shifting a long list is slow
  for (let word = left.pop(); word !== undefined; word = left.pop()) {
    if (REDIRECTION.test(word)) return { options, redirection: word };
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

/** Reads letters as in `-sSXPOST`: a value is the rest of the word, or else the next word. */
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
