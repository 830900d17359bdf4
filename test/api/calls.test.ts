import { expect, it } from "vitest";
import { createCall, startApi } from "../support/api.ts";

it("creates a call with every default and server-set field", async () => {
  await using api = await startApi();
  const answer = await api.send({
    method: "POST",
    path: "/calls/",
    body: {
      meta: { name: "status" },
      request: { method: "get", url: "https://Target.test:8443/x?y=1" },
    },
  });
  const instant = expect.stringMatching(
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
  );
  expect(answer.status).toBe(201);
  expect(answer.body).toEqual({
    id: expect.any(String),
    meta: {
      name: "status",
      description: null,
      tags: [],
      owner: "ann",
      domain: "target.test",
      created: instant,
      last_update: instant,
      accept: null,
      content_type: null,
    },
    access: { settings: false, results: false, stats: false, org: false },
    request: {
      method: "GET",
      url: "https://Target.test:8443/x?y=1",
      parameters: [],
      headers: [],
      body: null,
      auth_id: null,
      token_id: null,
    },
  });
});

it("gets what was created", async () => {
  await using api = await startApi();
  const call = await createCall(api);
  const answer = await api.send({ path: `/calls/${call.id}/` });
  expect([answer.status, answer.body]).toEqual([200, call]);
});
