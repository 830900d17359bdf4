// The pages and their paths. Each page is loaded when it is first opened. Links are relative to the
// document's <base>, which a proxy may have below a path.
import "./history-guard.ts";
import { ErrorBoundary, lazy, LocationProvider, Route, Router } from "preact-iso";
import type { Principal } from "../../src/model/access.ts";
import { Layout } from "./layout.tsx";
import { Interruption } from "./parts/interruption.tsx";
import { NotFound } from "./pages/not-found.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { session } from "./session.ts";

const Calls = lazy(() => import("./pages/calls/calls.tsx").then((page) => page.Calls));
const Call = lazy(() => import("./pages/call/call.tsx").then((page) => page.Call));
const Result = lazy(() => import("./pages/result/result.tsx").then((page) => page.Result));
const Settings = lazy(() => import("./pages/settings/settings.tsx").then((page) => page.Settings));
const Setting = lazy(() => import("./pages/settings/setting.tsx").then((page) => page.Setting));
const Tokens = lazy(() => import("./pages/tokens/tokens.tsx").then((page) => page.Tokens));
const Environment = lazy(() =>
  import("./pages/environment/environment.tsx").then((page) => page.Environment),
);
const Insights = lazy(() => import("./pages/insights/insights.tsx").then((page) => page.Insights));
const Insight = lazy(() => import("./pages/insight/insight.tsx").then((page) => page.Insight));
const Reports = lazy(() => import("./pages/reports/reports.tsx").then((page) => page.Reports));
const Report = lazy(() => import("./pages/report/report.tsx").then((page) => page.Report));
const ReportEdit = lazy(() => import("./pages/report/report.tsx").then((page) => page.ReportEdit));
const Workflows = lazy(() =>
  import("./pages/workflows/workflows.tsx").then((page) => page.Workflows),
);
const NewWorkflow = lazy(() =>
  import("./pages/workflow/workflow.tsx").then((page) => page.NewWorkflow),
);
const Workflow = lazy(() => import("./pages/workflow/workflow.tsx").then((page) => page.Workflow));
const WorkflowRun = lazy(() =>
  import("./pages/workflow-run/workflow-run.tsx").then((page) => page.WorkflowRun),
);
const Locations = lazy(() => import("./pages/locations.tsx").then((page) => page.Locations));
const Keys = lazy(() => import("./pages/keys.tsx").then((page) => page.Keys));
const Audit = lazy(() => import("./pages/audit.tsx").then((page) => page.Audit));

const CallForms = () => import("./pages/call-form/call-form.tsx");
const NewCall = lazy(() => CallForms().then((page) => page.NewCall));
const EditCall = lazy(() => CallForms().then((page) => page.EditCall));

const base = new URL(document.baseURI).pathname;
/** Everything else on this host is another program's, or the documentation. */
const OURS = /^(?!docs\b|api\/|\/)/;

/** Another reader gets pages of their own. */
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
            <Route default component={NotFound} />
          </Router>
        </ErrorBoundary>
        <Interruption />
      </Layout>
    ) : (
      <SignIn />
    )}
  </LocationProvider>
);
