import { expect, it } from "vitest";
import { hostPortOf, splitHostPort } from "../../src/net/host-port.ts";

it.each([
  ["hub.example:4222", "hub.example", 4222],
  ["127.0.0.1:80", "127.0.0.1", 80],
  ["[2001:db8::1]:443", "2001:db8::1", 443],
])("%s is a host and a port", (text, host, port) => {
  expect(splitHostPort(text)).toEqual({ host, port });
});

it.each([
  ["http://a.example/", "a.example", 80],
  ["https://a.example/", "a.example", 443],
  ["https://127.0.0.1:8443/", "127.0.0.1", 8443],
  ["http://[2001:db8::1]/", "2001:db8::1", 80],
  ["http://a.example:0/", "a.example", 0],
])("%s leads to a host and a port", (url, host, port) => {
  expect(hostPortOf(new URL(url))).toEqual({ host, port });
});
