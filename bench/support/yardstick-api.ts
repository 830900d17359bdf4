// The least that an API of this kind does: Fastify with schemas over node:sqlite, one table of JSON
// documents, the same durability, but no keys, rights or audit. Arguments: the file, and how many
// documents it holds.
import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import Fastify from "fastify";

const [file = "", count = "0"] = process.argv.slice(2);
const database = new DatabaseSync(file);
database.exec(`
  pragma journal_mode = wal;
  pragma synchronous = normal;
  create table documents (id text primary key, document text not null);
  create table stats (id text primary key, count integer, min real, max real, mean real)`);
const insert = database.prepare("insert into documents values (?, ?)");
const select = database.prepare("select document from documents where id = ?");
const list = database.prepare("select document from documents where id > ? order by id limit 100");
const stat = database.prepare("select * from stats where id = ?");

const bodyOf = (id: string, name: string): object => ({
  id,
  meta: { name, description: null, tags: [], domain: "host.test", owner: "owner", created: "" },
  request: { method: "GET", url: "https://host.test/path", parameters: [], headers: [], body: "" },
});

database.exec("begin");
for (let n = 0; n < Number(count); n += 1)
  insert.run(`call-${n}`, JSON.stringify(bodyOf(`call-${n}`, `call ${n}`)));
database.prepare("insert into stats values (?, 100, 1, 9, 5)").run("call-1");
database.exec("commit");

const text = { type: "string" } as const;
const document = {
  type: "object",
  additionalProperties: false,
  required: ["meta", "request"],
  properties: {
    meta: { type: "object", required: ["name"], properties: { name: text } },
    request: {
      type: "object",
      required: ["method", "url"],
      properties: { method: text, url: text },
    },
  },
} as const;

const app = Fastify();
app.get<{ Params: { id: string } }>("/calls/:id/", ({ params }, reply) => {
  const row = select.get(params.id);
  return row ? JSON.parse(String(row["document"])) : reply.code(404).send({ error: 404 });
});
app.get("/calls/", () => ({
  results: list.all("").map((row) => JSON.parse(String(row["document"])) as unknown),
}));
app.get<{ Params: { id: string } }>("/calls/:id/stats/", ({ params }) => stat.get(params.id));
app.post<{ Body: { meta: { name: string } } }>(
  "/calls/",
  { schema: { body: document } },
  ({ body }, reply) => {
    const id = randomUUID();
    insert.run(id, JSON.stringify(body));
    return reply.code(201).send(bodyOf(id, body.meta.name));
  },
);
await app.listen({ port: 0, host: "127.0.0.1" });
process.send?.(app.listeningOrigin);
