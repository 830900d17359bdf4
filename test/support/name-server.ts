// A name server on loopback whose answers the test supplies (RFC 1035).
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, isIP } from "node:net";
import type { Socket } from "node:net";
import { freePort } from "./free-port.ts";
import { track } from "./no-leftovers.ts";

export type Answer =
  readonly string[] | "NXDOMAIN" | "SERVFAIL" | "REFUSED" | "silence" | { readonly cname: string };

export interface NameServer extends AsyncDisposable {
  /** `address:port`, the form that resolvers accept. */
  readonly address: string;
  /** The names queried, one per question. */
  readonly questions: readonly string[];
}

const CODES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const TYPES = { 4: 1, 6: 28, cname: 5 } as const;

// Maximum datagram size (RFC 9715 section 3); longer responses are fetched over TCP.
const LONGEST_DATAGRAM = 1232;
const TRUNCATED = 0x0200;

/** Omits addresses of a family other than the question's, as real name servers do. */
export async function startNameServer(
  answer: (name: string, family: 4 | 6) => Answer | Promise<Answer>,
): Promise<NameServer> {
  const questions: string[] = [];
  const respond = async (query: Buffer): Promise<Buffer | undefined> => {
    const { name, end } = readName(query, 12);
    questions.push(name);
    const type = query.readUInt16BE(end);
    const given = await answer(name.toLowerCase(), type === TYPES[4] ? 4 : 6);
    if (given === "silence" || closed) return undefined;
    const records = recordsOf(given, type);
    const code = typeof given === "string" ? CODES[given] : 0;
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | code, 2); // a response, recursion desired and available
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    return Buffer.concat([head, query.subarray(12, end + 4), ...records]);
  };
  let closed = false;
  const overTcp = createServer((client) => answerOverTcp(client, respond));
  const port = await freePort();
  overTcp.listen(port, "127.0.0.1");
  await once(overTcp, "listening");
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    void respond(query).then((response) => {
      if (response) socket.send(inDatagram(response), port, address);
    });
  });
  socket.bind(port, "127.0.0.1");
  await once(socket, "listening");
  const untrack = track(`name server ${port}`);
  return {
    address: `127.0.0.1:${port}`,
    questions,
    async [Symbol.asyncDispose]() {
      closed = true;
      await new Promise<void>((resolve) => socket.close(resolve));
      await new Promise((resolve) => overTcp.close(resolve));
      untrack();
    },
  };
}

function inDatagram(response: Buffer): Buffer {
  if (response.length <= LONGEST_DATAGRAM) return response;
  const { end } = readName(response, 12);
  const cut = Buffer.from(response.subarray(0, end + 4));
  cut.writeUInt16BE(cut.readUInt16BE(2) | TRUNCATED, 2);
  cut.writeUInt16BE(0, 6);
  return cut;
}

/** Each message is prefixed with its length (RFC 1035 section 4.2.2). */
function answerOverTcp(
  client: Socket,
  respond: (query: Buffer) => Promise<Buffer | undefined>,
): void {
  let received = Buffer.alloc(0);
  client.on("error", () => undefined);
  const answer = async (query: Buffer): Promise<void> => {
    const response = await respond(query);
    if (!response) return;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(response.length);
    client.write(Buffer.concat([length, response]));
  };
  client.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length > 2) {
      const end = 2 + received.readUInt16BE(0);
      if (received.length < end) return;
      void answer(received.subarray(2, end));
      received = received.subarray(end);
    }
  });
}

function readName(message: Buffer, start: number) {
  const labels: string[] = [];
  let at = start;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}

function recordsOf(answer: Exclude<Answer, "silence">, type: number): Buffer[] {
  if (typeof answer === "string") return [];
  if ("cname" in answer) return [record(TYPES.cname, writeName(answer.cname))];
  return answer
    .filter((address) => TYPES[isIP(address) as 4 | 6] === type)
    .map((address) => record(type, writeAddress(address)));
}

/** A record for the question's name, with TTL 0. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

const writeName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split(".").map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)),
    Buffer.alloc(1),
  ]);

const writeAddress = (address: string): Buffer =>
  isIP(address) === 4
    ? Buffer.from(address.split(".").map(Number))
    : Buffer.from(expand(address).flatMap((part) => [part >> 8, part & 0xff]));

function expand(address: string): number[] {
  const [left = "", right] = address.split("::");
  const parts = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((part) => Number.parseInt(part, 16));
  const [head, tail] = [parts(left), parts(right ?? "")];
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}
