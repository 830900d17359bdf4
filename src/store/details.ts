// Packs the data of a result or an insights report beside its columns: JSON, compressed where that
// pays. Both forms stay readable forever; the first byte tells them apart.
import { constants } from "node:zlib";
import { Deflate, Inflate } from "minizlib";

/** In bytes. Shorter JSON is not compressed: that would cost more than it saves. */
const SHORT = 400;

/**
 * Text that most results share, the most common last. Stored bytes depend on it: never change it.
 */
const DICTIONARY = Buffer.from(
  [
    "text/plain; charset=utf-8",
    "text/html; charset=UTF-8",
    "application/octet-stream",
    "Content-Security-Policy",
    "X-Content-Type-Options",
    "nosniff",
    "X-Frame-Options",
    "X-Request-Id",
    "X-Powered-By",
    "Access-Control-Allow-Origin",
    "Strict-Transport-Security",
    "max-age=31536000; includeSubDomains",
    "Set-Cookie",
    "; Path=/; Secure; HttpOnly; SameSite=Lax",
    "Location",
    "Via",
    "Alt-Svc",
    "CF-RAY",
    "cloudflare",
    "Last-Modified",
    "Expires",
    "Accept-Ranges",
    "bytes",
    "ETag",
    'W/\\"',
    "Vary",
    "Accept-Encoding, Origin",
    "Cache-Control",
    "no-cache, no-store, must-revalidate, private, public, max-age=0",
    "Transfer-Encoding",
    "chunked",
    "Content-Encoding",
    "Authorization",
    "Cookie",
    '{"content_type":"application/json; charset=utf-8","encoding":"utf-8","size":,"content":"",',
    '"reason":null}{\\"id\\":\\"\\",\\"name\\":\\"\\",\\"status\\":\\"ok\\"}',
    '{"url":"https://www.api.example.com/api/v1/","request":{"url":"https://","method":"POST",',
    '"headers":[{"key":"content-type","value":"application/json"},{"key":"content-length",',
    '"value":""},{"key":"Host","value":"localhost"},{"key":"User-Agent","value":"Sonde/0.1.0"},',
    '{"key":"Accept","value":"*/*"},{"key":"Accept-Encoding","value":"gzip, deflate, br"},',
    '{"key":"Connection","value":"close"}],"body":null},"response":{"status_code":404,',
    '"status_string":"Not Found","headers":[{"key":"Keep-Alive","value":"timeout=5"},',
    '{"key":"server","value":"nginx"},{"key":"Date","value":"Mon, Tue, Wed, Thu, Fri, Sat, Sun, ',
    'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec 2026 2027 00:00:00 GMT"},',
    '{"key":"Server","value":"nginx/1."},{"key":"Content-Type",',
    '"value":"application/json; charset=utf-8"},{"key":"Content-Length","value":"',
    '"},{"key":"Connection","value":"keep-alive"}]},"hops":[{"url":"https://","http_code":302,',
    '"dest_ip":"127.0.0.1","timing":{"dns":null,"tcp":0.,"handshake":null,"upload":0.,',
    '"processing":,"download":0.,"total":,"uncertainty":0}}],"certificate":{"issuer":"C=US,O=',
    'Let\'s Encrypt,CN=","subject":"CN=","valid_from":"2026-01-01T00:00:00.000000Z","expiry":"',
    '2027-01-01T00:00:00.000000Z","days":},"url":"http://","request":{"url":"http://","method":',
    '"GET","headers":[{"key":"host","value":"","body":null},"response":{"status_code":200,',
    '"status_string":"OK","headers":[{"key":"date","value":""}]},"hops":[],"certificate":null}',
  ].join(""),
);

const FORMAT = { dictionary: DICTIONARY, flush: constants.Z_FINISH };
// Measured: a higher level is slower and saves nothing.
const DEFLATE = { ...FORMAT, level: 3, windowBits: 13, memLevel: 5 };

/** Serves all values, as `inflate` does: making a stream takes longer than using it. */
const deflate = new Deflate(DEFLATE);

export function pack(value: object): Uint8Array {
  const json = Buffer.from(JSON.stringify(value));
  if (json.length < SHORT) return json;
  deflate.reset();
  deflate.write(json);
  return deflate.read() as Buffer;
}

/** Unpacks what `pack` packed. Throws if the bytes are damaged. */
export function unpack(bytes: Uint8Array): unknown {
  const packed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return JSON.parse((packed[0] === OPENING_BRACE ? packed : inflated(packed)).toString());
}

const OPENING_BRACE = 0x7b;

let inflate = new Inflate(FORMAT);

function inflated(packed: Buffer): Buffer {
  try {
    inflate.reset();
    inflate.write(packed);
    return inflate.read() as Buffer;
  } catch (cause) {
    inflate = new Inflate(FORMAT); // the failed one is closed
    throw cause;
  }
}
