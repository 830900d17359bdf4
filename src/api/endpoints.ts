// Every endpoint of the interface.
import type { Endpoint, EndpointDeps } from "./endpoint.ts";
import { apiKeyEndpoints } from "./routes/api-keys.ts";
import { auditEndpoints } from "./routes/audit.ts";
import { authSettingEndpoints } from "./routes/auth-settings.ts";
import { callEndpoints } from "./routes/calls.ts";
import { deploymentEndpoints } from "./routes/deployments.ts";
import { environmentEndpoints } from "./routes/environment.ts";
import { eventEndpoints } from "./routes/events.ts";
import { exportEndpoints } from "./routes/exports.ts";
import { histogramEndpoints } from "./routes/histogram.ts";
import { insightEndpoints } from "./routes/insights.ts";
import { locationHealthEndpoints } from "./routes/location-health.ts";
import { locationEndpoints } from "./routes/locations.ts";
import { reportStatEndpoints } from "./routes/report-stats.ts";
import { reportEndpoints } from "./routes/reports.ts";
import { resultEndpoints } from "./routes/results.ts";
import { callRunEndpoints } from "./routes/runs.ts";
import { sessionEndpoints } from "./routes/session.ts";
import { statEndpoints } from "./routes/stats.ts";
import { tokenEndpoints } from "./routes/tokens.ts";
import { workflowResultEndpoints } from "./routes/workflow-results.ts";
import { workflowEndpoints } from "./routes/workflows.ts";

export const createEndpoints = (deps: EndpointDeps): readonly Endpoint[] =>
  [
    callEndpoints,
    callRunEndpoints,
    statEndpoints,
    histogramEndpoints,
    resultEndpoints,
    workflowEndpoints,
    workflowResultEndpoints,
    deploymentEndpoints,
    authSettingEndpoints,
    tokenEndpoints,
    environmentEndpoints,
    reportEndpoints,
    reportStatEndpoints,
    exportEndpoints,
    eventEndpoints,
    insightEndpoints,
    locationEndpoints,
    locationHealthEndpoints,
    apiKeyEndpoints,
    auditEndpoints,
    sessionEndpoints,
  ].flatMap((make) => make(deps));
