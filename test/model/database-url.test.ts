// The server that the URL of a PostgreSQL database names.
import { expect, it } from "vitest";
import { databaseAddressOf, databaseServerOf } from "../../src/model/database-url.ts";

it.each([
  ["its host, at PostgreSQL's port", "postgres://u:p@db/sonde", "db:5432"],
  ["its host and port", "postgresql://[::1]:6432/sonde", "[::1]:6432"],
  ["the host and port of its parameters", "postgres://a:1/sonde?host=db&port=6432", "db:6432"],
  ["the last host of its parameters", "postgres://a/sonde?host=b&host=db", "db:5432"],
  ["the socket of its parameters", "postgres:///sonde?host=/run/postgresql", "/run/postgresql"],
  ["the socket in its host", "postgres://u@%2Frun%2Fpostgresql/sonde", "/run/postgresql"],
])("is %s", (_, url, address) => {
  expect(databaseAddressOf(url)).toBe(address);
  expect(databaseServerOf(url).isSocket).toBe(address.startsWith("/"));
});
