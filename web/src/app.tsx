// The pages and their paths. Each page is loaded when it is first opened. Links are relative to the
// document's <base>, which has a path if a proxy serves Sonde below one.
import "./history-guard.ts";
import { ErrorBoundary, LocationProvider, Route, Router } from "preact-iso";
import type { Principal } from "../../src/model/access.ts";
import { Layout } from "./layout.tsx";
import { Interruption } from "./parts/interruption.tsx";
import { page } from "./parts/page-fault.tsx";
import { NotFound } from "./pages/not-found.tsx";
import { Arrival, NoAnswer, SignIn } from "./pages/sign-in.tsx";
import { session } from "./session.ts";

const Calls = page(() => import("./pages/calls/calls.tsx").then((part) => part.Calls));
const Call = page(() => import("./pages/call/call.tsx").then((part) => part.Call));
const Result = page(() => import("./pages/result/result.tsx").then((part) => part.Result));
const Settings = page(() => import("./pages/settings/settings.tsx").then((part) => part.Settings));
const Setting = page(() => import("./pages/settings/setting.tsx").then((part) => part.Setting));
const Tokens = page(() => import("./pages/tokens/tokens.tsx").then((part) => part.Tokens));
const Environment = page(() =>
  import("./pages/environment/environment.tsx").then((part) => part.Environment),
);
const Insights = page(() => import("./pages/insights/insights.tsx").then((part) => part.Insights));
const Insight = page(() => import("./pages/insight/insight.tsx").then((part) => part.Insight));
const Reports = page(() => import("./pages/reports/reports.tsx").then((part) => part.Reports));
const Report = page(() => import("./pages/report/report.tsx").then((part) => part.Report));
const ReportEdit = page(() => import("./pages/report/report.tsx").then((part) => part.ReportEdit));
const Workflows = page(() =>
  import("./pages/workflows/workflows.tsx").then((part) => part.Workflows),
);
const NewWorkflow = page(() =>
  import("./pages/workflow/workflow.tsx").then((part) => part.NewWorkflow),
);
const Workflow = page(() => import("./pages/workflow/workflow.tsx").then((part) => part.Workflow));
const WorkflowRun = page(() =>
  import("./pages/workflow-run/workflow-run.tsx").then((part) => part.WorkflowRun),
);
const Locations = page(() => import("./pages/locations.tsx").then((part) => part.Locations));
const Keys = page(() => import("./pages/keys.tsx").then((part) => part.Keys));
const Audit = page(() => import("./pages/audit.tsx").then((part) => part.Audit));

const CallForms = () => import("./pages/call-form/call-form.tsx");
const NewCall = page(() => CallForms().then((part) => part.NewCall));
const EditCall = page(() => CallForms().then((part) => part.EditCall));

const base = new URL(document.baseURI).pathname;
/** Links that the router handles. Others lead to the documentation, the API or another program. */
const OURS = /^(?!docs\b|api\/|\/)/;

/** The key of the layout: another reader gets freshly mounted pages. */
const readerOf = ({ owner, org, access_level }: Principal): string =>
  JSON.stringify([owner, org, access_level]);

export const App = () => (
  <LocationProvider scope={OURS}>
    {session.value ? (
      <Layout key={readerOf(session.value)}>
        <ErrorBoundary>
          <Router>
            <Route path={base} component={Calls} />
            <Route path={`${base}calls`} component={Calls} />
            <Route path={`${base}calls/new`} component={NewCall} />
            <Route path={`${base}calls/:id`} component={Call} />
            <Route path={`${base}calls/:id/edit`} component={EditCall} />
            <Route path={`${base}results/:id`} component={Result} />
            <Route path={`${base}settings`} component={Settings} />
            <Route path={`${base}settings/:id`} component={Setting} />
            <Route path={`${base}tokens`} component={Tokens} />
            <Route path={`${base}environment`} component={Environment} />
            <Route path={`${base}insights`} component={Insights} />
            <Route path={`${base}insights/:id`} component={Insight} />
            <Route path={`${base}reports`} component={Reports} />
            <Route path={`${base}reports/:id`} component={Report} />
            <Route path={`${base}reports/:id/edit`} component={ReportEdit} />
            <Route path={`${base}workflows`} component={Workflows} />
            <Route path={`${base}workflows/new`} component={NewWorkflow} />
            <Route path={`${base}workflows/:id`} component={Workflow} />
            <Route path={`${base}workflow-results/:id`} component={WorkflowRun} />
            <Route path={`${base}locations`} component={Locations} />
            <Route path={`${base}keys`} component={Keys} />
            <Route path={`${base}audit`} component={Audit} />
            <Route path={`${base}sign-in`} component={Arrival} />
            <Route default component={NotFound} />
          </Router>
        </ErrorBoundary>
        <Interruption />
      </Layout>
    ) : session.value === null ? (
      <SignIn />
    ) : (
      <NoAnswer />
    )}
  </LocationProvider>
);
