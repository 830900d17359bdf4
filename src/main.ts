// The entry of the program.
import { keepCompiledCode } from "./runtime/compiled-code.ts";

// Files are readable by this user only: the database holds credentials.
process.umask(0o077);
keepCompiledCode();
// Only what is imported from here on is kept.
const { runCommandLine } = await import("./commands/command-line.ts");
await runCommandLine(process.argv.slice(2));
process.exit(); // an unresponsive server could keep the process alive
