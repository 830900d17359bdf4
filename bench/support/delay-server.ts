// A target that knows its own delay: it answers `GET /<milliseconds>?id=<id>` after that time, and
// keeps the time that it really took under the id. It is a separate program without an HTTP parser,
// to stay accurate under load. Arguments: certificate and key files.
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createSecureServer } from "node:tls";

const BODY = "x".repeat(120);
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${BODY.length}\r\nconnection: close\r\n\r\n${BODY}`;
const REQUEST = /^GET \/([\d.]+)\?id=(\S*) HTTP/;

/** Milliseconds by id, from the request read to the answer written. */
const taken = new Map<string, number>();

function serve(socket: Socket): void {
  socket.on("error", () => socket.destroy());
  socket.once("data", (data) => {
    const read = performance.now();
    const [, delay = "0", id = ""] = REQUEST.exec(data.toString("latin1")) ?? [];
    const answer = (): void => {
      socket.end(ANSWER);
      taken.set(id, performance.now() - read);
    };
    if (delay === "0") answer();
    else setTimeout(answer, Number(delay));
  });
}

const [certificate = "", key = ""] = process.argv.slice(2);
const servers = [
  createServer({ noDelay: true }, serve),
  createSecureServer({ cert: readFileSync(certificate), key: readFileSync(key) }, serve),
];
const ports = await Promise.all(
  servers.map(
    (server) =>
      new Promise<number>((resolve) =>
        server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () =>
          resolve((server.address() as AddressInfo).port),
        ),
      ),
  ),
);
process.send?.(ports);
process.on("message", () => process.send?.([...taken]));
process.once("disconnect", () => process.exit());
