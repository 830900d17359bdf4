// Certificates for tests, made with openssl: a CA, and good and bad certificates.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  /** The tests' CA. */
  readonly authority: Certificate;
  /** Signed by the authority, for localhost and the loopback addresses. */
  readonly good: Certificate;
  /** Signed by the authority, for 127.0.0.1 alone. */
  readonly ofAddress: Certificate;
  /** Signed by the authority, for localhost alone. */
  readonly ofLocalhost: Certificate;
  readonly expired: Certificate;
  readonly notYetValid: Certificate;
  readonly otherName: Certificate;
  /** Names localhost in its subject, and has no alternative names. */
  readonly commonName: Certificate;
  /** Its alternative name is a URI with "DNS:" in it, so its host is in its subject. */
  readonly uriName: Certificate;
  readonly selfSigned: Certificate;
  /** Self-signed, with a subject of thousands of characters. */
  readonly longNamed: Certificate;
  /** With a key that OpenSSL considers too short: serve it with `DEFAULT@SECLEVEL=0`. */
  readonly weak: Certificate;
  /** Signed by another CA. */
  readonly ofStranger: Certificate;
  /** Signed by an intermediate authority, which has expired or is not valid yet. */
  readonly ofExpired: Certificate;
  readonly ofNotYetValid: Certificate;
}

const LOOPBACK = "DNS:localhost,IP:127.0.0.1,IP:::1";

export function createCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), "sonde-certificates-"));
  try {
    const { makeRoot, sign } = createWorkshop(folder);
    const authority = makeRoot("authority", "CN=Test authority", "CA:TRUE");
    makeRoot("stranger", "CN=Unknown authority", "CA:TRUE");
    const below = (order: Order): Certificate => {
      const { cert } = sign({ ...order, san: undefined, constraint: "CA:TRUE" });
      const leaf = sign({ name: `of-${order.name}`, authority: order.name });
      return { ...leaf, cert: leaf.cert + cert };
    };
    return {
      authority,
      good: sign({ name: "good" }),
      ofAddress: sign({ name: "address", san: "IP:127.0.0.1" }),
      ofLocalhost: sign({ name: "localhost", san: "DNS:localhost" }),
      expired: sign({ name: "expired", fromDay: -30, toDay: -1 }),
      notYetValid: sign({ name: "early", fromDay: 5 }),
      otherName: sign({ name: "other", san: "DNS:other.example" }),
      commonName: sign({ name: "common", subject: "CN=localhost", san: undefined }),
      uriName: sign({ name: "uri", subject: "CN=localhost", san: "URI:http://a/DNS:b" }),
      selfSigned: makeRoot("self", "CN=localhost", "CA:FALSE"),
      longNamed: makeRoot(
        "long",
        Array.from({ length: 40 }, () => `OU=${"x".repeat(60)}`).join("/"),
        "CA:FALSE",
      ),
      weak: sign({ name: "weak", key: "rsa:1024" }),
      ofStranger: sign({ name: "foreign", authority: "stranger" }),
      ofExpired: below({ name: "old", fromDay: -30, toDay: -1 }),
      ofNotYetValid: below({ name: "future", fromDay: 5 }),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Order {
  readonly name: string;
  readonly authority?: string;
  readonly subject?: string;
  /** Alternative names; default: those of the loopback interface. */
  readonly san?: string | undefined;
  /** For `openssl req -newkey`; default: an elliptic curve. */
  readonly key?: string;
  /** Default: CA:FALSE. */
  readonly constraint?: string;
  /** Days from now. */
  readonly fromDay?: number;
  readonly toDay?: number;
}

const DEFAULTS = {
  authority: "authority",
  subject: "CN=Test target",
  san: LOOPBACK,
  constraint: "CA:FALSE",
  fromDay: -1,
  toDay: 30,
};

interface Workshop {
  readonly makeRoot: (name: string, subject: string, constraint: string) => Certificate;
  readonly sign: (order: Order) => Certificate;
}

function createWorkshop(folder: string): Workshop {
  const openssl = (command: string, options: Record<string, string>): void => {
    const args = Object.entries(options).flatMap(([name, value]) => [`-${name}`, value]);
    const flags = command.split(" ");
    execFileSync("openssl", [...flags, ...args], {
      cwd: folder,
      stdio: "pipe",
    });
  };
  const read = (name: string): Certificate => ({
    cert: readFileSync(join(folder, `${name}.crt`), "utf8"),
    key: readFileSync(join(folder, `${name}.key`), "utf8"),
  });
  const newKey = { newkey: "ec", pkeyopt: "ec_paramgen_curve:P-256" };

  return {
    makeRoot: (name, subject, constraint) => {
      openssl(`req -x509 -nodes -addext subjectAltName=${LOOPBACK}`, {
        ...newKey,
        subj: `/${subject}`,
        addext: `basicConstraints=critical,${constraint}`,
        keyout: `${name}.key`,
        out: `${name}.crt`,
      });
      return read(name);
    },
    sign: (order) => {
      const { name, authority, subject, fromDay, toDay } = { ...DEFAULTS, ...order };
      writeFileSync(join(folder, `${name}.cnf`), configuration({ ...DEFAULTS, ...order }));
      writeFileSync(join(folder, `${name}.index`), "");
      openssl("req -nodes", {
        ...(order.key === undefined ? newKey : { newkey: order.key }),
        subj: `/${subject}`,
        keyout: `${name}.key`,
        out: `${name}.csr`,
      });
      openssl("ca -batch -notext", {
        config: `${name}.cnf`,
        cert: `${authority}.crt`,
        keyfile: `${authority}.key`,
        startdate: day(fromDay),
        enddate: day(toDay),
        in: `${name}.csr`,
        out: `${name}.crt`,
      });
      return read(name);
    },
  };
}

/** The format of openssl ca: YYMMDDHHMMSSZ. */
const day = (fromNow: number): string =>
  new Date(Date.now() + fromNow * 86_400_000)
    .toISOString()
    .replaceAll(/[-:T]|\.\d+/g, "")
    .slice(2);

const configuration = ({ name, san, constraint }: Order): string => `
[ca]
default_ca = test
[test]
database = ${name}.index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = leaf
[any]
commonName = supplied
[leaf]
basicConstraints = ${constraint}
${san === undefined ? "" : `subjectAltName = ${san}`}
`;
