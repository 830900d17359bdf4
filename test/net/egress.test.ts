import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import { isPublicAddress, parseEgressAllow, serverAt } from "../../src/net/egress.ts";
import { call, codeOf } from "../agent/calling.ts";

const allows = (address: string, port: number, allow: string[] = []): boolean =>
  parseEgressAllow(allow).allows(address, port);

describe("a port where Sonde itself listens", () => {
  const outward = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal }) => !internal)?.address;
  const allowsOwn = (address: string, port: number, allow: string[]): boolean =>
    parseEgressAllow(allow, {
      ports: new Set([4222, 9464]),
      servers: new Set(),
    }).allows(address, port);

  it.each([
    ["127.0.0.1", ["127.0.0.0/8"]],
    ["127.0.0.1", ["127.0.0.0/8:4222"]],
    ["127.0.0.1", ["127.0.0.1"]],
    ["127.0.0.1", ["127.0.0.1:9464"]],
    ["127.0.0.2", ["127.0.0.1:4222"]],
    ["::1", ["localhost"]],
    ["::ffff:127.0.0.1", ["127.0.0.0/8"]],
    [outward ?? "127.0.0.3", [outward ?? "127.0.0.3", "0.0.0.0/0", "::/0"]],
  ])("is refused at %s though %j is allowed", (address, allow) => {
    expect(allowsOwn(address, 4222, allow)).toBe(false);
  });

  it.each([
    ["127.0.0.1", 4222, ["127.0.0.1:4222"]],
    ["::1", 4222, ["localhost:4222"]],
    ["127.0.0.1", 4223, ["127.0.0.0/8"]],
    ["8.8.8.8", 4222, []],
  ])("does not block %s:%i with %j", (address, port, allow) => {
    expect(allowsOwn(address, port, allow)).toBe(true);
  });
});

describe("an address of this machine's interfaces", () => {
  const interfaces = () => new Set(["8.8.4.4", "10.1.2.3", "2606:4700:0:0:0:0:0:1"]);
  const allowsHere = (address: string, port: number, allow: string[]): boolean =>
    parseEgressAllow(allow, undefined, interfaces).allows(address, port);

  it.each([
    ["8.8.4.4", []],
    ["8.8.4.4", ["0.0.0.0/0", "8.8.4.0/24"]],
    ["::ffff:8.8.4.4", ["::/0"]],
    ["64:ff9b:1::808:404", ["::/0"]],
    ["10.1.2.3", ["10.0.0.0/8", "127.0.0.0/8"]],
    ["2606:4700::1", []],
  ])("(%s) is refused like loopback with %j", (address, allow) => {
    expect(allowsHere(address, 80, allow)).toBe(false);
  });

  it.each([
    ["8.8.4.4", ["8.8.4.4"]],
    ["10.1.2.3", ["10.1.2.3:80"]],
    ["2606:4700::1", ["2606:4700::1"]],
    ["8.8.8.8", []],
  ])("does not block %s with %j", (address, allow) => {
    expect(allowsHere(address, 80, allow)).toBe(true);
  });
});

describe("a server that Sonde uses on another machine", () => {
  const allowsServer = (address: string, port: number, allow: string[]) =>
    parseEgressAllow(allow, {
      ports: new Set(),
      servers: new Set([
        serverAt("10.0.0.5", 4222),
        serverAt("8.8.4.4", 4222),
        serverAt("fd12:0::5", 5432),
      ]),
    }).allows(address, port);

  it.each([
    ["10.0.0.5", 4222, ["10.0.0.0/8"]],
    ["10.0.0.5", 4222, ["10.0.0.5"]],
    ["10.0.0.5", 4222, ["10.0.0.0/8:4222"]],
    ["::ffff:10.0.0.5", 4222, ["10.0.0.5"]],
    ["64:ff9b:1::a00:5", 4222, ["::/0"]],
    ["8.8.4.4", 4222, []],
    ["fd12:0::5", 5432, ["fd12::/32"]],
  ])("(%s:%i) is refused though %j is allowed", (address, port, allow) => {
    expect(allowsServer(address, port, allow)).toBe(false);
  });

  it.each([
    ["10.0.0.5", 4222, ["10.0.0.5:4222"]],
    ["8.8.4.4", 4222, ["8.8.4.4:4222"]],
    ["8.8.4.4", 443, []],
    ["10.0.0.6", 4222, ["10.0.0.0/8"]],
    ["fd12::5", 5432, ["[fd12::5]:5432"]],
  ])("does not block %s:%i with %j", (address, port, allow) => {
    expect(allowsServer(address, port, allow)).toBe(true);
  });
});

describe("a metadata address", () => {
  const wide = ["0.0.0.0/0", "::/0", "fe80::/10", "168.63.129.16/31"];

  it.each([
    ["169.254.169.254"],
    ["169.254.170.2"],
    ["169.254.170.23"],
    ["169.254.0.23"],
    ["169.254.42.42"],
    ["168.63.129.16"],
    ["100.100.100.200"],
    ["192.0.0.192"],
    ["fd00:ec2::23"],
    ["fd00:ec2::254"],
    ["fd20:ce::254"],
    ["fd00:42::42"],
    ["fe80::a9fe:a9fe"],
  ])("(%s) is opened only by its own entry", (address) => {
    expect(allows(address, 80)).toBe(false);
    expect(allows(address, 80, wide)).toBe(false);
    expect(allows(address, 80, [...wide, address])).toBe(true);
  });

  it.each([
    ["mapped", "::ffff:a9fe:a9fe"],
    ["behind NAT64", "64:ff9b::a9fe:a9fe"],
    ["by 6to4", "2002:a9fe:a9fe::1"],
    ["by ISATAP", "2606:4700::5efe:a9fe:a9fe"],
    ["by ISATAP with a universal identifier", "2606:4700::200:5efe:169.254.169.254"],
    ["behind local NAT64, of 48 bits", "64:ff9b:1:a9fe:a9:fe00::"],
    ["behind local NAT64, of 56 bits", "64:ff9b:1:a9:fe:a9fe::"],
    ["behind local NAT64, of 64 bits", "64:ff9b:1:0:a9:fea9:fe00:0"],
    ["behind local NAT64, of 96 bits", "64:ff9b:1::a9fe:a9fe"],
    ["behind NAT64 with a prefix of 32 bits", "2606:4700:a9fe:a9fe::"],
    ["behind NAT64 with a prefix of 96 bits", "2606:4700:64::a9fe:a9fe"],
    ["behind local NAT64, with other bits", "64:ff9b:1:a9fe:a9:fe00:808:808"],
    ["of Azure, mapped", "::ffff:168.63.129.16"],
  ])("that is %s (%s) is not opened by a range", (_, address) => {
    expect(allows(address, 80, wide)).toBe(false);
  });

  it.each([["2002:a00:1::1"], ["64:ff9b:1::808:808"], ["64:ff9b:1:808:8:800::"]])(
    "is not embedded in %s",
    (address) => {
      expect(allows(address, 80, wide)).toBe(true);
    },
  );

  it.each([["2002:7f00:1::1"], ["64:ff9b:1::7f00:1"]])(
    "is not opened by a range, nor is the loopback address in %s",
    (address) => {
      expect(allows(address, 80, wide)).toBe(false);
    },
  );
});

describe("without an exception", () => {
  it.each([
    ["8.8.8.8"],
    ["100.63.255.254"],
    ["100.128.0.1"],
    ["172.15.255.255"],
    ["172.32.0.1"],
    ["192.167.255.255"],
    ["198.17.255.255"],
    ["198.20.0.1"],
    ["223.255.255.255"],
    ["2606:4700:4700::1111"],
    ["::ffff:8.8.8.8"],
    ["64:ff9b::808:808"],
    ["2606:4700:64::808:808"],
    ["2606:4700:64::1:a00:1"],
    ["2606:4700:a00:1::1"],
  ])("the public address %s is allowed", (address) => {
    expect(allows(address, 443)).toBe(true);
  });

  it.each([
    ["0.0.0.0", "this host"],
    ["0.1.2.3", "this host"],
    ["10.0.0.1", "private"],
    ["100.64.0.1", "carrier-grade NAT"],
    ["100.127.255.254", "carrier-grade NAT"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["169.254.1.1", "link-local"],
    ["169.254.169.254", "metadata"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.0.0.1", "reserved"],
    ["192.0.2.1", "documentation"],
    ["192.168.1.1", "private"],
    ["198.18.0.1", "benchmarking"],
    ["198.51.100.1", "documentation"],
    ["203.0.113.1", "documentation"],
    ["224.0.0.1", "multicast"],
    ["239.255.255.250", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "broadcast"],
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["::ffff:10.0.0.1", "mapped private"],
    ["::ffff:7f00:1", "mapped loopback"],
    ["::10.0.0.1", "IPv4-compatible"],
    ["64:ff9b::a00:1", "private behind NAT64"],
    ["64:ff9b:1::808:808", "local NAT64"],
    ["2606:4700:a00:1::", "private behind NAT64 with a prefix of 32 bits"],
    ["2606:4700:ac:1001:2::", "private behind NAT64 with a prefix of 40 bits"],
    ["2606:4700:64:c0a8:1:100::", "private behind NAT64 with a prefix of 48 bits"],
    ["2606:4700:64:ac:10:1::", "private behind NAT64 with a prefix of 56 bits"],
    ["2606:4700:64::a:0:100:0", "private behind NAT64 with a prefix of 64 bits"],
    ["2606:4700:64::a00:1", "private behind NAT64 with a prefix of 96 bits"],
    ["2002:a00:1::1", "6to4"],
    ["2002:808:808::1", "6to4"],
    ["2606:4700::5efe:808:808", "ISATAP"],
    ["2606:4700:0:1:200:5efe:a00:1", "ISATAP"],
    ["fe80::5efe:10.0.0.1", "ISATAP"],
    ["2001::1", "Teredo"],
    ["2001:db8::1", "documentation"],
    ["100::1", "discard"],
    ["fc00::1", "unique local"],
    ["fd00:ec2::254", "metadata"],
    ["fe80::1", "link-local"],
    ["fec0::1", "site-local"],
    ["ff02::1", "multicast"],
    ["4000::1", "not assigned"],
    ["not an address", "nothing"],
  ])("%s (%s) is refused", (address) => {
    expect(allows(address, 443)).toBe(false);
  });
});

describe("an exception", () => {
  it.each([
    ["an address opens itself", ["10.0.0.5"], "10.0.0.5", 80, true],
    ["an address opens no other", ["10.0.0.5"], "10.0.0.6", 80, false],
    ["a range opens what is in it", ["10.1.0.0/16"], "10.1.255.1", 80, true],
    ["a range opens nothing outside", ["10.1.0.0/16"], "10.2.0.1", 80, false],
    ["a port opens itself", ["10.0.0.5:8080"], "10.0.0.5", 8080, true],
    ["a port opens no other", ["10.0.0.5:8080"], "10.0.0.5", 8081, false],
    ["a range may have a port", ["10.0.0.0/8:443"], "10.9.9.9", 443, true],
    ["IPv6 address", ["fd12::1"], "fd12:0:0::1", 80, true],
    ["IPv6 address in brackets", ["[fd12::1:2]"], "fd12::1:2", 80, true],
    ["IPv6 range", ["fd12::/32"], "fd12:0:9::1", 80, true],
    ["IPv6 address with a port", ["[::1]:8080"], "::1", 8080, true],
    ["IPv6 address with another port", ["[::1]:8080"], "::1", 80, false],
    ["mapped spelling of the target", ["10.0.0.5"], "::ffff:10.0.0.5", 80, true],
    ["mapped spelling of the entry", ["::ffff:10.0.0.5"], "10.0.0.5", 80, true],
    ["localhost is both loopbacks (4)", ["localhost:80"], "127.0.0.1", 80, true],
    ["localhost is both loopbacks (6)", ["localhost:80"], "::1", 80, true],
    ["localhost is no other loopback", ["localhost"], "127.0.0.2", 80, false],
    ["loopback by its own range", ["127.0.0.0/8"], "127.9.9.9", 80, true],
    ["no loopback by a wider range", ["0.0.0.0/0"], "127.0.0.1", 80, false],
    ["no loopback by a wider range (6)", ["::/0"], "::1", 80, false],
    ["no 0.0.0.0 by a wider range", ["0.0.0.0/0"], "0.0.0.0", 80, false],
    ["private by a wide range", ["0.0.0.0/0"], "192.168.1.1", 80, true],
    ["no metadata by a range", ["169.254.0.0/16"], "169.254.169.254", 80, false],
    ["no IPv6 metadata by a range", ["fd00::/8"], "fd00:ec2::254", 80, false],
    ["no metadata by a mapped address", ["169.254.0.0/16"], "::ffff:169.254.169.254", 80, false],
    ["metadata by name", ["169.254.169.254"], "169.254.169.254", 80, true],
    ["metadata by name and port", ["169.254.169.254:80"], "169.254.169.254", 80, true],
  ] satisfies [string, string[], string, number, boolean][])(
    "for %s",
    (_, allow, address, port, expected) => {
      expect(allows(address, port, allow)).toBe(expected);
    },
  );

  it.each([
    [""],
    ["example.com"],
    ["*"],
    ["10.0.0"],
    ["10.0.0.256"],
    ["0x7f.1"],
    ["10.0.0.0/33"],
    ["1.2.3.4/0"],
    ["10.0.0.1/8"],
    ["fd00::1/64"],
    ["::1:8080"],
    ["fd00::5:443"],
    ["10.0.0.0/"],
    ["10.0.0.0/8/8"],
    ["fd00::/129"],
    ["::ffff:10.0.0.0/104"],
    ["64:ff9b::a00:0/104"],
    ["10.0.0.1:0"],
    ["10.0.0.1:65536"],
    ["10.0.0.1:http"],
    ["10.0.0.1:"],
    ["[::1"],
    ["http://10.0.0.1"],
  ])("%j is rejected, and named in the error", (entry) => {
    expect(() => parseEgressAllow(["10.0.0.1", entry])).toThrow(
      `'${entry}' is not an address, a range whose other bits are 0 (10.0.0.0/8), localhost, or one of them with a port (127.0.0.1:8080, [::1]:8080)`,
    );
  });
});

describe("a URL of a refused address", () => {
  const spellings = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "127。0。0。1",
    "１２７.0.0.1",
    "0",
    "localhost",
    "LocalHost",
    "localhost.",
    "a.localhost",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:0:0:1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::1]",
  ];

  it.each(spellings.map((host) => [host]))(
    "spelled %s is not dialled, and the answer is always the same",
    async (host) => {
      const outcome = await call(`http://${host}:9/`, { allow: [] });
      expect(outcome).toMatchObject({
        result: "UNABLE_TO_RUN",
        message:
          "egress_refused: the address of this host is neither public nor allowed at this location",
        last: { destIp: null, phases: { tcp: null }, response: null },
      });
    },
  );

  it("is dialled when its canonical address is allowed", async () => {
    for (const host of spellings.filter((one) => isIP(one) === 0 && !one.startsWith("[")))
      expect(
        codeOf(
          await call(`http://${host}:9/`, {
            allow: ["127.0.0.0/8", "0.0.0.0"],
          }),
        ),
        host,
      ).toMatch(/^connect_/);
  });
});

it.each([
  ["8.8.8.8", true],
  ["::ffff:8.8.8.8", true],
  ["2606:4700::1", true],
  ["127.0.0.1", false],
  ["10.1.2.3", false],
  ["168.63.129.16", false],
  ["fd00::1", false],
  ["", false],
])("says of the address %j whether it is public: %s", (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected);
});
