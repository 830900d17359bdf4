// The calls.
import type { Call } from "../../../src/model/call.ts";
import type { List } from "../api.ts";
import { Empty, Fault, Loading } from "../parts/notice.tsx";
import { useRead } from "../queries.ts";

export function Calls() {
  const { data, error, refetch } = useRead<List<Call>>(["calls"], "calls/?limit=100");
  return (
    <>
      <div class="page-head">
        <h1>Calls</h1>
      </div>
      <Fault error={error} retry={refetch} />
      {!data && !error && <Loading what="calls" />}
      {data?.results.length === 0 && <Empty title="No calls yet" />}
      <ul>
        {data?.results.map((call) => (
          <li key={call.id}>
            <a href={`calls/${call.id}`}>{call.meta.name}</a>
          </li>
        ))}
      </ul>
    </>
  );
}
