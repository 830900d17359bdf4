// A target that knows its own delay: it answers `GET /<milliseconds>?id=<id>` after that time, and
// keeps the time that it really took under the id. It is a separate program without an HTTP parser,
// to stay accurate under load. Arguments: certificate and key files, and the milliseconds that it
// takes to answer a TLS handshake.
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createSecureServer } from "node:tls";

const BODY = "x".repeat(120);
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${BODY.length}\r\nconnection: close\r\n\r\n${BODY}`;
const REQUEST = /^GET \/([\d.]+)\?id=(\S*) HTTP/;

const [certificate = "", key = "", handshake = "0"] = process.argv.slice(2);

/** Milliseconds by id, from the request read to the answer written, and for the handshake. */
const taken = new Map<string, number>();

/** Milliseconds by the client's port, from the handshake read to its answer. */
const delayed = new Map<number | undefined, number>();

function serve(socket: Socket): void {
  const before = delayed.get(socket.remotePort) ?? 0;
  delayed.delete(socket.remotePort);
  socket.on("error", () => socket.destroy());
  socket.once("data", (data) => {
    const read = performance.now();
    const [, delay = "0", id = ""] = REQUEST.exec(data.toString("latin1")) ?? [];
    const answer = (): void => {
      socket.end(ANSWER);
      taken.set(id, performance.now() - read + before);
    };
    if (delay === "0") answer();
    else setTimeout(answer, Number(delay));
  });
}

const secured = createSecureServer(
  { cert: readFileSync(certificate), key: readFileSync(key) },
  serve,
);

function secureLater(socket: Socket): void {
  socket.once("readable", () => {
    const read = performance.now();
    setTimeout(() => {
      delayed.set(socket.remotePort, performance.now() - read);
      secured.emit("connection", socket);
    }, Number(handshake));
  });
}

const servers = [
  createServer({ noDelay: true }, serve),
  handshake === "0" ? secured : createServer({ noDelay: true }, secureLater),
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
