// A workflow as its form edits it, and the body that saves it.
import type { Workflow } from "../../../../src/model/workflow.ts";

/** One call of a workflow. A call may occur more than once, so each place has its own key. */
export interface Step {
  readonly key: number;
  readonly callId: string;
}

export interface Draft {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly stopOnFailure: boolean;
  readonly handleCookies: boolean;
  readonly isPublic: boolean;
  readonly isOrg: boolean;
  readonly steps: readonly Step[];
}

/** The API's defaults. */
const NEW_DRAFT: Draft = {
  name: "",
  description: "",
  tags: [],
  stopOnFailure: true,
  handleCookies: false,
  isPublic: false,
  isOrg: false,
  steps: [],
};

export const draftOf = (workflow?: Workflow): Draft =>
  workflow ? storedDraft(workflow) : NEW_DRAFT;

const storedDraft = ({ meta, access, workflow }: Workflow): Draft => ({
  name: meta.name,
  description: meta.description ?? "",
  tags: meta.tags,
  stopOnFailure: workflow.stop_on_failure,
  handleCookies: workflow.handle_cookies,
  isPublic: access.public,
  isOrg: access.org,
  steps: workflow.call_ids.map((callId, key) => ({ key, callId })),
});

export const bodyOf = (draft: Draft): object => ({
  meta: {
    name: draft.name.trim(),
    description: draft.description.trim() === "" ? null : draft.description,
    tags: draft.tags,
  },
  access: { public: draft.isPublic, org: draft.isOrg },
  workflow: {
    call_ids: draft.steps.map(({ callId }) => callId),
    stop_on_failure: draft.stopOnFailure,
    handle_cookies: draft.handleCookies,
  },
});

export const withStep = (steps: readonly Step[], callId: string): readonly Step[] => [
  ...steps,
  { key: 1 + Math.max(-1, ...steps.map(({ key }) => key)), callId },
];
