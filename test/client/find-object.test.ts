// How the commands find an object, where the API refuses to answer.
import { expect, it } from "vitest";
import { createApi } from "../../src/client/api.ts";
import { findObject } from "../../src/client/find-object.ts";
import { startTarget } from "../support/target-server.ts";

it("takes only a missing object for a name: any other refusal is the API's to explain", async () => {
  const empty = { meta: { more: false, next_cursor: "" }, results: [] };
  await using target = await startTarget(({ url = "" }, response) => {
    const status = Number(/^\/api\/2\/calls\/(\d+)\/$/.exec(url)?.[1] ?? 200);
    response.statusCode = status;
    response.end(JSON.stringify(status === 200 ? empty : { error_msg: "as it is", error: status }));
  });
  const api = createApi({ url: target.url, key: "", keyFrom: "a test" });
  await expect(findObject(api, ["calls"], "404")).rejects.toThrow(
    "no call has the id or name '404'",
  );
  await expect(findObject(api, ["calls"], "400")).rejects.toThrow("as it is (HTTP 400)");
});
