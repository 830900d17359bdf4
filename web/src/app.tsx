// The pages and their paths. Each page is loaded when it is first opened. Links are relative to the
// document's <base>, which has a path if a proxy serves Sonde below one.
import "./history-guard.ts";
import { ErrorBoundary, LocationProvider, Route, Router } from "preact-iso";
import type { Principal } from "../../src/model/access.ts";
import { useFocusAfter } from "./focus.ts";
import { Layout } from "./layout.tsx";
import { Interruption } from "./parts/interruption.tsx";
import { page } from "./parts/page-fault.tsx";
import { NotFoundPage } from "./pages/not-found-page.tsx";
import { Arrival, NoAnswer, SignInPage } from "./pages/sign-in-page.tsx";
import { session } from "./session.ts";

const CallsPage = page(() => import("./pages/calls/calls-page.tsx").then((part) => part.CallsPage));
const CallPage = page(() => import("./pages/call/call-page.tsx").then((part) => part.CallPage));
const ResultPage = page(() =>
  import("./pages/result/result-page.tsx").then((part) => part.ResultPage),
);
const SettingsPage = page(() =>
  import("./pages/settings/settings-page.tsx").then((part) => part.SettingsPage),
);
const SettingPage = page(() =>
  import("./pages/settings/setting-page.tsx").then((part) => part.SettingPage),
);
const TokensPage = page(() =>
  import("./pages/tokens/tokens-page.tsx").then((part) => part.TokensPage),
);
const EnvironmentPage = page(() =>
  import("./pages/environment/environment-page.tsx").then((part) => part.EnvironmentPage),
);
const InsightsPage = page(() =>
  import("./pages/insights/insights-page.tsx").then((part) => part.InsightsPage),
);
const InsightPage = page(() =>
  import("./pages/insight/insight-page.tsx").then((part) => part.InsightPage),
);
const ReportsPage = page(() =>
  import("./pages/reports/reports-page.tsx").then((part) => part.ReportsPage),
);
const ReportPage = page(() =>
  import("./pages/report/report-page.tsx").then((part) => part.ReportPage),
);
const ReportEditPage = page(() =>
  import("./pages/report/report-page.tsx").then((part) => part.ReportEditPage),
);
const WorkflowsPage = page(() =>
  import("./pages/workflows/workflows-page.tsx").then((part) => part.WorkflowsPage),
);
const NewWorkflowPage = page(() =>
  import("./pages/workflow/workflow-page.tsx").then((part) => part.NewWorkflowPage),
);
const WorkflowPage = page(() =>
  import("./pages/workflow/workflow-page.tsx").then((part) => part.WorkflowPage),
);
const WorkflowRunPage = page(() =>
  import("./pages/workflow-run/workflow-run-page.tsx").then((part) => part.WorkflowRunPage),
);
const LocationsPage = page(() =>
  import("./pages/locations-page.tsx").then((part) => part.LocationsPage),
);
const KeysPage = page(() => import("./pages/keys-page.tsx").then((part) => part.KeysPage));
const AuditPage = page(() => import("./pages/audit-page.tsx").then((part) => part.AuditPage));

const CallForms = () => import("./pages/call-form/call-form-page.tsx");
const NewCallPage = page(() => CallForms().then((part) => part.NewCallPage));
const EditCallPage = page(() => CallForms().then((part) => part.EditCallPage));

const base = new URL(document.baseURI).pathname;
/** Links that the router handles. Others lead to the documentation, the API or another program. */
const OURS = /^(?!docs\b|api\/|\/)/;

/** The key of the layout: another reader gets freshly mounted pages. */
const readerOf = ({ owner, org, access_level }: Principal): string =>
  JSON.stringify([owner, org, access_level]);

export function App() {
  useFocusAfter(session.value === null); // with the sign-in form
  return (
    <LocationProvider scope={OURS}>
      {session.value ? (
        <Layout key={readerOf(session.value)}>
          <ErrorBoundary>
            <Router>
              <Route path={base} component={CallsPage} />
              <Route path={`${base}calls`} component={CallsPage} />
              <Route path={`${base}calls/new`} component={NewCallPage} />
              <Route path={`${base}calls/:id`} component={CallPage} />
              <Route path={`${base}calls/:id/edit`} component={EditCallPage} />
              <Route path={`${base}results/:id`} component={ResultPage} />
              <Route path={`${base}settings`} component={SettingsPage} />
              <Route path={`${base}settings/:id`} component={SettingPage} />
              <Route path={`${base}tokens`} component={TokensPage} />
              <Route path={`${base}environment`} component={EnvironmentPage} />
              <Route path={`${base}insights`} component={InsightsPage} />
              <Route path={`${base}insights/:id`} component={InsightPage} />
              <Route path={`${base}reports`} component={ReportsPage} />
              <Route path={`${base}reports/:id`} component={ReportPage} />
              <Route path={`${base}reports/:id/edit`} component={ReportEditPage} />
              <Route path={`${base}workflows`} component={WorkflowsPage} />
              <Route path={`${base}workflows/new`} component={NewWorkflowPage} />
              <Route path={`${base}workflows/:id`} component={WorkflowPage} />
              <Route path={`${base}workflow-results/:id`} component={WorkflowRunPage} />
              <Route path={`${base}locations`} component={LocationsPage} />
              <Route path={`${base}keys`} component={KeysPage} />
              <Route path={`${base}audit`} component={AuditPage} />
              <Route path={`${base}sign-in`} component={Arrival} />
              <Route default component={NotFoundPage} />
            </Router>
          </ErrorBoundary>
          <Interruption />
        </Layout>
      ) : session.value === null ? (
        <SignInPage />
      ) : (
        <NoAnswer />
      )}
    </LocationProvider>
  );
}
