// A workflow for those who may not change it.
import type { Workflow } from "../../../../src/model/workflow.ts";
import type { Versioned } from "../../api.ts";
import { Fact } from "../../parts/fact.tsx";
import { Tags } from "../../parts/tags.tsx";
import { Time } from "../../parts/time.tsx";
import { Steps } from "../../parts/steps.tsx";

export function Reading({ stored: { object, role } }: { readonly stored: Versioned<Workflow> }) {
  const { meta, access, workflow } = object;
  return (
    <>
      {role !== "owner" && (
        <p class="notice">
          {meta.owner} shares this workflow {access.public ? "with everyone" : "with you"}. Only{" "}
          {meta.owner} may change it.
        </p>
      )}
      <div class="workflow-form">
        <section class="card calls" aria-labelledby="workflow-calls">
          <h2 id="workflow-calls">Calls in order</h2>
          {workflow.call_ids.length === 0 && (
            <p class="muted">No calls yet: a run ends as "Unable to run".</p>
          )}
          <Steps callIds={workflow.call_ids} />
        </section>
        <section class="card" aria-labelledby="workflow-details">
          <h2 id="workflow-details">Details</h2>
          <Facts workflow={object} />
        </section>
      </div>
    </>
  );
}

const Facts = ({ workflow: { meta, access, workflow } }: { readonly workflow: Workflow }) => (
  <dl class="facts run-facts">
    <Fact name="Stop on failure">{workflow.stop_on_failure ? "Yes" : "No"}</Fact>
    <Fact name="Cookies">{workflow.handle_cookies ? "Carried" : "Not carried"}</Fact>
    <Fact name="Owner">{meta.owner}</Fact>
    <Fact name="Shared with">{sharedWith(access)}</Fact>
    <Fact name="Tags">{meta.tags.length === 0 ? "–" : <Tags tags={meta.tags} />}</Fact>
    <Fact name="Created">
      <Time at={meta.created} />
    </Fact>
    <Fact name="Last change">
      <Time at={meta.last_update} />
    </Fact>
  </dl>
);

function sharedWith({ org, public: isPublic }: Workflow["access"]): string {
  if (isPublic) return "everyone";
  return org ? "the organization" : "nobody";
}
