// The schema of every kind of owned resource.
import type { TSchema } from "typebox";
import { authSettingResource } from "./auth-setting.ts";
import { callResource } from "./call.ts";
import { deploymentResource } from "./deployment.ts";
import { VariableSchema } from "./environment.ts";
import { reportResource } from "./report.ts";
import type { ResourceKind } from "./resource.ts";
import { tokenResource } from "./token.ts";
import { workflowResource } from "./workflow.ts";

export const RESOURCE_SCHEMAS: Readonly<Record<ResourceKind, TSchema>> = {
  auth_setting: authSettingResource.schema,
  call: callResource.schema,
  deployment: deploymentResource.schema,
  report: reportResource.schema,
  token: tokenResource.schema,
  variable: VariableSchema,
  workflow: workflowResource.schema,
};
