// The button that deletes a call.
import type { Call } from "../../../src/model/call.ts";
import { pathOf } from "../address.ts";
import { invalidate } from "../queries.ts";
import { useRouteFromHere } from "../shown.ts";
import { DeleteButton } from "./delete-button.tsx";

/** Leads to the list of calls. */
export function DeleteCall({ call: { id, meta } }: { readonly call: Call }) {
  const route = useRouteFromHere();
  return (
    <DeleteButton
      what={`the call "${meta.name}"`}
      path={`calls/${id}/`}
      consequence="Ends its deployments and removes it from workflows and reports. Its results are no longer shown."
      onDeleted={async () => {
        route(pathOf("calls"), true);
        await invalidate(["calls"], ["deployments"], ["workflows"], ["reports"]);
      }}
    />
  );
}
