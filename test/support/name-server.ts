// A name server on loopback, over UDP, that answers as the test says (RFC 1035).
import { createSocket } from "node:dgram";
import { isIP } from "node:net";
import { track } from "./no-leftovers.ts";

export type Answer =
  | readonly string[]
  | "NXDOMAIN"
  | "SERVFAIL"
  | "REFUSED"
  | "silence"
  | { readonly cname: string };

export interface NameServer extends AsyncDisposable {
  /** `address:port`, as resolvers take it. */
  readonly address: string;
  /** Names that were asked for, one for each question. */
  readonly questions: readonly string[];
}

const CODES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const TYPES = { 4: 1, 6: 28, cname: 5 } as const;

/** An answer's addresses of the other family than the question's are left out, as a name server does. */
export async function startNameServer(
  answer: (name: string) => Answer,
): Promise<NameServer> {
  const questions: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const { name, end } = readName(query, 12);
    questions.push(name);
    const given = answer(name.toLowerCase());
    if (given === "silence") return;
    const question = query.subarray(12, end + 4);
    const records = recordsOf(given, query.readUInt16BE(end));
    const code = typeof given === "string" ? CODES[given] : 0;
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | code, 2); // a response, recursion desired and available
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    socket.send(
      Buffer.concat([head, question, ...records]),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  const { port } = socket.address();
  const untrack = track(`name server ${port}`);
  return {
    address: `127.0.0.1:${port}`,
    questions,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => socket.close(resolve));
      untrack();
    },
  };
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

/** For the name of the question, valid for no time. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

const writeName = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split(".")
      .map((label) =>
        Buffer.from(`${String.fromCharCode(label.length)}${label}`),
      ),
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
  return [
    ...head,
    ...Array<number>(8 - head.length - tail.length).fill(0),
    ...tail,
  ];
}
