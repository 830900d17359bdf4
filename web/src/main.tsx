// Starts the pages.
import { render } from "preact";
import { App } from "./app.tsx";
import { startEvents } from "./events.ts";
import { followSession, readSession } from "./session.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import { applyTheme } from "./theme.ts";

applyTheme();
// If Sonde does not answer, the pages ask again, and say so.
await readSession().catch(() => undefined);
followSession();
startEvents();
render(<App />, document.querySelector("#app") as Element);
